"""CPU time a call, ours beside the host's bare agent with the same messages in the same run."""

import json
import os
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

from bench.figures import Figure, Size, Spent, Watch, typical
from bench.plain import PLAIN
from bench.runs import Timed, config_for, timed
from bench.server import model_server
from manyheads.core import Place
from manyheads.engine.journal import Journal

BARE: dict[str, Any] = {
    "invitation": {"enabled": False},
    "ideas": {"references": 0},
    "novelty": {"references": 0},
}

AIMS = {"autogen": "≤ 10 ms", "agentscope": "≤ 10 ms", "agent_framework": "≤ 10 ms"}
"""On two noisy cores."""


async def bench(size: Size) -> AsyncIterator[Figure]:
    with model_server(0) as base_url, tempfile.TemporaryDirectory() as base:
        for host in size.hosts:
            for name, more in (("talk alone", BARE), ("with tools and retrieval", {})):
                yield await _of(base_url, host, name, more, size, Path(base))
        run = await timed(config_for(base_url, size.hosts[0], size, **BARE), Path(base))
        yield _journal(run, Path(base), size)


async def _of(base_url: str, host: str, name: str, more: dict[str, Any], size: Size, base: Path) -> Figure:
    """Rounds of ours and of the host's take turns, so that what else the machine does hits both."""
    await timed(config_for(base_url, host, size, **more), base)
    ours, plain, whole = list[float](), list[float](), list[float]()
    for seed in range(2 * size.rounds):
        run = await timed(config_for(base_url, host, size, seed=seed, **more), base)
        asked = questions_of(run.folder)
        ours.append(run.talk.cpu / len(asked))
        whole.append((run.set_up.cpu + run.talk.cpu + run.closing.cpu) / len(asked))
        plain.append((await plain_cost(host, base_url, asked)).cpu)
    extra = [(mine - theirs) * 1000 for mine, theirs in zip(ours, plain, strict=True)]
    return Figure(
        f"CPU a call: {host}, {name}",
        median(ours) * 1000,
        "ms",
        median(plain) * 1000,
        "the host's bare agent, fresh each call, same messages",
        AIMS[host],
        f"fastest {min(ours) * 1000:.2f}; on top of the bare agent {median(extra):+.2f} ms,"
        f" {min(extra):+.2f} to {max(extra):+.2f}; whole run {median(whole) * 1000:.2f} ms a call",
    )


async def plain_cost(host: str, base_url: str, asked: Sequence[tuple[str, str]]) -> Spent:
    """Seconds per call of the host's own agents, their client's making included as in a run."""
    watch = Watch()
    async with PLAIN[host](base_url) as ask:
        for system, text in asked:
            await ask(system, text)
    whole = watch.read()
    return Spent(whole.wall / len(asked), whole.cpu / len(asked))


def shown(request: dict[str, Any]) -> str:
    """What the speaker was shown, with the form of the reply, which the journal keeps apart."""
    return f"{request['thread'][-1]['text']}\n\n{request['form']}"


def questions_of(folder: Path) -> list[tuple[str, str]]:
    """System prompt and question of each turn of a run."""
    return [(request["system"], shown(request)) for request in requests_of(folder)]


def requests_of(folder: Path) -> list[dict[str, Any]]:
    """The requests that a run's journal keeps."""
    with closing(sqlite3.connect(folder / "journal.sqlite")) as database:
        return [json.loads(row[0]) for row in database.execute("SELECT request FROM turn ORDER BY rowid")]


def _journal(run: Timed, base: Path, size: Size) -> Figure:
    """Keeping one turn, against writing the same bytes to a file and having them on the disk."""
    requests = requests_of(run.folder)
    reply = {"text": "word " * 100, "value": {"text": "word " * 100}}
    journal = Journal(base / "bench.sqlite")

    def keep() -> None:
        for number, request in enumerate(requests):
            journal.put((Place("bench", number, "Scientist1", "idea"), "0" * 64, request, reply))

    def write() -> None:
        with (base / "bench.jsonl").open("w", encoding="utf-8") as file:
            for request in requests:
                file.write(json.dumps([request, reply]) + "\n")
                file.flush()
                os.fsync(file.fileno())

    kept, written = (typical(work, size.rounds) / len(requests) * 1000 for work in (keep, write))
    journal.close()
    return Figure("overhead: journal, one turn kept", kept, "ms", written, "JSON line and fsync")
