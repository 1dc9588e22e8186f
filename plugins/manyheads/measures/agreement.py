"""Agreement of raters with each other, and of scores with people's ratings of the same texts (VirSci 2025, §4.2, App. C.4).

Scores are compared with the mean rating by Pearson's, Spearman's and Kendall's correlation and, if a decision or a threshold says
which texts are good, balanced accuracy and the area under the ROC curve. The baseline is how well one person agrees with the
others. Intervals are percentiles over resampled texts, but Fisher's z for Pearson's r of the scores.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from manyheads.base.errors import RatingError
from manyheads.core.texts import count
from manyheads.measures.ratings import Pairs, Ratings, Score, pair
from manyheads.measures.statistics import FEW, LEVEL, constant, krippendorff_alpha

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
FIGURES: Mapping[str, str] = {
    "pearson": "Pearson r",
    "spearman": "Spearman ρ",
    "kendall": "Kendall τ-b",
    "balanced_accuracy": "Balanced accuracy",
    "auroc": "AUROC",
}
SORTING = ("balanced_accuracy", "auroc")
"""Figures that need to know which texts are good."""
LEAST = 3
"""Minimum texts for a correlation: two points always lie on a line."""
RESAMPLES = 2_000
PICKS = 500
"""Random picks of one rating per text, to average one person's agreement with the others."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A statistic of n values, and the ends of its confidence interval."""

    estimate: float
    low: float
    high: float
    n: int
    level: float


@dataclass(frozen=True)
class Side:
    """Agreement of a score, or of one person, with people's ratings.

    Attributes:
        papers: number of texts.
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
    on: str | None = None,
    *,
    threshold: float | None = None,
    score_threshold: float | None = None,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Calibration:
    """Compare scores with people's ratings of the same papers; the same seed gives the same intervals.

    Args:
        scores: by text; texts without a rating are ignored.
        on: the criterion; default: the main one.
        threshold: minimum mean rating of a good paper, without decisions.
        score_threshold: minimum score of a good paper; default: `threshold`.

    Raises:
        RatingError: no paper has both.
    """
    given = ratings.of(on or ratings.main)
    papers = [paper for paper in given if paper in scores]
    if not papers:
        raise RatingError(
            "no paper has a score and a rating",
            tried=f"rated: {', '.join([*given][:5])}; scored: {', '.join([*scores][:5]) or 'none'}",
            hint="the column paper must have the names of the scores: of cases, or of files",
        )
    own = [scores[paper] for paper in papers]
    values = [(*given[paper].values(),) for paper in papers]
    decisions = [ratings.decisions[paper] for paper in papers] if ratings.decisions else None
    means = [fmean(each) for each in values]
    good = decisions or ([mean >= threshold for mean in means] if threshold is not None else None)
    sizes = [*map(len, values)]
    several = [place for place, each in enumerate(values) if len(each) > 1]
    called = threshold if score_threshold is None else score_threshold
    how = _How(level, resamples, seed)
    return Calibration(
        papers=len(papers),
        unscored=tuple(paper for paper in given if paper not in scores),
        ratings=sum(sizes),
        per_paper=(min(sizes), max(sizes)),
        good=None if good is None else fmean(good),
        by="decision" if decisions else "" if threshold is None else f"mean rating of {threshold:g} or more",
        mean_score=fmean(own),
        mean_rating=fmean(means),
        scores=_side(_of_scores(own, means, good), called, how),
        people=_side(
            _of_people(
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


@dataclass(frozen=True)
class _Sample:
    """Texts to resample; `why` says why there are none, `picks` how often one person's rating is picked."""

    papers: int
    draw: Callable[[Any, Any], _Draw]
    picks: int = 1
    why: str = ""


def _of_scores(own: Sequence[float], means: Sequence[float], good: Sequence[bool] | None) -> _Sample:
    """Scores against mean ratings."""
    import numpy as np

    one, other = np.asarray(own, dtype=float), np.asarray(means, dtype=float)
    known = None if good is None else np.asarray(good, dtype=float)

    def draw(places: Any, rng: Any) -> _Draw:
        return _Draw(one[places], other[places], None if known is None else known[places])

    return _Sample(len(own), draw)


def _of_people(
    values: Sequence[tuple[float, ...]], decisions: Sequence[bool] | None, threshold: float | None
) -> _Sample:
    """One rating of each text, picked at random, against the mean of the others."""
    import numpy as np

    most, sizes = max(map(len, values), default=0), np.asarray([*map(len, values)])
    table = np.asarray([[*each, *[0.0] * (most - len(each))] for each in values], dtype=float)
    decided = None if decisions is None else np.asarray(decisions, dtype=float)

    def draw(places: Any, rng: Any) -> _Draw:
        one = table[places, (rng.random(places.shape) * sizes[places]).astype(int)]
        others = (table.sum(axis=1)[places] - one) / (sizes[places] - 1)
        if decided is not None:
            return _Draw(one, others, decided[places])
        return _Draw(one, others, None if threshold is None else (others >= threshold).astype(float))

    return _Sample(len(values), draw, PICKS, "no paper was rated by several people")


def _side(sample: _Sample, called: float | None, how: _How) -> Side:
    """All figures of a sample, with intervals over resampled texts."""
    import numpy as np
    from scipy.stats import pearsonr

    n, figures, why, unusable = sample.papers, dict[str, Interval | None](), dict[str, str](), 0.0
    if n < LEAST:
        few = sample.why if not n else f"{count(n, 'text')}: too few"
        return Side(n, dict.fromkeys(FIGURES), dict.fromkeys(FIGURES, few))
    statistics: dict[str, Callable[[_Draw], Floats]] = {
        "pearson": lambda draw: _pearson(draw.values, draw.against),
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
            why[name] = "neither a threshold nor decisions say which texts are good"
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # constant resamples, which are left out
            values, drawn = of(whole), of(many)
            fisher: Any = pearsonr(whole.values[0], whole.against[0]).confidence_interval(how.level)
        values, usable = values[np.isfinite(values)], drawn[np.isfinite(drawn)]
        if not len(values) or not len(usable):
            why[name] = (
                "all texts are good, or none" if name in SORTING else "all scores are equal, or all ratings"
            )
            continue
        low, high = np.quantile(usable, [(1 - how.level) / 2, (1 + how.level) / 2])
        if name == "pearson" and sample.picks == 1:  # z has no bound for three texts
            low, high = fisher if n > LEAST else (-1, 1)
        figures[name] = Interval(float(values.mean()), float(low), float(high), n, how.level)
        unusable = max(unusable, 1 - len(usable) / len(drawn))
    return Side(n, figures, why, unusable)


# The statistics, one value per row; NaN without variation.


def _pearson(one: Floats, other: Floats) -> Floats:
    import numpy as np
    from scipy.stats import pearsonr

    found: Any = pearsonr(one, other, axis=1)
    return np.where(constant(one) | constant(other), np.nan, found.statistic)


def _spearman(one: Floats, other: Floats) -> Floats:
    """Pearson's r of ranks; ties have their mean rank."""
    from scipy.stats import rankdata

    return _pearson(rankdata(one, axis=1), rankdata(other, axis=1))


def _kendall(one: Floats, other: Floats) -> Floats:
    import numpy as np
    from scipy.stats import kendalltau

    found: list[Any] = [kendalltau(*pair) for pair in zip(one, other, strict=True)]
    return np.array([each.statistic for each in found])


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


# Ratings by criterion, and a score beside them.


@dataclass(frozen=True)
class Rated:
    """Ratings of texts on one criterion.

    Attributes:
        mean: of the texts' mean ratings.
        alpha: Krippendorff's alpha of the raters; None if undefined.
        texts: with a rating.
        ratings: of all of them.
        missing: cells without a rating.
        ends: the lowest and the highest rating that was given.
    """

    mean: float
    alpha: float | None
    texts: int
    ratings: int
    missing: int
    ends: tuple[float, float]


@dataclass(frozen=True)
class Comparison:
    """Ratings by criterion, and a score compared with them if there is one.

    Attributes:
        per_text: fewest and most ratings of a text.
        scale: the lowest and the highest rating that can be given, where it is known.
        unread: columns of the tables that were not read.
        by, on: the score, and the criterion that it is compared with.
    """

    texts: int
    raters: int
    ratings: int
    per_text: tuple[int, int]
    criteria: dict[str, Rated]
    scale: tuple[float, float] | None = None
    unread: tuple[str, ...] = ()
    by: str = ""
    on: str = ""
    pairs: Pairs | None = None
    calibration: Calibration | None = None


def compare(
    ratings: Ratings, scores: Sequence[Score] | None = None, by: str = "", on: str | None = None, **how: Any
) -> Comparison:
    """Summarise ratings and, if there are scores, compare the score `by` with the mean rating on a criterion.

    Args:
        on: the criterion; default: the main one.
        how: `threshold`, `seed` and so on of `calibrate`.

    Raises:
        RatingError: no such ratings, or a rated text has no score or several.
    """
    counts, on = [len(by_rater) for by_rater in ratings.scores.values()], on or ratings.main
    pairs = None if scores is None else pair(ratings.means(on), scores, ratings.texts)
    return Comparison(
        texts=len(counts),
        raters=len(ratings.raters),
        ratings=sum(counts),
        per_text=(min(counts), max(counts)),
        criteria={name: _rated(ratings, name) for name in ratings.criteria},
        scale=ratings.scale,
        unread=ratings.unread,
        by=by,
        on=on,
        pairs=pairs,
        calibration=pairs
        and calibrate(dict(zip(pairs.items, pairs.scores, strict=True)), ratings, on, **how),
    )


def _rated(ratings: Ratings, criterion: str) -> Rated:
    by_text = ratings.of(criterion)
    every = [rating for by_rater in by_text.values() for rating in by_rater.values()]
    return Rated(
        mean=fmean(ratings.means(criterion).values()),
        alpha=krippendorff_alpha(by_text),
        texts=len(by_text),
        ratings=len(every),
        missing=ratings.missing.get(criterion, 0),
        ends=(min(every), max(every)),
    )


# As text.


def as_lines(comparison: Comparison) -> Iterator[str]:
    """The comparison as text."""
    low, high = comparison.per_text
    each = f"{low}" if low == high else f"{low} to {high}"
    yield f"{count(comparison.texts, 'text')}, {count(comparison.raters, 'rater')}, ratings per text: {each}"
    if comparison.unread:
        yield f"Not read    {', '.join(comparison.unread)} (name a criterion with --columns)"
    scale = comparison.scale
    yield (
        f"Scale       {scale[0]:g} to {scale[1]:g}"
        if scale
        else "Scale       not given (--scale LOWEST-HIGHEST); the ratings found are shown with each mean"
    )
    for name, rated in comparison.criteria.items():
        alpha = "undefined" if rated.alpha is None else f"{rated.alpha:.2f}"
        found = f" between {rated.ends[0]:g} and {rated.ends[1]:g}" * (not scale)
        missing = f", {rated.missing} missing" * bool(rated.missing)
        yield (
            f"{name:13} mean {rated.mean:.2f} of {count(rated.texts, 'text')}, agreement of raters "
            f"(Krippendorff's alpha) {alpha}; {count(rated.ratings, 'rating')}{found}{missing}"
        )
    yield "A mean is over texts, each with the mean of its raters."
    if comparison.pairs and (calibration := comparison.calibration):
        yield ""
        yield f"{comparison.by} against {comparison.on}, n = {calibration.papers}; mean score {calibration.mean_score:.2f}"
        yield from _figures(calibration)
        if comparison.pairs.unrated:
            yield f"{len(comparison.pairs.unrated)} scores belong to texts without a rating"


def _figures(calibration: Calibration) -> Iterator[str]:
    if calibration.good is not None:
        yield f"{calibration.good:.0%} are good, by {calibration.by}"
    yield f"{'':18}  {'scores and people':28}  one person and the others"
    for name, title in FIGURES.items():
        if name in SORTING and calibration.good is None:
            continue
        yield f"{title:18}  {figure(calibration.scores, name):28}  {figure(calibration.people, name)}"
    few = " (too narrow, as there are few texts)" * (calibration.papers < FEW)
    yield f"In brackets: {LEVEL:.0%} intervals over texts{few}."
    for side in (calibration.scores, calibration.people):
        if side.unusable >= 0.001:
            yield f"Up to {side.unusable:.1%} of the resamples were constant and left out"
    if calibration.people.papers < calibration.papers:
        yield f"{calibration.people.papers} texts have several ratings."


def figure(side: Side, name: str) -> str:
    """A figure with its interval, or why there is none."""
    value = side.figures[name]
    return f"{value.estimate:.2f} ({value.low:.2f} to {value.high:.2f})" if value else f"– ({side.why[name]})"
