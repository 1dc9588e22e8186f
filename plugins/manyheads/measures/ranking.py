"""Rankings of ideas: their quality relative to a target, their dependence on the order of the ideas, and the agreement of a
judge's rankings with people's (Review and Rebuttal, §3.2, App. A.3.1, Eq. 3, 4 and Table 4).

Each order of the judge counts as a ranking of its own, as in the paper: a mean of many lies near the middle, and so
nearer to any ranking. D(S) between two people is not 0 either, and a judge who guesses does not reach 1: both are
reported as baselines.
"""

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, combinations, product
from pathlib import Path
from statistics import fmean
from typing import Any, cast

from manyheads.base.errors import MeasureError, RatingError
from manyheads.base.text import count, first_few
from manyheads.measures.statistics import Mean, group_means, kendall_w, mean_of
from manyheads.measures.tables import LISTED, TableRow, read_table, refuse

RESAMPLES = 1_999
"""Random designs of the test for position bias."""


@dataclass(frozen=True, slots=True)
class PositionBias:
    """The effect of an idea's place on its rank, over all orders of one set of k ideas.

    Attributes:
        bias: mean Spearman correlation of place and rank, -1 to 1; above 0, early ideas rank better. It is the loss of ranks
        per place. A preference for the middle shows only in `by_place`.
        p: p-value: share of random orders under which the same rankings come out at least as biased, 0 to 1.
        by_place: mean rank, 1 to k, in each place; (k + 1) / 2 without bias.
        consistency: Kendall's W of the rankings: 1 if the order changes nothing; None for a single order.
        orders: number with a ranking.
    """

    bias: float
    p: float
    by_place: tuple[float, ...]
    consistency: float | None
    orders: int


def relative_quality(rank: int, ideas: int) -> float:
    """S = (n_t - 1) / n: the share of the n ideas ranked above the target, whose rank n_t is 1 to n + 1 (Eq. 3).

    Raises `MeasureError` without ideas, or for a rank out of range.
    """
    if ideas < 1 or not 1 <= rank <= ideas + 1:
        raise MeasureError(f"rank {rank}: out of range for {ideas} ideas")
    return (rank - 1) / ideas


def orders_of(size: int, count: int, rng: random.Random) -> list[tuple[int, ...]]:
    """Orders of 0, …, size - 1: the rows of random Latin squares, one square after another.

        0 1 2        1 2 0        ideas, places and rows are renamed at random;
        1 2 0   →    2 0 1        each column has every idea once
        2 0 1        0 1 2

    Every `size` orders put each idea in each place once, which separates place from idea. Raises `MeasureError` for a
    size of 0.
    """
    if size < 1:
        raise MeasureError("there are no ideas to put in order")
    found: list[tuple[int, ...]] = []
    while len(found) < count:
        ideas, places, rows = (rng.sample(range(size), size) for _ in range(3))
        found += [tuple(ideas[(row + place) % size] for place in places) for row in rows]
    return found[:count]


def position_bias(
    shown: Sequence[Sequence[int]],
    ranked: Sequence[Sequence[int] | None],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> PositionBias:
    """The position bias of rankings of one set of ideas.

    The p-value is that of a randomisation test: without a bias, the rankings would be the same under any orders of
    `orders_of`.

    Args:
        shown: all orders, each the ideas 0, …, k - 1 from the first place to the last.
        ranked: for each order, the ideas from best to worst; None without a ranking.

    Raises:
        MeasureError: no rankings, fewer than two ideas, or a ranking of other ideas.
    """
    size, whole = len(shown[0]) if shown else 0, [each for each in ranked if each is not None]
    if size < 2 or not whole or len(shown) != len(ranked):
        raise MeasureError("position bias needs two or more ideas, and rankings of them in the orders shown")
    if any(sorted(each) != list(range(size)) for each in (*shown, *whole)):
        raise MeasureError(f"an order or ranking must have each of the {size} ideas once")
    at = [place for place, each in enumerate(ranked) if each is not None]
    ranks, rng = [ranks_of(each) for each in whole], random.Random(seed)

    def bias_of(orders: Sequence[Sequence[int]]) -> float:
        """Mean Spearman correlation of two permutations: 1 - 6 Σ d² / (k (k² - 1))."""
        pairs = zip((orders[place] for place in at), ranks, strict=True)
        squares = (sum((at - rank[idea]) ** 2 for at, idea in enumerate(order)) for order, rank in pairs)
        return fmean(1 - 6 * total / (size * (size**2 - 1)) for total in squares)

    bias = bias_of(shown)
    drawn = (bias_of(orders_of(size, len(shown), rng)) for _ in range(resamples))
    as_large = sum(abs(other) >= abs(bias) - 1e-12 for other in drawn)
    rows = [[rank[idea] + 1 for idea in shown[order]] for order, rank in zip(at, ranks, strict=True)]
    by_place = tuple(map(fmean, zip(*rows, strict=True)))
    return PositionBias(bias, (1 + as_large) / (1 + resamples), by_place, kendall_w(ranks), len(ranks))


def ranks_of(order: Sequence[int]) -> list[int]:
    """From things in order, best first, to each thing's rank, from 0."""
    return sorted(range(len(order)), key=order.__getitem__)


TARGET = 0
"""The target's number in every set."""


# Rankings by people, and by a judge of the same ideas.


COLUMNS = ("rater", "set", "idea", "rank")
"""Columns of a table of rankings."""


@dataclass(frozen=True)
class IdeaSet:
    """A set of ideas that people ranked.

    Attributes:
        target: a name of the target; equal in all its sets.
        run: the judge's.
        size: ideas in it, with the target.
        judge_ranks: for each of the judge's orders the rank of each text, from 1, the target first; none without a judge.
        has_target: whether the first text is a target, not an idea.
    """

    indicator: str
    target: str
    run: str
    size: int
    judge_ranks: tuple[tuple[int, ...], ...] = ()
    has_target: bool = True


@dataclass(frozen=True)
class Rankings:
    """What people ranked: by set, then rater, the rank of each text, from 1, the target first; the sets; and rankings of tables
    that are not used, with the reason.
    """

    ranks: Mapping[str, Mapping[str, tuple[int, ...]]]
    sets: Mapping[str, IdeaSet]
    unused: tuple[str, ...] = ()

    @property
    def raters(self) -> list[str]:
        return sorted({rater for by_rater in self.ranks.values() for rater in by_rater})


def read_rankings(
    paths: Sequence[Path],
    columns: Mapping[str, str] | None = None,
    judges: Collection[str] = (),
    target: str | None = None,
) -> Rankings:
    """Rankings in tables: a row for each rater, set and idea, with its rank; without a set, there is a single one.

    A ranking that lacks an idea of its set, or has two of one rank, is not used. Ranks are numbers, the best the lowest.

    Args:
        paths: CSV files in UTF-8.
        columns: what they call `rater`, `set`, `idea` and `rank`.
        judges: raters whose rankings are those of the judge.
        target: the idea that is the target of every set.

    Raises:
        RatingError: a file cannot be read, a cell is no rank, a judge or the target is in no set, or nothing is left.
    """
    needed = [(name,) for name in COLUMNS if name != "set" or "set" in (columns or {})]
    hint = f"name the columns of your table: --columns {','.join(f'{name}=COLUMN' for name in COLUMNS)}"
    groups, problems = dict[str, dict[str, list[TableRow]]](), list[str]()
    for row in (row for path in paths for row in read_table(path, needed, hint, columns, ("rank",))):
        problems += [f"{row.place}: column {name}: empty" for name in ("rater", "idea") if not row[name]]
        problems += () if row.missing("rank") else row.problems_of("rank")
        groups.setdefault(row["set"] or "all", {}).setdefault(row["rater"], []).append(row)
    refuse(problems)
    if strange := sorted(set(judges) - {rater for by_rater in groups.values() for rater in by_rater}):
        raise RatingError(f"--judge {strange[0]}: no such rater", hint="name a rater of the tables")
    ranks, sets, unused = dict[str, dict[str, tuple[int, ...]]](), dict[str, IdeaSet](), list[str]()
    for name, by_rater in groups.items():
        ideas = list(dict.fromkeys(row["idea"] for rows in by_rater.values() for row in rows))
        ideas.sort(key=lambda idea: idea != target)
        whole = dict[str, tuple[int, ...]]()
        for rater, rows in by_rater.items():
            places = {row["idea"]: row.number("rank") for row in rows if not row.missing("rank")}
            if fault := _fault(rows, places, len(ideas)):
                unused.append(f"{rows[0].place}: {rater}, set {name}: {fault}")
            else:
                whole[rater] = tuple(sorted(places.values()).index(places[idea]) + 1 for idea in ideas)
        people = {rater: each for rater, each in whole.items() if rater not in judges}
        if len(ideas) > 1 and people:
            first = ideas[0] == target
            judged = tuple(each for rater, each in whole.items() if rater in judges)
            ranks[name] = people
            sets[name] = IdeaSet("rank", target if first and target else name, "", len(ideas), judged, first)
    if not ranks:
        why = f": {'; '.join(unused[:LISTED])}" if unused else ""
        raise RatingError(f"{', '.join(map(str, paths))}: no whole ranking of a person in it{why}")
    if target and not any(each.has_target for each in sets.values()):
        raise RatingError(f"--target {target}: in no set", hint="name one of the ideas that are ranked")
    return Rankings(ranks, sets, tuple(unused))


def _fault(rows: Sequence[TableRow], places: Mapping[str, float], ideas: int) -> str:
    """Why one rater's rows are no ranking of a set; empty if they are."""
    if len({row["idea"] for row in rows}) < len(rows):
        return "an idea is there twice"
    if absent := ideas - len(places):
        return f"{absent} of {ideas} ideas have no rank"
    return "two ideas have the same rank" * (len({*places.values()}) < ideas)


FIGURES: Mapping[str, str] = {
    "s_judge": "S of the judge, the mean of its orders",
    "s_human": "S of people",
    "difference": "D(S) of judge and people",
    "between_people": "D(S) between two people",
    "by_chance": "D(S) of a judge who guesses",
    "of_means": "D(S) of the means of both",
    "tau": "Kendall's tau of judge and people",
    "tau_between_people": "Kendall's tau between two people",
    "concordance": "Kendall's W of all people",
    "first": "Same first place, judge and people",
    "first_between_people": "Same first place, two people",
    "first_by_chance": "Same first place, by guessing",
}
"""Figures of agreement. Each is a mean over raters and orders, or over pairs of raters, of

S, the share of ideas above the target (Eq. 3); D(S) = |S_human - S_judge| (Eq. 4), 0 to 1; Kendall's tau, -1 to 1, and W,
0 to 1, of whole rankings; and the share that ranks the same idea first. A judge who guesses puts the target into each place
with equal probability. A single rater has no figures between people.
"""
CHANCE = ("by_chance", "first_by_chance")
"""Computed exactly, so without intervals."""


@dataclass(frozen=True)
class SetAgreement:
    """A set of n ideas with a target, ranked by a judge in some orders and by people.

    Attributes:
        raters: S of each.
        figures: those of `FIGURES`; None if a single rater is too few.
    """

    name: str
    run: str
    indicator: str
    target: str
    ideas: int
    orders: int
    raters: Mapping[str, float]
    figures: Mapping[str, float | None]


@dataclass(frozen=True)
class Alignment:
    """All sets of one quality indicator.

    Attributes:
        means: of each of `FIGURES` over targets; sets with the same target are averaged first, as they are alike.
    """

    indicator: str
    sets: tuple[SetAgreement, ...]
    targets: int
    raters: int
    rankings: int
    means: Mapping[str, Mean | None]

    @property
    def alignment(self) -> float | None:
        """1 - D(S), the agreement of judge and people on the target (Table 4); None without a judge or a target."""
        difference = self.means["difference"]
        return 1 - difference.mean if difference else None


def alignments(rankings: Rankings) -> list[Alignment]:
    """Compare the judge with people, by quality indicator."""
    sets = [_agreement(name, each, rankings.ranks[name]) for name, each in rankings.sets.items()]
    targets = {each.name: each.target for each in sets}

    def mean(some: Sequence[SetAgreement], figure: str) -> Mean | None:
        values = {each.name: value for each in some if (value := each.figures[figure]) is not None}
        within = (-1, 1) if figure.startswith("tau") else (0, 1)
        return mean_of(group_means(values, targets.__getitem__), within=within)

    found = list[Alignment]()
    for name in sorted({each.indicator for each in sets}):
        some = tuple(each for each in sets if each.indicator == name)
        ranks = [rankings.ranks[each.name] for each in some]
        raters, means = {*chain(*ranks)}, {figure: mean(some, figure) for figure in FIGURES}
        beside = len({each.target for each in some})
        found.append(Alignment(name, some, beside, len(raters), sum(map(len, ranks)), means))
    return found


def as_data(rankings: Rankings, qualities: Sequence[Alignment]) -> dict[str, Any]:
    """The comparison as JSON data."""

    def data(quality: Alignment) -> dict[str, Any]:
        own = asdict(quality)
        means = {name: each["mean"] if each and name in CHANCE else each
                 for name, each in own.pop("means").items()}  # fmt: skip
        sets = [{**each.pop("figures"), "s_human": each.pop("raters"), **each} for each in own.pop("sets")]
        return {**own, **means, "sets": sets, "alignment": quality.alignment}

    return {
        "raters": rankings.raters,
        "sets": len(rankings.sets),
        "rankings": sum(map(len, rankings.ranks.values())),
        "unused": list(rankings.unused),
        "qualities": {each.indicator: data(each) for each in qualities},
    }


def as_lines(rankings: Rankings, qualities: Sequence[Alignment]) -> Iterator[str]:
    """The comparison as text."""
    counts = sorted({len(by_rater) for by_rater in rankings.ranks.values()})
    each = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    sets, raters = count(len(rankings.sets), "set"), count(len(rankings.raters), "rater")
    yield f"{sets}, {raters}, rankings per set: {each}"
    if rankings.unused:
        unused = first_few(rankings.unused, LISTED, "; ")
        yield f"Not used: {count(len(rankings.unused), 'ranking')} ({unused})"
    if not any(each.judge_ranks for each in rankings.sets.values()):
        yield "No judge among the raters (--judge RATER): people are compared with each other only"
    if not any(each.has_target for each in rankings.sets.values()):
        yield "No target among the ideas (--target IDEA): S and D(S) are undefined"
    for quality in qualities:
        yield ""
        sets, targets = count(len(quality.sets), "set"), count(quality.targets, "target")
        people = f"{count(quality.raters, 'rater')}, {count(quality.rankings, 'ranking')}"
        yield f"{quality.indicator}: {sets} with {targets}, {people}"
        for name, label in FIGURES.items():
            mean = quality.means[name]
            alike = f"; alignment {1 - mean.mean:.0%}" if mean and name in ("difference", "by_chance") else ""
            yield f"  {label:38}  {_mean_words(mean, name in CHANCE)}{alike}"
        for one in quality.sets:
            people = ", ".join(f"{rater} {s:.2f}" for rater, s in sorted(one.raters.items()))
            judge, difference = one.figures["s_judge"], one.figures["difference"]
            if judge is not None and difference is not None:
                yield f"  {one.name}: S of the judge {judge:.2f}, of {people}; D(S) {difference:.2f}"
    yield ""
    yield (
        "D(S) = |S of a person - S of the judge in one order|, alignment = 1 - D(S). Means are over targets, "
        "± standard error; sets of one target are averaged first."
    )


def _mean_words(mean: Mean | None, alone: bool) -> str:
    if mean is None:
        return "–"
    words = f"{mean.mean:z.2f}" + ("" if alone or mean.se is None else f" ± {mean.se:.2f}")
    if alone or mean.low is None or mean.high is None:
        return words
    return f"{words}, {mean.level:.0%} interval {mean.low:z.2f} to {mean.high:z.2f} ({mean.method})"


def _agreement(name: str, judged: IdeaSet, ranks: Mapping[str, tuple[int, ...]]) -> SetAgreement:
    from scipy.stats import kendalltau

    ideas, people = judged.size - 1, list(ranks.values())
    pairs, both = list(combinations(people, 2)), list(product(people, judged.judge_ranks))
    placed = judged.has_target
    raters = {rater: relative_quality(each[TARGET], ideas) for rater, each in ranks.items() if placed}
    s_human = [*raters.values()]
    s_judge = [relative_quality(each[TARGET], ideas) for each in judged.judge_ranks if placed]
    anywhere = [relative_quality(rank, ideas) for rank in range(1, ideas + 2)]

    def mean(values: Iterable[float]) -> float | None:
        known = list(values)
        return fmean(known) if known else None

    def difference(of: Iterable[tuple[float, float]]) -> float | None:
        """Mean D(S) = |S_human - S_judge| (Eq. 4)."""
        return mean(abs(one - other) for one, other in of)

    def tau(of: Iterable[tuple[Sequence[int], Sequence[int]]]) -> float | None:
        return mean(float(cast(Any, kendalltau(*two)).statistic) for two in of)

    figures = {
        "s_judge": mean(s_judge),
        "s_human": mean(s_human),
        "difference": difference(product(s_human, s_judge)),
        "between_people": difference(combinations(s_human, 2)),
        "by_chance": difference(product(s_human, anywhere)),
        "of_means": abs(fmean(s_human) - fmean(s_judge)) if s_human and s_judge else None,
        "tau": tau(both),
        "tau_between_people": tau(pairs),
        "concordance": kendall_w(people),
        "first": mean(one.index(1) == other.index(1) for one, other in both),
        "first_between_people": mean(one.index(1) == other.index(1) for one, other in pairs),
        "first_by_chance": 1 / (ideas + 1),
    }
    size, orders = ideas + (not placed), len(judged.judge_ranks)
    return SetAgreement(name, judged.run, judged.indicator, judged.target, size, orders, raters, figures)
