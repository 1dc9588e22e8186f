"""HD, CD, CI, ON and RND of 100 abstracts, against their distances to all papers alone, in numpy."""

import tracemalloc
from collections.abc import AsyncIterator

import numpy as np

from bench.figures import Figure, Size, typical
from bench.retrieval import _clustered
from manyheads.measures.novelty import AROUND, OWN, novelty, relative_neighbour_density
from manyheads.measures.papers import Papers

ABSTRACTS = 100
MB = 2**20


async def bench(size: Size) -> AsyncIterator[Figure]:
    count = size.papers * 18 // 29
    past, now, texts = _papers(count, 2005), _papers(size.papers - count, 2015), _clustered(ABSTRACTS, 3)
    what = f"{len(texts)} of {size.papers:,}"
    around, own = min(AROUND, len(past) // 2), min(OWN, len(past) // 4)

    def density() -> object:
        return relative_neighbour_density(texts, past, around=around, own=own)

    bare = typical(lambda: [np.sqrt(2 - 2 * (texts @ each.vectors.T)) for each in (past, now)], 3) * 1000
    for name, work in (("HD CD CI ON", lambda: novelty(texts, past, now)), ("RND", density)):
        yield Figure(
            f"measures: {name}, {what}", typical(work, 3) * 1000, "ms", bare, "the distances alone, numpy"
        )
    tracemalloc.start()
    novelty(texts, past, now)
    density()
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    held = past.vectors.nbytes + now.vectors.nbytes
    yield Figure(f"measures: memory, {what}", used / MB, "MB", held / MB, "the papers' vectors themselves")


def _papers(count: int, first: int) -> Papers:
    rng = np.random.default_rng(first)
    ids = [f"p{first}-{number}" for number in range(count)]
    years = rng.integers(first, first + 10 if first < 2015 else first + 3, count)
    return Papers.of(ids, ids, years.tolist(), rng.integers(5, 500, count).tolist(), _clustered(count, first))
