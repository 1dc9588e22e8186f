"""How the makers of an arena stand: ratings with intervals, what the votes do not say, and how well raters agree.

Intervals hold for other raters and other cases: both are resampled, each as a whole. The variances of the two bootstraps are
added, less that of a bootstrap of votes of one rater on one case, which both contain (Cameron, Gelbach and Miller 2011):

              case 1   case 2   case 3
    Ann         v        v               votes in a row share a rater: V(raters)
    Ben         v                 v      votes in a column share a case: V(cases)
    Cid                  v        v      a vote shares both with itself: V(both) is in each of the two

    V = V(raters) + V(cases) - V(both), and no less than the larger of the two, as chance can make the difference too small.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from statistics import fmean
from typing import TYPE_CHECKING

from manyheads.measures.statistics import LEVEL, Mean, krippendorff_alpha, mean_of
from manyheads.measures.votes import STYLE, PairVote, RaterKind

if TYPE_CHECKING:
    from manyheads.measures.pairwise import (
        Comparisons,
        EloRange,
        Endless,
        Fit,
        Floats,
        Groups,
        Likelihood,
        Poor,
        Whole,
    )

K = 32.0
"""The step of Elo ratings."""
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

    poor: "Poor" = "out"
    regularise: float = 0.0
    signs: tuple[str, ...] = STYLE
    resamples: int = RESAMPLES
    orders: int = 200
    k: float = K
    level: float = LEVEL
    seed: int = 0


@dataclass(frozen=True)
class MakerRating:
    """A rating with its interval; no numbers if it is not finite or not known."""

    rating: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class MakerStanding:
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
    rated: MakerRating
    best: int | None
    worst: int | None
    endless: "Endless | None"
    elo: "EloRange"
    adjusted: MakerRating


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
    makers: tuple[MakerStanding, ...]
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
    groups: "Groups"
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


def standings(
    votes: Sequence[PairVote], question: str, rules: Rules, kind: RaterKind = "person"
) -> Standings:
    """The result of the votes of one kind of raters on a question.

    Raises:
        RatingError: no vote counts.
    """
    from manyheads.measures.pairwise import POINTS, comparisons, elo, groups

    mine = [vote for vote in votes if vote.kind == kind]
    compared = comparisons(mine, question, poor=rules.poor, signs=rules.signs)
    known, fits = groups(compared.makers, compared.wins), _Fits(rules)
    rated, adjusted = dict[str, MakerRating](), dict[str, MakerRating]()
    expected, effects, why = dict[tuple[str, str], float](), tuple[Effect, ...](), list[str]()
    dropped = dict[str, None]()
    for group, finite in zip(known.connected, known.finite, strict=True):
        part = compared.among(group if rules.regularise else finite)
        if not len(part):
            continue
        if found := fits.rate(part, style=False):
            fit, rows = found
            rated |= dict(zip(part.makers, rows, strict=True))
            strengths = zip(part.makers, fit.ratings.tolist(), strict=True)
            expected |= {
                (one, other): 1 / (1 + 10 ** ((theirs - own) / 400))
                for (one, own), (other, theirs) in permutations(strengths, 2)
            }
        signs = part.separable_signs()
        if reason := _no_adjustment(part, signs, rules):
            why.append(reason)
        elif styled := fits.rate(part := part.with_signs(signs), style=True):
            fit, rows = styled
            dropped |= dict.fromkeys(each for each in compared.signs if each not in signs)
            adjusted |= dict(zip(part.makers, rows, strict=False))
            if group == known.connected[0]:
                found = zip(signs, part.style.std(0), fit.style, rows[len(part.makers) :], strict=True)
                effects = tuple(
                    Effect(sign, float(unit), POINTS * float(value), row.low, row.high)
                    for sign, unit, value, row in found
                )
        else:
            why.append("with style, the votes have no finite maximum")
    by_elo = elo(compared, rules.k, orders=rules.orders, seed=rules.seed)
    decided = [float(score == 1) for score in compared.score if score != 0.5]
    return Standings(
        question=question, kind=kind, votes=len(compared), poor=compared.poor,
        raters=dict(Counter(compared.rater_names[each] for each in compared.raters).most_common()),
        cases=len(compared.case_names), makers=_standings(compared, known, rated, adjusted, by_elo),
        win_rates=tuple(_win_rates(compared, expected)), effects=effects, dropped=tuple(dropped),
        unadjusted="" if adjusted else next(iter(why), "there is no finite rating"),
        resampled=fits.resampled, unbounded=fits.unbounded, fits=fits.number,
        agreement=agreement(mine, question, rules.poor), left=mean_of(decided, level=rules.level, share=True), groups=known,
        rules=rules,
    )  # fmt: skip


def _win_rates(compared: "Comparisons", expected: Mapping[tuple[str, str], float]) -> Iterator[WinRate]:
    met, wins = compared.met, compared.wins
    for (i, one), (j, other) in permutations(enumerate(compared.makers), 2):
        observed = float(wins[i, j] / met[i, j]) if met[i, j] else None
        yield WinRate(one, other, int(met[i, j]), observed, expected.get((one, other)))


def _no_adjustment(compared: "Comparisons", signs: Sequence[str], rules: Rules) -> str:
    if not rules.signs:
        return "no signs of style are named"
    if not compared.signs:
        return "the style of the texts is not known"
    return "" if signs else "the makers' texts always differ in style in the same way, or not at all"


@dataclass
class _Fits:
    """Fits by rules, and notes of their bootstraps."""

    rules: Rules
    resampled: str = ""
    unbounded: int = 0
    number: int = 0

    def rate(self, compared: "Comparisons", *, style: bool) -> "tuple[Fit, list[MakerRating]] | None":
        """The fit, and each parameter with its interval: ratings of the makers, then effects of style, in rating points."""
        from manyheads.measures.pairwise import POINTS, START, Likelihood

        likelihood = Likelihood(compared, style=style)
        if (fit := likelihood.fit(regularise=self.rules.regularise)) is None:
            return None
        values = [
            START * (at < len(fit.makers)) + POINTS * float(each) for at, each in enumerate(fit.parameters)
        ]
        if (half := self._half_widths(likelihood, compared, fit)) is None:
            return fit, [MakerRating(value) for value in values]
        ends = zip(values, half, strict=True)
        return fit, [MakerRating(value, value - width, value + width) for value, width in ends]

    def _half_widths(
        self, likelihood: "Likelihood", compared: "Comparisons", fit: "Fit"
    ) -> list[float] | None:
        """Half the width of each parameter's interval, in rating points: Student's t by the number of raters or cases."""
        import numpy as np
        from scipy.special import stdtrit

        from manyheads.measures.pairwise import POINTS

        rules, rng = self.rules, np.random.default_rng(self.rules.seed)

        def variance(units: "Whole") -> "Floats":
            """Of the parameters, if these units are resampled."""
            number = int(units.max()) + 1
            points = np.empty((rules.resamples, len(fit.parameters)))
            for at in range(rules.resamples):
                weights = rng.multinomial(number, np.full(number, 1 / number))[units].astype(np.float64)
                found = likelihood.fit(weights, start=fit, regularise=rules.regularise)
                if found is None:
                    self.unbounded += 1
                    found = likelihood.fit(weights, start=fit, regularise=max(ADDED, rules.regularise))
                points[at] = (found or fit).parameters
            self.number += rules.resamples
            # Resampling n units gives (n - 1) / n of the variance between samples.
            return points.var(0) * number / (number - 1)

        if len(compared) < 2 or rules.resamples < 2:
            return None
        # Numbers without gaps; a single rater, or case, is not resampled.
        by = {"raters": compared.raters, "cases": compared.cases}
        numbered = {name: np.unique(each, return_inverse=True)[1].ravel() for name, each in by.items()}
        units = {name: each for name, each in numbered.items() if len(each) and each.max() > 0}
        units = units or {"votes": np.arange(len(compared))}
        self.resampled, several = " and ".join(units), [*units.values()]
        if len(several) == 2:
            both = np.unique(np.column_stack(several), axis=0, return_inverse=True)[1].ravel()
            first, second = map(variance, several)
            total = np.maximum(first + second - variance(both), np.maximum(first, second))
        else:
            total = variance(several[0])
        fewest = min(int(each.max()) + 1 for each in several)
        return [*(POINTS * stdtrit(fewest - 1, (1 + rules.level) / 2) * total**0.5)]


def apart(one: MakerRating, other: MakerRating) -> bool:
    """Whether two intervals do not overlap."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.low > other.high or other.low > one.high


def _standings(
    compared: "Comparisons",
    known: "Groups",
    rated: Mapping[str, MakerRating],
    adjusted: Mapping[str, MakerRating],
    by_elo: "Mapping[str, EloRange]",
) -> tuple[MakerStanding, ...]:
    """The makers by group, then by rating; those that always won first, those that always lost last."""
    met, wins, tallied = compared.met.sum(1), compared.wins.sum(1), compared.tally(compared.score == 0.5)
    ties = tallied.sum(0) + tallied.sum(1)
    group = {name: number for number, names in enumerate(known.connected, 1) for name in names}
    found = list[MakerStanding]()
    for at, name in enumerate(compared.makers):
        own = rated.get(name, MakerRating())
        beside = [each for other, each in rated.items() if other != name and group[other] == group[name]]
        others = [each.rating or 0 for each in beside if apart(own, each)]
        better = sum(each > (own.rating or 0) for each in others)
        ranked = own.low is not None
        found.append(
            MakerStanding(
                maker=name, votes=int(met[at]), won=round(wins[at] - ties[at] / 2), tied=int(ties[at]),
                score=float(wins[at] / met[at]), group=group[name], rated=own,
                best=1 + better if ranked else None,
                worst=1 + len(beside) - (len(others) - better) if ranked else None,
                endless=None if name in rated else known.endless.get(name), elo=by_elo[name],
                adjusted=adjusted.get(name, MakerRating()),
            )
        )  # fmt: skip
    places = {"won": 0, None: 1, "apart": 2, "lost": 3}
    found.sort(key=lambda each: (each.group, places[each.endless], -(each.rated.rating or 0), each.maker))
    return tuple(found)


# Agreement of raters.


def _answers(votes: Sequence[PairVote], question: str, poor: "Poor") -> dict[str, dict[str, float]]:
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


def agreement(votes: Sequence[PairVote], question: str, poor: "Poor" = "out") -> RaterAgreement:
    """How well raters of one kind agree with each other."""
    units = [by for by in _answers(votes, question, poor).values() if len(by) > 1]
    equal = [float(one == other) for by in units for one, other in combinations(by.values(), 2)]
    alpha = krippendorff_alpha({str(at): by for at, by in enumerate(units)})
    return RaterAgreement(len(units), fmean(equal) if equal else None, alpha)


def agreement_with_people(
    votes: Sequence[PairVote], question: str, poor: "Poor" = "out"
) -> dict[str, RaterAgreement]:
    """How often each model rater gives the answer of a person on the same makers and case."""
    people, models = (
        _answers([vote for vote in votes if vote.kind == kind], question, poor)
        for kind in ("person", "model")
    )
    found = dict[str, RaterAgreement]()
    for name in sorted({model for by in models.values() for model in by}):
        shared = [unit for unit, by in models.items() if name in by and unit in people]
        equal = [models[unit][name] == each for unit in shared for each in people[unit].values()]
        found[name] = RaterAgreement(len(shared), fmean(equal) if equal else None)
    return found


def steadiness(votes: Sequence[PairVote], question: str) -> tuple[int, float] | None:
    """Pairs of texts that a rater saw in both orders, and the share with the same preference in both; None without any."""
    seen = defaultdict[tuple[str, str, frozenset[str]], dict[str, str]](dict)
    for vote in votes:
        if answer := vote.answers.get(question):
            preferred = {"left": vote.left, "right": vote.right}.get(answer, answer)
            seen[vote.rater, vote.case, frozenset((vote.left, vote.right))][vote.left] = preferred
    both = [float(len({*each.values()}) == 1) for each in seen.values() if len(each) == 2]
    return (len(both), fmean(both)) if both else None
