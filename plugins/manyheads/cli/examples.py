"""Examples for the help of each command, as a user types them; a test takes each through the parser."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "run": (
        "manyheads run virsci --open",
        "manyheads run virsci -m openai/gpt-4o-mini --estimate",
        'manyheads run virsci --topic "tactile grasping" -s team.size=4 -o my-run',
        "manyheads run rebuttal --background papers.bib --host agentscope",
    ),
    "init": ("manyheads init my-project",),
    "list": ("manyheads list", "manyheads list runs"),
    "show": ("manyheads show my-run", "manyheads show my-run --format bib -o references.bib"),
    "serve": ("manyheads serve", "manyheads serve runs --port 9000 --no-open"),
    "open": ("manyheads open", "manyheads open my-run"),
    "resume": ("manyheads resume my-run", "manyheads resume my-run -s budget.calls=500"),
    "review": (
        "manyheads review paper.pdf -m openai/gpt-4o-mini",
        "manyheads review abstracts.jsonl --form rating --repeats 5",
        "manyheads review my-run",
    ),
    "report": ("manyheads report my-run",),
    "measure": (
        "manyheads measure my-run --show-neighbours",
        "manyheads measure abstracts.jsonl --corpus sample -o measures.jsonl",
        "manyheads measure idea.md --against services -s literature.before=2015",
    ),
    "search": (
        'manyheads search "tactile grasping" --before 2015',
        'manyheads search "tactile grasping" --source local --limit 3',
    ),
    "eval": (
        "manyheads eval team-size --repeats 5",
        "manyheads eval rebuttal-novelty -m openai/gpt-4o-mini --budget money=2",
    ),
    "plant": ("manyheads plant papers/ --kind caption --kind wrong-number -o planted",),
    "check": ("manyheads check virsci", "manyheads check my.yaml -m ollama/llama3.1 --probe"),
    "roles": ("manyheads roles", "manyheads roles reviewer", "manyheads roles --prompts"),
    "export": ("manyheads export virsci -o virsci.json",),
    "prompts export": ("manyheads prompts export mine", "manyheads run virsci --path mine"),
    "corpus build": (
        "manyheads corpus build papers.bib --bound 2018 --name mine",
        "manyheads corpus build papers.csv --columns title=Name,year=Date --bound 2018",
        'manyheads corpus build "s2:graph retrieval" --start 2010 --bound 2016',
    ),
    "corpus info": ("manyheads corpus info sample", "manyheads corpus info corpora/mine"),
    "corpus verify": ("manyheads corpus verify corpora/mine",),
    "corpus formats": ("manyheads corpus formats",),
    "corpus extract": (
        "manyheads corpus extract corpora/mine",
        "manyheads corpus extract corpora/mine -m openai/gpt-4o-mini --budget money=1",
    ),
    "corpus targets": (
        "manyheads corpus targets papers.jsonl.gz unarxive/ --count 20",
        "manyheads corpus targets --corpus sample --count 5",
        'manyheads corpus targets --paper "arXiv:2410.09403"',
    ),
    "arena new": ("manyheads arena new my-arena --form review",),
    "arena add": (
        "manyheads arena add my-arena runs/*",
        "manyheads arena add my-arena human/*.md --maker human --papers papers",
    ),
    "arena invite": ("manyheads arena invite my-arena Ada Grace --url https://arena.example.org",),
    "arena revoke": ("manyheads arena revoke my-arena Ada",),
    "arena status": ("manyheads arena status my-arena",),
    "arena import": (
        "manyheads arena import my-arena votes.csv",
        "manyheads arena import my-arena votes.csv --columns left=a,right=b,winner=won",
        "manyheads arena import my-arena sheet-1.csv sheet-2.csv",
    ),
    "arena judge": ("manyheads arena judge my-arena -m openai/gpt-4o-mini --pairs 50",),
    "arena export": (
        "manyheads arena export my-arena -o votes.csv",
        "manyheads arena export my-arena --sheets 3 -o sheet.csv",
    ),
    "arena agreement": (
        "manyheads arena agreement my-arena --scores measures.jsonl --by on",
        "manyheads arena agreement people.csv --scores scores.csv --by overall",
    ),
    "arena rate": (
        "manyheads arena rate my-arena -o ratings",
        "manyheads arena rate votes.csv --columns left=a,right=b,winner=won",
    ),
    "ranking judge": ("manyheads ranking judge runs/* --target abstract.md --orders 4",),
}
"""By the words of each command."""
