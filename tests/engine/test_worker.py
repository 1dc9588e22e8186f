"""A worker without Ray: its messages make the driver's folder, and one that the driver has given up asks no model."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from pydantic import TypeAdapter

from manyheads.config import BudgetConfig
from manyheads.engine.budget import Budget
from manyheads.engine.cluster import OnRay
from manyheads.engine.jobs import Failure, Job
from manyheads.engine.journal import read_turns
from manyheads.engine.local import Local
from manyheads.engine.worker import JobWorker, Mirror, Wire
from manyheads.hosts import host_factory
from manyheads.literature.lookup import RECORD, LookupCache
from manyheads.systems.loading import load
from support.command import outcome_of, served_by
from support.llm import LLM


class LostError(Exception):
    """What Ray raises of an actor that is gone."""


RAY = Mock(exceptions=Mock(RayActorError=LostError))


@dataclass
class Nodes:
    """Workers in this process, in the place of a cluster: the first ones are lost after some messages, but live on.

    Attributes:
        lost: numbers of messages after which a worker is lost.
    """

    base: Path
    lost: list[int] = field(default_factory=list[int])
    zombies: list[Any] = field(default_factory=list[Any])
    ray: Any = RAY

    @asynccontextmanager
    async def seat(self, *, alone: bool = False) -> AsyncGenerator[Any]:
        worker = JobWorker(str(self.base))
        most = self.lost.pop(0) if self.lost else None

        def run(*given: Any) -> AsyncGenerator[Awaitable[Any]]:
            return self._stream(worker.run(*given), most)

        def answer(*given: Any) -> None:
            tasks.add(asyncio.create_task(worker.answer(*given)))

        tasks = set[asyncio.Task[None]]()
        actor = Mock()
        actor.run.options.return_value.remote, actor.answer.remote = run, answer
        yield Mock(actor=actor)

    async def _stream(self, batches: Any, most: int | None) -> AsyncGenerator[Awaitable[Any]]:
        count = 0
        async for batch in batches:
            if most is not None and (count := count + len(batch)) > most:
                self.zombies.append(batches)
                raise LostError("the worker is gone")
            yield asyncio.sleep(0, batch)

    def drop(self, seat: Any) -> None: ...


def on_workers(job: Job, nodes: Nodes, *, calls: int | None = None) -> Failure | None:
    async def run() -> Failure | None:
        budget = Budget(BudgetConfig(calls=calls))
        try:
            executor = OnRay(nodes, host_factory, budget.open(job.folder.parent))  # pyright: ignore[reportArgumentType]
            failure = await executor(job, budget.asking, lambda event: None)
            await asyncio.sleep(0.1)  # in which a worker that was given up could ask
            return failure
        finally:
            for each in nodes.zombies:
                with suppress(RuntimeError):
                    await each.aclose()
            budget.close()

    return asyncio.run(run())


def in_this_process(job: Job) -> Failure | None:
    async def run() -> Failure | None:
        budget = Budget(BudgetConfig())
        try:
            executor = Local(host_factory, budget.open(job.folder.parent))
            return await executor(job, budget.asking, lambda event: None)
        finally:
            budget.close()

    return asyncio.run(run())


@pytest.mark.slow
def test_a_worker_that_is_lost_leaves_its_job_to_the_next_and_asks_nothing_more(tmp_path: Path) -> None:
    with LLM() as llm:
        sets = ("embedding=lexical", "team.size=2", "turns=1", *served_by(llm)[3::2])
        config = load(["virsci"], ["models.default.provider=openai", "models.default.name=test", *sets])
        for name in ("whole", "lost"):
            (tmp_path / name).mkdir()
        assert in_this_process(Job("run", tmp_path / "whole/run", config, "run")) is None
        undisturbed = llm.calls
        nodes = Nodes(tmp_path, [25, 40])
        assert on_workers(Job("run", tmp_path / "lost/run", config, "run"), nodes) is None
        assert len(nodes.zombies) == 2
        assert llm.calls - undisturbed <= undisturbed + 2 * 2, "what was under way, of a team of two"
    first, second = (outcome_of(tmp_path / name / "run") for name in ("whole", "lost"))
    for outcome in (first, second):
        del outcome["usage"]
    assert first == second
    one, two = ({place for place, *_ in read_turns(tmp_path / name / "run/journal.sqlite")} for name in ("whole", "lost"))  # fmt: skip
    assert one == two
    kept = [(tmp_path / name / "run/config.yaml").read_text().partition("\n")[2] for name in ("whole", "lost")]  # fmt: skip
    assert kept[0] == kept[1]
    assert not [*tmp_path.glob("manyheads-job-*")]


def test_a_worker_that_may_not_pay_asks_nothing_and_says_why(tmp_path: Path) -> None:
    with LLM() as llm:
        sets = ("embedding=lexical", "team.size=2", "turns=1", *served_by(llm)[3::2])
        config = load(["virsci"], ["models.default.provider=openai", "models.default.name=test", *sets])
        failure = on_workers(Job("run", tmp_path / "run", config, "run"), Nodes(tmp_path), calls=5)
        assert failure
        assert "calls" in failure.reason
        assert "manyheads-job" not in failure.reason
        assert llm.calls == 5
    events = (tmp_path / "run/events.jsonl").read_text().splitlines()
    assert sum(json.loads(line)["kind"] == "said" for line in events) <= 5


async def test_each_look_up_is_sent_once_and_is_found_on_the_drivers_side(tmp_path: Path) -> None:
    numbers, wire = TypeAdapter(int), Wire("/nowhere")
    (tmp_path / "run").mkdir()
    with LookupCache(tmp_path / "run" / RECORD, record=True) as record:
        mirror = Mirror(tmp_path / "run", wire, ())
        record.keep_answer("arxiv", "search", "owls", numbers, 3)
        mirror.sync()
        record.keep_answer("arxiv", "search", "cats", numbers, 4)
        mirror.sync()
        mirror.sync()
    wire.send("end")
    sent = [parts[0] async for batch in wire.batches() for kind, _, parts in batch if kind == "lookups"]
    assert [len(rows) for rows in sent] == [1, 1]
    with LookupCache(tmp_path / RECORD, record=True) as other:
        for rows in sent:
            other.put(rows)
        assert other.get("arxiv", "search", "cats", numbers) == 4
        assert other.get("arxiv", "search", "owls", numbers) == 3
