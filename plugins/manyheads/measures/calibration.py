"""Agreement of review scores with people's ratings of the same papers, compared with that of one person with the others.

Four figures: Spearman's and Kendall's rank correlation with the mean rating, and, if a decision or a threshold says which papers
are good, balanced accuracy and the area under the ROC curve. Intervals are percentiles over resampled papers.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from manyheads.base.errors import RatingError
from manyheads.core.texts import count
from manyheads.measures.forms import read_table
from manyheads.measures.statistics import FEW, LEAST, LEVEL, Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
FIGURES: Mapping[str, str] = {
    "spearman": "Spearman ρ",
    "kendall": "Kendall τ-b",
    "balanced_accuracy": "Balanced accuracy",
    "auroc": "AUROC",
}
SORTING = ("balanced_accuracy", "auroc")
"""Figures that need to know which papers are good."""
RESAMPLES = 2_000
PICKS = 500
"""Random picks of one rating per paper, to average one person's agreement with the others."""
BATCH = 2**23
"""Pairs of papers compared at once."""
YES, NO = ("yes", "true", "1", "accept", "accepted"), ("no", "false", "0", "reject", "rejected")
HINT = "one rating per row: paper,rater,score and, if known, accepted (yes or no)"


@dataclass(frozen=True)
class Ratings:
    """People's ratings of papers, and decisions on them.

    Attributes:
        scores: by paper, one number per rater.
        decisions: by paper, whether it was accepted; empty if unknown.
    """

    scores: Mapping[str, tuple[float, ...]]
    decisions: Mapping[str, bool]

    def means(self) -> dict[str, float]:
        """The mean rating of each paper."""
        return {paper: fmean(values) for paper, values in self.scores.items()}


def read_people(path: Path, on: str = "score") -> Ratings:
    """People's ratings: CSV with the columns `paper`, `on`, and, if known, `rater` and `accepted`.

    Raises:
        RatingError: the file cannot be read, lacks a column, a cell is not a number or decision, a rater rated a paper
        twice, or rows of one paper have different decisions.
    """
    if not path.is_file():
        raise RatingError(f"{path}: no such file", hint=HINT)
    problems, seen = list[str](), set[tuple[str, str]]()
    scores, decisions = dict[str, list[float]](), dict[str, bool]()
    for row in read_table(path, [("paper",), (on.lower(),)], HINT):
        paper, rater, told = row["paper"], row["rater"], row["accepted"].lower()
        value = math.nan
        with suppress(ValueError):
            value = float(row[on.lower()])
        if not paper or not math.isfinite(value):
            problems.append(
                f"{row.place}: {'no paper' if not paper else f'{on} is {row[on.lower()]!r}, not a number'}"
            )
        if rater and (paper, rater) in seen:
            problems.append(f"{row.place}: {rater} has already rated {paper}")
        if told and told not in (*YES, *NO):
            problems.append(f"{row.place}: accepted is {told!r}: write yes or no")
        elif told and decisions.setdefault(paper, told in YES) is not (told in YES):
            problems.append(f"{row.place}: {paper} is accepted in one row and not in another")
        seen.add((paper, rater))
        scores.setdefault(paper, []).append(value)
    if problems or not scores:
        more = f"\n  and {len(problems) - 8} more" if problems[8:] else ""
        raise RatingError(
            "\n  ".join([f"{path}: cannot be used:", *(problems[:8] or ["no ratings"])]) + more, hint=HINT
        )
    if decisions and (missing := [paper for paper in scores if paper not in decisions]):
        raise RatingError(f"{path}: no decision (accepted) for {', '.join(missing[:8])}", hint=HINT)
    return Ratings({paper: tuple(values) for paper, values in scores.items()}, decisions)


@dataclass(frozen=True)
class Side:
    """Agreement of a score, or of one person, with people's ratings.

    Attributes:
        papers: number of papers.
        figures: by the names of `FIGURES`; None if undefined, for the reason in `why`.
        unusable: the largest share of constant resamples, which are left out.
    """

    papers: int
    figures: Mapping[str, Interval | None]
    why: Mapping[str, str]
    unusable: float = 0.0


@dataclass(frozen=True)
class Calibration:
    """Agreement of scores with people's ratings.

    Attributes:
        papers: number with a score and a rating; `unscored` have only a rating.
        per_paper: minimum and maximum number of ratings of a paper.
        good: the share of good papers, by decision or threshold; None if unknown.
        by: the criterion of good papers.
        mean_score, mean_rating: on their own scales.
        scores: figures of the scores against the mean rating of all people.
        people: figures of one person, drawn at random for each paper, against the mean of the others.
    """

    papers: int
    unscored: tuple[str, ...]
    ratings: int
    per_paper: tuple[int, int]
    good: float | None
    by: str
    mean_score: float
    mean_rating: float
    scores: Side
    people: Side


def calibrate(
    scores: Mapping[str, float],
    ratings: Ratings,
    *,
    threshold: float | None = None,
    score_threshold: float | None = None,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Calibration:
    """Compare scores with people's ratings of the same papers; the same seed gives the same intervals.

    Args:
        scores: by paper; papers without a rating are ignored.
        threshold: minimum mean rating of a good paper, without decisions.
        score_threshold: minimum score of a good paper; default: `threshold`.

    Raises:
        RatingError: no paper has both.
    """
    papers = [paper for paper in ratings.scores if paper in scores]
    if not papers:
        raise RatingError(
            "no paper has a score and a rating",
            tried=f"rated: {', '.join([*ratings.scores][:5])}; scored: {', '.join([*scores][:5]) or 'none'}",
            hint="the column paper must have the names of the scores: of cases, or of files",
        )
    own = [scores[paper] for paper in papers]
    values = [ratings.scores[paper] for paper in papers]
    decisions = [ratings.decisions[paper] for paper in papers] if ratings.decisions else None
    means = [fmean(each) for each in values]
    good = decisions or ([mean >= threshold for mean in means] if threshold is not None else None)
    sizes = [*map(len, values)]
    several = [place for place, each in enumerate(values) if len(each) > 1]
    called = threshold if score_threshold is None else score_threshold
    how = _How(level, resamples, seed)
    return Calibration(
        papers=len(papers),
        unscored=tuple(paper for paper in ratings.scores if paper not in scores),
        ratings=sum(sizes),
        per_paper=(min(sizes), max(sizes)),
        good=None if good is None else fmean(good),
        by="decision" if decisions else "" if threshold is None else f"mean rating of {threshold:g} or more",
        mean_score=fmean(own),
        mean_rating=fmean(means),
        scores=_side(_Scores(own, means, good), called, how),
        people=_side(
            _People(
                [values[n] for n in several],
                [decisions[n] for n in several] if decisions else None,
                threshold,
            ),
            threshold,
            how,
        ),
    )


class _How(NamedTuple):
    level: float
    resamples: int
    seed: int


class _Draw(NamedTuple):
    """Resamples, one per row: the values, the ratings that they are compared with, and which papers are good."""

    values: Floats
    against: Floats
    good: "Floats | None"


class _Scores:
    """Scores against mean ratings."""

    why = ""

    def __init__(self, own: Sequence[float], means: Sequence[float], good: Sequence[bool] | None) -> None:
        import numpy as np

        self.papers, self.picks = len(own), 1
        self._own, self._means = np.asarray(own, dtype=float), np.asarray(means, dtype=float)
        self._good = None if good is None else np.asarray(good, dtype=float)

    def draw(self, places: Any, rng: Any) -> _Draw:
        return _Draw(
            self._own[places], self._means[places], None if self._good is None else self._good[places]
        )


class _People:
    """One rating of each paper, picked at random, against the mean of the others."""

    why = "no paper was rated by several people"

    def __init__(
        self, values: Sequence[tuple[float, ...]], decisions: Sequence[bool] | None, threshold: float | None
    ) -> None:
        import numpy as np

        self.papers, self.picks = len(values), PICKS
        most = max(map(len, values), default=0)
        self._values = np.asarray([[*each, *[0.0] * (most - len(each))] for each in values], dtype=float)
        self._sizes = np.asarray([*map(len, values)])
        self._decisions = None if decisions is None else np.asarray(decisions, dtype=float)
        self._threshold = threshold

    def draw(self, places: Any, rng: Any) -> _Draw:
        sizes = self._sizes[places]
        one = self._values[places, (rng.random(places.shape) * sizes).astype(int)]
        others = (self._values.sum(axis=1)[places] - one) / (sizes - 1)
        if self._decisions is not None:
            return _Draw(one, others, self._decisions[places])
        return _Draw(
            one, others, None if self._threshold is None else (others >= self._threshold).astype(float)
        )


def _side(sample: _Scores | _People, called: float | None, how: _How) -> Side:
    """All figures of a sample, with percentile intervals over resampled papers."""
    import numpy as np

    n, figures, why, unusable = sample.papers, dict[str, Interval | None](), dict[str, str](), 0.0
    if n < LEAST:
        few = sample.why if not n else f"{count(n, 'paper')}: too few"
        return Side(n, dict.fromkeys(FIGURES), dict.fromkeys(FIGURES, few))
    statistics: dict[str, Callable[[_Draw], Floats]] = {
        "spearman": lambda draw: _spearman(draw.values, draw.against),
        "kendall": lambda draw: _kendall(draw.values, draw.against),
        "balanced_accuracy": lambda draw: _balanced(draw.values, draw.good, called),
        "auroc": lambda draw: _auroc(draw.values, draw.good),
    }
    rng = np.random.default_rng(how.seed)
    once = np.tile(np.arange(n), (sample.picks, 1))
    whole, many = sample.draw(once, rng), sample.draw(rng.integers(n, size=(how.resamples, n)), rng)
    for name, of in statistics.items():
        figures[name] = None
        if name in SORTING and (whole.good is None or (name == "balanced_accuracy" and called is None)):
            why[name] = "neither a threshold nor decisions say which papers are good"
            continue
        values, drawn = of(whole), of(many)
        values, usable = values[np.isfinite(values)], drawn[np.isfinite(drawn)]
        if not len(values) or not len(usable):
            why[name] = (
                "all papers are good, or none" if name in SORTING else "all scores are equal, or all ratings"
            )
            continue
        low, high = np.quantile(usable, [(1 - how.level) / 2, (1 + how.level) / 2])
        figures[name] = Interval(float(values.mean()), float(low), float(high), n, how.level)
        unusable = max(unusable, 1 - len(usable) / len(drawn))
    return Side(n, figures, why, unusable)


# The statistics, one value per row; NaN without variation.


def _spearman(one: Floats, other: Floats) -> Floats:
    """Pearson's r of ranks; ties have their mean rank."""
    import numpy as np
    from scipy.stats import rankdata

    ranks = [rankdata(each, axis=1) for each in (one, other)]
    first, second = (each - each.mean(axis=1, keepdims=True) for each in ranks)
    spread = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > 0, (first * second).sum(axis=1) / spread, np.nan)


def _kendall(one: Floats, other: Floats) -> Floats:
    """τ-b = (C - D) / √((C + D + T_x)(C + D + T_y)) over pairs that agree, disagree and tie."""
    import numpy as np

    rows, n = one.shape
    step, found = max(1, BATCH // (n * n)), list[Floats]()
    for start in range(0, rows, step):
        first, second = (_signs(each[start : start + step]) for each in (one, other))
        agree = (first * second).sum(axis=(1, 2), dtype=np.int64)
        spread = np.sqrt(
            abs(first).sum(axis=(1, 2), dtype=np.int64) * abs(second).sum(axis=(1, 2), dtype=np.int64)
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            found.append(np.where(spread > 0, agree / spread, np.nan))
    return np.concatenate(found)


def _signs(values: Floats) -> Any:
    """1 if a value is above another of its row, -1 if below."""
    import numpy as np

    across, down = values[:, :, None], values[:, None, :]
    return (across > down).astype(np.int8) - (across < down).astype(np.int8)


def _balanced(values: Floats, good: "Floats | None", called: float | None) -> Floats:
    """The mean of sensitivity and specificity."""
    import numpy as np

    assert good is not None
    assert called is not None
    said = values >= called
    with np.errstate(invalid="ignore", divide="ignore"):
        sensitivity = (said * good).sum(axis=1) / good.sum(axis=1)
        specificity = (~said * (1 - good)).sum(axis=1) / (1 - good).sum(axis=1)
    return (sensitivity + specificity) / 2


def _auroc(values: Floats, good: "Floats | None") -> Floats:
    """The share of pairs of a good and another paper in which the good one has the higher score; ties count half."""
    import numpy as np
    from scipy.stats import rankdata

    assert good is not None
    yes, no = good.sum(axis=1), (1 - good).sum(axis=1)
    above = (rankdata(values, axis=1) * good).sum(axis=1) - yes * (yes + 1) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(yes * no > 0, above / (yes * no), np.nan)


# As text.


def as_data(calibration: Calibration) -> dict[str, Any]:
    """The comparison as JSON data."""
    return asdict(calibration)


def as_lines(calibration: Calibration) -> Iterator[str]:
    """The comparison as text."""
    low, high = calibration.per_paper
    each = f"{low}" if low == high else f"{low} to {high}"
    yield f"{count(calibration.papers, 'paper')}, ratings per paper: {each}; mean score {calibration.mean_score:.2f}, mean rating {calibration.mean_rating:.2f}"
    if calibration.good is not None:
        yield f"{calibration.good:.0%} are good, by {calibration.by}"
    if calibration.unscored:
        yield f"{count(len(calibration.unscored), 'rated paper')} without a score: {', '.join(calibration.unscored[:8])}"
    yield ""
    yield f"{'':18}  {'scores and people':28}  one person and the others"
    for name, title in FIGURES.items():
        yield f"{title:18}  {figure(calibration.scores, name):28}  {figure(calibration.people, name)}"
    yield ""
    yield f"In brackets: {LEVEL:.0%} intervals over papers{' (too narrow, as there are few papers)' * (calibration.papers < FEW)}."
    if calibration.people.papers < calibration.papers:
        yield f"{calibration.people.papers} papers have several ratings."


def figure(side: Side, name: str) -> str:
    """A figure with its interval, or why there is none."""
    value = side.figures[name]
    return f"{value.estimate:.2f} ({value.low:.2f} to {value.high:.2f})" if value else f"– ({side.why[name]})"
