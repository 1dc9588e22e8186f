"""Groups of rated texts, such as people's and a model's ideas: means, differences, tests (Si, Yang and Hashimoto 2024, §5)."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np

from manyheads.base.errors import RatingError
from manyheads.base.text import count
from manyheads.measures.ratings import RatingTable
from manyheads.measures.statistics import FEW, LEVEL, Floats

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
    """The mean of the group `one` less that of `other`, and its interval.

    Attributes:
        p: of Welch's t-test of the texts' means; None with fewer than two texts, or equal ones.
        holm, bh: p corrected for all tests, by Holm and by Benjamini and Hochberg.
        bonferroni: p corrected for the criteria of these two groups, by Bonferroni, as Si et al. do.
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
    bonferroni: float | None = None


@dataclass(frozen=True)
class GroupComparison:
    """All groups on all criteria; intervals are over resampled units, `over`.

    Texts that are `ungrouped`, or of changes `unmatched`, are left out.
    """

    means: tuple[GroupMean, ...]
    differences: tuple[GroupDifference, ...]
    over: str
    ungrouped: tuple[str, ...]
    unmatched: tuple[str, ...] = ()


def compare_groups(ratings: RatingTable, *, against: str | None = None, seed: int = 0) -> GroupComparison:
    """Compare the groups of rated texts on each criterion; the same seed gives the same intervals.

    Args:
        against: the group that each other is compared with. Default, also if there is no such group: all with each other.

    Raises:
        RatingError: the texts are not of two groups or more.
    """
    names = sorted({*ratings.groups.values()})
    if len(names) < 2:
        hint = "--group names a column with two groups or more"
        raise RatingError("no groups to compare", tried=f"groups: {', '.join(names) or 'none'}", hint=hint)
    means, differences, rng = list[GroupMean](), list[GroupDifference](), np.random.default_rng(seed)
    for criterion in ratings.criteria:
        rated = ratings.of(criterion)
        members = {name: [item for item in rated if ratings.groups.get(item) == name] for name in names}
        members = {name: items for name, items in members.items() if items}
        drawn = _resampled(rated, members, ratings.nameless, rng)
        own = {name: [fmean(rated[item].values()) for item in items] for name, items in members.items()}
        for name, values in own.items():
            number = sum(len(rated[item]) for item in members[name])
            ends = _interval(drawn[name])
            means.append(GroupMean(criterion, name, len(values), number, fmean(values), *ends))
        pairs = [pair for pair in combinations(own, 2) if against not in names or against in pair]
        for one, other in pairs:
            ends, p = _interval(drawn[one] - drawn[other]), _welch(own[one], own[other])
            difference = fmean(own[one]) - fmean(own[other])
            differences.append(GroupDifference(criterion, one, other, difference, *ends, p))
    over = "texts" if ratings.nameless else "texts and raters"
    ungrouped = tuple(item for item in ratings.scores if item not in ratings.groups)
    corrected = tuple(_corrected(differences))
    return GroupComparison(tuple(means), corrected, over, ungrouped, ratings.unmatched)


def changes(after: RatingTable, before: RatingTable) -> RatingTable:
    """How much the mean rating of each text has changed, on the criteria of both tables; a text is in its group of `after`.

    Raises:
        RatingError: the tables have no criterion, or no text, in common.
    """
    shared = tuple(name for name in after.criteria if name in before.criteria)
    changed = {name: (after.means(name), before.means(name)) for name in shared}
    scores = {
        item: {"": {f"{name} change": new[item] - old[item] for name, (new, old) in changed.items() if item in new and item in old}}
        for item in after.scores if item in before.scores
    }  # fmt: skip
    if not any(each[""] for each in scores.values()):
        tried = f"after: {', '.join([*after.scores][:3])}; before: {', '.join([*before.scores][:3])}"
        hint = "the ids of texts must be the same"
        raise RatingError("no text is rated in both tables", tried=tried, hint=hint)
    criteria = tuple(f"{name} change" for name in shared)
    every = dict.fromkeys((*after.scores, *before.scores))
    unmatched = tuple(item for item in every if not scores.get(item, {}).get(""))
    return RatingTable(criteria, scores, groups=after.groups, unnamed=frozenset({""}), unmatched=unmatched)


def _resampled(
    rated: Mapping[str, Mapping[str, float]], members: Mapping[str, Sequence[str]], nameless: bool, rng: Any
) -> "dict[str, Floats]":
    """The mean of each group in each resample of its texts and, at the same time, of all raters who have names.

    A resample is a count for each rater and each text: how often it was drawn. A text's mean is over its ratings, by the counts of
    their raters; the group's over its texts, by their own:

                     Ann ×2   Ben ×0   Cid ×1
        owls ×1        6        8        –        6 × 2 / 2           = 6
        bats ×2        3        –        6        (3 × 2 + 6 × 1) / 3 = 4       (6 × 1 + 4 × 2) / 3 = 4.67

    Raters are drawn once for all groups: a severe one is severe in each, which the groups' difference must not count as noise.
    """

    def draws(size: int) -> Any:
        return rng.multinomial(size, np.full(size, 1 / size), RESAMPLES)

    raters, found = list(dict.fromkeys(rater for by in rated.values() for rater in by)), dict[str, Any]()
    weights = np.ones((RESAMPLES, len(raters))) if nameless else draws(len(raters))
    for name, items in members.items():
        table = np.array([[rated[item].get(rater, math.nan) for rater in raters] for item in items])
        number, total = weights @ ~np.isnan(table).T, weights @ np.nan_to_num(table).T
        texts = draws(len(items)) * (number > 0)  # else none of its raters is drawn
        with np.errstate(invalid="ignore"):
            found[name] = (texts * total / np.maximum(number, 1)).sum(1) / texts.sum(1)
    return found


def _interval(drawn: Floats) -> tuple[float, float]:
    low, high = np.nanquantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _welch(one: Sequence[float], other: Sequence[float]) -> float | None:
    from scipy.stats import ttest_ind

    if min(len(one), len(other)) < 2 or len({*one}) == len({*other}) == 1:
        return None
    found: Any = ttest_ind(one, other, equal_var=False)
    return float(found.pvalue)


def _corrected(differences: Sequence[GroupDifference]) -> Iterator[GroupDifference]:
    from scipy.stats import false_discovery_control

    tests = sorted((each.p, at) for at, each in enumerate(differences) if each.p is not None)
    rates: Any = false_discovery_control([p for p, _ in tests]) if tests else []
    holm, corrected = 0.0, dict[int, tuple[float, float]]()
    for place, (p, at) in enumerate(tests):
        holm = max(holm, min(1.0, (len(tests) - place) * p))
        corrected[at] = holm, float(rates[place])
    criteria = Counter((each.one, each.other) for each in differences if each.p is not None)
    for at, each in enumerate(differences):
        if each.p is None:
            yield each
            continue
        holm, bh = corrected[at]
        yield replace(each, holm=holm, bh=bh, bonferroni=min(1.0, criteria[each.one, each.other] * each.p))


def as_lines(found: GroupComparison) -> Iterator[str]:
    """The comparison as text."""
    width = max(len(each.group) for each in found.means)
    for criterion in dict.fromkeys(each.criterion for each in found.means):
        yield f"\n{criterion}, by group"
        for each in (each for each in found.means if each.criterion == criterion):
            n = f"{count(each.texts, 'text')}, {count(each.ratings, 'rating')}"
            few = ", too narrow" * (each.texts < FEW)
            yield f"  {each.group:{width}}  mean {each.mean:.2f} ({each.low:.2f} to {each.high:.2f}{few}; {n})"
        for each in (each for each in found.differences if each.criterion == criterion):
            p = (
                "no test"
                if each.p is None
                else f"p {each.p:.2g}, Bonferroni {each.bonferroni:.2g}, Holm {each.holm:.2g}, BH {each.bh:.2g}"
            )
            yield f"  {each.one} − {each.other}: {each.difference:+.2f} ({each.low:+.2f} to {each.high:+.2f}); {p}"
    tests = count(sum(each.p is not None for each in found.differences), "test")
    yield f"In brackets: {LEVEL:.0%} intervals over {found.over}, by bootstrap."
    yield f"p: Welch's t-test of the texts' means; corrected for {tests} by Holm, and by Benjamini and Hochberg (BH)."
    yield "Bonferroni: corrected for the criteria of two groups."
    if found.ungrouped:
        yield f"{count(len(found.ungrouped), 'text')} in no group, left out: {', '.join(found.ungrouped[:3])}"
    if found.unmatched:
        some = f"{', '.join(found.unmatched[:3])}{', …' * (len(found.unmatched) > 3)}"
        yield f"{count(len(found.unmatched), 'text')} without ratings in both tables, left out: {some}"
