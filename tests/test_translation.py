"""A user who translates the prompt files finds no English in any request: all that a model reads stands in them."""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from manyheads.asking.roles import Roles
from manyheads.base.papers import Paper
from manyheads.base.resources import Resources, shipped
from manyheads.corpus.digest import PaperTexts
from manyheads.corpus.graph import Text
from manyheads.documents import Document, Figure, Section
from manyheads.hosts import host_factory
from manyheads.literature.lookup import LookupCache
from manyheads.systems.mamorx.paper import Manuscript
from manyheads.systems.scipip.extraction import Extractor
from support.faults import Fault
from support.figures import alone
from support.fill import WORDS
from support.llm import LLM
from support.papers_read import entry, paper, review
from support.pdfs import body, typeset
from support.play import Played, config_for, play
from support.requests import Request
from support.scholar import Scholar, record
from support.sight import SEEING

pytestmark = pytest.mark.slow
JINJA = re.compile(r"(```json|```|\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|`[^`]*`|<\w+>|</\w+>)", re.DOTALL)
LITERAL = re.compile(r'(?:quoted\(|\[|== )"[^"]*"|"([^"]*)"')
WORD = re.compile(r"[A-Za-z]{2,}")
MATERIAL = re.compile(r"<(paper|profile|works|team|scientists|start)>\n.*?\n</\1>", re.DOTALL)
"""Fences of what comes out of a corpus or a config."""
CALL = re.compile(r"^\w+ \{.*\}$", re.MULTILINE)
"""A call as a model that made it is shown it again: the tool's name and its arguments."""
KEY = re.compile(r'"\w+":')
PUBLIC = frozenset({"true", "false", "null", "json", "json object"})
"""Words of JSON itself."""


GIVEN = frozenset((
    "Reviewer", "none", "small", "significant", "Analyst", "Engineer", "Researcher", "Critic", "openalex", "computer", "science", "novelty", "yes", "partly", "no",
))  # fmt: skip
"""Names of speakers, what configs name, values that a form leaves to choose from."""


def foreign(text: str) -> str:
    """A text in a tongue of our own: each word in capitals, after a sign."""
    return WORD.sub(lambda word: f"ß{word[0].upper()}", text)


def translated(template: str) -> str:
    """A template whose own words are foreign, those in its expressions too."""
    pieces = JINJA.split(template)
    for at, piece in enumerate(pieces):
        if piece.startswith("{{"):
            pieces[at] = LITERAL.sub(
                lambda found: found[0] if found[1] is None else f'"{foreign(found[1])}"', piece
            )
        elif not at % 2:
            pieces[at] = foreign(piece)
    return "".join(pieces)


def _lines(data: Any) -> Any:
    """A file of words, its texts foreign."""
    match data:
        case str():
            return foreign(data)
        case dict():
            return {key: _lines(value) for key, value in data.items()}
        case _:
            return data


@pytest.fixture(scope="module")
def abroad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all prompt files, translated."""
    folder = tmp_path_factory.mktemp("abroad")
    shutil.copytree(shipped() / "prompts", folder / "prompts", ignore=shutil.ignore_patterns("phrases*"))
    for path in (folder / "prompts").rglob("*.j2"):
        path.write_text(translated(path.read_text(encoding="utf-8")), encoding="utf-8")
    for path in (folder / "prompts").rglob("*.yaml"):
        words = _lines(yaml.safe_load(path.read_text(encoding="utf-8")))
        path.write_text(yaml.safe_dump(words, allow_unicode=True), encoding="utf-8")
    return folder


def english(request: Request) -> set[str]:
    """The English words of a request that are no material, no keys and no names."""
    read = "\n\n".join(said.text for said in request.messages if said.role != "assistant")
    text = CALL.sub("", MATERIAL.sub("", read))
    text = KEY.sub("", re.sub(r"```(json \w+)?", "", text))
    text = re.sub(r"</?\w+>|`[^`]*`|Scientist\d+", "", text)
    text = re.sub(
        rf"\b\w+:(?= (?:{'|'.join(WORDS)})\b)", "", text
    )  # the server's texts begin with their field
    return {word for word in WORD.findall(re.sub(r"ß\w+", "", text)) if word not in PUBLIC | GIVEN | {*WORDS}}


def _in_german(played: Played) -> None:
    """All requests name the language of the answers, in the same words; the report marks the texts."""
    ends = {request.system.rstrip().rpartition("\n")[2] for request in played.requests}
    assert len(ends) == 1
    assert "ßGERMAN." in ends.pop()
    assert 'lang="de" class="prose' in (played.folder / "report.html").read_text(encoding="utf-8")


Sets = tuple[str, ...]


def in_order(request: Request) -> list[dict[str, Any]]:
    """All ideas as they are shown, with what is written of each."""
    count = request.asking.count("<idea>")
    return [{"idea": at, "rationale": "sparse", "note": "sparse"} for at in range(1, count + 1)]


def too_close(request: Request) -> list[dict[str, Any]]:
    """Every paper is nearly the same."""
    count = request.asking.count("<paper>")
    return [{"paper": at, "similarity": 90, "reason": "causal"} for at in range(1, count + 1)]


TOPIC = "topic=sparse robust robots"
TOOLS: Sets = ("models.default.tools=true", "invitation.enabled=true")
LONG: Sets = (
    "team.size=2", "self_review.enabled=true", "self_review.max_discards=1", "turns=1", "turns.topic=2", "turns.adaptive=true",
)  # fmt: skip
FAILING: Sets = (
    "literature.references=services", "literature.cascade=['openalex']", "literature.endpoints.openalex=http://127.0.0.1:9",
    "literature.retries=0", "ideas.references=0",
)  # fmt: skip
REFLECTION: Sets = ("system=self-reflection", TOPIC, "baseline.rounds=2")
IDEAS = "inputs.ideas=['sparse robust robots', 'vision language bandits']"
RUNS: Mapping[str, tuple[Sets, Mapping[str, Any]]] = {
    "virsci": ((*LONG, "invitation.enabled=true"), {"overlaps": too_close}),
    "virsci with tools": (TOOLS, {}),
    "virsci with tools on the other host": ((*TOOLS, "host=autogen"), {}),
    "self-reflection with look-ups that fail": ((*REFLECTION, *FAILING, "models.default.tools=true"), {}),
    "discussion": (("system=discussion", TOPIC, "baseline.turns=2"), {}),
    "single": (("system=single", TOPIC, "baseline.tokens=24000"), {}),
    "rebuttal": (("system=rebuttal", "inputs.background=['sparse robust robots']"), {}),
    "ranking": (
        ("system=ranking", "inputs.target=causal retrieval agents", IDEAS),
        {"ranking": in_order, "notes": in_order},
    ),
    "scipip": (("system=scipip", "inputs.background=causal retrieval agents"), {"papers": [1]}),
    "conference-review": (("system=conference-review", f"inputs.subject={__file__}"), {}),
}


@pytest.mark.parametrize("name", RUNS)
async def test_no_english_reaches_a_model(abroad: Path, tmp_path: Path, name: str) -> None:
    sets, answers = RUNS[name]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("find_scientists", {"interest": "robots"}),
        ("find_scientists", {"interest": ["robots"], "limit": 99}),
        ("invite_scientist", {"name": "Nobody", "question": "sparse"}),
        ("invite_scientist", {"who": "Nobody"}),
        ("search_papers", {"query": "robots"}),
        ("search_papers", {"query": "?"}),
        ("search_papers", {"query": ""}),
        ("get_paper", {"paper": "arxiv:2001.00001"}),
        ("get_references", {"paper": "10.1/robots", "limit": 0.5}),
    ]
    faults = [Fault("missing"), Fault("prose")]  # so that it is asked again
    with LLM(answers=answers, tool_calls=calls, faults=faults) as llm:
        played = await play(
            config_for(llm, f"paths=['{abroad}']", "language=de", *sets), tmp_path / "run", llm
        )
    _in_german(played)
    leaks = {(word, request.asking[:60]) for request in played.requests for word in english(request)}
    assert not leaks
    if "models.default.tools=true" in sets:
        answered = {said.text for each in played.requests for said in each.messages if said.role == "tool"}
        assert len(answered) >= 4


def test_no_english_reaches_a_model_that_extracts(abroad: Path, tmp_path: Path) -> None:
    sentence = "ß " * 30
    text = Text(sentence * 40, sentence * 400)
    readings = [PaperTexts(Paper(id="p", title="ß"), each) for each in (text, Text("ß", "ß"), Text("", ""))]
    wrong = iter([["sparse"], [], ["sparse robots"] * 7])

    def entities(request: Request) -> list[str]:
        return next(wrong, ["sparse robots"])  # so that it is asked again

    answers = {"entities": entities}
    with LLM(answers=answers) as llm, LookupCache(tmp_path / "cache.sqlite") as cache:
        config = config_for(llm, "models.default.context=5000")
        extractor = Extractor(config, Roles(Resources.of((abroad,))), host_factory("autogen"), cache)
        extractor(readings, len(readings), lambda records: None)
        assert {request.title for request in llm.requests} == {"Extract", "DetailedIdeas", "FullExtract"}
        assert not {(word, request.title) for request in llm.requests for word in english(request)}
    assert llm.calls > 6


@pytest.mark.parametrize("vision", [True, False])
async def test_no_english_reaches_a_figure_critic(abroad: Path, tmp_path: Path, vision: bool) -> None:
    captions = ("sparse robust robots", "", "causal agents")
    figures = tuple(Figure(number=str(at), caption=each, page=1) for at, each in enumerate(captions, 1))
    mentions = Section(title="sparse", text="\n".join(["vision fig. 1 language"] * 20))
    path = typeset(tmp_path / "paper.pdf", [], [body("sparse")], high=20)
    document = Document(title="causal", abstract="sparse robots", figures=figures, sections=(mentions,))
    with LLM(answers=SEEING, faults=[Fault("missing"), Fault("prose")]) as llm:
        config = alone(
            llm,
            Manuscript(document, path, "paper.pdf", "0"),
            "agentscope",
            paths=[str(abroad)],
            vision=vision,
        )
        played = await play(config, tmp_path / "run", llm)
    assert len(played.requests) > 3
    leaks = {word for request in played.requests for word in english(request)}
    assert leaks <= {"Figure", "fig"}, "what figures are called"
    notes = "\n".join(f"{note.why} {note.description} {note.critique}" for note in played.run.result.figures)
    assert not {*WORD.findall(re.sub(r"ß\w+|\w+:", "", notes))} - {*WORDS, "test"}, "others read these"


ASKED = {"text": "sparse", "expects": "sparse", "kind": "ask", "expert": "clarity"}
REVIEWS: Mapping[str, Sets] = {
    "committee": ("mamorx.exchanges=2",),
    "whose model reads little at once": ("mamorx.exchanges=2", "models.default.context=4000"),
    "with tools": ("mamorx.exchanges=2", "models.default.tools=true"),
    "alone": ("mamorx.maker=alone", "mamorx.exchanges=1", "mamorx.form=neurips"),
    "by an outline": ("mamorx.maker=outline", "mamorx.form=iclr"),
    "by a prompt": ("mamorx.maker=plain", "mamorx.form=free"),
}
CALLED = frozenset((
    "Abstract", "Figure", "Table", "clarity", "experiments", "impact", "Clarity", "Impact", "Experiments", "Leader", "ask", "delegate",
))  # fmt: skip
"""What the parts of a paper and the people of a committee are called."""


@pytest.mark.parametrize("name", REVIEWS)
async def test_no_english_reaches_those_who_review_a_paper(abroad: Path, tmp_path: Path, name: str) -> None:
    long = "sparse robust robots " * 500
    paper = {
        "title": "sparse robots", "abstract": "causal agents",
        "sections": [{"title": "planning", "text": long}, {"title": "memory", "text": long}],
        "figures": [{"caption": "Figure 1: graphs"}], "references": ["noise transfer"],
    }  # fmt: skip
    (tmp_path / "paper.json").write_text(json.dumps(paper))
    calls = [
        ("ask", {"expert": "clarity", "question": "sparse", "expects": "sparse"}), ("ask", {"expert": "nobody"}),
        *(("delegate", {"expert": "impact", "task": "sparse", "expects": "sparse"}) for _ in range(2)),
        ("read_section", {"name": "planning"}), ("read_section", {"name": "planning", "part": 99}),
        ("read_section", {"name": "noise"}), ("search_paper", {"words": "robots"}), ("search_paper", {"words": "geometry"}),
        ("look_at_figure", {"name": "Figure 1"}), ("look_at_figure", {"name": "Figure 9"}), ("search_cited", {"words": "noise"}),
        ("search_cited", {"words": "geometry"}),
    ]  # fmt: skip
    faults = [Fault("missing"), Fault("prose"), Fault("prose", None, lambda request: "Iß" in request.system)]
    answers = {"inquiries": [ASKED, {**ASKED, "expert": "impact"}], "finished": False, "overall": 5}
    local = ("mamorx.novelty.enabled=false", "literature.cascade=[local]")
    off = (*local, f"inputs.paper={tmp_path / 'paper.json'}")
    with LLM(answers=answers, tool_calls=calls, faults=faults) as llm:
        sets = ("system=mamorx", f"paths=['{abroad}']", "language=German", *off, *REVIEWS[name])
        played = await play(config_for(llm, *sets), tmp_path / "run", llm)
    _in_german(played)
    leaks = {(word, each.asking[:60]) for each in played.requests for word in english(each) - CALLED}
    assert not leaks


@pytest.mark.usefixtures("unpaced", "own_cache")
async def test_no_english_reaches_who_assesses_novelty(abroad: Path, tmp_path: Path) -> None:
    phrases = iter(["sparse", "sparse robots", "??", " ".join(WORDS[:11]), "planning", "causal"])

    def phrase(request: Request) -> str:
        return next(phrases, "graphs") if request.title == "SearchPhrase" else ""

    titles = ("sparse robust causal planning graphs", "vision language proteins bandits geometry")
    papers = [record(f"{n:040x}", title, abstract="sparse", year=2012) for n, title in enumerate(titles)]
    work = entry("sparse.", title=titles[1], year=1999)
    answers = {"phrase": phrase, "verdict": "RELEVANT", "decision": "NOT NOVEL"}
    with LLM(answers=answers, faults=[Fault("missing")]) as llm, Scholar(papers=papers) as scholar:
        given = {"cascade": ["semantic_scholar"], "endpoints": {"semantic_scholar": scholar.url}}
        read = paper(work, title="robots", abstract="sparse")
        played = await review(llm, tmp_path / "run", read, literature=given, paths=[str(abroad)])
    leaks = {word for request in played.requests for word in english(request)}
    assert leaks == {"RELEVANT", "IRRELEVANT", "NOVEL", "NOT"}, "the verdicts alone"
    assert played.result["novelty"]["verdict"] == "NOT NOVEL"
    told = " ".join([played.result["novelty"]["reason"], *played.result["references"][0]["details"]])
    assert not {*WORD.findall(re.sub(r"ß\w+|\w+:|semantic_scholar", "", told))} - {*WORDS, "NOVEL", "NOT"}, (
        "agents read these"
    )
