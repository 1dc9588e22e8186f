"""Prints one line per figure: `python tests/bench/bench.py [NAME…]`; all of them when none is named."""

import argparse
import asyncio
import gc
import os
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])  # run as a file, Python looks for modules beside it only
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, (sys.path[0], os.environ.get("PYTHONPATH")))
)  # Ray's workers do, too

from bench.figures import FULL, Bench, Size  # noqa: E402
from manyheads.cli.options import collect_garbage  # noqa: E402

NAMES = (
    "startup", "memory", "turns", "overhead", "crowd", "retrieval", "database", "embedding", "extraction", "corpus",
    "layers", "documents", "interests", "literature", "measures", "citations", "reviews", "society", "nodes", "web",
    "arena",
)  # fmt: skip
"""Each a file with a function `bench`, which is imported when it runs."""


def bench_of(name: str) -> Bench:
    return import_module(f"bench.{name}").bench


async def run(names: list[str], size: Size) -> None:
    for name in names:
        async for figure in bench_of(name)(size):
            print(figure.line(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed and memory, each figure beside its baseline.")
    parser.add_argument("names", nargs="*", metavar="NAME", choices=NAMES, default=[*NAMES])
    told = "teams of a society, beside a tenth of them, and of a crowd [%(default)s]: 10000 take hours"
    parser.add_argument("--teams", type=int, default=FULL.teams, help=told)
    given = parser.parse_args()
    gc.disable()
    collect_garbage()  # as each command does
    asyncio.run(run(given.names, replace(FULL, teams=given.teams)))


if __name__ == "__main__":
    main()
