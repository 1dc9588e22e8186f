"""Prints one line per figure: `python tests/bench/bench.py [NAME…]`; all of them when none is named."""

import argparse
import asyncio
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])  # run as a file, Python looks for modules beside it only

from bench import (  # noqa: E402
    arena,
    citations,
    corpus,
    crowd,
    database,
    documents,
    embedding,
    extraction,
    interests,
    ledger,
    literature,
    measures,
    memory,
    novelty,
    overhead,
    retrieval,
    reviews,
    startup,
    turns,
    voting,
    web,
)
from bench.figures import FULL, Bench  # noqa: E402

BENCHES: dict[str, Bench] = {
    "startup": startup.bench,
    "memory": memory.bench,
    "turns": turns.bench,
    "overhead": overhead.bench,
    "crowd": crowd.bench,
    "retrieval": retrieval.bench,
    "database": database.bench,
    "embedding": embedding.bench,
    "extraction": extraction.bench,
    "corpus": corpus.bench,
    "documents": documents.bench,
    "interests": interests.bench,
    "ledger": ledger.bench,
    "literature": literature.bench,
    "measures": measures.bench,
    "novelty": novelty.bench,
    "citations": citations.bench,
    "reviews": reviews.bench,
    "voting": voting.bench,
    "web": web.bench,
    "arena": arena.bench,
}


async def run(names: list[str]) -> None:
    for name in names:
        async for figure in BENCHES[name](FULL):
            print(figure.line(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed and memory, each figure beside its baseline.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHES)}")
    names = parser.parse_args().names
    if unknown := [name for name in names if name not in BENCHES]:
        parser.error(f"no such benchmark: {', '.join(unknown)}")
    asyncio.run(run(names or list(BENCHES)))


if __name__ == "__main__":
    main()
