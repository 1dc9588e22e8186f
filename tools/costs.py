"""The calls and tokens of the suites here, for `manyheads eval --list`: `evals/costs.json`.

`python tools/costs.py` writes them, in some minutes, with the embedding model all-MiniLM-L6-v2. `python tools/costs.py SUITE…` writes
those of some suites again.
"""

import asyncio
import json
import math
import sys

from manyheads.base.resources import Resources, shipped
from manyheads.cli.evaluate import loader
from manyheads.cli.options import Changes
from manyheads.corpus.corpora import open_corpus
from manyheads.suites.catalogue import COSTS, KnownCost, sizes_of
from manyheads.suites.spec import suite_names

Costs = dict[str, dict[str, object]]


async def costs_of(name: str) -> Costs:
    """The known costs of a suite, by size; without sizes that cannot be estimated here."""
    _, sizes = await sizes_of(
        name, Resources.of(), lambda suite: loader(suite, Changes()), (), within=math.inf
    )
    return {
        size.preset: KnownCost(
            runs=size.runs, judged=size.judged, **size.usage.model_dump(include={"calls", "input_tokens", "output_tokens"})
        ).model_dump(mode="json")
        for size in sizes
        if size.usage
    }  # fmt: skip


async def write(names: list[str]) -> None:
    path = shipped() / COSTS
    costs: dict[str, Costs] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    async with open_corpus("sample"), open_corpus("planted"):  # opened once
        for name in names or suite_names(Resources.of()):
            costs[name] = await costs_of(name)
            print(name, costs[name], flush=True)
    text = json.dumps({name: costs[name] for name in sorted(costs)}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1:]))
