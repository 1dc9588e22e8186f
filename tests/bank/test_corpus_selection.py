"""Selecting B_past, B_con and the authors: every filter says what it removed."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyheads.bank.corpus import RawPaper, Rejects
from manyheads.bank.options import PRESETS, BuildOptions
from manyheads.bank.selection import Selection, select
from manyheads.errors import CorpusError
from support.papers import paper, papers


def numbered(records: Iterable[dict[str, Any]]) -> list[tuple[int, RawPaper]]:
    return [(line, RawPaper.model_validate(one, strict=False)) for line, one in enumerate(records, 1)]


def selected(records: Iterable[dict[str, Any]], **options: int) -> Selection:
    return select(numbered(records), BuildOptions.model_validate({"bound": 2014} | options), Rejects())


def test_the_bound_year_is_contemporary_and_the_window_is_closed() -> None:
    chosen = selected([paper(y, year=y) for y in range(2008, 2020)], start=2010, end=2016)
    assert [one.year for one in chosen.past] == [2010, 2011, 2012, 2013]
    assert [one.year for one in chosen.contemporary] == [2014, 2015, 2016]
    assert chosen.removed == {"year window": 5}


def test_paper_filters_apply_to_their_own_period() -> None:
    records = [
        paper(1, citations=9), paper(2, citations=10), paper(3, abstract=" "),
        paper(4, year=2015, citations=4), paper(5, year=2015, citations=5),
    ]  # fmt: skip
    chosen = selected(records, min_past_citations=10, min_contemporary_citations=5)
    assert [one.id for one in (*chosen.past, *chosen.contemporary)] == ["p2", "p5"]
    assert chosen.removed == {
        "abstract present": 1,
        "past citations ≥ 10": 1,
        "contemporary citations ≥ 5": 1,
    }


def test_authors_are_counted_once_a_paper_and_over_past_papers_only() -> None:
    records = [
        paper(1, authors=["A", "A", "B"]), paper(2, authors=["A", "C"]),
        paper(3, authors=["B", "C"], year=2015), paper(4, authors=["A"], year=2015),
    ]  # fmt: skip
    assert selected(records, min_papers=2).authors == ["A"]
    assert selected(records, min_coauthors=2).authors == ["A"]
    assert selected(records).authors == ["A", "B", "C"]


def test_at_most_so_many_scientists_keeps_those_with_the_most_papers() -> None:
    records = [paper(1, authors=["A", "Z"]), paper(2, authors=["Z", "B"]), paper(3, authors=["B"], year=2015)]
    chosen = selected(records, max_scientists=1)
    assert chosen.authors == ["Z"]
    assert chosen.removed == {"at most 1 scientists": 2}


def test_a_repeated_id_is_reported_and_the_first_kept() -> None:
    rejects = Rejects()
    records = [paper(1), paper(1, title="Again"), paper(2, year=2015)]
    chosen = select(numbered(records), BuildOptions(bound=2014), rejects)
    assert [one.title for one in chosen.past] == ["Study 1"]
    assert rejects.told() == "line 2, id: repeats the id of line 1"


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


@given(
    seed=st.integers(0, 50),
    past=st.integers(0, 30),
    contemporary=st.integers(0, 30),
    start=st.integers(2010, 2013),
    end=st.integers(2014, 2018),
)
def test_every_paper_is_kept_or_counted_by_one_filter(
    seed: int, past: int, contemporary: int, start: int, end: int
) -> None:
    limits = {
        "min_past_citations": past,
        "min_contemporary_citations": contemporary,
        "start": start,
        "end": end,
    }
    chosen = selected(papers(200, seed=seed), **limits)
    assert len(chosen.past) + len(chosen.contemporary) + chosen.removed.total() == chosen.read == 200


def test_presets_are_the_papers_and_can_be_overridden() -> None:
    aminer = BuildOptions.of("aminer-cs", min_papers=5)
    assert (aminer.start, aminer.bound, aminer.end, aminer.min_papers) == (2000, 2010, 2014, 5)
    assert {BuildOptions.of(name).min_coauthors for name in PRESETS} == {50}


@pytest.mark.parametrize(
    ("preset", "given_options", "message"),
    [
        ("acm", {}, "no such preset"),
        (None, {}, "bound"),
        (None, {"bound": 2014, "start": 2014}, "must be before"),
        (None, {"bound": 2014, "end": 2013}, "must not be before"),
        (None, {"bound": 2014, "min_papers": 0}, "min_papers"),
    ],
)
def test_wrong_options_are_told(preset: str | None, given_options: dict[str, int], message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        BuildOptions.of(preset, **given_options)
