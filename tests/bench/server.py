"""The model server in a process of its own, so that it shares no interpreter lock with what is measured."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

from bench.figures import Figure, Size, Watch

TESTS = Path(__file__).parents[1]


@contextmanager
def model_server(delay: float, answers: Mapping[str, object] | None = None) -> Generator[str]:
    """The base URL of a server that takes `delay` seconds for each answer; `answers` are values of fields by name."""
    given = ["--answers", json.dumps(answers)] if answers else []
    command = [sys.executable, "-m", "support.llm", "--delay", str(delay), *given]
    path = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


async def server_alone(base_url: str, size: Size) -> Figure:
    """Whether the server is a bottleneck: as many requests at once as there are votes, by a bare client."""
    form = '```json Text\n{\n  "text": "<A text.>"\n}\n```'
    body = {"model": "test", "messages": [{"role": "user", "content": "word " * 1000 + form}]}
    at_once = size.members * size.turns
    async with httpx.AsyncClient(base_url=base_url, timeout=30) as client:
        await client.post("/chat/completions", json=body)
        watch = Watch()
        await asyncio.gather(*(client.post("/chat/completions", json=body) for _ in range(at_once)))
        seconds = watch.read().wall
    return Figure(
        f"model server alone, {at_once} at once", seconds * 1000, "ms", size.delay * 1000, "its delay"
    )
