"""Reviews of a paper by the committee: one beside its critical path; many beside one."""

import asyncio
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from reportlab.platypus import Paragraph

from bench.figures import Figure, Size, Watch
from bench.runs import Timed, timed
from bench.server import model_server
from manyheads.base.http import Pace
from manyheads.config import RunConfig
from manyheads.core.events import Said
from manyheads.literature.semantic_scholar import SemanticScholar
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
        patch.object(SemanticScholar, "paces", (Pace(0.0), Pace(0.0))),
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
            ones, wholes = list[Timed](), list[float]()
            for _ in range(size.rounds):
                watch = Watch()
                ones.append(await timed(config(host), base))
                wholes.append(watch.read().wall)
            walls, chain = [one.talk.wall for one in ones], longest_chain(ones[0].said)
            calls = sum(said.usage.calls for said in ones[0].said)
            yield Figure(
                f"reviews: a paper, {host}", min(walls), "s", chain * size.delay,
                f"{chain} of {calls} calls wait for one another", "ratio ≤ 1.25",
                f"fastest of {size.rounds}, median {median(walls):.2f} s; CPU {median(one.talk.cpu for one in ones):.2f} s",
            )  # fmt: skip
            watch = Watch()
            runs = await asyncio.gather(*(timed(config(host, seed), base) for seed in range(size.runs)))
            many = watch.read()
            calls = sum(said.usage.calls for run in runs for said in run.said)
            yield Figure(
                f"  {size.runs} papers at once, {host}", many.wall, "s", min(wholes), "one paper", "",
                f"{calls} calls; CPU {many.cpu:.1f} s is {many.cpu / many.wall:.0%} of the time",
            )  # fmt: skip


def longest_chain(said: Sequence[Said]) -> int:
    """Calls that wait for one another, in a committee whose leader asks by fields of its replies.

    Related papers are compared at once, each after it was found relevant; a figure is described and criticised at once,
    beside all others; experts who are asked in one turn answer at once, each one question after the other.
    """
    stages = defaultdict[str, dict[object, Counter[object]]](dict)
    for each in said:
        match each.task:
            case "relevance" | "compare":
                step, branch = "papers", each.turn
            case "describe" | "critique" | "captions":
                step, branch = "figures", (each.turn, each.task)
            case "answer":
                step, branch = each.turn, each.speaker
            case _:
                step, branch = (each.task, each.turn), 0
        stages[each.stage].setdefault(step, Counter[object]())[branch] += each.usage.calls
    rows = {stage: sum(max(calls.values()) for calls in steps.values()) for stage, steps in stages.items()}
    return max(rows.pop(stage, 0) for stage in FIRST) + sum(rows.values())
