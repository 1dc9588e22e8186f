"""Agreement of a judge's rankings of ideas with people's (Review and Rebuttal, App. A.3.1, Eq. 4 and Table 4).

Each order of the judge counts as a ranking of its own, as in the paper: a mean of many lies near the middle, and so
nearer to any ranking. D(S) between two people is not 0 either, and a judge who guesses does not reach 1: both are
reported as baselines.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, product
from statistics import fmean
from typing import Any

from manyheads.core.texts import count
from manyheads.measures.forms import LISTED
from manyheads.measures.ranking import TARGET, JudgedSet, Rankings, relative_quality
from manyheads.measures.statistics import Mean, group_means, kendall_tau, kendall_w, mean_of

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
        return mean_of(
            group_means(values, targets.__getitem__), within=(-1, 1) if figure.startswith("tau") else (0, 1)
        )

    qualities = {
        name: tuple(each for each in sets if each.indicator == name)
        for name in sorted({each.indicator for each in sets})
    }
    return [
        Alignment(
            indicator=name,
            sets=some,
            targets=len({each.target for each in some}),
            raters=len({rater for each in some for rater in rankings.ranks[each.name]}),
            rankings=sum(len(rankings.ranks[each.name]) for each in some),
            means={figure: mean(some, figure) for figure in FIGURES},
        )
        for name, some in qualities.items()
    ]


def as_data(rankings: Rankings, qualities: Sequence[Alignment]) -> dict[str, Any]:
    """The comparison as JSON data."""

    def data(quality: Alignment) -> dict[str, Any]:
        own = asdict(quality)
        means = {
            name: mean["mean"] if mean and name in CHANCE else mean for name, mean in own.pop("means").items()
        }
        sets = [{**each.pop("figures"), "s_human": each.pop("raters"), **each} for each in own.pop("sets")]
        return {**own, **means, "sets": sets, "alignment": quality.alignment}

    return {
        "raters": rankings.raters,
        "sets": len(rankings.sets),
        "rankings": sum(map(len, rankings.ranks.values())),
        "excluded": list(rankings.excluded),
        "unused": list(rankings.unused),
        "qualities": {each.indicator: data(each) for each in qualities},
    }


def as_lines(rankings: Rankings, qualities: Sequence[Alignment]) -> Iterator[str]:
    """The comparison as text."""
    counts = sorted({len(by_rater) for by_rater in rankings.ranks.values()})
    each = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    sets, raters = count(len(rankings.sets), "set"), count(len(rankings.raters), "rater")
    yield f"{sets}, {raters}, rankings per set: {each}"
    if rankings.excluded:
        yield f"Left out with their sets: {', '.join(rankings.excluded)}"
    if rankings.unused:
        more = f"; and {len(rankings.unused) - LISTED} more" if rankings.unused[LISTED:] else ""
        yield f"Not used: {count(len(rankings.unused), 'ranking')} ({'; '.join(rankings.unused[:LISTED])}{more})"
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
            aligned = (
                f"; alignment {1 - mean.mean:.0%}" if mean and name in ("difference", "by_chance") else ""
            )
            yield f"  {label:38}  {_figure(mean, name in CHANCE)}{aligned}"
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


def _figure(mean: Mean | None, alone: bool) -> str:
    if mean is None:
        return "–"
    error = "" if alone or mean.se is None else f" ± {mean.se:.2f}"
    if alone or mean.low is None or mean.high is None:
        return f"{mean.mean:z.2f}{error}"
    interval = f"{mean.level:.0%} interval {mean.low:z.2f} to {mean.high:z.2f} ({mean.method})"
    return f"{mean.mean:z.2f}{error}, {interval}"


def _agreement(name: str, judged: JudgedSet, ranks: Mapping[str, tuple[int, ...]]) -> SetAgreement:
    ideas, people = len(judged.numbers) - 1, list(ranks.values())
    pairs, both = list(combinations(people, 2)), list(product(people, judged.judge_ranks))
    placed = judged.has_target
    raters = {rater: relative_quality(each[TARGET], ideas) for rater, each in ranks.items() if placed}
    s_human = [*raters.values()]
    s_judge = [relative_quality(each[TARGET], ideas) for each in judged.judge_ranks if placed]
    anywhere = [relative_quality(rank, ideas) for rank in range(1, ideas + 2)]
    figures = {
        "s_judge": _mean(s_judge),
        "s_human": _mean(s_human),
        "difference": _difference(product(s_human, s_judge)),
        "between_people": _difference(combinations(s_human, 2)),
        "by_chance": _difference(product(s_human, anywhere)),
        "of_means": abs(fmean(s_human) - fmean(s_judge)) if s_human and s_judge else None,
        "tau": _mean(kendall_tau(*two) for two in both),
        "tau_between_people": _mean(kendall_tau(*two) for two in pairs),
        "concordance": kendall_w(people),
        "first": _mean(one.index(1) == other.index(1) for one, other in both),
        "first_between_people": _mean(one.index(1) == other.index(1) for one, other in pairs),
        "first_by_chance": 1 / (ideas + 1),
    }
    orders = len(judged.judge_ranks)
    return SetAgreement(
        name, judged.run, judged.indicator, judged.target, ideas + (not placed), orders, raters, figures
    )


def _difference(pairs: Iterable[tuple[float, float]]) -> float | None:
    """Mean D(S) = |S_human - S_judge| (Eq. 4)."""
    return _mean(abs(one - other) for one, other in pairs)


def _mean(values: Iterable[float]) -> float | None:
    there = list(values)
    return fmean(there) if there else None
