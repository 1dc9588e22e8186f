"""The references of a paper: whether each exists as it is cited, and what the sources tell of it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.http import Pace
from manyheads.corpus.meta import BuildOptions
from manyheads.documents import Reference
from manyheads.literature.semantic_scholar import SemanticScholar
from manyheads.systems.mamorx import references
from manyheads.systems.mamorx.config import MamorxConfig
from manyheads.systems.mamorx.result import CitedWork
from support.corpora import built
from support.direct import Played
from support.llm import LLM
from support.openalex import OpenAlexServer, work
from support.papers import paper as scientific
from support.papers_read import TITLE, entry, paper, review
from support.scholar import Scholar, Trouble, record

LookUp = Callable[..., Any]
HAND = record(
    "a" * 40, "A tactile hand for the careful harvest of ripe berries", abstract="It feels.", year=2012,
    authors=[{"name": "Ada Berg", "authorId": "1"}, {"name": "Bo Lee", "authorId": "2"}],
    externalIds={"DOI": "10.1234/hand.1", "ArXiv": "1201.00001"},
)  # fmt: skip
GLOVE = record(
    "b" * 40, "Gloves", abstract="They warm.", year=2013, authors=[{"name": "C. Ray", "authorId": "3"}]
)


def cited(title: str = HAND["title"], **known: Any) -> Reference:
    known = {"year": 2012, "authors": ("Berg", "Lee"), **known}
    return entry(f"A. Berg and B. Lee. {title}. {known['year']}.", title=title, **known)


@pytest.fixture
def scholar() -> Iterator[Scholar]:
    with Scholar(papers=[HAND, GLOVE]) as server:
        yield server


@pytest.fixture
def look_up(llm: LLM, scholar: Scholar, tmp_path: Path, unpaced: None, own_cache: None) -> LookUp:
    async def work(run: Any) -> None:
        await references.look_up(run)
        references.cite(run)

    async def runner(*entries: Reference, literature: dict[str, Any] | None = None, **more: Any) -> Played:
        given = {
            "cascade": ["semantic_scholar"],
            "endpoints": {"semantic_scholar": scholar.url},
            **(literature or {}),
        }
        return await review(llm, tmp_path / "run", paper(*entries), work=work, literature=given, **more)

    return runner


def works(played: Played) -> list[CitedWork]:
    return [CitedWork.model_validate(each) for each in played.result["references"]]


async def test_a_reference_exists_by_its_title_or_number(look_up: LookUp) -> None:
    played = await look_up(
        cited(),
        cited("A tactile hnad for the careful harvest of ripe berries"),
        entry("Berg. A hand. 2012.", year=2012, doi="10.1234/hand.1"),
        cited(doi="10.1234/hand.1", year=2013),
        cited(authors=("Lee", "Berg")),
        cited(year=None),
        entry(f"Berg, A., Lee, B. {HAND['title']}. 2012.", title="B", year=2012, arxiv="1201.00001"),
    )
    [evidence] = played.result["evidence"]
    assert (evidence["title"], evidence["retrievals"][0]["stage"]) == (HAND["title"], "references")
    for one in works(played):
        told = one.state, one.details, one.found, one.abstract, one.evidence
        assert told == ("exists", [], HAND["title"], "It feels.", evidence["id"])


async def test_what_exists_with_other_details_says_which(look_up: LookUp, scholar: Scholar) -> None:
    other = "A tactile hand for the careful harvest of old berries"
    scholar.papers = [HAND, {**GLOVE, "externalIds": {"DOI": "10.1234/other"}}]
    wrong = cited(year=2009), cited(authors=("Moe", "Berg")), cited(other), cited(doi="10.1234/other")
    found = works(await look_up(*wrong))
    assert {(one.state, one.found) for one in found} == {("differs", HAND["title"])}
    details = "year: 2009", "authors: Moe", f"title: “{other}”", "its DOI 10.1234/other is that of “Gloves”"
    for one, detail in zip(found, details, strict=True):
        [told] = one.details
        assert told.startswith(detail)


async def test_what_could_not_be_asked_is_not_called_missing(look_up: LookUp, scholar: Scholar) -> None:
    scholar.troubles.append(Trouble("status", times=None, status=503))
    played = await look_up(cited(), cited("Another of its kind", doi="10.1234/x"))
    assert {one.state for one in works(played)} == {"not asked"}
    assert all("503" in " ".join(one.details) for one in works(played))
    assert played.result["degraded"] == ["semantic_scholar"]


async def test_an_entry_that_tells_nothing_is_not_asked(look_up: LookUp, scholar: Scholar) -> None:
    [one] = works(await look_up(entry("Personal communication, 2012.")))
    assert one.state == "not asked"
    assert [asked.params["query"] for asked in scholar.requests] == [TITLE], "of the paper itself"


async def test_references_beyond_the_number_are_said_to_be_left_out(look_up: LookUp) -> None:
    played = await look_up(cited(), cited(), cited(), mamorx={"references": {"most": 2}})
    assert [one.state for one in works(played)] == ["exists", "exists", "not asked"]
    assert any("1 of 3 references" in line for line in played.result["warnings"])
    assert MamorxConfig().references.most == 100


async def test_they_are_looked_for_whatever_the_dates_of_the_search(look_up: LookUp) -> None:
    """A work of the bound's own year is cited before it."""
    [one] = works(await look_up(cited(), literature={"before": "2012"}))
    assert one.state == "exists"


async def test_where_a_source_has_the_paper_its_own_list_saves_look_ups(
    look_up: LookUp, scholar: Scholar
) -> None:
    itself = record("c" * 40, TITLE, year=2015)
    other = record("d" * 40, "A book on gloves that nobody lists", year=2011)
    scholar.papers = [HAND, GLOVE, itself, other]
    scholar.cites = {itself["paperId"]: [HAND["paperId"], GLOVE["paperId"]]}
    wrong = cited("Gloves", year=2013, authors=("Ray",), doi="10.1234/hand.1")
    played = await look_up(cited(), wrong, cited(other["title"], year=2011))
    assert [one.state for one in works(played)] == ["exists", "differs", "exists"]
    assert works(played)[1].details == [f"its DOI 10.1234/hand.1 is that of “{HAND['title']}”"]
    assert not any(HAND["title"] in asked.params.get("query", "") for asked in scholar.requests)


async def test_references_with_numbers_cost_one_request(look_up: LookUp, scholar: Scholar) -> None:
    scholar.papers = [
        record(f"{n:040x}", f"Gloves of leather, part {n}", year=2012, externalIds={"DOI": f"10.1/{n}"})
        for n in range(20)
    ]
    entries = [
        entry(f"{one['title']}. 2012.", title=one["title"], doi=f"10.1/{n}", year=2012)
        for n, one in enumerate(scholar.papers)
    ]
    played = await look_up(*entries)
    assert {one.state for one in works(played)} == {"exists"}
    asked = [one.path for one in scholar.requests]
    assert asked.count("/graph/v1/paper/batch") == 1
    assert not any("DOI:" in path for path in asked)


@pytest.mark.slow
async def test_a_source_that_wants_seconds_between_requests_is_asked_last(
    look_up: LookUp, scholar: Scholar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SemanticScholar, "paces", (Pace(1.0), Pace(1.0)))
    people = [{"author": {"display_name": name}} for name in ("Ada Berg", "Bo Lee")]
    held = [
        work(
            1, HAND["title"], doi="https://doi.org/10.1234/hand.1", publication_year=2012, authorships=people
        ),
        work(2, "A glove that nobody numbers", publication_year=2012, authorships=people),
    ]
    with OpenAlexServer(papers=held) as openalex:
        endpoints = {"openalex": openalex.url, "semantic_scholar": scholar.url}
        sources = {"cascade": ["semantic_scholar", "openalex"], "endpoints": endpoints}
        entries = [cited(doi="10.1234/hand.1"), cited("A glove that nobody numbers")]
        played = await look_up(*entries, literature=sources)
    assert [one.paper.partition(":")[0] for one in works(played)] == ["openalex", "openalex"]


@pytest.mark.parametrize("first", ["openalex", "semantic_scholar"])
async def test_a_retraction_is_told_by_the_source_that_knows(
    look_up: LookUp, scholar: Scholar, first: str
) -> None:
    """Also where another one has found the work."""
    authors = [{"author": {"display_name": name}} for name in ("Ada Berg", "Bo Lee")]
    known = {"doi": "https://doi.org/10.1234/hand.1", "publication_year": 2012, "authorships": authors}
    second = "semantic_scholar" if first == "openalex" else "openalex"
    with OpenAlexServer(papers=[work(1, HAND["title"], is_retracted=True, **known)]) as openalex:
        endpoints = {"openalex": openalex.url, "semantic_scholar": scholar.url}
        played = await look_up(cited(), literature={"cascade": [first, second], "endpoints": endpoints})
        [one] = works(played)
        assert (one.state, one.retracted, one.paper.partition(":")[0]) == ("exists", True, first)
        by_doi = [asked.path for asked in openalex.requests if "doi:" in asked.path]
        assert len(by_doi) == (first != "openalex")
    assert "retracted" not in played.result["evidence"][0]


# Who cites whom among the cited works (§3.1).

FIELD = [
    record(f"{n:040x}", f"Hands that feel berries, part {n} of four", year=2010 + n) for n in range(1, 5)
]
LISTED = [entry(one["title"], title=one["title"], year=one["year"]) for one in FIELD]
CITES = {
    FIELD[3]["paperId"]: [FIELD[0]["paperId"], GLOVE["paperId"], FIELD[2]["paperId"]],
    FIELD[1]["paperId"]: [FIELD[0]["paperId"]],
}


@pytest.mark.parametrize(
    ("linked", "edges"),
    [(20, [[], ["[1]"], [], ["[1]", "[3]"]]), (1, [[], [], [], ["[1]", "[3]"]])],
)
async def test_cited_works_cite_each_other(
    look_up: LookUp, scholar: Scholar, linked: int, edges: list[list[str]]
) -> None:
    scholar.papers, scholar.cites = [*FIELD, GLOVE], CITES
    played = await look_up(*LISTED, mamorx={"references": {"linked": linked}})
    assert [one.cites for one in works(played)] == edges
    asked = [one.path for one in scholar.requests if one.path.endswith("/references")]
    assert len(asked) == min(linked, len(LISTED)), "the latest first, no more"


async def test_a_source_that_does_not_say_who_cites_whom_leaves_it_open(
    look_up: LookUp, scholar: Scholar
) -> None:
    scholar.papers, scholar.cites = (
        FIELD,
        {FIELD[3]["paperId"]: None, FIELD[1]["paperId"]: [FIELD[0]["paperId"]]},
    )
    played = await look_up(*LISTED)
    assert [(one.state, one.cites) for one in works(played)] == [
        ("exists", []), ("exists", ["[1]"]), ("exists", []), ("exists", []),
    ]  # fmt: skip


@pytest.mark.slow
async def test_a_local_corpus_says_who_cites_whom(look_up: LookUp, tmp_path: Path) -> None:
    titles = [
        "Owls that hear mice under snow",
        "Maps of northern roads in winter",
        "Salt in the soil of islands",
        "Rain",
    ]
    cites = {"p1": ["p0"], "p2": ["p1", "p0"]}
    records = [
        scientific(n, title=title, year=2013 + n % 2, references=cites.get(f"p{n}", []))
        for n, title in enumerate(titles)
    ]
    corpus = built(tmp_path / "corpus", records, BuildOptions(bound=2015))
    entries = [entry(title, title=title) for title in titles[:3]]
    played = await look_up(*entries, literature={"cascade": ["local"]}, corpus=str(corpus))
    assert [(one.paper.partition(":")[0], one.cites) for one in works(played)] == [
        ("local", []), ("local", ["[1]"]), ("local", ["[1]", "[2]"]),
    ]  # fmt: skip
