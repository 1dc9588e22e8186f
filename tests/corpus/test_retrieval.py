"""The literature database: records in, papers with reasons out; clear about what it lacks."""

import asyncio
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from manyheads.base.errors import CorpusError
from manyheads.corpus.corpora import verify_corpus
from manyheads.corpus.database import RECORDS, VECTORS
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.graph import Citations, Extraction
from manyheads.corpus.meta import BuildOptions
from manyheads.corpus.retrieval import Inspirations, LiteratureDatabase, RetrievalConfig, Scope
from manyheads.corpus.stores import lock_folder
from support import corpora
from support.papers import SUBJECTS, paper

PAST_PAPERS, LATER = 24, 6
BOUND = 2014
GRASP = "Robots still drop fragile objects, as tactile grasping of fragile objects is not solved."
"""The background of every fourth paper."""
GRASPING, RETRIEVING = [[f"p{one}" for one in range(start, PAST_PAPERS, 4)] for start in (0, 1)]
"""The past papers whose abstracts are of tactile grasping, and of dense retrieval."""


def built(folder: Path) -> Ecosystem:
    """Papers p0 … p23 before the bound, p24 … p29 after it; the subjects take turns."""
    records = [
        paper(
            number,
            year=2010 if number < PAST_PAPERS else 2016,
            abstract=f"We study {SUBJECTS[number % 4]} {number}.",
        )
        for number in range(PAST_PAPERS + LATER)
    ]
    return Ecosystem.open(corpora.built(folder / "corpus", records, BuildOptions(bound=BOUND)))


def partners(
    database: LiteratureDatabase, papers: list[str], count: int, excluded: Iterable[str] = ()
) -> dict[str, dict[str, int]]:
    """For each paper those of the past most often cited together with it, with the number of times."""
    network = database.network
    visible = network.mask(before=BOUND)
    visible[network.numbers(excluded)] = False
    found: dict[str, dict[str, int]] = {}
    for row in zip(*network.cited_with(network.numbers(papers), count, visible, visible), strict=True):
        one, other, times = map(int, row)
        found.setdefault(network.ids[one], {})[network.ids[other]] = times
    return found


def record(number: int, *entities: str, recipe: str = "rule-1") -> Extraction:
    subject = SUBJECTS[number % 4]
    return Extraction(
        paper=f"p{number}",
        entities=entities,
        background=f"The problem of {subject} is not solved, case {number}.",
        summary=f"We treat {subject}.",
        main_ideas=(f"An idea about {subject}, {number}.",),
        recipe=recipe,
    )


def records() -> list[Extraction]:
    entities: dict[int, tuple[str, ...]] = {
        0: ("tactile grasping", "slip detection"),
        4: ("tactile grasping", "slip detection"),
        8: ("tactile grasping",),
        1: ("slip detection", "dense retrieval"),  # the only way from grasping to a paper on retrieval
        5: ("dense retrieval",),
        28: ("slip detection",),
    }
    return [record(number, *entities.get(number, ())) for number in range(PAST_PAPERS + LATER)]


CITES = {
    # p0 and p2 are cited together three times, p0 and p3 once, and by a later paper often
    "p10": Citations(("p0", "p2")),
    "p11": Citations(("p0", "p2", "p3")),
    "p14": Citations(("p0", "p2")),
    "p24": Citations(("p0", "p7")),
    "p25": Citations(("p0", "p7")),
    "p26": Citations(("p0", "p7")),
    "p27": Citations(("p0", "p7")),
}


@pytest.fixture(scope="module")
def ecosystem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ecosystem]:
    with built(tmp_path_factory.mktemp("database")) as ecosystem:
        database = LiteratureDatabase.of(ecosystem)
        database.graph.add_citations(CITES)
        database.store_records(records())
        yield ecosystem


@pytest.fixture
def database(ecosystem: Ecosystem) -> LiteratureDatabase:
    return LiteratureDatabase.of(ecosystem)


def by_id(found: Inspirations) -> dict[str, list[str]]:
    return {one.paper.id: [channel.reason for channel in one.channels] for one in found.papers}


async def test_the_three_ways_and_their_reasons(database: LiteratureDatabase) -> None:
    found = await database.retrieve(GRASP, RetrievalConfig(semantic=3, rarest=2, cocited=1))
    semantic = [one for one in found.papers if "semantic" in one.how]
    assert len(semantic) == 3
    assert all(int(one.paper.id[1:]) % 4 == 0 and (one.similarity or 0) > 0.3 for one in semantic)
    assert found.entities == ("slip detection", "tactile grasping")
    assert {one.paper.id for one in found.papers if "entity" in one.how} == {"p1", *GRASPING}
    reasons = by_id(found)
    assert reasons["p1"] == ["has the entity “slip detection” (3 papers with it)"]
    assert reasons["p2"] == ["cited 3× together with “Study 0”"]
    assert "p7" not in reasons  # which only papers after the bound cite with p0
    assert found.total == len(found.papers)
    assert found.notes == ()
    scores = [one.score for one in found.papers]
    assert scores == sorted(scores, reverse=True)
    assert len(found.papers[0].how) > 1


async def test_what_is_found_in_several_ways_comes_first_and_is_not_cut(database: LiteratureDatabase) -> None:
    every = await database.retrieve(GRASP, RetrievalConfig(semantic=6))
    few = await database.retrieve(GRASP, RetrievalConfig(semantic=6, papers=2))
    assert few.papers == every.papers[:2]
    assert few.total == every.total > 2


@pytest.mark.parametrize("how", ["semantic", "entity", "cocitation", "bm25"])
async def test_one_way_alone(database: LiteratureDatabase, how: str) -> None:
    options = RetrievalConfig.model_validate({"how": [how], "semantic": 4, "bm25": 4})
    found = await database.retrieve(GRASP, options)
    assert {one.how for one in found.papers} == ({(how,)} if how != "cocitation" else set())
    if how == "bm25":
        assert all("grasping" in one.paper.abstract for one in found.papers)


async def test_only_past_papers_unless_asked_otherwise(database: LiteratureDatabase) -> None:
    options = RetrievalConfig(semantic=50, bm25=50, how=("semantic", "entity", "cocitation", "bm25"))
    past = by_id(await database.retrieve(GRASP, options))
    assert {int(one[1:]) < PAST_PAPERS for one in past} == {True}
    every = by_id(await database.retrieve(GRASP, options, scope=Scope(period=None)))
    assert "cited 4× together with “Study 0”" in every["p7"]
    assert "has the entity “slip detection” (4 papers with it)" in every["p28"]
    assert by_id(await database.retrieve(GRASP, options, scope=Scope(years=(2011, None)))) == {}


async def test_what_is_excluded_tells_nothing_of_others(database: LiteratureDatabase) -> None:
    without = Scope(exclude=frozenset({"p10", "p0", "no such paper"}))
    found = by_id(await database.retrieve(GRASP, RetrievalConfig(), scope=without))
    assert "p0" not in found
    assert partners(database, ["p2"], 3, {"p10"}) == {"p2": {"p0": 2, "p3": 1}}
    assert partners(database, ["p2", "p0"], 1) == {"p2": {"p0": 3}, "p0": {"p2": 3}}


async def test_entities_are_given_or_found_in_the_background(database: LiteratureDatabase) -> None:
    entity = RetrievalConfig(how=("entity",))
    assert database.entities_in("About SLIP-detection, and dense retrieval.") == {
        "SLIP detection": 4,
        "dense retrieval": 2,
    }
    itself = await database.retrieve("Why dense retrieval fails.", entity)
    given = await database.retrieve("Why it fails.", entity, ["Dense Retrieval"])
    other = await database.retrieve("Why it fails.", entity, ["finding"], synonyms=["dense-retrieval"])
    for found in (itself, given, other):
        assert sorted(one.paper.id for one in found.papers) == sorted(RETRIEVING)
    assert any("no entity" in note for note in (await database.retrieve("Why it fails.", entity)).notes)


def test_neighbours_are_those_of_several_papers(database: LiteratureDatabase) -> None:
    near = database.entities_near
    slips = ["p0", "p1", "p4"]
    every = near(["tactile grasping", "unheard of"], RetrievalConfig())
    assert [*every.items()] == [("slip detection", slips), ("tactile grasping", sorted(GRASPING))]
    assert [*near(["tactile grasping"], RetrievalConfig(together=3))] == ["tactile grasping"]
    every = near(["slip detection"], RetrievalConfig(together=1))
    assert [*every] == ["slip detection", "dense retrieval", "tactile grasping"]
    assert near(["slip detection"], RetrievalConfig(together=1, rarest=1)) == {"slip detection": slips}


async def test_an_entity_is_linked_to_each_paper_in_which_it_appears(tmp_path: Path) -> None:
    """In the record, or in title or abstract, in singular or plural, also of a paper without a record (SciPIP, §3.1)."""
    options = RetrievalConfig(how=("entity",))
    with built(tmp_path) as ecosystem:
        database = LiteratureDatabase.of(ecosystem)
        database.store_records([record(0, "dense retrievals"), record(2, "dense retrievals"), record(3)])
        found = by_id(await database.retrieve("Of dense retrievals.", options))
        assert found.keys() == {"p0", "p2", *RETRIEVING}
        assert {*map(tuple, found.values())} == {("has the entity “dense retrievals” (8 papers with it)",)}
        later = by_id(await database.retrieve("Of dense retrievals.", options, scope=Scope(period=None)))
        assert later.keys() - found.keys() == {"p25", "p29"}
        hidden = Scope(exclude=frozenset({"p0", "p2"}))
        assert by_id(await database.retrieve("Of dense retrievals.", options, scope=hidden)) == {}, (
            "no record of a visible paper names it"
        )


@pytest.mark.slow
async def test_an_entity_of_the_background_finds_the_one_paper_with_it(tmp_path: Path) -> None:
    with built(tmp_path) as ecosystem:
        database = LiteratureDatabase.of(ecosystem)
        database.store_records(
            [record(0, "owl flight", "cat naps"), record(1, "cat naps"), record(2, "owl flight")]
        )
        database.store_records([record(3, "bat calls")])
        for held in (1, 2):
            options = RetrievalConfig(how=("entity",), held=held)
            found = await database.retrieve("Of bat calls and cat naps.", options)
            assert found.entities == ("bat calls", "cat naps"), "the rarest first"
            assert {one.paper.id for one in found.papers} == {"p0", "p1", "p3"}


@pytest.mark.parametrize(
    ("limit", "entities"),
    [
        (1, ["bat calls"]),
        (2, ["bat calls", "cat naps"]),
        (3, ["bat calls", "cat naps"]),
        (4, ["bat calls", "cat naps", "owl flight"]),
        (100, ["bat calls", "cat naps", "owl flight"]),
    ],
)
async def test_entities_are_kept_until_enough_papers_have_one(
    entities_of_few: LiteratureDatabase, limit: int, entities: list[str]
) -> None:
    """A paper of two entities counts once, and the entity that reaches the limit is kept."""
    options = RetrievalConfig(how=("entity",), entity_papers=limit)
    found = await entities_of_few.retrieve("Owl flight, cat naps, bat calls.", options)
    assert [*found.entities] == entities


@pytest.fixture(scope="module")
def entities_of_few(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiteratureDatabase]:
    """Bat calls in p0; cat naps in p0, p1 and p2; owl flight in four others."""
    with built(tmp_path_factory.mktemp("few")) as ecosystem:
        database = LiteratureDatabase.of(ecosystem)
        database.store_records(
            [record(0, "bat calls", "cat naps"), record(1, "cat naps"), record(2, "cat naps")]
        )
        database.store_records(record(number, "owl flight") for number in (3, 4, 5, 7))
        yield database


async def test_only_the_most_similar_papers_add_their_entities(database: LiteratureDatabase) -> None:
    options = RetrievalConfig(how=("semantic", "entity"), semantic=24)
    background = GRASP.replace("tactile grasping", "grasping")
    every = await database.retrieve(background, options.model_copy(update={"entity_hits": 24}))
    none = await database.retrieve(background, options.model_copy(update={"entity_hits": 0}))
    assert "tactile grasping" in every.entities
    assert none.entities == ()


async def test_papers_of_entities_come_in_the_order_of_their_backgrounds(
    entities_of_few: LiteratureDatabase,
) -> None:
    """Each of the four has owl flight; the background is that of p5, and of p3 and p7 the earlier comes first."""
    background = f"{record(5).background} Owl flight."
    found = await entities_of_few.retrieve(background, RetrievalConfig(how=("entity",)))
    order = [one.paper.id for one in found.papers]
    assert order[0] == "p5"
    assert order.index("p3") < order.index("p7")


@pytest.mark.slow
def test_of_partners_cited_as_often_the_earlier_one_is_taken(tmp_path: Path) -> None:
    with built(tmp_path) as ecosystem:
        database = LiteratureDatabase.of(ecosystem)
        database.graph.add_citations(
            {"p10": Citations(("p0", "p5", "p3")), "p11": Citations(("p0", "p3", "p5"))}
        )
        assert partners(database, ["p0"], 1) == {"p0": {"p3": 2}}


def test_papers_that_say_the_same_are_one_cluster(database: LiteratureDatabase) -> None:
    ids = [f"p{number}" for number in (3, 0, 4, 1, 8, 5)]
    clusters = database.clusters(ids, (0.5, 0.5), 0.5)
    assert clusters == [("p3",), ("p0", "p4", "p8"), ("p1", "p5")]
    assert [one[0] for one in clusters] == ["p3", "p0", "p1"]
    assert len(database.clusters([*ids, "no such paper"], (1, 0), 1.0)) == 4


async def test_backgrounds_of_any_length_and_language(database: LiteratureDatabase) -> None:
    assert (await database.retrieve("grasping", RetrievalConfig(semantic=1))).papers
    pages = (await database.retrieve((GRASP + " ") * 600, RetrievalConfig(semantic=3))).papers
    assert {int(one.paper.id[1:]) % 4 for one in pages if "semantic" in one.how} == {0}
    german = (
        "Roboter lassen zerbrechliche Dinge fallen weil das tastende Greifen noch nicht verstanden ist und "
        * 3
    )
    notes = (await database.retrieve(german)).notes
    assert any("English" in note for note in notes)
    for empty in ("", " \n"):
        with pytest.raises(CorpusError, match="background is empty"):
            await database.retrieve(empty)


def test_the_database_tells_of_itself(database: LiteratureDatabase) -> None:
    counts = database.graph.counts()
    assert (counts.papers, counts.extractions, counts.entities) == (30, 30, 3)
    assert {str(one): one.records for one in database.graph.recipes()} == {"lexical rule-1": 30}
    assert corpora.vector_sources(database) == {"texts": 30}
    assert (counts.citing, counts.citations) == (7, 15)


# Databases that lack something.


async def test_without_records_it_says_how_to_make_them(tmp_path: Path) -> None:
    with built(tmp_path) as ecosystem:
        database = LiteratureDatabase.of(ecosystem)
        assert LiteratureDatabase.of(ecosystem) is database
        assert len(database.graph.missing()) == 30
        with pytest.raises(CorpusError, match="no records") as caught:
            await database.retrieve(GRASP)
        assert "corpus extract" in str(caught.value)
        with pytest.raises(CorpusError, match="p99"):
            database.store_records([record(1), record(99)])
        assert (database.graph.counts().extractions, len(database.graph.missing())) == (0, 30)


@pytest.mark.slow
async def test_half_extracted_with_two_recipes_and_no_references(tmp_path: Path) -> None:
    with built(tmp_path) as ecosystem:
        database = LiteratureDatabase.of(ecosystem)
        assert database.store_records(records()[:10]) == 10
        database.store_records([record(4, "soft hands", recipe="prompt-2")], "abstract")
        assert {*database.graph.missing("rule-1")} == {"p4", *(f"p{number}" for number in range(10, 30))}
        found = await database.retrieve(GRASP, RetrievalConfig(semantic=50))
        half, two, off = found.notes
        assert "14 of 24" in half
        assert f"manyheads corpus extract {tmp_path / 'corpus'} " in half
        assert "2 recipes" in two
        assert "prompt-2" in two
        assert "co-citation is off" in off
        recorded = {f"p{number}" for number in range(10)}
        assert {one.paper.id for one in found.papers if "semantic" in one.how} == recorded
        others = {one.paper.id: one.how for one in found.papers if one.paper.id not in recorded}
        assert others == dict.fromkeys({*GRASPING, *RETRIEVING} - recorded, ("entity",))
        known = database.graph.counts(), database.graph.recipes()
        assert corpora.vector_sources(database) == {"texts": 9, "abstract": 1}
        assert database.graph.entity_counts(["soft hands", "slip detection"]) == {
            "soft hands": 1,
            "slip detection": 2,
        }
        # and the corpus is as sound as it was, here and when it is opened again
    with Ecosystem.open(tmp_path / "corpus") as ecosystem:
        again = LiteratureDatabase.of(ecosystem)
        assert (again.graph.counts(), again.graph.recipes()) == known
        assert corpora.vector_sources(again) == {"texts": 9, "abstract": 1}


@pytest.mark.slow
async def test_why_co_citation_finds_nothing_is_said(database: LiteratureDatabase, tmp_path: Path) -> None:
    alone = await database.retrieve(GRASP, RetrievalConfig(how=("cocitation",)))
    assert not alone.papers
    assert "add one, such as semantic" in "".join(alone.notes)
    with built(tmp_path) as ecosystem:
        other = LiteratureDatabase.of(ecosystem)
        other.graph.add_citations({"p1": Citations(("elsewhere",)), "p2": Citations(("p99",))})
        other.store_records(records())
        assert (await other.retrieve(GRASP)).notes == (
            "co-citation is off: 2 papers have references, but none of them is in this corpus",
        )


@pytest.mark.slow
async def test_a_vector_of_the_bank_stands_for_all_three(tmp_path: Path) -> None:
    with built(tmp_path) as ecosystem:
        database = LiteratureDatabase.of(ecosystem)
        told: list[int] = []
        assert database.store_records(records(), "abstract", told.append) == sum(told) == 30
        [own] = await database.semantic(["fragile objects"], 3)
        [theirs] = await ecosystem.past(["fragile objects"], 3)
        assert [hit.paper.id for hit in own] == [hit.paper.id for hit in theirs]
        assert database.clusters(["p0", "p1"], (0.5, 0.5), 0.9) == [("p0",), ("p1",)]


@pytest.mark.slow
async def test_a_record_without_texts_is_found_by_its_entities_alone(tmp_path: Path) -> None:
    with built(tmp_path) as ecosystem:
        database = LiteratureDatabase.of(ecosystem)
        bare = [Extraction(paper=f"p{number}", entities=("soft hands",)) for number in (0, 1)]
        database.store_records([*bare, record(2)])
        assert [[hit.paper.id for hit in hits] for hits in await database.semantic(["x"], 5)] == [["p2"]]
        found = await database.retrieve("soft hands", RetrievalConfig())
        assert {one.paper.id: one.how for one in found.papers} == {
            "p0": ("entity",),
            "p1": ("entity",),
            "p2": ("semantic",),
        }
        assert len(database.clusters(["p0", "p1", "p2"], (0.5, 0.5), 0.1)) == 3


@pytest.mark.slow
async def test_who_writes_waits_for_who_reads_and_the_other_way_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built(tmp_path).close()
    similar = RetrievalConfig(how=("semantic",))
    with Ecosystem.open(tmp_path / "corpus") as one, Ecosystem.open(tmp_path / "corpus") as other:
        reader, writer = LiteratureDatabase.of(one), LiteratureDatabase.of(other)
        writer.store_records(records()[:5])
        assert (await reader.retrieve(GRASP, similar)).papers
        # who has read, and is about something else, lets go
        assert await asyncio.wait_for(asyncio.to_thread(writer.store_records, records()[5:10]), 5) == 5
        assert len((await reader.retrieve(GRASP, similar)).papers) == 10
        # who reads without a pause lets go too, and sees what came in
        putting = asyncio.create_task(asyncio.to_thread(writer.store_records, records()[10:12]))
        while not putting.done():
            assert len((await reader.retrieve(GRASP, similar)).papers) in (10, 12)
        assert await putting == 2
        assert len((await reader.retrieve(GRASP, similar)).papers) == 12
        reader.close()
        monkeypatch.setattr("manyheads.corpus.database.PATIENCE", 0.1)
        with (
            lock_folder(tmp_path / "corpus" / RECORDS / VECTORS, shared=True),
            pytest.raises(CorpusError, match="in use"),
        ):
            writer.store_records(records()[12:])


@pytest.mark.slow
def test_verification_reads_records_and_graph(tmp_path: Path) -> None:
    with built(tmp_path) as ecosystem:
        LiteratureDatabase.of(ecosystem).store_records(records())
    folder = tmp_path / "corpus"
    assert any("30 records" in line for line in verify_corpus(folder) if line.startswith("graph"))
    with sqlite3.connect(folder / "graph.sqlite") as graph:
        graph.execute("UPDATE extraction SET record = '{}' WHERE paper = 3")
    graph.close()
    with pytest.raises(CorpusError, match="a record cannot be read") as caught:
        verify_corpus(folder)
    assert "extract the papers again" in str(caught.value)


@pytest.mark.slow
def test_equally_rare_entities_are_kept_by_name_however_they_came(tmp_path: Path) -> None:
    kept: list[list[str]] = []
    for names in (("owl flight", "bat calls", "cat naps"), ("cat naps", "owl flight", "bat calls")):
        (tmp_path / names[0]).mkdir()
        with built(tmp_path / names[0]) as ecosystem:
            database = LiteratureDatabase.of(ecosystem)
            database.store_records([record(0, *names), record(1, *names), record(2)])
            kept.append([*database.entities_near(names, RetrievalConfig(rarest=2))])
    assert kept == [["bat calls", "cat naps"]] * 2


def test_before_a_year_means_without_it(database: LiteratureDatabase) -> None:
    of_2010 = database.network.mask(before=2011).sum() - database.network.mask(before=2010).sum()
    assert (of_2010, database.network.mask(before=2010).sum()) == (PAST_PAPERS, 0)
    assert database.network.mask(since=2016).sum() == LATER
    assert database.network.mask(since=2017).sum() == 0
