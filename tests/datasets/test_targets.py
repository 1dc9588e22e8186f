"""Targets drawn from datasets and corpora, as suites read them."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import CorpusError
from manyheads.corpus.building import build_corpus
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.meta import BuildOptions
from manyheads.corpus.references import later
from manyheads.datasets.targets import (
    Targets,
    Wish,
    open_datasets,
    reasons,
    retells,
    targets_in,
    targets_of,
    write_cases,
)
from support.papers import paper, papers, write_corpus

OLD = [
    paper(number, title=f"Old study number {number} of water", abstract=f"Water {number}.")
    for number in range(8)
]
SOME = Wish(least=2, most=3)


def quiet(step: str, done: int, total: int | None) -> None:
    """Tell nobody."""


def citing(number: int, *references: str, **changes: Any) -> dict[str, Any]:
    told = {"title": f"Study {number} that cites", "abstract": f"New {number}.", "year": 2014}
    return paper(number, **{**told, "references": references, **changes})


def drawn(tmp_path: Path, wish: Wish, *datasets: Sequence[dict[str, Any] | str]) -> Targets:
    files = [write_corpus(tmp_path / f"{n}.jsonl", records) for n, records in enumerate(datasets)]
    return targets_of(open_datasets([*map(str, files)], "auto", {}), wish, quiet)


def test_a_target_comes_with_its_references_in_whatever_dataset_they_stand(tmp_path: Path) -> None:
    new = citing(20, "Hron, P. Old study number 3 of water. 2010", "p21", "Nobody knows this one. 2010")
    found = drawn(tmp_path, SOME, OLD, [new, citing(21, "p1", "p2")])
    [case] = found.cases
    assert (case.id, case.target) == ("p20", "Study 20 that cites\n\nNew 20.")
    assert case.background == ("Old study number 3 of water\n\nWater 3.", "Study 21 that cites\n\nNew 21.")
    assert case.about == "Study 20 that cites (2014): 2 of its 3 references"
    assert found.passed["without references"] == 8
    assert found.passed["with fewer than 2 references with an available abstract"] == 1


def test_what_is_passed_over_is_counted_by_its_reason(tmp_path: Path) -> None:
    wish = Wish(least=2, most=3, after=2012, citations=5)
    both = ("p1", "p2")
    records = [
        *OLD[:3],
        citing(20, *both),
        citing(21, *both, abstract=" "),
        citing(22, *both, year=2012),
        citing(23, *both, citations=4),
        citing(24, *both, citations=...),
        citing(25, *both, title="STUDY 20, that cites"),
        citing(26, *both, year=2013, citations=5),
        "no paper",
    ]
    found = drawn(tmp_path, wish, records)
    assert sorted(case.id for case in found.cases) == ["p20", "p26"]
    assert found.passed == {
        "that are not papers": 1,
        "without an abstract": 1,
        "not known to be after 2012": 4,
        "with fewer than 5 citations": 1,
        "with unknown citation counts": 1,
        "that are duplicates": 1,
    }
    assert "4 not known to be after 2012; 1 " in reasons(found.passed)


def test_a_reference_without_an_abstract_is_none_and_the_target_never_tells_of_itself(tmp_path: Path) -> None:
    bare = paper(9, title="Bare study of water", abstract="")
    twin = paper(10, title="Study 20 That Cites", abstract="Mine.", year=2013)
    cited = ("p9", "p10", "p20", "Study 20 that cites. 2014", "p1", "p2", "p1")
    found = drawn(tmp_path, SOME, [bare, *OLD, citing(20, *cited), twin])
    assert [len(case.background) for case in found.cases] == [2]


def test_no_background_tells_the_targets_idea_under_another_title(tmp_path: Path) -> None:
    told = "We let salt move through a bed of clay and weigh what has come out of it after a year. "
    preprint = paper(9, title="How salt moves", abstract=f"{told}It is little.")
    cited = ("p9", "p1", "p2")
    [case] = drawn(tmp_path, SOME, [*OLD, preprint, citing(20, *cited, abstract=f"{told}It is more.")]).cases
    assert len(case.background) == 2
    assert told.strip() not in "".join(case.background)
    spoilt = [citing(30 + n, "p9", "p1", abstract=told) for n in range(5)]
    found = drawn(tmp_path, Wish(count=1, least=2, most=3), [*OLD, preprint, *spoilt, citing(20, "p1", "p2")])
    assert [case.id for case in found.cases] == ["p20"], "another is drawn instead"
    short = [*OLD, preprint, citing(20, *cited[:2], abstract=told)]
    with pytest.raises(CorpusError, match="no paper is suitable as a target") as refused:
        drawn(tmp_path, SOME, short)
    assert "1 with fewer than 2 references" in str(refused.value.tried)


TOLD = "We let salt move through a bed of clay and weigh what has come out of it after a year."


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (TOLD, True),
        (f"{TOLD.upper()} It is little.", True),
        (f"Salt moves. {TOLD} {' '.join(f'Then we do {n} more.' for n in range(90))}", True),
        ("We let salt move through a bed of sand. Nothing has come out of it after a year.", False),
        ("Salt.", False),
        ("", False),
    ],
)
def test_a_text_is_told_again_by_its_words_in_a_row(text: str, same: bool) -> None:
    assert retells(text, TOLD) is retells(TOLD, text) is same


def test_only_what_is_known_to_be_later_is_no_background() -> None:
    assert [later(year, 2014) for year in (2013, 2015, 2016, None)] == [False, False, True, False]
    assert not later(2016, None)


def test_more_targets_are_added_to_fewer_and_another_seed_draws_others(tmp_path: Path) -> None:
    records = [*OLD, *(citing(number, *(f"p{n}" for n in range(8))) for number in range(20, 40))]

    def ids(wish: Wish) -> list[str]:
        return [case.id for case in drawn(tmp_path, wish, records).cases]

    few, more = ids(Wish(count=3, most=5)), ids(Wish(count=6, most=5))
    assert more[:3] == few
    assert ids(Wish(count=6, most=5, seed=1)) != more
    backgrounds = [case.background for case in drawn(tmp_path, Wish(count=6, most=5), records).cases]
    assert {len(one) for one in backgrounds} == {5}
    assert len(set(backgrounds)) > 1
    assert all(list(one) == sorted(one) for one in backgrounds), "in the order of the bibliography"


def test_without_any_target_the_reasons_are_told(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no paper is suitable as a target") as refused:
        drawn(tmp_path, SOME, OLD)
    assert refused.value.tried == "8 without references"
    for source, name in (("s2:water", "auto"), ("water", "semantic-scholar-api")):
        with pytest.raises(CorpusError, match="a search has no references"):
            open_datasets([source], name, {})


def test_cases_are_told_apart_and_no_file_is_written_over(tmp_path: Path) -> None:
    found = drawn(
        tmp_path,
        SOME,
        [*OLD, citing(20, "p1", "p2")],
        [*OLD, citing(20, "p3", "p4", title="Another title here")],
    )
    write_cases(tmp_path / "cases.jsonl", found.cases)
    lines = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
    assert {line["id"] for line in lines} == {"p20", "p20 (2)"}
    assert all(line.keys() == {"id", "about", "background", "ranking.target"} for line in lines)


@pytest.fixture(scope="module")
def ecosystem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ecosystem]:
    folder = tmp_path_factory.mktemp("corpus")
    records = papers(60)
    records[7] |= {"title": records[5]["title"]}  # a contemporary paper that stands among the past ones, too
    records[8] |= {"abstract": ""}
    source = write_corpus(folder / "papers.jsonl", records)
    options = BuildOptions(bound=2016, require_abstract=False)
    with build_corpus(source, folder / "made", options, load_embedder("lexical"), name="x") as made:
        yield made


@pytest.mark.slow
async def test_a_corpus_gives_contemporary_papers_with_the_nearest_past_ones(ecosystem: Ecosystem) -> None:
    found = await targets_in(ecosystem, Wish(count=100, least=4, most=4))
    by_id = {case.id: case for case in found.cases}
    known = ecosystem.papers.get([*by_id])
    assert {paper.year for paper in known.values()} == {2016, 2017}
    assert found.fit == len(by_id) == 14
    assert {len(case.background) for case in found.cases} == {4}
    assert all("4 of the most similar past papers" in case.about for case in found.cases)
    assert all(case.target.split("\n\n")[0] not in "".join(case.background) for case in found.cases)
    assert not any(text.endswith("\n\n") for case in found.cases for text in case.background)


@pytest.mark.slow
async def test_all_of_the_past_may_be_told_but_the_target_and_what_has_no_abstract(
    ecosystem: Ecosystem,
) -> None:
    past = ecosystem.papers.count(where={"period": "past"}) - 1
    found = await targets_in(ecosystem, Wish(count=100, least=1, most=100))
    told = {case.id: len(case.background) for case in found.cases}
    assert told == {name: past - (name == "p7") for name in told}, "the target's own title is among them once"


@pytest.mark.slow
async def test_a_corpus_with_too_little_past_has_no_targets(ecosystem: Ecosystem) -> None:
    with pytest.raises(CorpusError, match="no contemporary paper is suitable as a target") as refused:
        await targets_in(ecosystem, Wish(least=100, most=100))
    assert refused.value.tried == "14 with fewer than 100 past papers with an abstract"
