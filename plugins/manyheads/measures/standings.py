"""How the makers of an arena stand: ratings with intervals, what the votes do not say, and how well raters agree.

Intervals hold for other raters and other cases: both are resampled, each as a whole. The variances of the two bootstraps are
added, less that of a bootstrap of single votes, which both contain (Cameron, Gelbach and Miller 2011).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING

from manyheads.measures.pairwise import (
    POINTS,
    START,
    Comparisons,
    EloRange,
    Endless,
    Fit,
    Groups,
    K,
    Likelihood,
    Poor,
    comparisons,
    elo,
    groups,
)  # fmt: skip
from manyheads.measures.statistics import LEVEL, Mean, krippendorff_alpha, mean_of
from manyheads.measures.votes import STYLE, RaterKind, Vote

if TYPE_CHECKING:
    from manyheads.measures.pairwise import Floats, Whole

RESAMPLES = 1_000
ADDED = 0.5
"""Ties added between each two makers that met, in resamples without a finite maximum."""


@dataclass(frozen=True)
class Rules:
    """How votes become ratings.

    Attributes:
        poor: whether “both poor” is left out, as in MAMORX, or a tie.
        regularise: ties added between each two makers that met, as a weight; 0 for none.
        signs: signs of style to adjust for.
        resamples: of each bootstrap.
        orders: random orders of the votes for Elo.
    """

    poor: Poor = "out"
    regularise: float = 0.0
    signs: tuple[str, ...] = STYLE
    resamples: int = RESAMPLES
    orders: int = 200
    k: float = K
    level: float = LEVEL
    seed: int = 0


@dataclass(frozen=True)
class Rated:
    """A rating with its interval; no numbers if it is not finite or not known."""

    rating: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Standing:
    """A maker.

    Attributes:
        votes: comparisons, of which `won` and `tied`.
        score: share of wins, ties as half.
        group: number of its connected group, from 1.
        best, worst: its ranks in its group as far as intervals that do not overlap decide them; None without a rating.
        endless: why it has no finite rating.
        elo: by Elo; its range over random orders of the same votes.
        adjusted: rating with the effect of style removed.
    """

    maker: str
    votes: int
    won: int
    tied: int
    score: float
    group: int
    rated: Rated
    best: int | None
    worst: int | None
    endless: Endless | None
    elo: EloRange
    adjusted: Rated


@dataclass(frozen=True)
class WinRate:
    """How often one maker is preferred to another, as expected from their ratings and as observed in `n` votes."""

    maker: str
    other: str
    n: int
    observed: float | None
    expected: float | None


@dataclass(frozen=True)
class Effect:
    """Rating points of one standard deviation (`unit`) of the difference of a sign of style."""

    sign: str
    unit: float
    points: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class RaterAgreement:
    """Agreement of raters on the same two makers and case.

    Attributes:
        pairs: of makers and case with answers of two or more raters.
        equal: share of pairs of answers that are equal, 0 to 1; None without any.
        alpha: Krippendorff's alpha of the answers as -1, 0, 1.
    """

    pairs: int
    equal: float | None
    alpha: float | None = None


@dataclass(frozen=True)
class Standings:
    """The result of the votes on one question by one kind of raters."""

    question: str
    kind: RaterKind
    votes: int
    poor: int
    raters: Mapping[str, int]
    """Votes by rater."""
    cases: int
    makers: tuple[Standing, ...]
    win_rates: tuple[WinRate, ...]
    effects: tuple[Effect, ...]
    dropped: tuple[str, ...]
    """Signs of style that cannot be told from makers or from other signs."""
    unadjusted: str
    """Why there are no adjusted ratings; empty if there are."""
    resampled: str
    """What the intervals were resampled over; empty without intervals."""
    unbounded: int
    """Resamples without a finite maximum, of all."""
    fits: int
    agreement: RaterAgreement
    left: Mean | None
    """Share of wins of the text on the left."""
    groups: Groups
    rules: Rules = field(default_factory=Rules)

    @property
    def unordered(self) -> list[tuple[str, str]]:
        """Pairs of makers that the votes do not put in order: their intervals overlap."""
        rated = [each for each in self.makers if each.rated.low is not None]
        return [
            (one.maker, other.maker)
            for one, other in combinations(rated, 2)
            if one.group == other.group and not apart(one.rated, other.rated)
        ]


def standings(votes: Sequence[Vote], question: str, rules: Rules, kind: RaterKind = "person") -> Standings:
    """The result of the votes of one kind of raters on a question.

    Raises:
        RatingError: no vote counts.
    """
    mine = [vote for vote in votes if vote.kind == kind]
    compared = comparisons(mine, question, poor=rules.poor, signs=rules.signs)
    known = groups(compared.makers, compared.wins)
    fits, rated, adjusted = _Fits(), dict[str, Rated](), dict[str, Rated]()
    expected, effects, why = dict[tuple[str, str], float](), tuple[Effect, ...](), list[str]()
    dropped = dict[str, None]()
    for group, finite in zip(known.connected, known.finite, strict=True):
        part = compared.among(group if rules.regularise else finite)
        if not len(part):
            continue
        if found := _rate(part, rules, fits, style=False):
            fit, rows = found
            rated |= dict(zip(part.makers, rows, strict=True))
            expected |= {
                (one, other): float(1 / (1 + 10 ** ((fit.ratings[j] - fit.ratings[i]) / 400)))
                for i, one in enumerate(part.makers) for j, other in enumerate(part.makers) if i != j
            }  # fmt: skip
        signs = part.separable_signs()
        if reason := _no_adjustment(part, signs, rules):
            why.append(reason)
        elif styled := _rate(part := part.with_signs(signs), rules, fits, style=True):
            fit, rows = styled
            dropped |= dict.fromkeys(each for each in compared.signs if each not in signs)
            adjusted |= dict(zip(part.makers, rows[: len(part.makers)], strict=True))
            if group == known.connected[0]:
                effects = tuple(
                    Effect(sign, float(unit), POINTS * float(value), row.low, row.high)
                    for sign, unit, value, row in zip(
                        part.signs, part.style.std(0), fit.style, rows[len(part.makers) :], strict=True
                    )
                )
        else:
            why.append("with style, the votes have no finite maximum")
    makers = _standings(
        compared, known, rated, adjusted, elo(compared, rules.k, orders=rules.orders, seed=rules.seed)
    )
    met, wins = compared.met, compared.wins
    decided = [float(score == 1) for score in compared.score if score != 0.5]
    return Standings(
        question=question, kind=kind, votes=len(compared), poor=compared.poor,
        raters=dict(Counter(compared.rater_names[each] for each in compared.raters).most_common()),
        cases=len(compared.case_names), makers=makers,
        win_rates=tuple(
            WinRate(one, other, int(met[i, j]), float(wins[i, j] / met[i, j]) if met[i, j] else None, expected.get((one, other)))
            for i, one in enumerate(compared.makers) for j, other in enumerate(compared.makers) if i != j
        ),
        effects=effects, dropped=tuple(dropped), unadjusted="" if adjusted else next(iter(why), "there is no finite rating"),
        resampled=fits.resampled, unbounded=fits.unbounded, fits=fits.number,
        agreement=agreement(mine, question, rules.poor), left=mean_of(decided, level=rules.level, share=True), groups=known,
        rules=rules,
    )  # fmt: skip


@dataclass
class _Fits:
    """Notes of the bootstraps."""

    resampled: str = ""
    unbounded: int = 0
    number: int = 0


def _no_adjustment(compared: Comparisons, signs: Sequence[str], rules: Rules) -> str:
    if not rules.signs:
        return "no signs of style are named"
    if not compared.signs:
        return "the style of the texts is not known"
    if not signs:
        return "the makers' texts always differ in style in the same way, or not at all"
    return ""


def _rate(
    compared: Comparisons, rules: Rules, notes: _Fits, *, style: bool
) -> tuple[Fit, list[Rated]] | None:
    """The fit, and each parameter with its interval: ratings of the makers, then effects of style, in rating points."""
    likelihood = Likelihood(compared, style=style)
    if (fit := likelihood.fit(regularise=rules.regularise)) is None:
        return None
    half = _half_widths(likelihood, compared, fit, rules, notes)
    size = len(fit.makers)
    values = [START * (at < size) + POINTS * float(each) for at, each in enumerate(fit.parameters)]
    rows = [
        Rated(value) if half is None else Rated(value, value - width, value + width)
        for value, width in zip(values, half if half is not None else values, strict=True)
    ]
    return fit, rows


def _half_widths(
    likelihood: Likelihood, compared: Comparisons, fit: Fit, rules: Rules, notes: _Fits
) -> "list[float] | None":
    """Half the width of each parameter's interval, in rating points: Student's t by the number of raters or cases."""
    import numpy as np
    from scipy.special import stdtrit

    rng = np.random.default_rng(rules.seed)

    def variance(units: "Whole") -> "Floats":
        """Of the parameters, if these units are resampled."""
        number = int(units.max()) + 1
        points = np.empty((rules.resamples, len(fit.parameters)))
        for at in range(rules.resamples):
            weights = rng.multinomial(number, np.full(number, 1 / number))[units].astype(np.float64)
            found = likelihood.fit(weights, start=fit, regularise=rules.regularise)
            notes.number += 1
            if found is None:
                notes.unbounded += 1
                found = likelihood.fit(weights, start=fit, regularise=max(ADDED, rules.regularise))
            points[at] = fit.parameters if found is None else found.parameters
        return points.var(0) * number / (number - 1)

    raters, cases = (_units(each) for each in (compared.raters, compared.cases))
    several = [each for each in (raters, cases) if len(each) and each.max() > 0]
    if len(compared) < 2 or rules.resamples < 2:
        return None
    if len(several) == 2:
        both = np.unique(np.column_stack(several), axis=0, return_inverse=True)[1].ravel()
        first, second = variance(raters), variance(cases)
        total = np.maximum(first + second - variance(both), np.maximum(first, second))
        notes.resampled = "raters and cases"
    else:
        units = several[0] if several else np.arange(len(compared))
        total = variance(units)
        notes.resampled = "votes" if not several else "raters" if several[0] is raters else "cases"
    sizes = [int(each.max()) + 1 for each in several] or [len(compared)]
    reach = float(stdtrit(min(sizes) - 1, (1 + rules.level) / 2))
    return [POINTS * reach * float(each) ** 0.5 for each in total]


def _units(numbers: "Whole") -> "Whole":
    """Numbers without gaps."""
    import numpy as np

    return np.unique(numbers, return_inverse=True)[1].ravel() if len(numbers) else numbers


def apart(one: Rated, other: Rated) -> bool:
    """Whether two intervals do not overlap."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.low > other.high or other.low > one.high


def _standings(
    compared: Comparisons,
    known: Groups,
    rated: Mapping[str, Rated],
    adjusted: Mapping[str, Rated],
    by_elo: Mapping[str, EloRange],
) -> tuple[Standing, ...]:
    """The makers by group, then by rating; those that always won first, those that always lost last."""
    met, wins = compared.met.sum(1), compared.wins.sum(1)
    ties = Counter[int]()
    for maker, score in zip(
        (*compared.left, *compared.right), (*compared.score, *compared.score), strict=True
    ):
        ties[int(maker)] += int(score == 0.5)
    group = {name: number for number, names in enumerate(known.connected, 1) for name in names}
    found = list[Standing]()
    for at, name in enumerate(compared.makers):
        own = rated.get(name, Rated())
        beside = [each for other, each in rated.items() if other != name and group[other] == group[name]]
        better = sum(apart(own, each) and (each.rating or 0) > (own.rating or 0) for each in beside)
        worse = sum(apart(own, each) and (each.rating or 0) < (own.rating or 0) for each in beside)
        ranked = own.low is not None
        found.append(
            Standing(
                maker=name, votes=int(met[at]), won=round(wins[at] - ties[at] / 2), tied=ties[at],
                score=float(wins[at] / met[at]), group=group[name], rated=own,
                best=1 + better if ranked else None, worst=1 + len(beside) - worse if ranked else None,
                endless=None if name in rated else known.endless.get(name), elo=by_elo[name],
                adjusted=adjusted.get(name, Rated()),
            )
        )  # fmt: skip
    places = {"won": 0, None: 1, "apart": 2, "lost": 3}
    return tuple(
        sorted(
            found, key=lambda each: (each.group, places[each.endless], -(each.rated.rating or 0), each.maker)
        )
    )


# Agreement of raters.


def _answers(votes: Sequence[Vote], question: str, poor: Poor) -> dict[str, dict[str, float]]:
    """By makers and case, then rater, the answer as -1, 0 or 1; of several answers of a rater, what most of them prefer."""
    found = defaultdict[str, Counter[str]](Counter)
    for vote in votes:
        answer = vote.answers.get(question)
        if answer is None or (answer == "poor" and poor == "out") or not vote.rater:
            continue
        score = {"left": 1.0, "right": -1.0}.get(answer, 0.0)
        first, second = sorted((vote.left, vote.right))
        unit = "\0".join((vote.case, first, second))
        found[unit][vote.rater] += round(score if vote.left == first else -score)
    return {
        unit: {rater: float((total > 0) - (total < 0)) for rater, total in by.items()}
        for unit, by in found.items()
    }


def agreement(votes: Sequence[Vote], question: str, poor: Poor = "out") -> RaterAgreement:
    """How well raters of one kind agree with each other."""
    units = [by for by in _answers(votes, question, poor).values() if len(by) > 1]
    equal = [float(one == other) for by in units for one, other in combinations(by.values(), 2)]
    alpha = krippendorff_alpha({str(at): by for at, by in enumerate(units)})
    return RaterAgreement(len(units), fmean(equal) if equal else None, alpha)


def agreement_with_people(
    votes: Sequence[Vote], question: str, poor: Poor = "out"
) -> dict[str, RaterAgreement]:
    """How often each model rater gives the answer of a person on the same makers and case."""
    people, models = (
        _answers([vote for vote in votes if vote.kind == kind], question, poor)
        for kind in ("person", "model")
    )
    equal = defaultdict[str, list[float]](list)
    pairs = Counter[str]()
    for unit, by in models.items():
        for model, answer in by.items():
            if unit in people:
                pairs[model] += 1
                equal[model] += [float(answer == each) for each in people[unit].values()]
    names = sorted({model for by in models.values() for model in by})
    return {name: RaterAgreement(pairs[name], fmean(equal[name]) if equal[name] else None) for name in names}


def steadiness(votes: Sequence[Vote], question: str) -> tuple[int, float] | None:
    """Pairs of texts that a rater saw in both orders, and the share with the same preference in both; None without any."""
    seen = defaultdict[tuple[str, str, frozenset[str]], dict[str, str]](dict)
    for vote in votes:
        if answer := vote.answers.get(question):
            preferred = {"left": vote.left, "right": vote.right}.get(answer, answer)
            seen[vote.rater, vote.case, frozenset((vote.left, vote.right))][vote.left] = preferred
    both = [float(len({*each.values()}) == 1) for each in seen.values() if len(each) == 2]
    return (len(both), fmean(both)) if both else None
