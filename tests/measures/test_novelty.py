"""HD, CD, CI and ON: worked by hand, and what must hold of them whatever the papers are."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyheads.base.errors import MeasureError
from manyheads.measures.novelty import Normalise, novelty
from manyheads.measures.papers import Papers
from support.measured import at, laid_out, plain_distances, random_papers, random_points

SEEDS = st.integers(0, 2**32 - 10)
NORMALISED = ("year", "database")

# The text lies at (0, 0). Its distances to the past papers: 5, 10 (2010); 1, 3 (2012).
PAST = laid_out(((3, 4), 2010, 0), ((6, 8), 2010, 0), ((0, 1), 2012, 0), ((0, 3), 2012, 0))
# To the contemporary ones: 1, 6 (2015, cited 4 and 2); 2, 8 (2016, cited 9 and 1).
NOW = laid_out(((1, 0), 2015, 4), ((0, 6), 2015, 2), ((2, 0), 2016, 9), ((0, 8), 2016, 1))
TEXT = at([0, 0])


@pytest.mark.parametrize(
    ("normalise", "hd", "cd", "ci"),
    [
        # the two nearest of each: 1 and 3; 1 and 2, cited 4 and 9
        ("none", (1 + 3) / 2, (1 + 2) / 2, (4 + 9) / 2),
        # of all past papers the mean distance is 19/4, of all contemporary ones 17/4, cited 16/4
        ("database", 2 / (19 / 4), 1.5 / (17 / 4), 6.5 / (16 / 4)),
        # the past neighbours are of 2012: mean (1 + 3)/2; of 2015: (1 + 6)/2, cited (4 + 2)/2; of 2016: 10/2, 10/2
        ("year", (1 / 2 + 3 / 2) / 2, (1 / 3.5 + 2 / 5) / 2, (4 / 3 + 9 / 5) / 2),
    ],
)
def test_the_measures_worked_by_hand(normalise: Normalise, hd: float, cd: float, ci: float) -> None:
    [found] = novelty(TEXT, PAST, NOW, neighbours=2, normalise=normalise)
    assert (found.hd, found.cd, found.ci) == pytest.approx((hd, cd, ci))
    assert found.on == pytest.approx(hd * ci / cd)
    assert [(one.id, one.year, one.distance) for one in found.past] == [("p2", 2012, 1), ("p3", 2012, 3)]
    assert [(one.id, one.citations) for one in found.contemporary] == [("p0", 4), ("p2", 9)]
    assert not found.missing


def test_the_papers_defaults_are_five_neighbours_by_year() -> None:
    papers, points = random_papers(1), random_points(2)
    assert novelty(points, papers, papers) == novelty(points, papers, papers, neighbours=5, normalise="year")
    [first, *_] = novelty(points, papers, papers)
    assert len(first.past) == len(first.contemporary) == 5


def with_citations(papers: Papers, *citations: int | None) -> Papers:
    return replace(papers, citations=citations)


@pytest.mark.parametrize(
    ("citations", "normalise", "why"),
    [
        ((None, 2, 9, 1), "none", "the citation counts of 1 of its 2 neighbours are unknown"),
        ((4, None, 9, 1), "year", "the citation counts of more than 20% of the contemporary papers"),
        ((4, 2, 9, None), "database", "the citation counts of more than 20% of the contemporary papers"),
        ((0, 0, 9, 1), "year", "the mean citation count of the contemporary papers for its neighbour of 2015"),
        ((0, 0, 0, 0), "database", "the mean citation count of the contemporary papers"),
    ],
)  # fmt: skip
def test_without_citations_there_is_no_impact_and_the_reason_is_told(
    citations: tuple[int | None, ...], normalise: Normalise, why: str
) -> None:
    [found] = novelty(TEXT, PAST, with_citations(NOW, *citations), neighbours=2, normalise=normalise)
    assert found.hd is not None
    assert found.cd is not None
    assert (found.ci, found.on) == (None, None)
    assert found.missing["ci"].startswith(why)
    assert found.missing["on"] == "no CI"


@pytest.mark.parametrize(
    ("unknown", "normalise", "ci", "known"),
    [
        # five neighbours at 1 to 5, cited 1 to 5, and five further ones cited 10; all of one year
        ((3,), "none", (1 + 2 + 4 + 5) / 4, {"neighbours": (4, 5)}),
        ((3,), "year", 3 / (62 / 9), {"neighbours": (4, 5), "papers": (9, 10)}),
        ((10,), "database", 3 / (55 / 9), {"neighbours": (5, 5), "papers": (9, 10)}),
        ((3, 10), "year", 3 / (52 / 8), {"neighbours": (4, 5), "papers": (8, 10)}),
        ((3, 4), "none", None, {"neighbours": (3, 5)}),
        ((8, 9, 10), "year", None, {"neighbours": (0, 5), "papers": (7, 10)}),
    ],
)
def test_a_few_unknown_counts_are_left_out_and_counted(
    unknown: tuple[int, ...], normalise: Normalise, ci: float | None, known: dict[str, tuple[int, int]]
) -> None:
    papers = laid_out(*(((n, 0), 2015, n if n < 6 else 10) for n in range(1, 11)))
    counts = (None if n in unknown else n if n < 6 else 10 for n in range(1, 11))
    [found] = novelty(TEXT, papers, with_citations(papers, *counts), normalise=normalise)
    assert found.known == known
    assert (found.ci, "on" in found.missing) == (ci if ci is None else pytest.approx(ci), ci is None)


@pytest.mark.parametrize("normalise", ["none", *NORMALISED])
def test_copies_of_the_text_make_no_infinite_novelty(normalise: Normalise) -> None:
    copies = laid_out(*(((0, 0), 2015, 3) for _ in range(4)))
    [found] = novelty(TEXT, PAST, copies, neighbours=2, normalise=normalise)
    assert found.on is None
    if normalise == "none":
        assert (found.cd, found.missing["on"]) == (
            0,
            "CD is 0: the text is a copy of its nearest contemporary papers",
        )
    else:
        assert found.cd is None
        assert found.missing["cd"].startswith("the mean distance of the contemporary papers")
        assert found.missing["on"] == "no CD"


def test_too_few_papers_are_refused() -> None:
    with pytest.raises(MeasureError, match=r"5 neighbours .* 4 papers"):
        novelty(TEXT, PAST, NOW)


@settings(max_examples=30)
@given(seed=SEEDS, normalise=st.sampled_from(["none", *NORMALISED]))
def test_the_order_of_papers_and_texts_changes_nothing(seed: int, normalise: Normalise) -> None:
    past, now, points = random_papers(seed), random_papers(seed + 3), random_points(seed + 5)
    order = random.Random(seed).sample(range(len(now)), len(now))
    shuffled = Papers.of(
        [now.ids[row] for row in order],
        [now.titles[row] for row in order],
        [now.years[row] for row in order],
        [now.citations[row] for row in order],
        now.vectors[order],
    )
    found = novelty(points, past, now, normalise=normalise)
    assert novelty(points, past, shuffled, normalise=normalise) == found
    backwards = novelty(points[::-1], past, now, normalise=normalise)[::-1]
    assert [one.past for one in backwards] == [one.past for one in found]
    assert [one.on for one in backwards] == pytest.approx([one.on for one in found], rel=1e-6)


@settings(max_examples=20)
@given(seed=SEEDS)
def test_plain_loops_agree(seed: int) -> None:
    past, now, [point] = random_papers(seed), random_papers(seed + 3), random_points(seed + 5, 1)
    [found] = novelty(point[None], past, now, neighbours=4)

    def share(papers: Papers, values: list[float]) -> float:
        [far] = plain_distances(point[None], papers.vectors)
        near = sorted(range(len(papers)), key=lambda row: far[row])[:4]
        years = np.array(papers.years)
        return float(np.mean([values[row] / np.mean(np.array(values)[years == years[row]]) for row in near]))

    def distances(papers: Papers) -> list[float]:
        return plain_distances(point[None], papers.vectors)[0].tolist()

    assert found.hd == pytest.approx(share(past, distances(past)), rel=1e-5)
    assert found.cd == pytest.approx(share(now, distances(now)), rel=1e-5)
    assert found.ci == pytest.approx(share(now, [float(count or 0) for count in now.citations]), rel=1e-5)


def test_equal_distances_go_to_the_older_paper_and_then_by_id() -> None:
    places = [((0, 1), 2016, 1), ((1, 0), 2015, 1), ((0, -1), 2015, 1), ((-1, 0), 2016, 1)]
    papers = laid_out(*places)
    [found] = novelty(TEXT, papers, papers, neighbours=3, normalise="none")
    assert [one.id for one in found.past] == ["p1", "p2", "p0"]
