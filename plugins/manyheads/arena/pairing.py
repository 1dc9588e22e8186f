"""The choice of the next pair: what it would teach, balanced over makers, cases, raters and sides.

A pair of makers is chosen by what a vote on them would teach under the current Bradley–Terry fit: log(1 + p (1 - p) v), with the
expected win rate p and the variance v of the difference of their ratings, less for makers that this rater has compared.
The case is the one with the fewest comparisons; the side is drawn, with odds for the maker that has been on it less often.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from manyheads.measures.votes import Answer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix: TypeAlias = NDArray[np.float64]

PRIOR = 0.25
"""Precision of the prior of a maker's strength, in logits: standard deviation 2, or 350 rating points."""
NEAR = 0.95
"""Pairs of makers that would teach this share of the best are equally good."""
ODDS = 0.75
"""Probability of the side that balances."""
REFIT = 0.05
"""New answers, as a share of the pairs that were shown, after which strengths are fitted again."""
SCORES: Mapping[Answer, float] = {"left": 1.0, "right": 0.0, "tie": 0.5}


@dataclass(frozen=True, slots=True)
class Entry:
    """A text, as far as the choice needs it; `digest` is equal for equal texts."""

    id: str
    case: str
    maker: str
    digest: str


class Pairs:
    """The possible pairs of an arena, and how often each was shown and won.

    Args:
        entries: all texts.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        import numpy as np

        self._entries = {each.id: each for each in entries}
        self._makers = {name: n for n, name in enumerate(sorted({e.maker for e in self._entries.values()}))}
        self._cases = {name: n for n, name in enumerate(sorted({e.case for e in self._entries.values()}))}
        self._of = defaultdict[tuple[int, int], list[str]](list)
        equal = defaultdict[tuple[str, str], list[str]](list)
        size = len(self._makers)
        self._number = np.zeros((len(self._cases), size))
        for each in self._entries.values():
            case, maker = self._cases[each.case], self._makers[each.maker]
            self._of[case, maker].append(each.id)
            equal[each.case, each.digest].append(each.id)
            self._number[case, maker] += 1
        self._possible = self._number.T @ self._number
        np.fill_diagonal(self._possible, 0)
        for same in equal.values():
            for one in same:
                for other in same:
                    if (i := self._maker(one)) != (j := self._maker(other)):
                        self._possible[i, j] -= 1
        self._shown = np.zeros((size, size))
        self._wins = np.zeros((size, size))
        self._strength = np.zeros(size)
        self._covariance = np.eye(size) / PRIOR
        self._new = 0
        self._seen = defaultdict[int, set[frozenset[str]]](set)
        self._left, self._right, self._times = Counter[int](), Counter[int](), Counter[str]()
        self._of_case = Counter[int]()
        self._answers = dict[frozenset[str], dict[int, tuple[int, int, float]]]()

    @property
    def number(self) -> int:
        """Possible pairs of texts."""
        return round(self._possible.sum() / 2)

    def show(self, rater: int, left: str, right: str, *, skipped: bool = False) -> None:
        """Note a pair that a rater was shown. One without an answer counts as a comparison until it is skipped."""
        i, j, case = self._maker(left), self._maker(right), self._cases[self._entries[left].case]
        self._seen[rater].add(frozenset((left, right)))
        if skipped:
            return
        self._shown[i, j] += 1
        self._shown[j, i] += 1
        self._left[i] += 1
        self._right[j] += 1
        self._of_case[case] += 1
        self._times.update((left, right))
        self._learn(i, j)

    def skip(self, left: str, right: str) -> None:
        """A rater has not answered a pair that was shown."""
        i, j = self._maker(left), self._maker(right)
        self._shown[i, j] -= 1
        self._shown[j, i] -= 1
        self._of_case[self._cases[self._entries[left].case]] -= 1

    def answer(self, rater: int, left: str, right: str, answer: Answer | None) -> None:
        """Note a rater's answer; it replaces an earlier one on the same pair. Only wins and ties count."""
        i, j = self._maker(left), self._maker(right)
        by_rater = self._answers.setdefault(frozenset((left, right)), {})
        if before := by_rater.pop(rater, None):
            self._count(*before, -1)
        if answer is not None and (score := SCORES.get(answer)) is not None:
            by_rater[rater] = (i, j, score)
            self._new += 1
            self._count(i, j, score, 1)

    def left_for(self, rater: int) -> int:
        """Pairs that a rater has not seen."""
        return self.number - len(self._seen[rater])

    def next(self, rater: int, rng: random.Random) -> tuple[str, str] | None:
        """The next pair of texts for a rater, left and right; None if the rater has seen all."""
        import numpy as np

        rest, mine = self._possible.copy(), np.zeros_like(self._possible)
        for one, other in map(tuple, self._seen[rater]):
            i, j = self._maker(one), self._maker(other)
            for here, there in ((i, j), (j, i)):
                rest[here, there] -= 1
                mine[here, there] += 1
        if not rest.max(initial=0) > 0:
            return None
        taught = np.where(rest > 0, self._taught() / (1 + mine), -1)
        best = np.argwhere(np.triu(taught >= NEAR * taught.max()))
        i, j = map(int, best[rng.randrange(len(best))])
        shared = [int(case) for case in np.flatnonzero(self._number[:, i] * self._number[:, j])]
        shared.sort(key=lambda case: (self._of_case[case], rng.random()))
        for case in shared:
            texts = [
                (self._times[one] + self._times[other], rng.random(), one, other)
                for one in self._of[case, i]
                for other in self._of[case, j]
                if self._entries[one].digest != self._entries[other].digest
                and frozenset((one, other)) not in self._seen[rater]
            ]
            if texts:
                *_, one, other = min(texts)
                return (one, other) if self._first_left(i, j, rng) else (other, one)
        return None

    def _first_left(self, i: int, j: int, rng: random.Random) -> bool:
        lean = (self._left[i] - self._right[i]) - (self._left[j] - self._right[j])
        return rng.random() < (0.5 if lean == 0 else ODDS if lean < 0 else 1 - ODDS)

    def _taught(self) -> "Matrix":
        """What a vote on each pair of makers would teach."""
        import numpy as np

        if self._new > REFIT * self._of_case.total():
            self._fit()
        expected, variance = self._expected(), np.diag(self._covariance)
        spread = variance[:, None] + variance[None, :] - 2 * self._covariance
        return np.log1p(expected * (1 - expected) * spread)

    def _expected(self) -> "Matrix":
        """Expected win rates, of the row against the column."""
        import numpy as np

        return 1 / (1 + np.exp(self._strength[None, :] - self._strength[:, None]))

    def _learn(self, i: int, j: int) -> None:
        """The covariance after one more comparison (Sherman–Morrison)."""
        import numpy as np

        rate = 1 / (1 + np.exp(self._strength[j] - self._strength[i]))
        change = self._covariance[:, i] - self._covariance[:, j]
        weight = rate * (1 - rate) / (1 + rate * (1 - rate) * (change[i] - change[j]))
        self._covariance -= np.outer(weight * change, change)

    def _fit(self) -> None:
        """Fit strengths and their covariance to all answers, by Newton's method from the last fit."""
        import numpy as np

        votes, prior = self._wins + self._wins.T, PRIOR * np.eye(len(self._makers))
        for _ in range(25):
            expected = self._expected()
            slope = (self._wins - votes * expected).sum(1) - PRIOR * self._strength
            step = np.linalg.solve(_information(votes, expected) + prior, slope)
            self._strength = self._strength + np.clip(step, -2, 2)
            if np.abs(step).max() < 1e-3:
                break
        self._covariance = np.linalg.inv(_information(self._shown, self._expected()) + prior)
        self._new = 0

    def _count(self, i: int, j: int, score: float, sign: int) -> None:
        self._wins[i, j] += sign * score
        self._wins[j, i] += sign * (1 - score)

    def _maker(self, text: str) -> int:
        return self._makers[self._entries[text].maker]


def _information(votes: "Matrix", expected: "Matrix") -> "Matrix":
    """The Fisher information of the makers' strengths."""
    import numpy as np

    weights = votes * expected * expected.T
    return np.diag(weights.sum(1)) - weights
