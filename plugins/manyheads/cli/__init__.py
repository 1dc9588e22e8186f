"""The command line: Typer commands, one file each, without logic of their own."""

import atexit
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import CodeType
from typing import Annotated, Any, cast

import typer

from manyheads import __version__
from manyheads.base.errors import EXIT_CODES, ConfigError, ExitCode, NotAllowedError, UserError, missing_extra
from manyheads.cli.parsing import Command, Group, SystemCommand, first_sentence
from manyheads.cli.printing import fail, fail_usage, say

USAGE = cast(
    type[Exception], next(each for each in typer.BadParameter.__mro__ if each.__name__ == "ClickException")
)
"""Errors of the parser; some versions of Typer bring a Click of their own."""


def main() -> None:
    """Run `manyheads`; errors for the user end with a message and one of `EXIT_CODES`."""
    # Run last: a Ctrl-C while Python takes itself apart would end the process by the signal, whatever its exit code.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    code = ExitCode.INPUT
    try:
        for number, word in enumerate(sys.argv[1:], 1):
            if "\0" in word or word != word.encode("utf-8", "replace").decode():
                raise ConfigError(
                    f"word {number} of the command line is not UTF-8 text: {word!r}",
                    hint="files and folders need names in UTF-8",
                )
        if os.path.lexists(".env"):
            import_module(f"{__name__}.project").read_own_keys()
        while True:
            try:
                sys.exit(app(prog_name="manyheads", standalone_mode=False))
            except NotAllowedError as error:
                if not import_module(f"{__name__}.project").allowed_now(error):
                    raise
    except UserError as error:
        fail(error)
        code = error.exit_code
    except USAGE as error:
        fail_usage(error)
    except ModuleNotFoundError as error:
        if (problem := missing_extra(error)) is None:
            raise
        fail(problem)
    except OSError as error:
        if error.filename is None:
            raise
        fail(f"{os.fsdecode(error.filename)}: {error.strerror}")
    except KeyboardInterrupt:
        from manyheads.cli.options import stopped

        code = stopped().exit_code
    sys.exit(code)


# The commands of `manyheads`, put together.


HELP = "Research teams and review committees of language-model agents, on AutoGen, AgentScope or Agent Framework."
START = {
    "run virsci": "run a research team: offline, in seconds",
    "run virsci --estimate": "print the calls, tokens and cost to expect",
    "init my-project": "make a folder with a config, papers and prompts of your own",
    "list": "list systems, configs, suites, corpora and runs",
    "--help": "list all commands",
}
"""What `manyheads` without a command suggests."""

EXAMPLES = {
    "run": """
manyheads run virsci -m openai/gpt-4o-mini --estimate
manyheads run virsci --topic "tactile grasping" -s team.size=4 --open
manyheads run rebuttal --background papers.bib --host agentscope""",
    "init": """
manyheads init my-project
manyheads init --system idea-duel""",
    "list": """
manyheads list runs
manyheads list runs --columns title,team.size,cost,ON --csv""",
    "note": 'manyheads note my-run "the best so far" --name best --tag grasping',
    "show": "manyheads show my-run --format bib -o references.bib",
    "serve": "manyheads serve runs --port 9000 --no-open",
    "mcp": """
manyheads mcp --folder papers -m openai/gpt-4o-mini --cap money=5
manyheads mcp --http --port 9000""",
    "open": "manyheads open my-run",
    "bundle": """
manyheads bundle runs
manyheads bundle runs -o site.zip --replace""",
    "estimate": "manyheads estimate --against runs",
    "resume": "manyheads resume my-run -s budget.calls=500",
    "more": "manyheads more my-run 7",
    "merge": "manyheads merge my-run 3 9 --estimate",
    "branch": "manyheads branch my-society --from 3 -s society.links=accepted",
    "ask": 'manyheads ask my-run Scientist12 "Which data would you use?" --idea 7',
    "review": """
manyheads review paper.pdf -m openai/gpt-4o-mini
manyheads review abstracts.jsonl --form rating --repeats 5""",
    "report": "manyheads report my-run",
    "measure": """
manyheads measure abstracts.jsonl --corpus sample -o measures.jsonl
manyheads measure --axioms --corpus sample
manyheads measure idea.md --against services -s literature.before=2015""",
    "search": 'manyheads search "tactile grasping" --source local --before 2015',
    "eval": "manyheads eval rebuttal-novelty -m openai/gpt-4o-mini --budget money=2",
    "plant": "manyheads plant papers/ --kind caption --kind wrong-number -o planted",
    "check": "manyheads check my.yaml -m ollama/llama3.1 --probe",
    "roles": "manyheads roles reviewer",
    "export": "manyheads export virsci -o virsci.json",
    "prompts export": """
manyheads prompts export mine scientist/idea
manyheads run virsci --path mine""",
    "prompts diff": "manyheads prompts diff mine",
    "keys set": """
manyheads keys set openai
manyheads keys set semantic-scholar""",
    "keys list": "manyheads keys list",
    "keys remove": "manyheads keys remove openai",
    "skills export": "manyheads skills export .claude/skills --name review-paper",
    "corpus build": """
manyheads corpus build papers.csv --columns title=Name,year=Date --bound 2018
manyheads corpus build "s2:graph retrieval" --start 2010 --bound 2016""",
    "corpus info": "manyheads corpus info corpora/mine",
    "corpus upload": "manyheads corpus upload corpora/mine http://HOST:6333 --out corpora/served",
    "corpus verify": "manyheads corpus verify corpora/mine",
    "corpus formats": "manyheads corpus formats",
    "corpus extract": "manyheads corpus extract corpora/mine -m openai/gpt-4o-mini --budget money=1",
    "corpus targets": """
manyheads corpus targets papers.jsonl.gz unarxive/ --count 20
manyheads corpus targets --paper "arXiv:2410.09403\"""",
    "arena new": "manyheads arena new my-arena --form review",
    "arena add": """
manyheads arena add my-arena runs/* --papers papers
manyheads arena add my-arena human/*.md --maker human --papers papers""",
    "arena invite": "manyheads arena invite my-arena Ada Grace --url https://arena.example.org",
    "arena revoke": "manyheads arena revoke my-arena Ada",
    "arena status": "manyheads arena status my-arena",
    "arena import": """
manyheads arena import my-arena votes.csv --columns left=a,right=b,winner=won
manyheads arena import my-arena sheet-1.csv sheet-2.csv""",
    "arena judge": "manyheads arena judge my-arena -m openai/gpt-4o-mini --pairs 50",
    "arena export": "manyheads arena export my-arena --sheets 3 -o sheet.csv",
    "arena agreement": "manyheads arena agreement my-arena --scores measures.jsonl --by on",
    "arena rate": """
manyheads arena rate my-arena -o ratings
manyheads arena rate votes.csv --columns left=a,right=b,winner=won""",
    "ranking judge": "manyheads ranking judge runs/* --target abstract.md --orders 4",
}
"""Examples for the help of each command, as a user types them; a test takes each through the parser."""

COMMANDS = {
    "init": "project.init",
    "run": "run.run",
    "estimate": "run.estimate",
    "resume": "run.resume",
    "more": "follow_up.more",
    "merge": "follow_up.more",
    "ask": "follow_up.ask",
    "branch": "follow_up.branch",
    "review": "review.review",
    "report": "run.report",
    "show": "inspect.show",
    "bundle": "inspect.bundle",
    "open": "inspect.open_report",
    "serve": "project.serve",
    "mcp": "mcp.serve_clients",
    "list": "project.list_all",
    "note": "runs.note",
    "measure": "measure.measure",
    "search": "inspect.search",
    "eval": "evaluate.evaluate",
    "plant": "evaluate.plant",
    "check": "inspect.check",
    "roles": "inspect.roles",
    "export": "inspect.export",
    "prompts": "prompts.app",
    "keys": "keys.app",
    "skills": "skills.app",
    "corpus": "corpus.app",
    "ranking": "review.ranking",
    "arena": "arena.app",
}
"""The function or group of each command; its module is imported when the command is used."""
RUNS = {"run", "resume", "more", "merge", "ask", "branch"}
"""Commands that begin one run."""
TEXTS = {
    "merge": "Merge ideas of a finished run, as `more` with several numbers.",
    "prompts": "Copy prompts and roles, to edit them.",
    "keys": "Store keys of models and services for this user.",
    "skills": "Skills for agents that read SKILL.md files.",
    "corpus": "Build, inspect and check corpora, the papers and scientists that teams work with.",
    "ranking": "Rank ideas against a target idea, by a model.",
    "arena": "Compare texts of several makers blind, and rate the makers.",
}
"""The help of groups, and of a command whose function has another one's."""


def _text(name: str) -> str:
    """A command's help. Docstrings are read from compiled modules that do not run: their imports take longer than all of `--help`."""
    if name in TEXTS:
        return TEXTS[name]
    module, _, function = COMMANDS[name].partition(".")
    spec = find_spec(f"{__name__}.{module}")
    code = cast(Any, spec.loader).get_code(spec.name) if spec else None
    parts = code.co_consts if code else ()
    return next(
        str(each.co_consts[0]) for each in parts if isinstance(each, CodeType) and each.co_name == function
    )


@cache
def _command(name: str) -> Any:
    """A command or group, with its module imported."""
    from manyheads.cli.options import with_models

    module, _, attribute = COMMANDS[name].partition(".")
    made = getattr(import_module(f"{__name__}.{module}"), attribute)
    whole = part = typer.Typer(rich_markup_mode=None, callback=lambda: None)
    if isinstance(made, typer.Typer):
        whole.add_typer(part := made, name=name, cls=Group, help=TEXTS[name])
    else:
        whole.command(name, help=TEXTS.get(name))(made)
    for each in part.registered_commands:
        assert each.callback
        words = name if part is whole else f"{name} {each.name or each.callback.__name__}"
        each.cls = SystemCommand if words in ("run", "check", "export") else Command
        each.epilog = EXAMPLES.get(words, "").strip() or None
        each.callback = with_models(each.callback, begins_run=words in RUNS)
    return cast(Any, typer.main.get_command(whole)).commands[name]


class _Commands(Mapping[str, Any]):
    """The commands by name, each built when it is taken."""

    def __getitem__(self, name: str) -> Any:
        return _command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Top(Group):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: Any = _Commands()

    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, first_sentence(_text(name))) for name in COMMANDS])


app = typer.Typer(
    name="manyheads",
    cls=_Top,
    help=HELP,
    epilog="\n".join(f"{code:>3}  {meaning}" for code, meaning in EXIT_CODES.items()),
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"manyheads {__version__}")
        raise typer.Exit


@app.callback(help=HELP)
def top(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Suggest how to start if no command is named."""
    if context.invoked_subcommand is None:
        width = max(map(len, START))
        lines = (f"  manyheads {words:<{width}}  {what}" for words, what in START.items())
        say("\n".join([HELP, "", "New here?", *lines]))
