"""Selecting B_past, B_con and the authors: every filter says what it removed."""

import io
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyheads.base.errors import CorpusError
from manyheads.corpus.meta import BuildOptions
from manyheads.corpus.records import RawAuthor, RawPaper, Reader, Rejects
from manyheads.corpus.selection import Selection, period_of, select
from support.papers import paper


def numbered(records: Iterable[dict[str, Any]]) -> list[tuple[int, RawPaper]]:
    return [(line, RawPaper.model_validate(one, strict=False)) for line, one in enumerate(records, 1)]


def selected(records: Iterable[dict[str, Any]], **options: int) -> Selection:
    return select(numbered(records), BuildOptions.model_validate({"bound": 2014} | options), Rejects())


def test_the_bound_year_is_contemporary_and_the_window_is_closed() -> None:
    chosen = selected([paper(y, year=y) for y in range(2008, 2020)], start=2010, end=2016)
    assert [one.year for one in chosen.spool.raw("past")] == [2010, 2011, 2012, 2013]
    assert [one.year for one in chosen.spool.raw("contemporary")] == [2014, 2015, 2016]
    assert chosen.removed == {"year window": 5}


def test_paper_filters_apply_to_their_own_period() -> None:
    records = [
        paper(1, citations=9), paper(2, citations=10), paper(3, abstract=" "),
        paper(4, year=2015, citations=4), paper(5, year=2015, citations=5),
    ]  # fmt: skip
    chosen = selected(records, min_past_citations=10, min_contemporary_citations=5)
    assert [one.id for one in (*chosen.spool.raw("past"), *chosen.spool.raw("contemporary"))] == ["p2", "p5"]
    assert chosen.removed == {
        "missing abstract": 1,
        "past citations ≥ 10": 1,
        "contemporary citations ≥ 5": 1,
    }


def test_at_most_so_many_scientists_keeps_those_with_the_most_papers() -> None:
    records = [paper(1, authors=["A", "Z"]), paper(2, authors=["Z", "B"]), paper(3, authors=["B"], year=2015)]
    chosen = selected(records, max_scientists=1)
    assert chosen.authors == ["Z"]
    assert chosen.removed == {"at most 1 scientists": 2}


def test_a_repeated_id_is_a_duplicate_with_the_same_title_and_another_paper_with_another() -> None:
    rejects = Rejects(log := io.StringIO())
    again = paper(1, title="STUDY 1.")
    records = [
        paper(1, doi="10.1/X"), again, paper(1, title="Another"), paper(1, title="Third"), paper(7, title="Study 1", doi="10.1/x"),
        paper(8, title="Comment", doi="10.1/x"), paper(2, year=2015), paper(3, abstract=""), paper(4, year=1990),
    ]  # fmt: skip
    rejects.file = "icml.json"
    chosen = select(numbered(records), BuildOptions(bound=2014, start=2000), rejects)
    assert [(one.id, one.title) for one in chosen.spool.raw("past")] == [
        ("p1", "Study 1"), ("p1@icml.json", "Another"), ("p1@icml.json:4", "Third"), ("p8", "Comment"),
    ]  # fmt: skip
    assert rejects.by_field == {"duplicate": 2}
    assert str(rejects.first[0]) == "icml.json, line 2, duplicate: the same paper as icml.json, line 1"
    told = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [one["line"] for one in told if "faults" in one] == [3, 4]
    assert [(one["id"], one["left_out"]) for one in told if "left_out" in one] == [
        ("p3", "missing abstract"), ("p4", "year window"),
    ]  # fmt: skip
    assert chosen.missing == {"abstract": 1}
    again = select(numbered([paper(1), paper(2)]), BuildOptions(bound=2014), Rejects(file="a")).spool
    where = Rejects(file="a")
    named = [RawPaper.model_validate(paper(1, title=f"Other {n}")) for n in range(4)]
    assert [again.add(one, "past", where, 7)[0] for one in named] == ["p1@a", "p1@a:7", "p1@a:7*", "p1@a:7**"]
    assert chosen.spool.ambiguous() == dict.fromkeys(("p1", "p1@icml.json", "p1@icml.json:4"), ("", "p1"))


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"min_past_citations": 99}, r"no past papers .*past citations ≥ 99 removed 4"),
        (
            {"min_contemporary_citations": 99},
            r"no contemporary papers .*contemporary citations ≥ 99 removed 2",
        ),
        ({"min_papers": 5}, r"no authors left: 6 papers read; authors with ≥ 5 papers removed 2"),
        ({"end": 2014}, r"no contemporary papers .*year window removed 2"),
    ],
)
def test_an_empty_result_says_which_filter_removed_how_many(options: dict[str, int], left: str) -> None:
    records = [*(paper(n) for n in range(4)), paper(8, year=2015), paper(9, year=2016)]
    with pytest.raises(CorpusError, match=left):
        selected(records, **options)


def test_papers_without_authors_or_contemporary_ones_are_a_corpus() -> None:
    records = [paper(1, authors=[]), paper(2, year=2015)]
    assert selected(records).authors == []
    assert selected(records[:1]).spool.years == {"past": {2010: 1}, "contemporary": {}}
    with pytest.raises(
        CorpusError, match=r"no past papers .*: 1 paper read; they are from 2015 alone"
    ) as refused:
        selected(records[1:])
    assert "--bound 2016" in str(refused.value)


@pytest.mark.parametrize(
    ("preset", "past", "contemporary"),
    [
        ("aminer-cs", range(2000, 2011), range(2011, 2015)),  # 2024, §4 and App. C
        ("oag-3.1", range(2010, 2021), range(2021, 2024)),  # 2025, App. A and C.2.2
    ],
)
def test_presets_part_the_years_as_the_papers_do(preset: str, past: range, contemporary: range) -> None:
    options = BuildOptions.of(preset)
    periods = {year: period_of(year, options) for year in range(1990, 2030)}
    assert [year for year, period in periods.items() if period == "past"] == list(past)
    assert [year for year, period in periods.items() if period == "contemporary"] == list(contemporary)


@pytest.mark.parametrize(
    ("preset", "given_options", "message"),
    [
        ("acm", {}, "unknown preset"),
        (None, {}, "bound"),
        (None, {"bound": 2014, "start": 2014}, "options, start 2014 must be before"),
        (None, {"bound": 2014, "end": 2013}, "options, end 2013 must not be before"),
        (None, {"bound": 2014, "min_papers": 0}, "min_papers"),
    ],
)
def test_wrong_options_are_told(preset: str | None, given_options: dict[str, int], message: str) -> None:
    with pytest.raises(CorpusError, match=message) as told:
        BuildOptions.of(preset, **given_options)
    assert told.value.hint


def test_papers_whose_citations_are_not_known_pass_only_where_none_are_asked_for() -> None:
    records = [paper(1, citations=...), paper(2), paper(3, year=2015, citations=...), paper(4, year=2015)]
    chosen = selected(records)
    assert [years.total() for years in chosen.spool.years.values()] == [2, 2]
    assert chosen.spool.without_citations == 2
    chosen = selected(records, min_past_citations=1, min_contemporary_citations=2)
    assert chosen.removed == {
        "past citations unknown, so not ≥ 1": 1,
        "contemporary citations unknown, so not ≥ 2": 1,
    }


def test_authors_are_counted_by_id() -> None:
    names = {"authors": ["Wei Lang", "B"]}
    records = [
        paper(1, **names, author_ids=["7", ""]), paper(2, **names, author_ids=["8", ""]),
        paper(3, year=2015),
    ]  # fmt: skip
    assert selected(records).authors == ["7", "8", "B"]
    assert selected(records, min_papers=2).authors == ["B"]


class Knowing(Reader):
    """A reader that knows an author."""

    def __init__(self) -> None:
        self.name, self.asked = "knowing", set[str]()

    def papers(self, rejects: Rejects) -> Iterator[tuple[int, RawPaper]]:
        yield from numbered([paper(1, authors=["A", "B"]), paper(2, authors=["B"]), paper(3, year=2015)])

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        self.asked = set(wanted)
        known = RawAuthor("A", "A", papers=60, citations=5, coauthors={"B": 1, "X": 2})
        return {"A": known} if "A" in wanted else {}


@pytest.mark.parametrize(
    ("counts", "least", "social", "authors", "asked"),
    [
        ("past", 1, 0, ["A", "B"], {"A", "B"}),
        ("past", 2, 0, ["B"], {"B"}),
        ("past", 1, 2, None, None),
        ("dataset", 2, 0, ["A", "B"], {"A", "B"}),
        ("dataset", 3, 2, ["A"], {"A", "B"}),
        ("dataset", 1, 2, ["A"], {"A", "B"}),
    ],
)
def test_authors_are_held_against_what_stands_in_b_past_or_the_datasets_own_numbers(
    counts: str, least: int, social: int, authors: list[str] | None, asked: set[str] | None
) -> None:
    options = BuildOptions.of(bound=2014, min_papers=least, min_coauthors=social, author_counts=counts)
    reader, rejects = Knowing(), Rejects()
    if authors is None:
        with pytest.raises(CorpusError, match=f"authors with ≥ {social} co-authors removed 2"):
            select(reader.papers(rejects), options, rejects, reader=reader)
        return
    chosen = select(reader.papers(rejects), options, rejects, reader=reader)
    assert (chosen.authors, reader.asked) == (authors, asked)


@given(
    teams=st.lists(st.lists(st.sampled_from("ABCDEFGH"), min_size=1, max_size=5), min_size=1, max_size=12),
    least=st.integers(1, 4),
    social=st.integers(0, 5),
)
def test_who_passes_is_who_has_enough_papers_and_co_authors(
    teams: list[list[str]], least: int, social: int
) -> None:
    """Against plain counting, with nothing capped."""
    records = [paper(n, authors=team) for n, team in enumerate(teams)]
    passing = sorted(
        who
        for who in {one for team in teams for one in team}
        if sum(who in team for team in teams) >= least
        and len({one for team in teams if who in team for one in team} - {who}) >= social
    )
    options = BuildOptions(bound=2014, min_papers=least, min_coauthors=social)
    try:
        found = select(numbered([*records, paper(99, year=2015)]), options, Rejects()).authors
    except CorpusError:
        found = []
    assert found == passing
