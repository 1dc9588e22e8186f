"""Scores beside people's ratings: figures as other libraries compute them, and none where nothing can be said."""

import random
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import kendalltau, spearmanr

from manyheads.base.errors import RatingError
from manyheads.measures.calibration import FIGURES, Ratings, as_lines, calibrate, read_people


def made(papers: int, raters: int, noise: float, seed: int = 0) -> tuple[dict[str, float], Ratings]:
    """Papers of a known worth, rated with noise by people and by a model alike."""
    rng = random.Random(seed)
    worth = {f"p{n}": rng.gauss(5.5, 1.5) for n in range(papers)}
    given = {
        paper: tuple(round(rng.gauss(each, noise)) for _ in range(raters)) for paper, each in worth.items()
    }
    return {paper: round(rng.gauss(each, noise)) for paper, each in worth.items()}, Ratings(given, {})


def auroc(scores: list[float], good: list[bool]) -> float:
    pairs = [
        (a, b)
        for a, yes in zip(scores, good, strict=True)
        if yes
        for b, no in zip(scores, good, strict=True)
        if not no
    ]
    return sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs) / len(pairs)


@pytest.mark.parametrize("seed", range(4))
def test_figures_are_those_of_scipy_and_of_counting(seed: int) -> None:
    scores, ratings = made(30, 3, 1.0, seed)
    found = calibrate(scores, ratings, threshold=6, resamples=50)
    own, means = [*scores.values()], [*ratings.means().values()]
    good = [each >= 6 for each in means]
    expected: dict[str, Any] = {
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


def test_a_model_as_noisy_as_a_person_goes_with_people_as_a_person_does() -> None:
    scores, ratings = made(200, 4, 1.2)
    found = calibrate(scores, ratings, threshold=5.5, resamples=60)
    for name in FIGURES:
        model, person = found.scores.figures[name], found.people.figures[name]
        assert model
        assert person
        assert model.estimate == pytest.approx(person.estimate, abs=0.06), name
        assert model.high - model.low < 0.3


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Of many samples of a population whose rank correlation is known, about nineteen in twenty."""
    large, ratings = made(4000, 1, 1.0, 99)
    truth: Any = spearmanr([*large.values()], [*ratings.means().values()])[0]
    inside = 0
    for seed in range(60):
        scores, some = made(40, 1, 1.0, seed)
        figure = calibrate(scores, some, resamples=100).scores.figures["spearman"]
        assert figure
        inside += figure.low <= truth <= figure.high
    assert inside >= 50


def test_perfect_reversed_and_silent_scores() -> None:
    _, ratings = made(20, 3, 0.5)
    means = ratings.means()
    perfect = calibrate(means, ratings, threshold=5.5, resamples=50).scores.figures
    assert {name: figure and figure.estimate for name, figure in perfect.items()} == dict.fromkeys(FIGURES, 1)
    reverse = calibrate(
        {paper: 11 - mean for paper, mean in means.items()}, ratings, threshold=5.5, resamples=50
    )
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
    assert "– (neither a threshold" in "\n".join(as_lines(found))
    two = calibrate({"p1": 5, "p2": 6}, ratings, resamples=50)
    assert two.scores.figures["spearman"] is None
    assert len(two.unscored) == 10
    with pytest.raises(RatingError, match="no paper has a score and a rating"):
        calibrate({"q": 1}, ratings)


def test_decisions_go_before_thresholds() -> None:
    scores, ratings = made(20, 2, 1.0)
    decided = Ratings(ratings.scores, {paper: score >= 6 for paper, score in scores.items()})
    found = calibrate(scores, decided, threshold=6, resamples=50)
    assert found.by == "decision"
    for name in ("auroc", "balanced_accuracy"):
        figure = found.scores.figures[name]
        assert figure
        assert figure.estimate == 1


TABLE = "paper,rater,Score,accepted\nowls,A,6,yes\nowls,B,8,yes\nbats,A,3,no\n"


def test_ratings_are_read_by_paper(tmp_path: Path) -> None:
    (path := tmp_path / "people.csv").write_text(TABLE)
    assert read_people(path) == Ratings({"owls": (6, 8), "bats": (3,)}, {"owls": True, "bats": False})


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("moles,A,high,no", r"people\.csv:5: score is 'high', not a number"),
        ("owls,A,5,yes", "A has already rated owls"),
        ("owls,C,5,no", "owls is accepted in one row and not in another"),
        ("moles,A,5,perhaps", "accepted is 'perhaps': write yes or no"),
        ("moles,A,5,", "no decision .* moles"),
        (",A,5,yes", "no paper"),
    ],
)
def test_a_bad_row_is_named(row: str, problem: str, tmp_path: Path) -> None:
    (path := tmp_path / "people.csv").write_text(f"{TABLE}{row}\n")
    with pytest.raises(RatingError, match=problem):
        read_people(path)
