"""The arena: ratings with a thousand resamples against other libraries' fits, the next pair, and a vote."""

import random
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import choix
import numpy as np

from bench.figures import Figure, Size, Watch, typical
from manyheads.arena.pairing import Pairs, PairText
from manyheads.arena.store import Arena
from manyheads.measures.pairwise import comparisons
from manyheads.measures.standings import Rules, standings
from support.arenas import FORM, answer, text
from support.votes import QUESTION, votes_by

MAKERS = 10
FEW = 5


async def bench(size: Size) -> AsyncIterator[Figure]:
    votes = votes_by({f"m{n}": n / 5 for n in range(MAKERS)}, size.votes, effect=0.01)
    what, resamples = f"{size.votes:,} votes, {size.resamples:,} resamples", size.resamples
    compared = comparisons(votes, QUESTION, signs=())
    # Raters, cases and votes are resampled: three bootstraps.
    rules = Rules(signs=(), resamples=resamples, orders=1)
    watch = Watch()
    plain = standings(votes, QUESTION, rules)
    seconds = watch.read().wall
    one = typical(lambda: choix.ilsr_pairwise_dense(compared.wins), FEW)
    against = "choix, a fit of the wins for each resample"
    yield Figure(
        f"arena: ratings, {what}", seconds, "s", one * 3 * resamples, against, "≤ 20 s",
        f"{len(plain.makers)} makers",
    )  # fmt: skip
    watch = Watch()
    standings(votes, QUESTION, Rules(signs=("lines", "headings"), resamples=resamples, orders=1))
    seconds = watch.read().wall
    yield Figure(f"arena: with style, {what}", seconds, "s", one * 3 * resamples, against, "≤ 20 s")
    yield _pairs(size.makers)
    yield _votes(size.visitors)


def _pairs(makers: int) -> Figure:
    entries = [PairText(f"{m}-{c}", f"c{c}", f"m{m}", f"{m}-{c}") for m in range(makers) for c in range(10)]
    pairs, rng, rater = Pairs(entries), random.Random(1), iter(range(10**6))

    def choose() -> None:
        who = next(rater) % 50
        if pair := pairs.next(who, rng):
            pairs.show(who, *pair)
            pairs.answer(who, *pair, "left")

    for _ in range(3 * makers):
        choose()
    matrix = np.eye(makers) * 2
    return Figure(
        f"arena: next of {pairs.number:,} pairs, {makers} makers", typical(choose, 50) * 1000, "ms",
        typical(lambda: np.linalg.inv(matrix), 20) * 1000, "one inverse of the makers' covariance", "≤ 20 ms",
    )  # fmt: skip


def _votes(number: int) -> Figure:
    """A pair and its vote on disk, against the same durable writes in SQLite alone: the item, and the vote."""
    with tempfile.TemporaryDirectory() as folder, Arena.create(Path(folder) / "a", FORM) as arena:
        arena.add(text(f"m{m}", f"c{c}") for m in range(5) for c in range(10))
        raters = iter([arena.enter(f"R{n}") for n in range(number)])

        def vote() -> None:
            rater = next(raters)
            if item := arena.next_item(rater):
                answer(arena, rater, item)

        seconds = typical(vote, number)
        database = sqlite3.connect(Path(folder) / "plain.sqlite", isolation_level=None)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        database.execute("CREATE TABLE vote (item TEXT, answers TEXT)")

        def write() -> None:
            for _ in range(2):
                database.execute("INSERT INTO vote VALUES ('item', 'answers')")

        baseline = typical(write, number)
        database.close()
    return Figure(
        "arena: a pair and its vote", seconds * 1000, "ms", baseline * 1000, "two durable inserts in SQLite"
    )
