"""Agreement of raters with each other, and of scores with people's ratings of the same texts (VirSci 2025, §4.2, App. C.4).

Scores are compared with the mean rating by Pearson's, Spearman's and Kendall's correlation and, if a decision or a threshold says
which texts are good, balanced accuracy and the area under the ROC curve. The baseline is how well one person agrees with the
others:

    text   ratings    scores and people     one person and the others
    owls   6 8 7      5  beside  7.0        8  beside  (6 + 7) / 2
    bats   3 4        4  beside  3.5        3  beside  4

Who that one person is, is drawn for each text, and the figure averaged over `PICKS` draws: raters differ from text to text, so that
no rater could stand for all. Intervals are percentiles over resampled texts, but Fisher's z for Pearson's r of the scores.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, TypeAlias

from manyheads.base.errors import RatingError
from manyheads.base.text import count
from manyheads.measures.ratings import RatingTable, ScoredTexts, TextScore, pair
from manyheads.measures.statistics import FEW, LEVEL, Floats, constant, krippendorff_alpha

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
class FigureInterval:
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
    figures: Mapping[str, FigureInterval | None]
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
    ratings: RatingTable,
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
        tried = f"rated: {', '.join([*given][:5])}; scored: {', '.join([*scores][:5]) or 'none'}"
        hint = "the column paper must have the names of the scores: of cases, or of files"
        raise RatingError("no paper has a score and a rating", tried=tried, hint=hint)
    own, values = [scores[paper] for paper in papers], [[*given[paper].values()] for paper in papers]
    decisions = [ratings.decisions[paper] for paper in papers] if ratings.decisions else None
    means, sizes = [*map(fmean, values)], [*map(len, values)]
    good = decisions or ([mean >= threshold for mean in means] if threshold is not None else None)
    several = [place for place, size in enumerate(sizes) if size > 1]
    some = [values[place] for place in several]
    decided = decisions and [decisions[place] for place in several]
    called = threshold if score_threshold is None else score_threshold
    how: dict[str, Any] = {"level": level, "resamples": resamples, "seed": seed}
    return Calibration(
        papers=len(papers),
        unscored=tuple(paper for paper in given if paper not in scores),
        ratings=sum(sizes),
        per_paper=(min(sizes), max(sizes)),
        good=None if good is None else fmean(good),
        by="decision" if decisions else "" if threshold is None else f"mean rating of {threshold:g} or more",
        mean_score=fmean(own),
        mean_rating=fmean(means),
        scores=_side(len(own), _of_scores(own, means, good), called, **how),
        people=_side(
            len(some), _of_people(some, decided, threshold), threshold, picks=PICKS,
            none="no paper was rated by several people", **how,
        ),
    )  # fmt: skip


Draw: TypeAlias = "Callable[[Any, Any], tuple[Floats, Floats, Floats | None]]"
"""From rows of places, and a random generator: rows of values, the ratings that they are compared with, and which are good."""


def _of_scores(own: Sequence[float], means: Sequence[float], good: Sequence[bool] | None) -> Draw:
    """Scores against mean ratings."""
    import numpy as np

    one, other = np.asarray(own, dtype=float), np.asarray(means, dtype=float)
    known = None if good is None else np.asarray(good, dtype=float)
    return lambda places, rng: (one[places], other[places], None if known is None else known[places])


def _of_people(
    values: Sequence[Sequence[float]], decisions: Sequence[bool] | None, threshold: float | None
) -> Draw:
    """One rating of each text, picked at random, against the mean of the others."""
    import numpy as np

    most, sizes = max(map(len, values), default=0), np.asarray([*map(len, values)])
    table = np.asarray([[*each, *[0.0] * (most - len(each))] for each in values], dtype=float)

    def draw(places: Any, rng: Any) -> "tuple[Floats, Floats, Floats | None]":
        one = table[places, (rng.random(places.shape) * sizes[places]).astype(int)]
        others = (table.sum(axis=1)[places] - one) / (sizes[places] - 1)
        good = None if threshold is None else (others >= threshold).astype(float)
        return one, others, good if decisions is None else np.asarray(decisions, dtype=float)[places]

    return draw


def _side(
    n: int,
    draw: Draw,
    called: float | None,
    *,
    level: float,
    resamples: int,
    seed: int,
    picks: int = 1,
    none: str = "",
) -> Side:
    """All figures of n texts, with intervals over resampled texts; `called` is the least score of a good one."""
    import numpy as np
    from scipy.stats import pearsonr

    if n < LEAST:
        few = f"{count(n, 'text')}: too few" if n else none
        return Side(n, dict.fromkeys(FIGURES), dict.fromkeys(FIGURES, few))
    rng = np.random.default_rng(seed)
    whole = draw(np.tile(np.arange(n), (picks, 1)), rng)
    many = draw(rng.integers(n, size=(resamples, n)), rng)
    figures, why, unusable = dict[str, FigureInterval | None](), dict[str, str](), 0.0
    for name in FIGURES:
        figures[name] = None
        if name in SORTING and (whole[2] is None or (name == "balanced_accuracy" and called is None)):
            known = "neither a threshold nor decisions say which texts are good"
            why[name] = known if whole[2] is None else "no threshold says which scores are good: --threshold"
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # constant resamples, which are left out
            values, drawn = _statistic(name, called, *whole), _statistic(name, called, *many)
            fisher: Any = pearsonr(whole[0][0], whole[1][0]).confidence_interval(level)
        values, usable = values[np.isfinite(values)], drawn[np.isfinite(drawn)]
        if not len(values) or not len(usable):
            equal = "all texts are good, or none", "all scores are equal, or all ratings"
            why[name] = equal[name not in SORTING]
            continue
        low, high = np.quantile(usable, [(1 - level) / 2, (1 + level) / 2])
        if name == "pearson" and picks == 1:  # z has no bound for three texts
            low, high = fisher if n > LEAST else (-1, 1)
        figures[name] = FigureInterval(float(values.mean()), float(low), float(high), n, level)
        unusable = max(unusable, 1 - len(usable) / len(drawn))
    return Side(n, figures, why, unusable)


def _statistic(name: str, called: float | None, one: Any, other: Any, good: Any) -> Floats:
    """A figure of each row; NaN without variation.

    The area under the ROC curve is the share of pairs of a good and another text in which the good one has the higher score, ties as
    half. It needs no pairs: the ranks of the good ones among all add up to these wins, plus the 1 + 2 + … + n that n good texts
    have among themselves (Mann and Whitney 1947).
    """
    import numpy as np
    from scipy.stats import kendalltau, pearsonr, rankdata

    good = np.zeros_like(one) if good is None else good
    yes, no = good.sum(axis=1), (1 - good).sum(axis=1)
    match name:
        case "kendall":
            found: list[Any] = [kendalltau(*both) for both in zip(one, other, strict=True)]
            return np.array([each.statistic for each in found])
        case "balanced_accuracy":  # the mean of sensitivity and specificity
            said = one >= called
            return ((said * good).sum(axis=1) / yes + (~said * (1 - good)).sum(axis=1) / no) / 2
        case "auroc":
            above = (rankdata(one, axis=1) * good).sum(axis=1) - yes * (yes + 1) / 2
            return above / (yes * no)
        case _:
            if name == "spearman":  # Pearson's r of ranks; ties have their mean rank
                one, other = rankdata(one, axis=1), rankdata(other, axis=1)
            same = constant(one) | constant(other)
            return np.where(same, np.nan, pearsonr(one, other, axis=1).statistic)  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]


def pearson(one: Sequence[float], other: Sequence[float], level: float = LEVEL) -> FigureInterval | None:
    """Pearson's r with Fisher's interval; None for fewer than four pairs, or where all values of a side are equal."""
    from scipy.stats import pearsonr

    if len(one) <= LEAST or min(len(set(one)), len(set(other))) < 2:
        return None
    found: Any = pearsonr(one, other)
    low, high = found.confidence_interval(level)
    return FigureInterval(float(found.statistic), float(low), float(high), len(one), level)


# RatingTable by criterion, and a score beside them.


@dataclass(frozen=True)
class CriterionRatings:
    """Ratings of texts on one criterion.

    Attributes:
        mean: of the texts' mean ratings.
        alpha: Krippendorff's alpha of the raters; None if undefined.
        texts: with a rating.
        ratings: of all of them.
        missing: cells without a rating.
        ends: the lowest and the highest rating that was given.
        scale: the lowest and the highest that can be given, where it is known.
    """

    mean: float
    alpha: float | None
    texts: int
    ratings: int
    missing: int
    ends: tuple[float, float]
    scale: tuple[float, float] | None = None


@dataclass(frozen=True)
class RatingSummary:
    """Ratings by criterion, and a score compared with them if there is one.

    Attributes:
        raters: those with names.
        unnamed: ratings, of a text by one rater, without the rater's name.
        per_text: fewest and most ratings of a text.
        unread: columns of the tables that were not read.
        accepted: share of the texts; None if unknown.
        equal: number of answers that were left out, because the text has an equal one.
        by, on: the score, and the criterion that it is compared with.
    """

    texts: int
    raters: int
    ratings: int
    per_text: tuple[int, int]
    criteria: dict[str, CriterionRatings]
    unnamed: int = 0
    unread: tuple[str, ...] = ()
    accepted: float | None = None
    equal: int = 0
    by: str = ""
    on: str = ""
    pairs: ScoredTexts | None = None
    calibration: Calibration | None = None


def compare(
    ratings: RatingTable,
    scores: Sequence[TextScore] | None = None,
    by: str = "",
    on: str | None = None,
    **how: Any,
) -> RatingSummary:
    """Summarise ratings and, if there are scores, compare the score `by` with the mean rating on a criterion.

    Args:
        on: the criterion; default: the main one.
        how: `threshold`, `seed` and so on of `calibrate`.

    Raises:
        RatingError: no such ratings, or no rated text has a score.
    """
    counts, on = [sum(map(bool, by.values())) for by in ratings.scores.values()], on or ratings.main
    pairs = None if scores is None else pair(ratings.means(on), scores, ratings.texts)
    criteria = dict[str, CriterionRatings]()
    for name in ratings.criteria:
        by_text = ratings.of(name)
        every = [rating for by_rater in by_text.values() for rating in by_rater.values()]
        criteria[name] = CriterionRatings(
            fmean(ratings.means(name).values()), krippendorff_alpha(by_text), len(by_text), len(every),
            ratings.missing.get(name, 0), (min(every), max(every)), ratings.scales.get(name),
        )  # fmt: skip
    found = pairs and calibrate(dict(zip(pairs.items, pairs.scores, strict=True)), ratings, on, **how)
    return RatingSummary(
        texts=len(counts), raters=len({*ratings.raters} - ratings.unnamed), unnamed=len(ratings.unnamed), ratings=sum(counts), equal=ratings.equal,
        per_text=(min(counts), max(counts)), criteria=criteria, unread=ratings.unread,
        accepted=fmean(ratings.decisions.values()) if ratings.decisions else None, by=by, on=on, pairs=pairs, calibration=found,
    )  # fmt: skip


# As text.


def as_lines(summary: RatingSummary) -> Iterator[str]:
    """The comparison as text."""
    low, high = summary.per_text
    each = f"{low}" if low == high else f"{low} to {high}"
    raters = count(summary.raters, "rater") if summary.raters else "raters without names"
    if summary.raters and summary.unnamed:
        raters += f" and {count(summary.unnamed, 'rating')} without a rater's name"
    yield f"{count(summary.texts, 'text')}, {raters}, ratings per text: {each}"
    if summary.equal:
        yield f"Left out    {count(summary.equal, 'answer')}, equal to another on the same text"
    if summary.unread:
        yield f"Not read    {', '.join(summary.unread)} (--columns NAME=COLUMN reads one)"
    for name, rated in summary.criteria.items():
        alpha = "undefined" if rated.alpha is None else f"{rated.alpha:.2f}"
        words = "of a scale from {:g} to {:g}" if rated.scale else "between {:g} and {:g}"
        found = words.format(*(rated.scale or rated.ends))
        missing = f", {rated.missing} missing" * bool(rated.missing)
        yield (
            f"{name:13} mean {rated.mean:.2f} of {count(rated.texts, 'text')}, agreement of raters "
            f"(Krippendorff's alpha) {alpha}; {count(rated.ratings, 'rating')} {found}{missing}"
        )
    yield "A mean is over texts, each with the mean of its raters."
    yield from score_lines(summary)


def score_lines(summary: RatingSummary) -> Iterator[str]:
    """A score compared with the ratings, as text; nothing without a score."""
    if summary.pairs and (calibration := summary.calibration):
        yield ""
        yield f"{summary.by} against {summary.on}, n = {calibration.papers}; mean score {calibration.mean_score:.2f}"
        yield from _figures(calibration)
        if summary.pairs.repeated:
            yield f"{count(summary.pairs.repeated, 'text')} with several scores: their mean counts"
        if unscored := calibration.unscored:
            some = f"{', '.join(unscored[:3])}{', …' * (len(unscored) > 3)}"
            yield f"{len(unscored)} of {summary.texts} rated texts have no score and are left out: {some}"
        if summary.pairs.unrated:
            yield f"{len(summary.pairs.unrated)} scores belong to texts without a rating"


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
    if (unusable := max(calibration.scores.unusable, calibration.people.unusable)) >= 0.001:
        yield f"Up to {unusable:.1%} of the resamples were constant and left out"
    if calibration.people.papers < calibration.papers:
        yield f"{calibration.people.papers} texts have several ratings."


def figure(side: Side, name: str) -> str:
    """A figure with its interval, or why there is none."""
    value = side.figures[name]
    return f"{value.estimate:.2f} ({value.low:.2f} to {value.high:.2f})" if value else f"– ({side.why[name]})"
