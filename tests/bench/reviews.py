"""Reviews of a paper by the committee: one beside its critical path, and beside the hosts' bare agents; many beside one."""

import asyncio
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal
from unittest.mock import patch

from reportlab.platypus import Paragraph

from bench.figures import Figure, Size, Watch
from bench.overhead import shown
from bench.plain import PLAIN, Ask
from bench.runs import Timed, timed
from bench.server import model_server
from manyheads.base.http import Pace
from manyheads.config import RunConfig
from manyheads.core.events import Said
from manyheads.engine.journal import read_turns
from manyheads.literature import semantic_scholar
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
            ones, wholes, bare = list[Timed](), list[float](), list[float]()
            for _ in range(size.rounds):  # in turn: what else the machine does slows both
                watch = Watch()
                ones.append(await timed(config(host), base))
                wholes.append(watch.read().wall)
                bare.append(await replay(ones[-1], host, base_url))
            walls, shape = [one.talk.wall for one in ones], shape_of(ones[0].said)
            calls, path = sum(said.usage.calls for said in ones[0].said), shape.longest * size.delay
            against = f"{shape.longest} of {calls} calls wait for one another"
            apart = [ours - theirs for ours, theirs in zip(walls, bare, strict=True)]
            yield Figure(
                f"reviews: a paper, {host}", min(walls), "s", path, against, "ratio ≤ 1.25",
                f"fastest of {size.rounds}, median {median(walls):.2f} s; {median(apart):+.2f} s"
                f" beside the bare agents; CPU {median(one.talk.cpu for one in ones):.2f} s",
            )  # fmt: skip
            yield Figure(
                f"  {host}'s bare agents", min(bare), "s", path, "the same requests in the same order",
                note=f"fastest of {size.rounds}, median {median(bare):.2f} s",
            )  # fmt: skip
            watch = Watch()
            runs = await asyncio.gather(*(timed(config(host, seed), base) for seed in range(size.runs)))
            many = watch.read()
            calls = sum(said.usage.calls for run in runs for said in run.said)
            yield Figure(
                f"  {size.runs} papers at once, {host}", many.wall, "s", min(wholes), "one paper", "",
                f"{calls} calls; CPU {many.cpu:.1f} s is {many.cpu / many.wall:.0%} of the time",
            )  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """Which calls of a run wait for which: one call again and again, or parts that go one after the other or at once."""

    kind: Literal["call", "row", "burst"]
    parts: tuple["Shape", ...] = ()
    said: Said | None = None

    @property
    def longest(self) -> int:
        """Calls in its longest chain."""
        if self.said:
            return self.said.usage.calls
        lengths = [part.longest for part in self.parts]
        return max(lengths, default=0) if self.kind == "burst" else sum(lengths)


def shape_of(said: Sequence[Said]) -> Shape:
    """The shape of a committee whose leader asks by fields of its replies.

    Related papers are compared at once, each after it was found relevant; a figure is described and criticised at once,
    beside all others; experts who are asked in one turn answer at once, each one question after the other.
    """
    stages = defaultdict[str, dict[object, dict[object, list[Shape]]]](dict)
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
        branches = stages[each.stage].setdefault(step, defaultdict(list))
        branches[branch].append(Shape("call", said=each))
    rows = {
        stage: _row(Shape("burst", tuple(map(_row, branches.values()))) for branches in steps.values())
        for stage, steps in stages.items()
    }
    first = Shape("burst", tuple(rows.pop(stage) for stage in FIRST if stage in rows))
    return _row([first, *rows.values()])


def _row(parts: Iterable[Shape]) -> Shape:
    return Shape("row", tuple(parts))


async def replay(run: Timed, host: str, base_url: str) -> float:
    """Seconds that the host's bare agents take for a run's requests in its shape, their client's making included."""
    asked = defaultdict[tuple[object, ...], list[tuple[str, str]]](list)
    for place, request, _ in read_turns(run.folder / "journal.sqlite"):
        key = place.stage, place.turn, place.speaker, place.task.split()[0]
        asked[key].append((request["system"], shown(request)))

    async def play(shape: Shape, ask: Ask) -> None:
        if said := shape.said:
            question = asked[said.stage, said.turn, said.speaker, said.task].pop(0)
            for _ in range(said.usage.calls):
                await ask(*question)
        elif shape.kind == "burst":
            await asyncio.gather(*(play(part, ask) for part in shape.parts))
        else:
            for part in shape.parts:
                await play(part, ask)

    began = time.perf_counter()
    async with PLAIN[host](base_url) as ask:
        await play(shape_of(run.said), ask)
        return time.perf_counter() - began
