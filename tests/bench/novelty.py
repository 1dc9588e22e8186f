"""The assessment of novelty, beside the sequential way of the paper: one call after the other (MAMORX, §3.1)."""

import os
import re
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from unittest.mock import patch

from bench.figures import Figure, Size
from manyheads.base.http import Pace
from manyheads.literature import semantic_scholar
from support.llm import LLM
from support.papers_read import paper, review
from support.requests import Request
from support.scholar import Scholar, record

PAPERS = 30
LONGEST = 6
"""Calls that wait for one another: three phrases, then relevance, comparison and summary."""
PHRASES = ("soft fruit", "tactile fingers", "harvest")


def _phrase(request: Request) -> str:
    number = re.search(r"phrase, (\d)", request.asking)
    return PHRASES[int(number[1]) - 1] if number else ""


async def bench(size: Size) -> AsyncIterator[Figure]:
    papers = [
        record(f"{n:040x}", f"{PHRASES[n % 3]}, volume {n}", abstract="Berries.", year=2015)
        for n in range(PAPERS)
    ]
    answers = {"phrase": _phrase, "verdict": "RELEVANT", "decision": "NOVEL", "summary": "NOVEL: all of it."}
    with (
        LLM(answers=answers, delay=size.delay) as llm,
        Scholar(papers=papers) as scholar,
        tempfile.TemporaryDirectory() as base,
        patch.object(semantic_scholar, "SHARED_POOL", Pace(0.0)),
        patch.dict(os.environ, {"MANYHEADS_CACHE": f"{base}/cache"}),
    ):

        async def seconds(host: str, at_once: int) -> float:
            """From the first question to the last answer."""
            model = {"provider": "openai", "name": "test", "base_url": llm.base_url, "concurrency": at_once}
            literature = {"cascade": ["semantic_scholar"], "endpoints": {"semantic_scholar": scholar.url}}
            before = llm.calls
            folder = Path(base) / f"{host}-{before}"
            await review(llm, folder, paper(), literature=literature, host=host, models={"default": model})
            return llm.requests[-1].at - llm.requests[before].at + size.delay

        for host in size.hosts:
            await seconds(host, 1000)  # what is looked up is kept
            before = llm.calls
            wall = min([await seconds(host, 1000) for _ in range(size.rounds)])
            calls, path = (llm.calls - before) // size.rounds, LONGEST * size.delay
            note = f"{calls} calls; {wall / path:.2f} of the {LONGEST} that wait for one another"
            yield Figure(
                f"novelty: {PAPERS} papers, {host}", wall, "s", await seconds(host, 1),
                "one call after the other", "ratio ≤ 0.25", note,
            )  # fmt: skip
