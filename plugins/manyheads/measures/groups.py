"""Groups of rated texts, such as people's and a model's ideas: means, differences, tests (Si, Yang and Hashimoto 2024, §5)."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any

from manyheads.base.errors import RatingError
from manyheads.base.text import count
from manyheads.measures.ratings import RatingTable
from manyheads.measures.statistics import FEW, LEVEL

if TYPE_CHECKING:
    from manyheads.measures.statistics import Floats

RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class GroupMean:
    """The mean of a group's texts on a criterion, each with the mean of its raters, and its interval."""

    criterion: str
    group: str
    texts: int
    ratings: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class GroupDifference:
    """The difference of two groups' means, `one` less `other`, and its interval.

    Attributes:
        p: of Welch's t-test of the texts' means, which has no equal variances; None with fewer than two texts, or equal ones.
        holm, bh: p corrected for all tests, by Holm and by Benjamini and Hochberg.
    """

    criterion: str
    one: str
    other: str
    difference: float
    low: float
    high: float
    p: float | None
    holm: float | None = None
    bh: float | None = None


@dataclass(frozen=True)
class GroupComparison:
    """All groups on all criteria.

    Attributes:
        over: what was resampled: texts, and raters if they have names.
        ungrouped: rated texts that are in no group, and left out.
    """

    means: tuple[GroupMean, ...]
    differences: tuple[GroupDifference, ...]
    over: str
    ungrouped: tuple[str, ...]


def compare_groups(ratings: RatingTable, *, resamples: int = RESAMPLES, seed: int = 0) -> GroupComparison:
    """Compare the groups of rated texts on each criterion; the same seed gives the same intervals.

    Raises:
        RatingError: the texts are not of two groups or more.
    """
    import numpy as np

    names = sorted({ratings.groups[item] for item in ratings.scores if item in ratings.groups})
    if len(names) < 2:
        hint = "--columns group=COLUMN names a column with two groups or more"
        raise RatingError("no groups to compare", tried=f"groups: {', '.join(names) or 'none'}", hint=hint)
    means, differences = list[GroupMean](), list[GroupDifference]()
    rng = np.random.default_rng(seed)
    for criterion in ratings.criteria:
        texts = {item: by for item, by in ratings.of(criterion).items() if item in ratings.groups}
        members = {name: [item for item in texts if ratings.groups[item] == name] for name in names}
        drawn = _resampled(texts, members, ratings.nameless, resamples, rng)
        own = {name: [fmean(texts[item].values()) for item in some] for name, some in members.items() if some}
        for name, values in own.items():
            low, high = _ends(drawn[name])
            ratings_of = sum(len(texts[item]) for item in members[name])
            means.append(GroupMean(criterion, name, len(values), ratings_of, fmean(values), low, high))
        for one, other in combinations(own, 2):
            low, high = _ends(drawn[one] - drawn[other])
            difference = fmean(own[one]) - fmean(own[other])
            differences.append(
                GroupDifference(criterion, one, other, difference, low, high, _welch(own[one], own[other]))
            )
    over = "texts" if ratings.nameless else "texts and raters"
    ungrouped = tuple(item for item in ratings.scores if item not in ratings.groups)
    return GroupComparison(tuple(means), tuple(_corrected(differences)), over, ungrouped)


def _resampled(
    texts: Mapping[str, Mapping[str, float]],
    members: Mapping[str, Sequence[str]],
    nameless: bool,
    resamples: int,
    rng: Any,
) -> "dict[str, Floats]":
    """The mean of each group in each resample of its texts and, at the same time, of all raters."""
    import numpy as np

    rows, raters = [*texts], list(dict.fromkeys(rater for by in texts.values() for rater in by))
    table = np.array([[by.get(rater, math.nan) for rater in raters] for by in texts.values()])
    given, size = ~np.isnan(table), len(raters)
    weights = (
        np.ones((resamples, size)) if nameless else rng.multinomial(size, np.full(size, 1 / size), resamples)
    )
    number, total = weights @ given.T, weights @ np.where(given, table, 0).T
    found = dict[str, Any]()
    for name, some in members.items():
        if at := [rows.index(item) for item in some]:
            drawn = rng.multinomial(len(at), np.full(len(at), 1 / len(at)), resamples) * (number[:, at] > 0)
            means = total[:, at] / np.maximum(number[:, at], 1)
            with np.errstate(invalid="ignore"):  # no text with a rater in it
                found[name] = (drawn * means).sum(1) / drawn.sum(1)
    return found


def _ends(drawn: "Floats") -> tuple[float, float]:
    import numpy as np

    low, high = np.nanquantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _welch(one: Sequence[float], other: Sequence[float]) -> float | None:
    from scipy.stats import ttest_ind

    if min(len(one), len(other)) < 2 or (len({*one}) == 1 and len({*other}) == 1):
        return None
    found: Any = ttest_ind(one, other, equal_var=False)
    return float(found.pvalue)


def _corrected(differences: Sequence[GroupDifference]) -> Iterator[GroupDifference]:
    from dataclasses import replace

    from scipy.stats import false_discovery_control

    tested = sorted((each.p, at) for at, each in enumerate(differences) if each.p is not None)
    rates: Any = false_discovery_control([p for p, _ in tested]) if tested else []
    holm, corrected = 0.0, dict[int, tuple[float, float]]()
    for place, (p, at) in enumerate(tested):
        holm = max(holm, min(1.0, (len(tested) - place) * p))
        corrected[at] = holm, float(rates[place])
    for at, each in enumerate(differences):
        first, second = corrected.get(at, (None, None))
        yield replace(each, holm=first, bh=second)


def as_lines(found: GroupComparison) -> Iterator[str]:
    """The comparison as text."""
    width = max(len(each.group) for each in found.means)
    for criterion in dict.fromkeys(each.criterion for each in found.means):
        yield ""
        yield f"{criterion}, by group"
        for each in found.means:
            if each.criterion == criterion:
                n = f"{count(each.texts, 'text')}, {count(each.ratings, 'rating')}"
                few = ", too narrow" * (each.texts < FEW)
                yield f"  {each.group:{width}}  mean {each.mean:.2f} ({each.low:.2f} to {each.high:.2f}{few}; {n})"
        for each in found.differences:
            if each.criterion == criterion:
                p = "no test" if each.p is None else f"p {each.p:.2g}, Holm {each.holm:.2g}, BH {each.bh:.2g}"
                yield f"  {each.one} − {each.other}: {each.difference:+.2f} ({each.low:+.2f} to {each.high:+.2f}); {p}"
    tests = sum(each.p is not None for each in found.differences)
    yield f"In brackets: {LEVEL:.0%} intervals over {found.over}, by bootstrap."
    yield f"p: Welch's t-test of the texts' means; corrected for {count(tests, 'test')} by Holm, and by Benjamini and Hochberg (BH)."
    if found.ungrouped:
        yield f"{count(len(found.ungrouped), 'text')} in no group, left out: {', '.join(found.ungrouped[:3])}"
