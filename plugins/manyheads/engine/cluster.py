"""Jobs on Ray: this process, the driver, keeps folders, journals, budget and rate limits; workers run the jobs.

Workers need neither the driver's disk nor its database. A worker that dies, freezes or is cut off loses its jobs: another one goes on
from their last recorded turn. The driver answers the newest attempt at a job only, so a worker that comes back pays nothing more.
"""

import asyncio
import logging
import os
import re
import secrets
import shutil
import socket
import tempfile
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Generator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import uuid4

from manyheads.base.errors import (
    BudgetError,
    ConfigError,
    HeldError,
    JournalError,
    ModelError,
    UserError,
    need_extra,
    scrubbed,
)
from manyheads.base.files import cache_folder, opened, replace_bytes
from manyheads.base.folders import JOURNAL, TRACEBACK, door, writing
from manyheads.base.http import OverdueError, Pace, in_short, limiter
from manyheads.base.sqlite import reading
from manyheads.base.text import shortened
from manyheads.config import RunConfig
from manyheads.config.environment import ADDRESSES, allowed_words
from manyheads.core import Charge, Meter, Usage, unmetered
from manyheads.core.events import AnyEvent
from manyheads.corpus.corpora import SHIPPED
from manyheads.corpus.transfer import CorpusSource, Manifest, manifests_of
from manyheads.engine.budget import Shared
from manyheads.engine.folder import keep_config
from manyheads.engine.jobs import Executor, Failure, Job, ended_at
from manyheads.engine.journal import Journal
from manyheads.engine.local import Work, with_first_known
from manyheads.engine.readiness import CheckResult
from manyheads.engine.session import HostFactory, embedder_of
from manyheads.engine.worker import Call, JobWorker, Message, Parcel, embedded, files_in, versions
from manyheads.literature.lookup import RECORD, LookupCache
from manyheads.report.index import list_run
from manyheads.team.system import system_of

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors

log = logging.getLogger("manyheads")
T = TypeVar("T")
MOST_DEATHS = 3
"""Workers that a job may lose without a new turn; then it is set apart."""
PLACING = 120.0
"""Seconds in which a cluster must find a place for a worker."""
REACH = 5.0
"""Seconds in which a cluster must answer."""
PATIENCE = 60.0
"""Seconds in which a worker must give a sign of life, and then answer."""
LEAVE = 10.0
"""Seconds in which a worker whose job is stopped must remove its folder."""
LEAST_DISK = 1e9
"""Bytes that a worker's node needs for the folders of its jobs."""
STORE = 100_000_000
"""Bytes of a local Ray's object store."""
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "1"}
LISTENS = (
    "Ray listens on all addresses of this machine, and whoever reaches its ports with its token runs code here;"
    " the token changes with each start and stays on"
)


@dataclass
class _Seat:
    """A worker with the jobs that it has.

    Attributes:
        alone: whether its job must have no other beside it.
        ready: its versions, once it has been placed.
    """

    actor: Any
    ready: asyncio.Future[dict[str, Any]]
    jobs: int = 0
    alone: bool = False


class Cluster:
    """A connected Ray with its workers; an `Engine`.

    Args:
        workers: their number.
        lanes: jobs at once of each.
        base: the folder for jobs' folders; None for each node's temporary one.
    """

    def __init__(self, ray: Any, workers: int, lanes: int, base: Path | None) -> None:
        self.ray, self.workers, self.lanes, self._base = ray, workers, lanes, base
        self._seats = list[_Seat]()
        self._free = asyncio.Condition()
        self._refusal: UserError | None = None
        self._source: Any = None
        self._manifests = dict[str, asyncio.Task[tuple[Manifest, ...]]]()
        self._parts = dict[Path, Manifest]()

    @property
    def at_once(self) -> int:
        """Jobs at once of all workers."""
        return self.workers * self.lanes

    def executor(
        self, factory: Callable[[str], HostFactory], shared: Shared, accept_changes: bool, again: str | None
    ) -> Executor:
        """See `Engine`."""
        return OnRay(self, factory, shared, accept_changes, again)

    async def call(self, work: Work, config: RunConfig, *arguments: Any, meter: Meter) -> Any:
        """See `Engine`."""
        files = await asyncio.to_thread(_files_of, config)
        call = Call(work, config, arguments, files, frozenset(allowed_words()))
        match await _CallAttempts(self, meter, call).run():
            case UserError() as error:
                raise error
            case Failure() as failure:
                raise ModelError(failure.reason)
            case outcome:
                return outcome

    def _place(self) -> _Seat:
        actor = self.ray.remote(JobWorker).options(
            num_cpus=1, max_concurrency=2 * self.lanes + 8, max_restarts=0, max_task_retries=0
        )
        addresses = {name: value for name in ADDRESSES if (value := os.environ.get(name))}
        actor = actor.remote(str(self._base) if self._base else None, addresses)
        return _Seat(actor, asyncio.ensure_future(self.about(actor)))

    @asynccontextmanager
    async def seat(self, *, alone: bool = False) -> AsyncGenerator[_Seat]:
        """A worker with a free lane, or with no other job; placed if there are too few. Raises as `about` if none can be used."""
        seat, errors = await self._taken(alone=alone), self.ray.exceptions
        try:
            yield seat
        except errors.RayError as error:
            if not isinstance(error, errors.RayTaskError):  # else it lives
                self.drop(seat)
            raise
        finally:
            await self._leave(seat)

    async def _taken(self, *, alone: bool) -> _Seat:
        """A placed worker. One that cannot be placed or used is done without, as long as there are others."""
        while True:
            async with self._free:
                while (seat := self._choice(alone=alone)) is None:
                    await self._free.wait()
                seat.jobs, seat.alone = seat.jobs + 1, alone
            try:
                await asyncio.shield(seat.ready)
                return seat
            except BaseException as error:
                unfit = isinstance(error, UserError)
                if unfit and seat in self._seats:
                    self.workers, self._refusal = self.workers - 1, error
                    log.warning("warning: %s; %d workers are left", error.message, self.workers)
                if isinstance(error, Exception):
                    self.drop(seat)
                await self._leave(seat)
                if not unfit or not self.workers:
                    raise

    async def _leave(self, seat: _Seat) -> None:
        async with self._free:
            seat.jobs, seat.alone = seat.jobs - 1, False
            self._free.notify_all()

    def _choice(self, *, alone: bool) -> _Seat | None:
        if self._refusal and not self.workers:
            raise self._refusal
        while len(self._seats) < self.workers:
            self._seats.append(self._place())
        free = [each for each in self._seats if not each.alone and each.jobs < (1 if alone else self.lanes)]
        return min(free, key=lambda each: each.jobs, default=None)

    def drop(self, seat: _Seat) -> None:
        """Give a worker up; another one takes its place."""
        if seat in self._seats:
            self._seats.remove(seat)
            with suppress(Exception):  # it may be gone
                self.ray.kill(seat.actor)

    async def corpora(self, config: RunConfig) -> tuple[tuple[Manifest, Any], ...]:
        """What a run opens that a node may not have, and the actor that hands it out. Raises `CorpusError`, `EmbeddingError`."""
        name = config.corpus
        if self._base or name in SHIPPED or not system_of(config).corpus(config):
            return ()  # workers of this machine open the driver's folder
        if name not in self._manifests:
            options = {"num_cpus": 0, "max_restarts": -1, "max_task_retries": 3, "max_concurrency": 4}
            here = _placed(self.ray.get_runtime_context().get_node_id())
            self._source = self._source or self.ray.remote(CorpusSource).options(**options, **here).remote()
            self._manifests[name] = asyncio.create_task(asyncio.to_thread(manifests_of, name, self._parts))
        return tuple((each, self._source) for each in await asyncio.shield(self._manifests[name]))

    async def embed(self, choice: str, name: str, texts: list[str]) -> "Vectors":
        """See `worker.embedded`. Raises `UserError`."""
        return await self.call(embedded, RunConfig(), choice, name, texts, meter=unmetered)

    async def findings(self, variables: Collection[str], corpus: str | None) -> list[CheckResult]:
        """What is wrong with each node, before anything is paid.

        Args:
            variables: of the keys that it needs.
            corpus: of the runs.
        """
        found = list[CheckResult]()
        for node in (each for each in self.ray.nodes() if each["Alive"]):
            name, here = f"node {node['NodeManagerHostname']}", _placed(node["NodeID"])
            actor = self.ray.remote(JobWorker).options(num_cpus=0, **here).remote(None)
            try:
                about = await self.about(actor, tuple(variables), corpus)
            except (UserError, self.ray.exceptions.RayError) as error:
                error = error if isinstance(error, UserError) else ModelError(_in_a_line(error))
                found.append(CheckResult(name, str(error), error))
                continue
            lacks = [f"{each} is not set" for each in about["missing"]]
            lacks += [about["corpus"]] if about["corpus"] else []
            lacks += ["less than 1 GB of free disk"] if about["free"] < LEAST_DISK else []
            has = [f"{each} {about[each]}" for each in versions()]
            disk = f"{', '.join(has)}, {about['free'] / 1e9:.0f} GB free"
            error = ConfigError("; ".join(lacks), hint="give the node what it lacks, such as a .env file")
            found.append(CheckResult(name, str(error) if lacks else disk, error if lacks else None))
        return found

    async def about(self, actor: Any, *wanted: Any) -> dict[str, Any]:
        """See `JobWorker.about`. Raises `ModelError` without room for it, `ConfigError` if it cannot start or has another version."""
        errors = self.ray.exceptions
        try:
            about = cast(dict[str, Any], await asyncio.wait_for(actor.about.remote(*wanted), PLACING))
        except errors.RayError as error:
            never = isinstance(error, (errors.RayTaskError, errors.ActorUnschedulableError))
            if never or getattr(error, "actor_init_failed", False):
                raise ConfigError(
                    f"Ray: a worker cannot start: {_in_a_line(error)}",
                    hint="manyheads check SYSTEM --engine ray names the nodes; install the same versions on all",
                ) from error
            raise
        except TimeoutError as error:
            raise ModelError(
                f"Ray: no node has a free processor for a worker since {PLACING:.0f} s",
                hint="fewer --workers, or wait for the others' work: ray status",
            ) from error
        for name, version in versions().items():
            if about[name] != version:
                raise ConfigError(
                    f"Ray: {about['node']} has {name} {about[name]}, this process {version}",
                    hint="on all nodes, install the same versions of Python, Ray and manyheads",
                )
        return about


def _placed(node: str) -> dict[str, Any]:
    """Ray's options of an actor on one node."""
    strategies = import_module("ray.util.scheduling_strategies")
    return {"scheduling_strategy": strategies.NodeAffinitySchedulingStrategy(node, soft=False)}


def _in_a_line(error: Exception) -> str:
    """The last line of Ray's error, which is the reason, after the address of the node if it is named."""
    node, last = re.search(r"\bip[=:]\s*([\w.:]+)", str(error)), str(error).strip().rpartition("\n")[2]
    reason = scrubbed(shortened(last, 300)) or type(error).__name__
    return f"{node[1]}: {reason}" if node else reason


@contextmanager
def connected(address: str | None, workers: int | None, lanes: int) -> Generator[Cluster]:
    """A cluster at an address, or a local Ray for the time of the block.

    Args:
        address: `HOST:PORT` or `auto`; None for `RAY_ADDRESS`, else a local one.
        workers: None for one for each free processor.
        lanes: jobs at once of each worker.

    Raises:
        ConfigError: Ray is not installed, or the address is none.
        ModelError: there is no Ray at the address, or it has another version.
    """
    address = address or os.environ.get("RAY_ADDRESS") or None
    if address and address.startswith("ray://"):
        raise ConfigError(
            f"--address {address}: Ray Client (ray://) cannot carry the streams of jobs",
            hint="run the command on a node of the cluster, with --address HOST:6379 or --address auto",
        )
    need_extra("ray", "--engine ray")
    os.environ.update({key: os.environ.get(key, value) for key, value in QUIET.items()})
    long = len(tempfile.gettempdir()) > 24  # the names of Ray's sockets are 80 longer, and may have 104
    short = "/tmp" if long and os.path.isdir("/tmp") else None
    own = None if address else Path(tempfile.mkdtemp(prefix="mh-ray-", dir=short))
    if own:
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        _warn_once()
    ray: Any = import_module("ray")
    try:
        _join(ray, address, own, workers)
        free = (os.cpu_count() if own else int(ray.available_resources().get("CPU", 1))) or 1
        yield Cluster(ray, workers or free, lanes, own)
    finally:
        ray.shutdown()
        if own:
            shutil.rmtree(own, ignore_errors=True)


def _join(ray: Any, address: str | None, own: Path | None, workers: int | None) -> None:
    host, _, port = (address or "").rpartition(":")
    quiet = {"log_to_driver": False, "logging_level": "error", "configure_logging": False}
    local = {
        "include_dashboard": False, "_temp_dir": str(own), "object_store_memory": STORE,
        "num_cpus": workers or os.cpu_count() or 1,
    }  # fmt: skip
    try:
        if host:  # Ray itself tries for minutes
            socket.create_connection((host.strip("[]"), int(port)), REACH).close()
        ray.init(**quiet, **({"address": address} if address else local))
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = f"no cluster of ours at {address}" if address else "it cannot be started"
        raise ModelError(
            f"Ray: {where}: {in_short(error, 400)}",
            hint="check with: ray status; all nodes need one token and the same versions of Python and Ray"
            if address
            else "see whether /dev/shm and the temporary folder have room, or run it without --engine ray",
        ) from error


def _warn_once() -> None:
    mark = cache_folder() / "ray-listens"
    if not mark.exists():
        log.warning("warning: %s", LISTENS)
        with suppress(OSError):
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()


@dataclass(frozen=True)
class OnRay:
    """Runs jobs on the workers of a cluster; an `Executor`. Arguments as of `Local`."""

    cluster: Cluster
    factory: Callable[[str], HostFactory]
    shared: Shared
    accept_changes: bool = False
    again: str | None = None

    async def __call__(self, job: Job, meter: Meter, note: Callable[[AnyEvent], None]) -> Failure | None:
        before, journal = ended_at(job), None
        try:
            with writing(job.folder):
                job.folder.mkdir(parents=True, exist_ok=True)
            journal = Journal(job.folder / JOURNAL)
            if ended_at(job) not in (None, before):
                raise HeldError(f"{job.folder}: finished by another process")
            failure = await _JobAttempts(self.cluster, meter, self, job, journal, note).run()
        except HeldError:
            raise
        except UserError as error:
            failure = Failure(
                str(error), "" if isinstance(error, BudgetError | JournalError) else error.message
            )
        finally:
            if journal:
                _close(journal)
        await asyncio.to_thread(list_run, job.folder)
        return failure


def _close(journal: Journal) -> None:
    """If nothing was recorded, neither the journal nor its folder stays, as of a run in this process."""
    blank = False
    with suppress(JournalError):
        blank = journal.blank
    journal.close()
    if blank:
        with suppress(OSError):  # the folder has more
            journal.path.unlink(missing_ok=True)
            journal.path.parent.rmdir()


@dataclass
class _Attempts:
    """Work on one worker after the other until it ends."""

    cluster: Cluster
    meter: Meter
    _turns: int = field(default=0, init=False)

    async def run(self) -> Any:
        """Its outcome."""
        deaths, errors = list[str](), self.cluster.ray.exceptions
        while True:
            turns = self._turns
            try:
                # the last try of a job is alone, so that no other is blamed for what it does
                async with self.cluster.seat(alone=len(deaths) == MOST_DEATHS - 1) as seat:
                    return await self._run_on(seat)
            except errors.RayTaskError as error:
                return self._set_apart([str(error)], f"its worker failed: {_in_a_line(error)}")
            except errors.RayError as error:
                deaths = [*(deaths if self._turns == turns else ()), str(error)]
                if len(deaths) == MOST_DEATHS:
                    return self._set_apart(deaths, f"its worker died {MOST_DEATHS} times without a new turn")

    async def _run_on(self, seat: _Seat) -> Any:
        raise NotImplementedError

    def _set_apart(self, errors: Sequence[str], reason: str) -> Failure:
        return Failure(f"Ray: {reason}\n  next: give the nodes more memory, or run it without --engine ray")

    async def _stream(self, seat: _Seat, parcel: Parcel | Call) -> Any:
        """Send it to a worker and answer the worker's messages; returns the outcome."""
        ticket = uuid4().hex
        stream = seat.actor.run.options(num_returns="streaming").remote(ticket, parcel)
        async with aclosing(_Desk(self, seat.actor, ticket)) as desk:
            try:
                while batch := await self._next_batch(stream, seat):
                    for message in batch:
                        if message[0] == "end":
                            await desk.settled()
                            return message[2][0]
                        await desk.take(message)
            finally:
                with suppress(Exception):  # it may have ended, or its worker be gone
                    self.cluster.ray.cancel(stream)
                    await asyncio.wait_for(seat.actor.left.remote(ticket), LEAVE)
        return Failure("Ray: the stream of the job ended early\n  next: run the same command again")

    async def _next_batch(self, stream: Any, seat: _Seat) -> list[Message]:
        """The next messages; none at the end. A worker that is silent for long and does not answer either is given up."""
        coming, asked = _task(_batch_of(stream)), list[asyncio.Task[Any]]()
        try:
            while not (await asyncio.wait({coming}, timeout=PATIENCE))[0]:
                asked.append(alive := _task(self.cluster.about(seat.actor)))
                await asyncio.wait({alive, coming}, timeout=PATIENCE, return_when="FIRST_COMPLETED")
                if not (alive.done() or coming.done()):
                    self.cluster.drop(seat)
            return coming.result()
        finally:
            for task in (coming, *asked):
                task.cancel()


@dataclass
class _CallAttempts(_Attempts):
    """A call on one worker after the other."""

    call: Call

    async def _run_on(self, seat: _Seat) -> Any:
        return await self._stream(seat, self.call)


@dataclass
class _JobAttempts(_Attempts):
    """A job on one worker after the other."""

    executor: OnRay
    job: Job
    journal: Journal
    note: Callable[[AnyEvent], None]

    async def _run_on(self, seat: _Seat) -> Failure | None:
        corpora = await self.cluster.corpora(self.job.config)
        return await self._stream(seat, await asyncio.to_thread(self._parcel, corpora))

    def _set_apart(self, errors: Sequence[str], reason: str) -> Failure:
        with writing(self.job.folder), (self.job.folder / TRACEBACK).open("a", encoding="utf-8") as file:
            file.write("\n".join(errors) + "\n")
        return Failure(
            f"{self.job.folder}: {reason}; see {TRACEBACK}\n"
            "  next: give the nodes more memory or disk, or run it alone: without --engine ray"
        )

    def _parcel(self, corpora: tuple[tuple[Manifest, Any], ...]) -> Parcel:
        """The job with what is recorded of it."""
        job, executor, folder = self.job, self.executor, self.job.folder.absolute()
        config = with_first_known(job.config, executor.shared)
        files = _files_of(config, folder)
        if (folder / RECORD).exists():
            with reading(folder / RECORD) as record:
                files[str(folder / RECORD)] = record.serialize()
        return Parcel(
            config, str(folder), files, None if self.journal.blank else self.journal.copy(), executor.factory,
            embedder_of(config), corpora, executor.accept_changes, executor.again, frozenset(allowed_words()),
            os.getcwd(),
        )  # fmt: skip


def _task(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """A task whose error nobody may want: asyncio does not print it."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


async def _batch_of(stream: Any) -> list[Message]:
    async for reference in stream:
        return await reference
    return []


def _files_of(config: RunConfig, *more: Path) -> dict[str, bytes]:
    """The files that a config names, its own roles and prompts, and more."""
    own = [Path(base) / kind for base in config.paths for kind in ("roles", "prompts", "configs")]
    files = dict[str, bytes]()
    for path in (*more, *map(Path, _named_files(config)), *own):
        inner = [path] if path.is_file() else files_in(path)
        files |= {str(each): each.read_bytes() for each in inner}
    return files


def _named_files(config: RunConfig) -> list[str]:
    """Files and folders on this machine that its inputs and its section name."""
    named = list[str]()
    for section in (config.settings, config.inputs):
        for name, slot in section.slots().items() if section is not None else ():
            value = getattr(section, name) if slot.file else ()
            named += [value] if isinstance(value, str) else value or ()
    return [each for each in named if each.startswith("/") and "\n" not in each and os.path.exists(each)]


@dataclass
class _Loan:
    """A slot of the budget or of a server, held for a request until its worker has released it."""

    charge: Charge
    task: asyncio.Task[None] | None = None
    granted: bool = False
    released: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class _Desk:
    """Takes the messages of one attempt, in their order, and answers them; see `Wire`."""

    attempts: _Attempts
    actor: Any
    ticket: str
    _leases: dict[int, _Loan] = field(default_factory=dict[int, _Loan])

    @property
    def _job(self) -> _JobAttempts:
        assert isinstance(self.attempts, _JobAttempts), "a call has no folder"
        return self.attempts

    async def take(self, message: Message) -> None:
        """Act on a message. Raises `UserError` if the driver's folder cannot be written, or the listener stops."""
        kind, number, parts = message
        match kind:
            case "keep":
                await self._keep(number, *parts)
            case "state":
                self._job.journal.state(*parts)
            case "give_up":
                self._job.journal.give_up(*parts)
            case "settled":
                self._answer(number)
            case "event":
                self._job.note(*parts)
            case "pay":
                charge = Charge(*parts)
                self._lend(number, self.attempts.meter(charge), charge)
            case "slot":
                server, pace, seconds = parts
                until = asyncio.get_running_loop().time() + seconds  # the clock of `time.monotonic`
                self._lend(number, limiter(server, pace).turn(until), Charge(Usage()))
            case "release":
                self._release(*parts)
            case "pause":
                server, pace, seconds = cast(tuple[Any, Pace, float], parts)
                limiter(server, pace).pause(seconds)
            case _:
                await asyncio.to_thread(self._write, kind, *parts)

    async def _keep(self, number: int, *turn: Any) -> None:
        try:
            await self._job.journal.keep(*turn)
        except JournalError as error:
            self._answer(number, error)
            raise
        self.attempts._turns += 1  # pyright: ignore[reportPrivateUsage]
        self._answer(number)

    def _write(self, kind: str, *parts: Any) -> None:
        """Mirror a change of the run's folder."""
        with writing(folder := self._job.job.folder):
            if kind == "config":
                keep_config(parts[0], folder, parts[1])
                return
            if kind == "lookups":
                with LookupCache(folder / RECORD, record=True) as record:
                    record.put(*parts)
                return
            path = folder / parts[0]
            if ".." in path.parts or not path.resolve().is_relative_to(folder.resolve()):
                raise JournalError(f"{path}: a worker names a file outside the run's folder")
            if kind == "gone":
                path.unlink(missing_ok=True)
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind == "more":
                with opened(path, "ab") as file:
                    file.write(parts[1])
            else:
                replace_bytes(path, parts[1])

    def _answer(self, number: int, problem: Any = None) -> None:
        self.actor.answer.remote(self.ticket, number, problem)

    def _lend(self, number: int, slot: AbstractAsyncContextManager[None], charge: Charge) -> None:
        lease = self._leases[number] = _Loan(charge)

        async def hold() -> None:
            try:
                with door(None):  # whatever it is, the worker must not wait for ever
                    try:
                        async with slot:
                            lease.granted = True
                            self._answer(number)
                            await lease.released.wait()
                    except OverdueError as error:
                        self._answer(number, (error.seconds, error.paused))
            except UserError as error:
                self._answer(number, error)
            finally:
                del self._leases[number]

        lease.task = asyncio.create_task(hold())

    def _release(self, number: int, usage: Usage | None) -> None:
        """Take back a lease, with what its request used."""
        if lease := self._leases.get(number):  # else it was refused
            lease.charge.usage = usage or lease.charge.usage
            lease.released.set()
            if lease.task and not lease.granted:
                lease.task.cancel()

    async def settled(self) -> None:
        """Wait until all that was released is paid."""
        released = [each.task for each in self._leases.values() if each.task and each.released.is_set()]
        await asyncio.gather(*released, return_exceptions=True)

    async def aclose(self) -> None:
        """Requests that were under way on a lost worker count as paid with the most that they may use."""
        for lease in self._leases.values():
            if lease.task and not lease.released.is_set():
                lease.charge.usage = lease.charge.most if lease.granted else lease.charge.usage
                lease.task.cancel()
                lease.released.set()
        await self.settled()
