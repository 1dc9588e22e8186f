"""A worker without Ray: its messages make the driver's folder, and one that the driver has given up asks no model."""

import asyncio
import errno
import json
import os
import shutil
import socket
import sqlite3
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest
from pydantic import TypeAdapter

from manyheads.base.errors import ConfigError, EmbeddingError
from manyheads.base.folders import JOURNAL, TRACEBACK
from manyheads.config import BudgetConfig, RunConfig
from manyheads.engine.budget import Budget
from manyheads.engine.cluster import Cluster, OnRay
from manyheads.engine.jobs import Failure, Job
from manyheads.engine.journal import read_turns
from manyheads.engine.local import BELOW, Local
from manyheads.engine.seats import versions
from manyheads.engine.worker import JobWorker, Mirror, Wire, need_here
from manyheads.hosts import host_factory
from manyheads.literature.lookup import RECORD, LookupCache
from manyheads.systems.loading import load
from support.command import outcome_of, served_by
from support.llm import LLM


class LostError(Exception):
    """What Ray raises of an actor that is gone."""


class TaskError(LostError):
    """What Ray raises of a task's exception."""


class NoRoomError(LostError):
    """What Ray raises of an actor that fits no node."""


RAY = Mock(exceptions=Mock(RayError=LostError, RayTaskError=TaskError, ActorUnschedulableError=NoRoomError))


@dataclass
class Nodes:
    """Workers in this process, in the place of a cluster: the first ones are lost after some turns, but live on.

    Attributes:
        lost: numbers of turns after which a worker is lost.
        full: whether a worker has no room for a job's folder.
    """

    base: Path
    lost: list[int] = field(default_factory=list[int])
    zombies: list[Any] = field(default_factory=list[Any])
    full: bool = False
    ray: Any = RAY

    async def corpora(self, config: RunConfig) -> tuple[()]:
        return ()

    @asynccontextmanager
    async def seat(self, *, alone: bool = False) -> AsyncGenerator[Any]:
        worker = JobWorker(str(self.base))
        most = self.lost.pop(0) if self.lost else None

        def run(*given: Any) -> AsyncGenerator[Awaitable[Any]]:
            if self.full:
                raise TaskError(
                    "ray::JobWorker.run() (pid=7, ip=10.0.0.7)\n\nOSError: No space left on device"
                )
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
            count += sum(kind == "keep" for kind, *_ in batch)
            if most is not None and count > most:
                self.zombies.append(batches)
                raise LostError("the worker is gone")
            yield asyncio.sleep(0, batch)

    def drop(self, seat: Any) -> None: ...


def on_workers(job: Job, nodes: Any, *, calls: int | None = None, meter: Any = None) -> Failure | None:
    async def run() -> Failure | None:
        budget = Budget(BudgetConfig(calls=calls))
        try:
            executor = OnRay(nodes, host_factory, budget.open(job.folder.parent))
            failure = await executor(job, meter or budget.asking, lambda event: None)
            await asyncio.sleep(0.1)  # in which a worker that was given up could ask
            return failure
        finally:
            for each in getattr(nodes, "zombies", ()):
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


def run_whole_and_lost(
    tmp_path: Path, llm: LLM, config: RunConfig, lost: list[int], *, under_way: int
) -> None:
    """A run in this process, and one whose workers are lost after these turns: at most what was under way is asked again."""
    for name in ("whole", "lost"):
        (tmp_path / name).mkdir()
    assert in_this_process(Job("run", tmp_path / "whole/run", config, "run")) is None
    undisturbed, nodes = llm.calls, Nodes(tmp_path, lost)
    assert on_workers(Job("run", tmp_path / "lost/run", config, "run"), nodes) is None
    assert len(nodes.zombies) == 2
    assert llm.calls - undisturbed <= undisturbed + 2 * under_way


@pytest.mark.slow
def test_a_worker_that_is_lost_leaves_its_job_to_the_next_and_asks_nothing_more(tmp_path: Path) -> None:
    with LLM() as llm:
        sets = ("embedding=lexical", "team.size=2", "turns=1", *served_by(llm)[3::2])
        config = load(["virsci"], ["models.default.provider=openai", "models.default.name=test", *sets])
        run_whole_and_lost(tmp_path, llm, config, [3, 6], under_way=2)  # a team of two
    first, second = (outcome_of(tmp_path / name / "run") for name in ("whole", "lost"))
    for outcome in (first, second):
        del outcome["usage"]
    assert first == second
    one, two = ({place for place, *_ in read_turns(tmp_path / name / "run/journal.sqlite")} for name in ("whole", "lost"))  # fmt: skip
    assert one == two
    kept = [(tmp_path / name / "run/config.yaml").read_text().partition("\n")[2] for name in ("whole", "lost")]  # fmt: skip
    assert kept[0] == kept[1]
    assert not [*tmp_path.glob("manyheads-job-*")]


@pytest.mark.slow
def test_the_teams_of_a_society_go_on_from_their_last_turns_on_another_worker(tmp_path: Path) -> None:
    small = ("epochs=2", "teams=3", "size.draw=fixed", "size.most=2", "virsci.turns=1", "virsci.ideas.references=2", "keep=1")  # fmt: skip
    with LLM() as llm:
        sets = ("embedding=lexical", *served_by(llm)[3::2], *small)
        config = load(["society"], ["models.default.provider=openai", "models.default.name=test", *sets])
        run_whole_and_lost(tmp_path, llm, config, [20, 25], under_way=BELOW * 2)  # four teams of two
    first, second = (outcome_of(tmp_path / name / "run") for name in ("whole", "lost"))
    assert first["usage"]["calls"] == second["usage"]["calls"]
    for outcome in (first, second):
        del outcome["usage"]
    assert first == second
    one, two = (
        {str(path.relative_to(tmp_path / name)): {place for place, *_ in read_turns(path)} for path in (tmp_path / name).rglob(JOURNAL)}
        for name in ("whole", "lost")
    )  # fmt: skip
    assert one == two, "those of the teams that are kept, and no other"


@pytest.mark.slow
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


def offline(tmp_path: Path) -> Job:
    (tmp_path / "runs").mkdir()
    config = load(["virsci"], ["embedding=lexical", "team.size=2", "turns=1", "models.default.name=offline"])
    return Job("run", Path("runs/run"), config, "run")


def test_a_resumed_job_keeps_its_look_ups_and_lies_in_its_own_folder_on_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    job, numbers = offline(tmp_path), TypeAdapter(int)
    assert on_workers(job, Nodes(tmp_path), calls=2)
    for place in (job.folder, below := job.folder / "teams/team-1"):
        place.mkdir(parents=True, exist_ok=True)
        with LookupCache(place / RECORD, record=True) as record:
            record.keep_answer("arxiv", "search", "owls", numbers, 3)
    sent, before = list[str](), Mirror._new_rows  # pyright: ignore[reportPrivateUsage]

    def found(mirror: Mirror) -> Any:
        """As a run below finds more, after the worker has begun."""
        yield from before(mirror)
        names = mirror._rows  # pyright: ignore[reportPrivateUsage]
        if not sent:
            sent.extend(names)
            with LookupCache(mirror._folder / "teams/team-1" / RECORD, record=True) as more:  # pyright: ignore[reportPrivateUsage]
                more.keep_answer("arxiv", "search", "cats", numbers, 4)

    monkeypatch.setattr(Mirror, "_new_rows", found)
    assert on_workers(job, Nodes(tmp_path), calls=1)
    assert sent == [RECORD, f"teams/team-1/{RECORD}"]
    for place, cats in ((job.folder, None), (below, 4)):
        with LookupCache(place / RECORD, record=True) as record:
            assert record.get("arxiv", "search", "owls", numbers) == 3
            assert record.get("arxiv", "search", "cats", numbers) == cats
    assert not [*tmp_path.glob("manyheads-job-*")]


def test_what_is_wrong_with_one_job_is_its_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    job = offline(tmp_path)

    @asynccontextmanager
    async def broken(charge: Any) -> AsyncGenerator[None]:
        raise sqlite3.OperationalError("disk I/O error")
        yield

    failure = on_workers(job, Nodes(tmp_path), meter=broken)
    assert failure
    assert "disk I/O error" in failure.reason
    failure = on_workers(job, Nodes(tmp_path, full=True))
    assert failure
    assert "10.0.0.7: OSError: No space left" in failure.reason
    assert "No space left" in (job.folder / TRACEBACK).read_text()
    (job.folder / JOURNAL).write_bytes(b"no journal " * 100)
    failure = on_workers(job, Nodes(tmp_path))
    assert failure
    assert JOURNAL in failure.reason


def test_a_full_disk_of_a_node_is_named_and_the_job_goes_on_when_it_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    job, node = offline(tmp_path), tmp_path / "node"
    node.mkdir()
    nodes = Nodes(node)

    def full(*given: Any, **more: Any) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("tempfile.mkdtemp", full)
        before = on_workers(job, nodes)
    with monkeypatch.context() as patch:
        patch.setattr("manyheads.engine.worker.MirroredJournal.keep", full)
        patch.setattr("shutil.disk_usage", Mock(return_value=Mock(free=0)))
        later = on_workers(job, nodes)
    for failure in (before, later):
        assert failure
        assert f"{socket.gethostname()}: {node}: No space left on device" in failure.reason
        assert "next: make room" in failure.reason
    assert on_workers(job, nodes) is None


def cluster(*starts: dict[str, Any] | Exception) -> Cluster:
    """A cluster whose workers start one after the other with these versions or errors."""
    left = [*starts]

    def place(*given: Any) -> Any:
        about = left.pop(0)
        return Mock(about=Mock(remote=AsyncMock(side_effect=[about] if isinstance(about, dict) else about)))

    ray = Mock(exceptions=RAY.exceptions)
    ray.remote.return_value.options.return_value.remote.side_effect = place
    return Cluster(ray, len(starts), 2, None)


FIT = {**versions(), "node": "one"}


@pytest.mark.parametrize(
    "unfit",
    [
        NoRoomError("no node fits"),
        TaskError(
            "ray::JobWorker.about() (pid=7, ip=10.0.0.7)\nModuleNotFoundError: No module named 'manyheads'"
        ),
        *({**versions(), name: "0.0.1", "node": "other"} for name in ("Python", "Ray", "manyheads")),
    ],
)
async def test_a_worker_that_cannot_be_used_is_done_without(unfit: dict[str, Any] | Exception) -> None:
    nodes = cluster(FIT, unfit)
    async with nodes.seat() as first, nodes.seat() as second:
        assert first is second
    assert nodes.workers == 1


async def test_jobs_fail_with_the_reason_when_no_worker_can_be_used(tmp_path: Path) -> None:
    lacking = TaskError(
        "ray::JobWorker.about() (pid=7, ip=10.0.0.7)\nModuleNotFoundError: No module named 'x'"
    )
    nodes = cluster(lacking, lacking)

    async def job() -> None:
        async with nodes.seat():
            raise AssertionError("it has no worker")

    for error in await asyncio.gather(*(job() for _ in range(5)), return_exceptions=True):
        assert isinstance(error, ConfigError)
        assert "10.0.0.7: ModuleNotFoundError: No module named 'x'" in error.message


def test_a_job_that_finds_no_worker_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failure = on_workers(job := offline(tmp_path), cluster({**FIT, "manyheads": "0.0.1"}))
    assert failure
    assert "0.0.1" in failure.cause
    assert not job.folder.exists()


def test_a_worker_asks_the_drivers_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://node.example/v1")
    monkeypatch.setenv("OLLAMA_HOST", "10.0.0.7")
    JobWorker(str(tmp_path), {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})
    assert os.environ["OPENAI_BASE_URL"] == "http://127.0.0.1:9/v1"
    assert "OLLAMA_HOST" not in os.environ


async def test_what_needs_no_answer_goes_with_what_does_in_its_order() -> None:
    wire = Wire("/nowhere")
    wire.before = lambda: wire.send("file")
    for kind in ("state", "give_up"):
        wire.send(kind)
    wire.request("pay")
    batches = wire.batches()
    assert [kind for kind, *_ in await anext(batches)] == ["state", "give_up", "pay", "file"]
    wire.send("release")
    assert [kind for kind, *_ in await anext(batches)] == ["release", "file"], "sent soon, without a request"


async def test_a_folder_in_use_is_not_swept(tmp_path: Path) -> None:
    (run := tmp_path / "manyheads-job-1/work/run").mkdir(parents=True)
    os.utime(root := tmp_path / "manyheads-job-1", (0, 0))
    Mirror(run, Wire(str(root)), ()).sync()
    JobWorker(str(tmp_path))
    assert run.exists()
    os.utime(root, (0, 0))
    JobWorker(str(tmp_path))
    assert not root.exists()


async def test_each_look_up_is_sent_once_and_is_found_on_the_drivers_side(tmp_path: Path) -> None:
    numbers, wire = TypeAdapter(int), Wire("/nowhere")
    (team := tmp_path / "run/teams/team-1").mkdir(parents=True)
    with (
        LookupCache(tmp_path / "run" / RECORD, record=True) as record,
        LookupCache(team / RECORD, record=True) as below,
    ):
        mirror = Mirror(tmp_path / "run", wire, ())
        record.keep_answer("arxiv", "search", "owls", numbers, 3)
        mirror.sync()
        record.keep_answer("arxiv", "search", "cats", numbers, 4)
        mirror.sync()
        below.keep_answer("arxiv", "search", "owls", numbers, 3)
        mirror.sync()
        mirror.sync()
    shutil.rmtree(team)
    mirror.sync()
    wire.send("end")
    told = [(kind, *parts) async for batch in wire.batches() for kind, _, parts in batch]
    assert ("gone", name := f"teams/team-1/{RECORD}") in told
    found = [parts for kind, *parts in told if kind == "lookups"]
    assert [where for where, _ in found] == [RECORD, RECORD, name]
    sent = [rows for _, rows in found]
    assert [len(rows) for rows in sent] == [1, 1, 1]
    with LookupCache(tmp_path / RECORD, record=True) as other:
        for rows in sent:
            other.put(rows)
        assert other.get("arxiv", "search", "cats", numbers) == 4
        assert other.get("arxiv", "search", "owls", numbers) == 3


async def test_a_relative_folder_of_an_embedding_model_is_refused_and_a_lacking_one_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lexical").mkdir()
    (tmp_path / "minilm").mkdir()
    config = load(["virsci"])
    for choice in ("lexical", str(tmp_path / "minilm")):
        await Cluster(RAY, 1, 1, None).corpora(config.model_copy(update={"embedding": choice}))
        need_here(choice)
    relative = config.model_copy(update={"embedding": "minilm"})
    assert await Cluster(RAY, 1, 1, tmp_path).corpora(relative) == ()  # Ray's own workers are in this folder
    with pytest.raises(EmbeddingError, match=str(tmp_path / "minilm")):
        await Cluster(RAY, 1, 1, None).corpora(relative)
    with pytest.raises(EmbeddingError, match=f"{socket.gethostname()}: "):
        need_here(str(tmp_path / "mini"))
