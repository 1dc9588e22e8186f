"""The choice of the next item; of pairs, by what it would teach, balanced over makers, cases, raters and sides.

A pair of makers is chosen by what a vote on them would teach under the current Bradley–Terry fit: log(1 + p (1 - p) v), with the
expected win rate p and the variance v of the difference of their ratings, less for makers that this rater has compared.
The case is the one with the fewest comparisons; the side is drawn, with odds for the maker that has been on it less often.

Why that: strengths b are about normal with covariance C. A vote on i and j, with d = e_i - e_j, adds p (1 - p) d d' to the information
C⁻¹, so that det C shrinks by the factor 1 + p (1 - p) d' C d (D-optimality), where d' C d is v:

        C_ii + C_jj - 2 C_ij          large where i and j have few votes,
        p (1 - p)  ≤ 1/4              large where they are as good as each other.

Strengths change only with answers and are fitted now and then; C changes with each pair that is *shown*, at once, so that raters at
work at the same time are not all given the same makers.
"""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import TypeAlias

import numpy as np

from manyheads.arena.items import ArenaForm
from manyheads.base.sqlite import Database
from manyheads.measures.statistics import Floats
from manyheads.measures.votes import Answer

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
class PairText:
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

    def __init__(self, entries: Iterable[PairText]) -> None:
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
            for i, j in permutations(map(self._maker, same), 2):
                self._possible[i, j] -= i != j
        self._shown = np.zeros((size, size))
        self._wins = np.zeros((size, size))
        self._strength = np.zeros(size)
        self._prior = PRIOR * np.eye(size)
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
        self._shown[[i, j], [j, i]] += 1
        self._left[i] += 1
        self._right[j] += 1
        self._of_case[case] += 1
        self._times.update((left, right))

    def skip(self, left: str, right: str) -> None:
        """A rater has not answered a pair that was shown."""
        i, j = self._maker(left), self._maker(right)
        self._shown[[i, j], [j, i]] -= 1
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
        rest, mine = self._possible.copy(), np.zeros_like(self._possible)
        for one, other in map(tuple, self._seen[rater]):
            i, j = self._maker(one), self._maker(other)
            rest[[i, j], [j, i]] -= 1
            mine[[i, j], [j, i]] += 1
        if not rest.max(initial=0) > 0:
            return None
        # `triu`: each two makers once. Near the best, all are as good, and chance spreads the raters.
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
                lean = (self._left[i] - self._right[i]) - (self._left[j] - self._right[j])
                odds = 0.5 if lean == 0 else ODDS if lean < 0 else 1 - ODDS
                return (one, other) if rng.random() < odds else (other, one)
        return None

    def _taught(self) -> Floats:
        """What a vote on each pair of makers would teach."""
        if self._new > REFIT * self._of_case.total():
            self._fit()
        expected = self._expected()
        covariance = np.linalg.inv(_information(self._shown, expected) + self._prior)
        variance = np.diag(covariance)
        spread = variance[:, None] + variance[None, :] - 2 * covariance
        return np.log1p(expected * (1 - expected) * spread)

    def _expected(self) -> Floats:
        """Expected win rates, of the row against the column."""
        return 1 / (1 + np.exp(self._strength[None, :] - self._strength[:, None]))

    def _fit(self) -> None:
        """Fit strengths to all answers, by Newton's method from the last fit."""
        votes = self._wins + self._wins.T
        for _ in range(25):
            expected = self._expected()
            slope = (self._wins - votes * expected).sum(1) - PRIOR * self._strength
            step = np.linalg.solve(_information(votes, expected) + self._prior, slope)
            self._strength = self._strength + np.clip(step, -2, 2)
            if np.abs(step).max() < 1e-3:
                break
        self._new = 0

    def _count(self, i: int, j: int, score: float, sign: int) -> None:
        self._wins[i, j] += sign * score
        self._wins[j, i] += sign * (1 - score)

    def _maker(self, text: str) -> int:
        return self._makers[self._entries[text].maker]


def _information(votes: Floats, expected: Floats) -> Floats:
    """The Fisher information of the makers' strengths: a graph's Laplacian, with votes × p (1 - p) as the weight of an edge."""
    weights = votes * expected * expected.T
    return np.diag(weights.sum(1)) - weights


Chosen: TypeAlias = tuple[str, list[str]]
"""A case, and the ids of texts in the order shown."""


class Choice:
    """The next item of each rater. Reads only what is new in the table, as other processes write it too."""

    def __init__(self, database: Database, form: ArenaForm) -> None:
        self._db, self._form, self._rng = database, form, random.Random()
        self._texts: object = None
        self._entries: Mapping[str, PairText] = {}
        self._pairs: Pairs | None = None
        self._item = self._answer = 0
        self._skipped = set[int]()

    def next(self, rater: int) -> Chosen | None:
        """A new item for a rater; None if there is nothing left."""
        match self._form.kind:
            case "pairs":
                pair = self._current().next(rater, self._rng)
                return (self._entries[pair[0]].case, [*pair]) if pair else None
            case "ratings":
                return self._rating(rater)
            case "ranking":
                return self._ranking(rater)

    def left(self, rater: int) -> int:
        """Items that a rater has not seen."""
        if self._form.kind == "pairs":
            return self._current().left_for(rater)
        return len(self._unrated(rater) if self._form.kind == "ratings" else self._unranked(rater))

    # One text at a time: the one with the fewest ratings.

    def _rating(self, rater: int) -> Chosen | None:
        if not (unrated := self._unrated(rater)):
            return None
        sql = "SELECT texts, count(*) FROM item WHERE state != 'skipped' GROUP BY texts"
        times = {json.loads(texts)[0]: number for texts, number in self._db.rows(sql)}
        text = min(unrated, key=lambda each: (int(times.get(each.id, 0)), self._rng.random()))
        return text.case, [text.id]

    def _unrated(self, rater: int) -> list[PairText]:
        """Texts that a rater has not seen, nor an equal one on the same case."""
        self._read_texts()
        rows = self._db.rows("SELECT texts FROM item WHERE rater = ?", rater)
        shown = [self._entries[json.loads(row[0])[0]] for row in rows]
        seen = {(each.case, each.digest) for each in shown}
        fresh = {(each.case, each.digest): each for each in self._entries.values()}
        return [each for key, each in fresh.items() if key not in seen]

    # All texts of a case: the case with the fewest rankings.

    def _ranking(self, rater: int) -> Chosen | None:
        if not (unranked := self._unranked(rater)):
            return None
        sql = """SELECT "case", count(*) FROM item WHERE state != 'skipped' GROUP BY "case" """
        times = dict(self._db.rows(sql))
        case = min(unranked, key=lambda each: (int(times.get(each, 0)), self._rng.random()))
        texts = unranked[case]
        return case, self._rng.sample(texts, len(texts))

    def _unranked(self, rater: int) -> dict[str, list[str]]:
        """The texts of the cases that a rater has not seen, as far as there are two."""
        self._read_texts()
        texts = dict[str, list[str]]()
        for each in self._entries.values():
            texts.setdefault(each.case, []).append(each.id)
        seen = {row[0] for row in self._db.rows('SELECT "case" FROM item WHERE rater = ?', rater)}
        return {case: ids for case, ids in texts.items() if case not in seen and len(ids) > 1}

    # Pairs.

    def _read_texts(self) -> bool:
        """Read the texts if there are new ones; returns whether there are."""
        texts = self._db.row("SELECT count(*), max(rowid) FROM text")
        if texts == self._texts:
            return False
        rows = self._db.rows('SELECT id, "case", maker, digest FROM text ORDER BY rowid')
        self._texts, self._entries = texts, {row[0]: PairText(*row) for row in rows}
        return True

    def _current(self) -> Pairs:
        if self._read_texts() or self._pairs is None:
            self._pairs = Pairs(self._entries.values())
            self._item = self._answer = 0
            self._skipped.clear()
        pairs = self._pairs
        sql = "SELECT number, rater, texts, state FROM item WHERE number > ? ORDER BY number"
        for number, rater, texts, state in self._db.rows(sql, self._item):
            self._item = number
            left, right = json.loads(texts)
            pairs.show(rater, left, right, skipped=state == "skipped")
            self._skipped |= {number} if state == "skipped" else set()
        for number, texts in self._db.rows("SELECT number, texts FROM item WHERE state = 'skipped'"):
            if number not in self._skipped and number <= self._item:
                self._skipped.add(number)
                pairs.skip(*json.loads(texts))
        sql = (
            "SELECT answer.number, item.rater, item.texts, answer.answers FROM answer JOIN item ON item.id = answer.item"
            " WHERE answer.number > ? ORDER BY answer.number"
        )
        for number, rater, texts, answers in self._db.rows(sql, self._answer):
            self._answer = number
            left, right = json.loads(texts)
            pairs.answer(rater, left, right, json.loads(answers).get(self._form.first))
        return pairs
