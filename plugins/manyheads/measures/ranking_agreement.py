"""How far a judge ranks ideas as people do (Review and Rebuttal, App. A.3.1, Eq. 4 and Table 4).

Between two people D(S) is not 0 either, and a judge who guesses does not reach 1: both stand beside the judge's, without
which a share of alignment says little.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

from manyheads.errors import RatingError
from manyheads.measures.effects import Mean, mean_of
from manyheads.measures.ranking import concordance, ranking_difference, relative_quality
from manyheads.measures.rankings import TARGET, KeptSet, Rankings


@dataclass(frozen=True)
class SetAgreement:
    """One set, ranked by a judge and by people. None where one rater, or a judge to whom all are equal, tells nothing.

    Attributes:
        name, run, indicator: of the set.
        ideas: n, without the target.
        s_judge: the judge's S, the mean over its orders.
        s_human: S of each rater.
        difference: D(S), the mean over raters of |S_human - S_judge| (Eq. 4), 0 to 1.
        between_people: the same between two raters, the mean over all pairs.
        by_chance: the same of a judge who puts the target into any place as likely.
        tau: Kendall's tau-b of the judge's whole ranking and a rater's, -1 to 1, the mean over raters.
        tau_between_people: the same between two raters.
        concordance: Kendall's W of the raters, 0 to 1.
        first: share of the raters who rank first what the judge does; one of several that the judge ranks alike
            counts in part.
        first_between_people: share of the pairs of raters who rank the same first.
    """

    name: str
    run: str
    indicator: str
    ideas: int
    s_judge: float
    s_human: dict[str, float]
    difference: float
    between_people: float | None
    by_chance: float
    tau: float | None
    tau_between_people: float | None
    concordance: float | None
    first: float
    first_between_people: float | None


@dataclass(frozen=True)
class Alignment:
    """All sets of one quality. Each mean is over sets, with its interval; see `SetAgreement` for what they are of."""

    indicator: str
    sets: tuple[SetAgreement, ...]
    raters: int
    rankings: int
    s_judge: Mean
    s_human: Mean
    difference: Mean
    between_people: Mean | None
    by_chance: float
    tau: Mean | None
    tau_between_people: Mean | None
    concordance: Mean | None
    first: Mean
    first_between_people: Mean | None
    first_by_chance: float

    @property
    def alignment(self) -> float:
        """1 - D(S), the share by which judge and people agree where the target stands (Table 4)."""
        return 1 - self.difference.mean


def alignments(rankings: Rankings) -> list[Alignment]:
    """The judge held against people, quality by quality."""
    found = [_agreement(name, kept, rankings.given[name]) for name, kept in rankings.sets.items()]
    indicators = sorted({each.indicator for each in found})
    return [_alignment(name, [each for each in found if each.indicator == name]) for name in indicators]


def as_data(rankings: Rankings, found: Sequence[Alignment]) -> dict[str, Any]:
    """All of it as JSON data."""
    return {
        "raters": rankings.raters,
        "sets": len(rankings.sets),
        "rankings": sum(map(len, rankings.given.values())),
        "excluded": list(rankings.excluded),
        "qualities": {each.indicator: {**asdict(each), "alignment": each.alignment} for each in found},
    }


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Kendall's tau-b of two rankings of the same things, which may hold ties; None where all of one are equal."""
    from scipy.stats import kendalltau

    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    found: Any = kendalltau(first, second)
    return float(found.statistic)


def _agreement(name: str, kept: KeptSet, ranks: Mapping[str, tuple[int, ...]]) -> SetAgreement:
    ideas, pairs = kept.size - 1, list(combinations(ranks.values(), 2))
    s_judge = (kept.judge_ranks[TARGET] - 1) / ideas
    s_human = {rater: relative_quality(each[TARGET], ideas) for rater, each in ranks.items()}
    anywhere = [relative_quality(rank, ideas) for rank in range(1, kept.size + 1)]
    return SetAgreement(
        name=name,
        run=kept.run,
        indicator=kept.indicator,
        ideas=ideas,
        s_judge=s_judge,
        s_human=s_human,
        difference=fmean(ranking_difference(s, s_judge) for s in s_human.values()),
        between_people=_mean([ranking_difference(*two) for two in combinations(s_human.values(), 2)]),
        by_chance=fmean(ranking_difference(s, other) for s in s_human.values() for other in anywhere),
        tau=_mean([kendall_tau(each, kept.judge_ranks) for each in ranks.values()]),
        tau_between_people=_mean([kendall_tau(*two) for two in pairs]),
        concordance=concordance(list(ranks.values())),
        first=fmean(_same_first(each, kept.judge_ranks) for each in ranks.values()),
        first_between_people=_mean([_same_first(*two) for two in pairs]),
    )


def _alignment(indicator: str, sets: Sequence[SetAgreement]) -> Alignment:
    def over(value: Callable[[SetAgreement], float | None]) -> Mean | None:
        return mean_of([found for each in sets if (found := value(each)) is not None])

    def over_all(value: Callable[[SetAgreement], float]) -> Mean:
        found = over(value)
        if found is None:
            raise RatingError(f"{indicator}: no sets")
        return found

    return Alignment(
        indicator=indicator,
        sets=tuple(sets),
        raters=len({rater for each in sets for rater in each.s_human}),
        rankings=sum(len(each.s_human) for each in sets),
        s_judge=over_all(lambda each: each.s_judge),
        s_human=over_all(lambda each: fmean(each.s_human.values())),
        difference=over_all(lambda each: each.difference),
        between_people=over(lambda each: each.between_people),
        by_chance=fmean(each.by_chance for each in sets),
        tau=over(lambda each: each.tau),
        tau_between_people=over(lambda each: each.tau_between_people),
        concordance=over(lambda each: each.concordance),
        first=over_all(lambda each: each.first),
        first_between_people=over(lambda each: each.first_between_people),
        first_by_chance=fmean(1 / (each.ideas + 1) for each in sets),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _same_first(ranks: Sequence[float], other: Sequence[float]) -> float:
    """Whether the best of `ranks`, which has no ties, is the best of `other`; of several there, its part."""
    best = [number for number, rank in enumerate(other) if rank == min(other)]
    return (ranks.index(min(ranks)) in best) / len(best)
