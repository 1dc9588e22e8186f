"""Ratings from pairwise comparisons: Elo, and Bradley–Terry by maximum likelihood (MAMORX, §5, §6).

Ratings are on Elo's scale: 1500 + (400 / ln 10) b with a mean of 1500, so that P(i beats j) = 1 / (1 + 10^((R_j - R_i) / 400)).
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from manyheads.base.errors import RatingError
from manyheads.measures.statistics import Floats
from manyheads.measures.votes import PairVote

Whole: TypeAlias = NDArray[np.intp]
START = 1500.0
POINTS = 400 / math.log(10)
"""Rating points of one logit."""
Poor: TypeAlias = Literal["out", "tie"]
"""“Both poor” is left out, or counts as a tie."""
STEPS, CLOSE = 100, 1e-9
"""Maximum steps of Newton's method, and the largest change of a parameter at its end."""
FAR = 30.0
"""Logits beyond which a maximum is not finite."""


@dataclass(frozen=True)
class Comparisons:
    """Votes on one question as arrays, in their order.

    Attributes:
        left, right: numbers of the makers.
        score: 1 where the left one won, 0 where the right one did, 0.5 for a tie.
        style: differences of the signs of style, left minus right, one column each; none if they are not known.
        signs: names of these columns.
        raters, cases: numbers of rater and case; empty if no vote has any.
        poor: votes “both poor”, counted as `ties` says.
    """

    makers: tuple[str, ...]
    left: Whole
    right: Whole
    score: Floats
    style: Floats
    signs: tuple[str, ...]
    raters: Whole
    cases: Whole
    rater_names: tuple[str, ...]
    case_names: tuple[str, ...]
    poor: int

    def __len__(self) -> int:
        return len(self.score)

    @property
    def wins(self) -> Floats:
        """Wins of the row against the column; a tie is half a win."""
        return self.tally(self.score) + self.tally(1 - self.score).T

    @property
    def met(self) -> Floats:
        """Number of comparisons of each two makers."""
        met = self.tally(np.ones(len(self)))
        return met + met.T

    def tally(self, weights: Floats) -> Floats:
        """Sums of weights by the left maker (row) and the right one."""
        size = len(self.makers)
        sums = np.bincount(self.left * size + self.right, weights, size * size).astype(np.float64)
        return sums.reshape(size, size)

    def with_signs(self, signs: Sequence[str]) -> "Comparisons":
        """The same with some of the signs of style."""
        columns = [self.signs.index(each) for each in signs]
        return replace(self, style=self.style[:, columns], signs=tuple(signs))

    def separable_signs(self) -> tuple[str, ...]:
        """The signs of style whose effects can be told from each other and from the makers.

        Not those that are always equal, that follow from who wrote the texts, or from earlier signs.
        """
        makers, kept = np.eye(len(self.makers)), list[str]()
        design, rank = makers[self.left] - makers[self.right], np.linalg.matrix_rank
        for sign, style in zip(self.signs, self.style.T, strict=True):
            wider = np.column_stack([design, style / max(1.0, float(abs(style).max()))])
            if rank(wider) > rank(design):
                kept, design = [*kept, sign], wider
        return tuple(kept)

    def among(self, makers: Sequence[str]) -> "Comparisons":
        """Those between some of the makers."""
        new = np.full(len(self.makers), -1)
        new[[self.makers.index(each) for each in makers]] = np.arange(len(makers))
        left, right = new[self.left], new[self.right]
        keep = (left >= 0) & (right >= 0)
        return replace(
            self, makers=tuple(makers), left=left[keep], right=right[keep], score=self.score[keep], style=self.style[keep],
            raters=self.raters[keep] if len(self.raters) else self.raters,
            cases=self.cases[keep] if len(self.cases) else self.cases,
        )  # fmt: skip


def comparisons(
    votes: Sequence[PairVote], question: str, *, poor: Poor = "out", signs: Sequence[str] = ()
) -> Comparisons:
    """The votes on a question as arrays.

    Args:
        signs: signs of style; used only if every vote has them.

    Raises:
        RatingError: no vote has an answer to the question that counts.
    """
    given = [(vote, answer) for vote in votes if (answer := vote.answers.get(question))]
    used = [(vote, answer) for vote, answer in given if poor == "tie" or answer != "poor"]
    bad = sum(answer == "poor" for _, answer in given)
    if not votes:
        raise RatingError("no votes yet", hint="invite raters: manyheads arena invite DIR NAME")
    if not used:
        questions = ", ".join(dict.fromkeys(name for vote in votes for name in vote.answers))
        raise RatingError(
            f"all {bad} votes on {question!r} are “both poor”" if given else f"no votes on {question!r}",
            tried=None if given else f"questions with votes: {questions}",
            hint="choose another --question",
        )
    makers = sorted({name for vote, _ in used for name in (vote.left, vote.right)})
    if not all(vote.left_style.keys() & vote.right_style.keys() >= {*signs} for vote, _ in used):
        signs = ()
    scores = {"left": 1.0, "right": 0.0}
    raters, rater_names = _numbered([vote.rater for vote, _ in used])
    cases, case_names = _numbered([vote.case for vote, _ in used])
    styles = [[vote.left_style[sign] - vote.right_style[sign] for sign in signs] for vote, _ in used]
    return Comparisons(
        makers=tuple(makers),
        left=np.searchsorted(makers, [vote.left for vote, _ in used]),
        right=np.searchsorted(makers, [vote.right for vote, _ in used]),
        score=np.array([scores.get(answer, 0.5) for _, answer in used]),
        style=np.array(styles, dtype=np.float64).reshape(len(used), len(signs)),
        signs=tuple(signs), raters=raters, cases=cases, rater_names=rater_names, case_names=case_names,
        poor=bad,
    )  # fmt: skip


def _numbered(names: Sequence[str]) -> "tuple[Whole, tuple[str, ...]]":
    """Names as numbers, and the names; nothing if none is known."""
    known = sorted(set(names)) if any(names) else []
    return np.searchsorted(known, names[: len(names) * bool(known)]), tuple(known)


# Elo: one vote after another.


@dataclass(frozen=True)
class EloRange:
    """The Elo rating of a maker in the order of the votes, and its range over random orders of the same votes."""

    rating: float
    low: float
    high: float


def elo(compared: Comparisons, k: float, *, orders: int = 200, seed: int = 0) -> dict[str, EloRange]:
    """Elo ratings, R' = R + K (S - P), from 1500 (MAMORX, Eq. 1), and their range over random orders of the votes.

    All orders advance together, a vote a step: a row of `ratings` for each order, the first for the order of the votes.
    """
    rng, size = np.random.default_rng(seed), len(compared)
    order = np.stack([np.arange(size), *(rng.permutation(size) for _ in range(orders))])
    rows, ratings = np.arange(orders + 1), np.full((orders + 1, len(compared.makers)), START)
    for step in range(size):
        votes = order[:, step]
        left, right = compared.left[votes], compared.right[votes]
        expected = 1 / (1 + 10 ** ((ratings[rows, right] - ratings[rows, left]) / 400))
        change = k * (compared.score[votes] - expected)
        ratings[rows, left] += change
        ratings[rows, right] -= change
    ends = (ratings[0], ratings.min(0), ratings.max(0))
    return {name: EloRange(*(float(end[at]) for end in ends)) for at, name in enumerate(compared.makers)}


# Bradley–Terry: all votes at once.


@dataclass(frozen=True)
class Fit:
    """Parameters of maximum likelihood.

    Attributes:
        strength: of each maker in logits, with a mean of 0.
        style: the effect of each sign of style, in logits per standard deviation of its difference.
    """

    makers: tuple[str, ...]
    strength: Floats
    style: Floats

    @property
    def ratings(self) -> Floats:
        return START + POINTS * self.strength

    @property
    def parameters(self) -> Floats:
        return np.concatenate([self.strength, self.style])


class Likelihood:
    """The likelihood of comparisons under Bradley–Terry, for any weights of the votes; a tie is half a win for each.

    It is a logistic regression without intercept: P(left wins) = 1 / (1 + e^-(x · b)), with a row x of the design for each vote,

              strengths of the makers     signs of style
              A     B     C     D         lines   lists
        x  =  1     0    -1     0         0.7    -1.2         A on the left, C on the right; A's text has 0.7 SD more lines

    and b the strengths and effects of style. With weights w, scores s and win rates p at b, Newton's step solves

        X' W X step = X' w (s - p),    W = diag(w p (1 - p)).

    Votes that are alike are one row of the design. Newton's method on these rows takes a tenth of the time of statsmodels, which
    matters for a thousand resamples; the results are the same.

    Args:
        style: whether signs of style are covariates, each divided by the standard deviation of its difference.
    """

    def __init__(self, compared: Comparisons, *, style: bool = False) -> None:
        self.makers = compared.makers
        signs, spread = compared.style[:, : None if style else 0], compared.style.std(0)
        signs = signs / np.where(spread > 0, spread, 1)[: signs.shape[1]]
        keys = np.column_stack([compared.left, compared.right, compared.score, signs])
        rows, votes = np.unique(keys, axis=0, return_inverse=True)
        # A tie between each two makers that met, with the weight `regularise`.
        met = np.unique(np.sort(rows[:, :2], axis=1), axis=0)
        ties = np.column_stack([met, np.full(len(met), 0.5), np.zeros((len(met), signs.shape[1]))])
        self._votes, self._ties = votes.ravel(), len(ties)
        rows = np.concatenate([rows, ties])
        makers = np.eye(len(self.makers))
        left, right = rows[:, :2].T.astype(np.intp)
        self._score: Any = rows[:, 2]
        self._x: Any = np.column_stack([makers[left] - makers[right], rows[:, 3:]])

    def fit(
        self, weights: "Floats | None" = None, *, start: "Fit | None" = None, regularise: float = 0.0
    ) -> Fit | None:
        """The maximum of the likelihood; None if it is not finite or not unique.

        Args:
            weights: of the votes; 1 by default.
            start: where to begin.
            regularise: ties that are added between each two makers that met, as a weight.
        """
        x, size = self._x, len(self.makers)
        votes = np.bincount(self._votes, weights, len(x) - self._ties)
        each = np.concatenate([votes, np.full(self._ties, regularise)])
        point = start.parameters.copy() if start else np.zeros(x.shape[1])
        for _ in range(STEPS):
            win = expit(x @ point)
            gradient = x.T @ (each * (self._score - win))
            hessian = (x.T * (each * win * (1 - win))) @ x
            # The mean strength is 0: without this, strengths are known up to a constant.
            gradient[:size] -= point[:size].mean()
            hessian[:size, :size] += 1 / size
            try:
                step = np.linalg.solve(hessian, gradient)
            except np.linalg.LinAlgError:
                return None
            # Far from the maximum, a whole step may overshoot.
            step *= min(1.0, 3 / max(float(abs(step).max()), 1e-300))
            point = point + step
            if not np.isfinite(point).all() or abs(point).max() > FAR:
                return None
            if abs(step).max() < CLOSE:
                return Fit(self.makers, point[:size] - point[:size].mean(), point[size:])
        return None


# Who can be compared with whom.


Endless: TypeAlias = Literal["won", "lost", "apart"]


@dataclass(frozen=True)
class Groups:
    """Makers by what the votes say about them.

    Attributes:
        connected: makers that met, directly or through others; several groups cannot be compared.
        finite: by group, the makers with a finite rating: each has won or tied against some and lost or tied against some, directly
            or through others (Ford 1957).
        endless: makers without one: those that won, or lost, all comparisons with the others; `apart` is between two groups.
    """

    connected: tuple[tuple[str, ...], ...]
    finite: tuple[tuple[str, ...], ...]
    endless: Mapping[str, Endless]


def groups(makers: Sequence[str], wins: Floats) -> Groups:
    """Who can be compared with whom.

    Args:
        wins: of the row against the column.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    # An arrow from each winner to whom it beat, both ways for a tie. Where arrows lead from one maker to another and back, the
    # likelihood holds both together; along arrows of one direction alone, it grows without end as the ratings part:
    #
    #     A → B ⇄ C → D        strong components {A} {B, C} {D}: B and C are finite, A always won, D always lost
    #     E ⇄ F                another weak component, another group: no votes between it and the others
    graph: Any = csr_array(wins > 0)
    weak, strong = (connected_components(graph, connection=kind)[1].tolist() for kind in ("weak", "strong"))
    found, endless = list[tuple[tuple[str, ...], tuple[str, ...]]](), dict[str, Endless]()
    for group in dict.fromkeys(weak):
        inside = [at for at, each in enumerate(weak) if each == group]
        largest, size = Counter(strong[at] for at in inside).most_common(1)[0]
        core = [at for at in inside if strong[at] == largest and size > 1]
        found.append((tuple(makers[at] for at in inside), tuple(makers[at] for at in core)))
        for at in (each for each in inside if each not in core):
            others = [each for each in inside if strong[each] != strong[at]]
            lost, won = wins[others, at].any(), wins[at, others].any()
            endless[makers[at]] = "won" if won and not lost else "lost" if lost and not won else "apart"
    found.sort(key=lambda each: (-len(each[0]), each[0]))
    return Groups(tuple(each for each, _ in found), tuple(each for _, each in found), endless)
