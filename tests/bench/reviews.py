"""Reviews of a paper by the committee: one beside its critical path, and many at once in one process beside one."""

import asyncio
import os
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from reportlab.platypus import Paragraph

from bench.figures import Figure, Size, Watch
from bench.runs import timed
from bench.server import model_server
from manyheads.config import RunConfig
from manyheads.core.events import Said
from manyheads.literature import semantic_scholar
from manyheads.retry import Pace
from manyheads.systems.loading import validate
from support.fill import WORDS
from support.pdfs import AUTHORS, TITLE, Plot, body, figure, heading, typeset
from support.scholar import Scholar, record

FIRST = ("figures", "novelty", "references")
"""Stages that begin together."""
PAPERS, FIGURES = 10, 4
INQUIRIES = [
    {"text": "What is missing?", "expects": "A list.", "kind": "ask", "expert": expert}
    for expert in ("clarity", "experiments", "impact")
]
ANSWERS = {"inquiries": INQUIRIES, "verdict": "RELEVANT", "decision": "NOVEL", "summary": "NOVEL: all of it."}


async def bench(size: Size) -> AsyncIterator[Figure]:
    papers = [
        record(f"{n:040x}", f"phrase {' '.join(WORDS)} {n}", abstract="Owls.", year=2015)
        for n in range(PAPERS)
    ]
    with (
        model_server(size.delay, ANSWERS) as base_url,
        Scholar(papers=papers) as scholar,
        tempfile.TemporaryDirectory() as folder,
        patch.object(semantic_scholar, "SHARED_POOL", Pace(0.0)),
        patch.dict(os.environ, {"MANYHEADS_CACHE": f"{folder}/cache"}),
    ):
        base = Path(folder)
        figures = [figure(Plot(), f"Figure {n}: What was measured.") for n in range(1, FIGURES + 1)]
        front = [Paragraph("Readers who agree", TITLE), Paragraph("Ada Berg", AUTHORS)]
        story = [
            heading("Abstract"),
            body("We let readers read."),
            heading("1 Introduction"),
            body("We begin.", 40),
            *figures,
            heading("2 Results"),
            body("So.", 60),
        ]
        paper = typeset(base / "paper.pdf", front, story)

        def config(host: str, seed: int = 0) -> RunConfig:
            model = {
                "provider": "openai",
                "name": "test",
                "base_url": base_url,
                "concurrency": 1000,
                "tools": False,
            }
            literature = {"cascade": ["semantic_scholar"], "endpoints": {"semantic_scholar": scholar.url}}
            data: dict[str, Any] = {
                "system": "mamorx", "host": host, "seed": seed, "inputs": {"paper": str(paper)},
                "models": {"default": model}, "literature": literature, "mamorx": {"exchanges": 6},
            }  # fmt: skip
            return validate(data, "bench")

        for host in size.hosts:
            await timed(config(host), base)  # all is imported, all is kept that the look-ups find
            watch = Watch()
            one = await timed(config(host), base)
            alone = watch.read().wall
            path, calls = critical_path(one.said), sum(said.usage.calls for said in one.said)
            yield Figure(
                f"reviews: a paper, {host}", one.talk.wall, "s", path * size.delay,
                f"{path} calls that wait for one another", "ratio ≤ 1.25",
                f"{calls} calls; CPU {one.talk.cpu:.2f} s",
            )  # fmt: skip
            watch = Watch()
            runs = await asyncio.gather(*(timed(config(host, seed), base) for seed in range(size.runs)))
            many = watch.read()
            calls = sum(said.usage.calls for run in runs for said in run.said)
            yield Figure(
                f"  {size.runs} papers at once, {host}", many.wall, "s", alone, "one paper", "",
                f"{calls} calls; CPU {many.cpu:.1f} s is {many.cpu / many.wall:.0%} of the time",
            )  # fmt: skip


def critical_path(said: Sequence[Said]) -> int:
    """The longest chain of dependent calls of a committee whose leader asks by fields of its replies.

    Related papers are sifted, then compared, all at once; a figure is described and criticised at once, beside all
    others; experts who are asked in one turn answer at once, each one question after the other.
    """
    chains = defaultdict[str, int](int)
    branches = defaultdict[tuple[str, object], dict[object, int]](lambda: defaultdict(int))
    for each in said:
        match each.task:
            case "relevance" | "compare":
                branches[each.stage, each.task][each.turn] += each.usage.calls
            case "describe" | "critique" | "captions":
                branches[each.stage, "figure"][each.turn, each.task] += each.usage.calls
            case "answer":
                branches[each.stage, each.turn][each.speaker] += each.usage.calls
            case _:
                chains[each.stage] += each.usage.calls
    for (stage, _), lengths in branches.items():
        chains[stage] += max(lengths.values())
    first = max((chains.pop(stage, 0) for stage in FIRST), default=0)
    return first + sum(chains.values())
