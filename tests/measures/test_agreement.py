"""Scores beside people's ratings: figures as other libraries compute them, and none where nothing can be said."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import Any

import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from manyheads.base.errors import RatingError
from manyheads.measures.agreement import FIGURES, Side, as_lines, calibrate, compare
from manyheads.measures.ratings import RatingTable, TextScore
from manyheads.measures.statistics import krippendorff_alpha


def made(papers: int, raters: int, noise: float, seed: int = 0) -> tuple[dict[str, float], RatingTable]:
    """Papers of a known worth, rated with noise by people and by a model alike."""
    rng = random.Random(seed)
    worth = {f"p{n}": rng.gauss(5.5, 1.5) for n in range(papers)}
    given = {
        paper: tuple(round(rng.gauss(each, noise)) for _ in range(raters)) for paper, each in worth.items()
    }
    return {paper: round(rng.gauss(each, noise)) for paper, each in worth.items()}, rated(given)


def rated(given: Mapping[str, Sequence[float]], decisions: Mapping[str, bool] | None = None) -> RatingTable:
    scores = {
        paper: {f"R{n}": {"score": each} for n, each in enumerate(values)} for paper, values in given.items()
    }
    return RatingTable(("score",), scores, decisions=decisions or {})


def side_of(x: Sequence[float], y: Sequence[float], **how: Any) -> Side:
    """Scores beside one rating each."""
    ratings, how = rated({str(n): [each] for n, each in enumerate(y)}), {"resamples": 50, **how}
    return calibrate({str(n): each for n, each in enumerate(x)}, ratings, **how).scores


def auroc(scores: list[float], good: list[bool]) -> float:
    best, rest = (
        [each for each, yes in zip(scores, good, strict=True) if yes == side] for side in (True, False)
    )
    return fmean(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in product(best, rest))


@pytest.mark.parametrize("seed", range(2))
def test_figures_are_those_of_scipy_and_of_counting(seed: int) -> None:
    scores, ratings = made(30, 3, 1.0, seed)
    found = calibrate(scores, ratings, threshold=6, resamples=50)
    own, means = [*scores.values()], [*ratings.means("score").values()]
    good = [each >= 6 for each in means]
    expected: dict[str, Any] = {
        "pearson": pearsonr(own, means)[0],
        "spearman": spearmanr(own, means)[0],
        "kendall": kendalltau(own, means)[0],
        "auroc": auroc(own, good),
        "balanced_accuracy": (
            sum(s >= 6 for s, g in zip(own, good, strict=True) if g) / sum(good)
            + sum(s < 6 for s, g in zip(own, good, strict=True) if not g) / (30 - sum(good))
        )
        / 2,
    }
    for name, value in expected.items():
        figure = found.scores.figures[name]
        assert figure
        assert figure.estimate == pytest.approx(value)
        assert figure.low < figure.estimate < figure.high


def test_perfect_reversed_and_silent_scores() -> None:
    _, ratings = made(20, 3, 0.5)
    means = ratings.means("score")
    perfect = calibrate(means, ratings, threshold=5.5, resamples=50).scores.figures
    assert {name: figure and figure.estimate for name, figure in perfect.items()} == dict.fromkeys(FIGURES, 1)
    turned = {paper: 11 - mean for paper, mean in means.items()}
    reverse = calibrate(turned, ratings, threshold=5.5, resamples=50)
    assert reverse.scores.figures["spearman"]
    assert reverse.scores.figures["spearman"].estimate == pytest.approx(-1)
    constant = calibrate(dict.fromkeys(means, 5), ratings, threshold=5.5, resamples=50).scores
    assert constant.figures["spearman"] is None
    assert "all scores are equal" in constant.why["spearman"]
    assert constant.figures["auroc"]
    assert constant.figures["auroc"].estimate == 0.5


def test_what_nothing_tells_is_not_told() -> None:
    scores, ratings = made(12, 1, 1.0)
    found = calibrate(scores, ratings, resamples=50)
    assert found.people.figures == dict.fromkeys(FIGURES)
    assert set(found.people.why.values()) == {"no paper was rated by several people"}
    assert found.scores.figures["auroc"] is None
    assert found.good is None
    assert "neither a threshold" in found.scores.why["auroc"]
    two = calibrate({"p1": 5, "p2": 6}, ratings, resamples=50)
    assert two.scores.figures["spearman"] is None
    assert len(two.unscored) == 10
    with pytest.raises(RatingError, match="no paper has a score and a rating"):
        calibrate({"q": 1}, ratings)


def test_decisions_go_before_thresholds() -> None:
    scores, ratings = made(20, 2, 1.0)
    decided = replace(ratings, decisions={paper: score >= 6 for paper, score in scores.items()})
    found = calibrate(scores, decided, threshold=6, resamples=50)
    assert found.by == "decision"
    for name in ("auroc", "balanced_accuracy"):
        figure = found.scores.figures[name]
        assert figure
        assert figure.estimate == 1


# Correlations by hand, and their laws.

X, Y = (1.0, 2.0, 3.0, 4.0, 5.0), (2.0, 1.0, 4.0, 3.0, 5.0)


def values(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Pearson's and Spearman's correlation."""
    figures = side_of(x, y).figures
    pearson, spearman = figures["pearson"], figures["spearman"]
    assert pearson
    assert spearman
    return pearson.estimate, spearman.estimate


def test_a_correlation_by_hand() -> None:
    # Deviations -2…2 and -1, -2, 1, 0, 2: products 2 + 2 + 0 + 0 + 4 = 8, squares 10 and 10; the ranks are the values.
    assert values(X, Y) == (pytest.approx(0.8), pytest.approx(0.8))
    # artanh 0.8 = 1.098612; 1.959964 / √2 = 1.385904; tanh(-0.287292) and tanh(2.484516).
    fisher = side_of(X, Y).figures["pearson"]
    assert fisher
    assert (fisher.low, fisher.high) == pytest.approx((-0.279640, 0.986195), abs=1e-5)


def test_resamples_without_a_correlation_are_counted() -> None:
    # Of the 27 resamples of three pairs, three are one pair three times.
    found = side_of([1, 2, 3], [1, 3, 2], resamples=400)
    assert found.unusable == pytest.approx(3 / 27, abs=0.04)
    assert found.figures["pearson"]
    assert (found.figures["pearson"].low, found.figures["pearson"].high) == (-1, 1)


@pytest.mark.parametrize(
    ("x", "y", "problem"),
    [
        ([1, 2], [1, 2], "2 texts: too few"),
        ([1, 2, 3], [5, 5, 5], "all ratings"),
        ([0.1, 0.1, 0.1], [1, 2, 3], "all scores are equal"),
        ([0.1 + 0.2, 0.3, 0.3], [1, 2, 3], "all scores are equal"),
    ],
)
def test_what_has_no_correlation_says_why(x: Sequence[float], y: Sequence[float], problem: str) -> None:
    found = side_of(x, y)
    assert found.figures["pearson"] is None
    assert problem in found.why["pearson"]


def test_a_comparison_as_text() -> None:
    scores = [TextScore(str(n), {"id": str(n)}, each) for n, each in enumerate(X)]
    text = "\n".join(
        as_lines(compare(rated({str(n): [each] for n, each in enumerate(Y)}), scores, "on", resamples=50))
    )
    for words in ("5 texts, 1 rater, ratings per text: 1", "5 ratings between 1 and 5", "on against score, n = 5", "Pearson r           0.80 (-0.28 to 0.99)",
                  "too narrow"):  # fmt: skip
        assert words in text
    assert "AUROC" not in text


def test_who_rated_nothing_of_a_text_has_not_rated_it() -> None:
    table = RatingTable(
        ("score",), {"a": {"R1": {"score": 1}, "R2": {}}, "b": {"R1": {"score": 2}, "R2": {"score": 3}}}
    )
    found = compare(table)
    assert (found.ratings, found.per_text) == (3, (1, 2))


PUBLISHED = {
    "A": "1 2 3 3 2 1 4 1 2 . . .",
    "B": "1 2 3 3 2 2 4 1 2 5 . 3",
    "C": ". 3 3 3 2 3 4 2 2 5 1 .",
    "D": "1 2 3 3 2 4 4 1 2 5 1 .",
}
"""Four observers, twelve units (Krippendorff 2011, “Computing Krippendorff's Alpha-Reliability”, example C)."""


def by_unit(table: dict[str, str]) -> dict[str, dict[str, float]]:
    units: dict[str, dict[str, float]] = {}
    for rater, row in table.items():
        for unit, cell in enumerate(row.split()):
            if cell != ".":
                units.setdefault(str(unit), {})[rater] = float(cell)
    return units


def test_alpha_as_published() -> None:
    assert krippendorff_alpha(by_unit(PUBLISHED)) == pytest.approx(0.849, abs=5e-4)


def test_alpha_by_hand() -> None:
    # Units (1, 2) and (3, 3). Observed: 2 × 1² = 2 over 4 ratings, 0.5. Expected, over all 12 ordered pairs of 1, 2, 3,
    # 3: 2 × (1 + 4 + 4 + 1 + 1 + 0) / 12 = 22 / 12. Alpha 1 - 6 / 22.
    assert krippendorff_alpha(by_unit({"A": "1 3", "B": "2 3"})) == pytest.approx(1 - 6 / 22)


@pytest.mark.parametrize("table", [{"A": "1 5 9"}, {"A": "1 .", "B": ". 2"}, {"A": "4 4", "B": "4 4"}])
def test_where_nothing_can_be_said_of_agreement(table: dict[str, str]) -> None:
    assert krippendorff_alpha(by_unit(table)) is None
