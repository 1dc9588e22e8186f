"""How far a judge ranks ideas as people do (Review and Rebuttal, App. A.3.1, Eq. 4 and Table 4).

Each order of the judge counts as a ranking of its own, as in the paper: the mean of many lies near the middle, and so
nearer to anybody's than a single one. Between two people D(S) is not 0 either, and a judge who guesses does not reach 1:
both stand beside the judge's, without which a share of alignment says little.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, product
from statistics import fmean
from typing import Any

from manyheads.errors import RatingError
from manyheads.measures.effects import Ends, Mean, by_group, mean_of
from manyheads.measures.ranking import concordance, ranking_difference, relative_quality
from manyheads.measures.rankings import TARGET, KeptSet, Rankings


@dataclass(frozen=True)
class SetAgreement:
    """One set, ranked by a judge and by people; None where a single rater cannot tell.

    Attributes:
        name, run, indicator, target: of the set.
        ideas: n, without the target.
        orders: the judge's rankings.
        s_judge: the judge's S, the mean over its orders.
        s_human: S of each rater.
        difference: D(S) = |S_human - S_judge| (Eq. 4), 0 to 1, the mean over raters and orders.
        between_people: the same between two raters, the mean over all pairs.
        by_chance: the same of a judge who puts the target into any place as likely.
        of_means: the difference of the mean over raters and that over orders.
        tau: Kendall's tau of whole rankings of the judge and a rater, -1 to 1, the mean over raters and orders.
        tau_between_people: the same between two raters.
        concordance: Kendall's W of the raters, 0 to 1.
        first: share of raters and orders that rank the same first.
        first_between_people: share of the pairs of raters who do.
    """

    name: str
    run: str
    indicator: str
    target: str
    ideas: int
    orders: int
    s_judge: float
    s_human: dict[str, float]
    difference: float
    between_people: float | None
    by_chance: float
    of_means: float
    tau: float
    tau_between_people: float | None
    concordance: float | None
    first: float
    first_between_people: float | None


@dataclass(frozen=True)
class Alignment:
    """All sets of one quality; see `SetAgreement` for what the means are of.

    Each is over targets, with its interval: sets beside one target are alike, so that their mean counts once.
    """

    indicator: str
    sets: tuple[SetAgreement, ...]
    targets: int
    raters: int
    rankings: int
    s_judge: Mean
    s_human: Mean
    difference: Mean
    between_people: Mean | None
    by_chance: float
    of_means: Mean
    tau: Mean
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


def kendall_tau(first: Sequence[int], second: Sequence[int]) -> float:
    """Kendall's tau of two rankings of the same two or more things, -1 to 1."""
    from scipy.stats import kendalltau

    found: Any = kendalltau(first, second)
    return float(found.statistic)


def _agreement(name: str, kept: KeptSet, ranks: Mapping[str, tuple[int, ...]]) -> SetAgreement:
    ideas, people = kept.size - 1, list(ranks.values())
    pairs, both = list(combinations(people, 2)), list(product(people, kept.judge_ranks))
    s_human = {rater: relative_quality(each[TARGET], ideas) for rater, each in ranks.items()}
    s_judge = [relative_quality(each[TARGET], ideas) for each in kept.judge_ranks]
    anywhere = [relative_quality(rank, ideas) for rank in range(1, kept.size + 1)]
    return SetAgreement(
        name=name,
        run=kept.run,
        indicator=kept.indicator,
        target=kept.target,
        ideas=ideas,
        orders=len(s_judge),
        s_judge=fmean(s_judge),
        s_human=s_human,
        difference=_differences(product(s_human.values(), s_judge)),
        between_people=_differences(combinations(s_human.values(), 2)) if pairs else None,
        by_chance=_differences(product(s_human.values(), anywhere)),
        of_means=ranking_difference(fmean(s_human.values()), fmean(s_judge)),
        tau=fmean(kendall_tau(*two) for two in both),
        tau_between_people=fmean(kendall_tau(*two) for two in pairs) if pairs else None,
        concordance=concordance(people),
        first=fmean(_same_first(*two) for two in both),
        first_between_people=fmean(_same_first(*two) for two in pairs) if pairs else None,
    )


def _alignment(indicator: str, sets: Sequence[SetAgreement]) -> Alignment:
    target_of = {each.name: each.target for each in sets}

    def over(value: Callable[[SetAgreement], float | None], within: Ends = (0, 1)) -> Mean | None:
        known = {each.name: found for each in sets if (found := value(each)) is not None}
        return mean_of(list(by_group(known, target_of.__getitem__).values()), within=within)

    def over_all(value: Callable[[SetAgreement], float], within: Ends = (0, 1)) -> Mean:
        found = over(value, within)
        if found is None:
            raise RatingError(f"{indicator}: no sets")
        return found

    return Alignment(
        indicator=indicator,
        sets=tuple(sets),
        targets=len(set(target_of.values())),
        raters=len({rater for each in sets for rater in each.s_human}),
        rankings=sum(len(each.s_human) for each in sets),
        s_judge=over_all(lambda each: each.s_judge),
        s_human=over_all(lambda each: fmean(each.s_human.values())),
        difference=over_all(lambda each: each.difference),
        between_people=over(lambda each: each.between_people),
        by_chance=over_all(lambda each: each.by_chance).mean,
        of_means=over_all(lambda each: each.of_means),
        tau=over_all(lambda each: each.tau, (-1, 1)),
        tau_between_people=over(lambda each: each.tau_between_people, (-1, 1)),
        concordance=over(lambda each: each.concordance),
        first=over_all(lambda each: each.first),
        first_between_people=over(lambda each: each.first_between_people),
        first_by_chance=over_all(lambda each: 1 / (each.ideas + 1)).mean,
    )


def _differences(pairs: Iterable[tuple[float, float]]) -> float:
    return fmean(ranking_difference(one, other) for one, other in pairs)


def _same_first(first: Sequence[int], second: Sequence[int]) -> bool:
    return first.index(1) == second.index(1)
