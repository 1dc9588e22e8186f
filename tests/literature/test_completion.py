"""`corpus build --complete`: gaps of a file filled from services, against local servers of their shapes."""

import json
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from manyheads.base.errors import LiteratureError
from manyheads.base.http import Pace
from manyheads.base.papers import Paper
from manyheads.cli import app
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.documents.document import Reference
from manyheads.literature.completion import COMPLETED
from manyheads.literature.library import SERVICES, service_class
from manyheads.literature.matching import is_work, resembles
from support.arxiv import ArxivServer, entry
from support.crossref import CrossrefServer, crossref_work
from support.invoked import mistake
from support.openalex import OpenAlexServer, work
from support.pubmed import PubMedServer, article
from support.scholar import Record, Scholar, Trouble, record

GRASP, SLIP, FOLD, TWIN = (
    "Learning to grasp soft fruit with tactile fingers",
    "Sensing the slip of wet glasses in a robot hand",
    "Folding towels from forty demonstrations of people",
    "A paper of the same title by other people",
)
MINE: list[Record] = [
    {"id": "10.1000/grasp", "title": GRASP, "abstract": "", "authors": [], "year": 2011},
    {"id": "arXiv:1103.00001", "title": SLIP, "abstract": "Our own words.", "authors": ["Bo Berg"], "year": 2012, "citations": 0},
    {"id": "p3", "title": FOLD, "abstract": "", "authors": ["Cy Cato"], "citations": 4},
    {"id": "p4", "title": "Editorial", "abstract": "", "authors": [], "year": 2011},
    {"id": "p5", "title": TWIN, "abstract": "", "authors": ["Di Dorn"], "year": 2010},
    {"id": "p6", "title": "A paper that no service has of itself", "abstract": "Whole.", "authors": ["Ed Ems"]},
    {"id": "10.1000/wrong", "title": "The number of another paper stands here", "abstract": "", "authors": ["Fe Faro"], "year": 2011},
    {"id": "whole", "title": "Complete", "abstract": "All.", "authors": ["Gi Gil"], "year": 2011, "citations": 1, "doi": "10.1000/w", "references": ["x"]},
]  # fmt: skip
OPEN = [
    work(1, GRASP, doi="https://doi.org/10.1000/GRASP", abstract="We grasp fruit.", cited_by_count=7, publication_year=1999),
    work(2, FOLD, doi="https://doi.org/10.1000/fold", publication_year=2013, authorships=[{"author": {"display_name": "Cy B. Cato"}}]),
    work(3, "Editorial", abstract="Another editorial.", publication_year=2011),
    work(4, TWIN, abstract="Another paper.", publication_year=2010, authorships=[{"author": {"display_name": "Ada Abel"}}]),
    work(5, "Owls and their songs at night", doi="https://doi.org/10.1000/wrong", abstract="Owls."),
]  # fmt: skip
SCHOLARLY = [
    record(
        "a" * 40, SLIP, abstract="Theirs.", citationCount=9, year=2012, authors=[{"name": "Bo Berg"}],
        externalIds={"ArXiv": "1103.00001", "DOI": "10.1000/slip"},
        references=[{"title": "Cited", "externalIds": {"DOI": "10.1000/grasp"}}, {"title": "Of a title", "externalIds": None}],
    ),
]  # fmt: skip
DEPOSITED = [
    crossref_work(
        "10.1000/grasp", GRASP, 2011, author=[{"given": "Ada", "family": "Abel"}], cites=["10.1000/slip"]
    ),
    crossref_work("10.1000/fold", FOLD, 2013, abstract="<jats:p>We fold.</jats:p>"),
]


@dataclass
class World:
    openalex: OpenAlexServer
    scholar: Scholar
    crossref: CrossrefServer

    @property
    def asked(self) -> int:
        return sum(len(one.requests) for one in (self.openalex, self.scholar, self.crossref))

    def sets(self, **more: object) -> list[str]:
        endpoints = {
            "openalex": self.openalex.url,
            "semantic_scholar": self.scholar.url,
            "crossref": self.crossref.url,
        }
        return sets(**{"endpoints": json.dumps(endpoints), "retries": 0, **more})


@contextmanager
def world() -> Generator[World]:
    with ExitStack() as stack:
        openalex, scholar = OpenAlexServer(papers=OPEN), Scholar(papers=SCHOLARLY)
        yield World(*map(stack.enter_context, (openalex, scholar, CrossrefServer(papers=DEPOSITED))))  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("MANYHEADS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SEMANTIC_SCHOLAR_API_KEY", "right")
    for name in SERVICES:
        monkeypatch.setattr(service_class(name), "paces", (Pace(0), Pace(0)))
    Path("mine.jsonl").write_text("".join(json.dumps(one) + "\n" for one in MINE), encoding="utf-8")


def build(*options: str, files: tuple[str, ...] = ("mine.jsonl",), complete: bool = True) -> Result:
    words = ["corpus", "build", *files, "--bound", "2014", "--embedding", "lexical", "--out", "made"]
    return CliRunner().invoke(app, [*words, *["--complete"] * complete, *options])


def sets(**settings: object) -> list[str]:
    return [word for name, value in settings.items() for word in ("--set", f"literature.{name}={value}")]


def lines(path: Path) -> dict[str, Any]:
    return {one["id"]: one for one in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


def given(paper: str, name: str) -> str:
    """The paper of a service that gave a field, from the ledger."""
    return lines(Path("made", COMPLETED))[paper]["filled"][name]["from"]


def rejected() -> list[dict[str, Any]]:
    rows = map(json.loads, Path("made/rejects.jsonl").read_text(encoding="utf-8").splitlines())
    return [one for one in rows if "field" in one]


def test_gaps_are_filled_and_what_the_file_says_stays() -> None:
    with world() as services:
        made = build(*services.sets())
    assert made.exit_code == 0, made.output
    assert "2 of 5 papers that lacked it: 1 by openalex, 1 by crossref" in made.stdout  # abstracts
    ledger = lines(Path("made", COMPLETED))
    assert set(ledger) == {one["id"] for one in MINE} - {"whole"}
    assert (given("10.1000/grasp", "abstract"), given("10.1000/grasp", "authors")) == (
        "openalex:W1",
        "crossref:10.1000/grasp",
    )
    assert given("p3", "year") == "openalex:W2"
    assert given("p3", "abstract") == "crossref:10.1000/fold", (
        "the DOI that one service gives is what the next is asked by"
    )
    assert ledger["p3"]["filled"]["year"]["at"][:2] == "20"
    assert {*ledger["p3"]["filled"]} == {"abstract", "year", "doi"}, (
        "authors and citations are the file's own"
    )
    for paper in ("p4", "p5", "p6", "10.1000/wrong"):
        assert "filled" not in ledger[paper], "a short title, other authors, nothing, another paper's DOI"
    assert given("arXiv:1103.00001", "references") == f"semantic_scholar:{'a' * 40}"
    [reject] = rejected()
    assert (reject["line"], reject["field"]) == (6, "year")
    with Ecosystem.open(Path("made")) as corpus:
        papers = corpus.papers.get([one["id"] for one in MINE])
    by_id = {name: paper for name, paper in papers.items() if paper}
    assert {name: (one.year, one.citations, one.abstract) for name, one in by_id.items()} == {
        "10.1000/grasp": (2011, 7, "We grasp fruit."),
        "arXiv:1103.00001": (2012, 0, "Our own words."),
        "p3": (2013, 4, "We fold."),
        "whole": (2011, 1, "All."),
    }
    meta = json.loads(Path("made/meta.json").read_text())
    assert meta["completed"]["abstract"] == {"openalex": 1, "crossref": 1, "not found": 3}
    assert meta["counts"]["citations_within"] == 2, "grasp cites slip by its DOI, slip grasp"


@pytest.mark.slow
def test_without_the_option_nobody_is_asked() -> None:
    with world() as services:
        made = build(*services.sets(), complete=False)
        assert made.exit_code == 0, made.output
        assert services.asked == 0
    assert not Path("made", COMPLETED).exists()
    assert [one["reason"] for one in rejected()] == ["missing", "missing"]


@pytest.mark.parametrize("settings", [{}, {"cascade": "[local]"}])
def test_without_a_network_it_says_what_it_would_ask(settings: dict[str, Any]) -> None:
    """A person without a network, and one who switches the services off."""
    nowhere = dict.fromkeys(("openalex", "semantic_scholar", "crossref"), "http://127.0.0.1:9")
    given = {"endpoints": json.dumps(nowhere), "retries": 0, **settings}
    error = mistake(build(*sets(**given)))
    assert isinstance(error, LiteratureError)
    assert (
        "7 of 8 papers lack something: abstract 5, year 2, citations 5, doi 7, authors 2, references 7"
        in (error.tried or "")
    )
    assert "3 of them have a DOI" in (error.tried or "")
    assert "openalex 5, semantic_scholar 5, crossref 5" in (error.tried or "")
    assert not Path("made").exists()


@pytest.mark.slow
def test_a_build_that_stops_asks_nothing_twice() -> None:
    many = [
        {**MINE[0], "id": f"10.1000/{n}", "title": f"Grasping of fruit number {n} with fingers"}
        for n in range(150)
    ]
    Path("mine.jsonl").write_text("".join(json.dumps(one) + "\n" for one in many), encoding="utf-8")
    works = [
        work(n, one["title"], doi=f"https://doi.org/{one['id']}", abstract="Of fruit.")
        for n, one in enumerate(many)
    ]
    with OpenAlexServer(papers=works) as server:
        settings = {"endpoints": json.dumps({"openalex": server.url}), "retries": 0, "cascade": "[openalex]"}
        down = Trouble("status", None, "", 503)
        server.troubles[:] = [Trouble("slow", 1, seconds=0.0), down]
        error = mistake(build(*sets(**settings)))
        assert "503" in error.message
        first = [asked.params["filter"] for asked in server.requests]
        server.troubles.clear()
        server.requests.clear()
        assert build(*sets(**settings)).exit_code == 0
        assert len(first) == 2
        assert [asked.params["filter"] for asked in server.requests] == first[1:]
    ledger = lines(Path("made", COMPLETED))
    assert len(ledger) == 150
    assert all(one["filled"]["abstract"]["from"].startswith("openalex:") for one in ledger.values())


def test_a_service_that_fails_is_told_and_the_others_are_used() -> None:
    with world() as services:
        services.openalex.troubles.append(Trouble("status", None, status=503))
        made = build(*services.sets())
    assert made.exit_code == 0, made.output
    assert "openalex" in made.stderr
    assert "503" in made.stderr
    ledger = lines(Path("made", COMPLETED))
    assert ledger["10.1000/grasp"]["not asked"] == ["openalex"]
    assert given("10.1000/grasp", "references") == "crossref:10.1000/grasp"
    assert "abstract" in ledger["10.1000/grasp"]["missing"]


@pytest.mark.slow
def test_arxiv_and_pubmed_complete_too() -> None:
    author = "<AuthorList><Author><LastName>Cato</LastName></Author></AuthorList>"
    articles = [article(7, FOLD, "2013-05-06", authors=author, cites=[8])]
    with (
        ArxivServer(papers=[entry("1103.00001", SLIP, "2011-03-04", doi="10.1000/slip")]) as arxiv,
        PubMedServer(papers=articles) as pubmed,
    ):
        settings = {
            "endpoints": json.dumps({"arxiv": arxiv.url, "pubmed": pubmed.url}), "retries": 0,
            "cascade": "[pubmed, arxiv]", "patience": 30,
        }  # fmt: skip
        made = build(*sets(**settings))
    assert made.exit_code == 0, made.output
    assert given("arXiv:1103.00001", "doi") == "arxiv:1103.00001"
    assert (given("p3", "year"), given("p3", "references")) == ("pubmed:7", "pubmed:7")


@pytest.mark.slow
def test_a_bibliography_without_years_and_abstracts_makes_a_corpus() -> None:
    """A table with titles alone, and an entry as Google Scholar exports it: the arXiv number stands in the journal."""
    Path("mine.csv").write_text(f"title\n{FOLD}\n", encoding="utf-8")
    fields = f"title={{{SLIP}}}, author={{Berg, Bo}}, journal={{arXiv preprint arXiv:1103.00001}}"
    Path("mine.bib").write_text(f"@article{{berg2012, {fields}}}", encoding="utf-8")
    with world() as services:
        made = build(*services.sets(), files=("mine.csv", "mine.bib"))
    assert made.exit_code == 0, made.output
    table, entry_ = lines(Path("made", COMPLETED)).values()
    assert (table["file"], table["filled"]["year"]["from"]) == ("mine.csv", "openalex:W2")
    assert {*entry_["filled"]} == {"abstract", "year", "citations", "references"}
    assert "mine.bib" in entry_["file"]


CITED = Reference(text="", title=FOLD, year=2013, authors=("Cy Cato",))


@pytest.mark.parametrize(
    ("known", "same", "alike"),
    [
        ({"title": FOLD.upper() + "!"}, True, True),
        ({"title": FOLD, "year": 2012, "authors": ("Cato, Cy",)}, True, True),
        ({"title": FOLD, "year": 2011}, False, True),
        ({"title": FOLD, "authors": ("Di Dorn",)}, False, True),
        ({"title": FOLD.replace("towels", "napkins")}, False, True),
        ({"title": f"{FOLD}: a survey of ten years"}, False, True),
        ({"title": "Folding proteins"}, False, False),
        ({"title": "Owls at night"}, False, False),
    ],
)
def test_a_title_means_a_work_only_if_nothing_differs(known: dict[str, Any], same: bool, alike: bool) -> None:
    paper = Paper(id="x", source="openalex", **known)
    assert (is_work(CITED, paper), resembles(CITED, paper)) == (same, alike)
    short = Paper(id="x", source="openalex", title="Editorial", year=2013, authors=("Cy Cato",))
    assert is_work(CITED.model_copy(update={"title": "Editorial"}), short)
    assert not is_work(CITED.model_copy(update={"title": "Editorial", "authors": ()}), short)
