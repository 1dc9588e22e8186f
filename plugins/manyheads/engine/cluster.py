"""Jobs on Ray: this process, the driver, keeps folders, journals, budget and rate limits; workers run the jobs.

Workers need neither the driver's disk nor its database. A worker that dies, freezes or is cut off loses its jobs: another one goes on
from their last recorded turn. The driver answers the newest attempt at a job only, so a worker that comes back pays nothing more.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Coroutine, Generator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import uuid4

from manyheads.base.errors import (
    BudgetError,
    ConfigError,
    EmbeddingError,
    HeldError,
    JournalError,
    ModelError,
    UserError,
)
from manyheads.base.files import expanded, opened, replace_bytes
from manyheads.base.folders import JOURNAL, TRACEBACK, door, writing
from manyheads.base.http import OverdueError, Pace, limiter
from manyheads.base.sqlite import reading
from manyheads.config import RunConfig
from manyheads.config.environment import allowed_words
from manyheads.core import Charge, Meter, Usage, unmetered
from manyheads.core.events import AnyEvent
from manyheads.corpus.corpora import SHIPPED
from manyheads.corpus.phrases import LEXICAL
from manyheads.corpus.transfer import CorpusSource, Manifest, manifests_of
from manyheads.engine.budget import Shared
from manyheads.engine.folder import keep_config
from manyheads.engine.jobs import Executor, Failure, Job, ended_at
from manyheads.engine.journal import Journal
from manyheads.engine.local import Work, with_first_known
from manyheads.engine.readiness import CheckResult
from manyheads.engine.seats import Seat, Seats, in_a_line, joined, placed, versions
from manyheads.engine.session import HostFactory, embedder_of
from manyheads.engine.worker import Call, JobWorker, Message, Parcel, extracted, files_in, vectors_of
from manyheads.literature.lookup import RECORD, LookupCache
from manyheads.report.index import list_run
from manyheads.team.system import system_of

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors

log = logging.getLogger("manyheads")
T = TypeVar("T")
MOST_DEATHS = 3
"""Workers that a job may lose without a new turn; then it is set apart."""
PATIENCE = 60.0
"""Seconds in which a worker must give a sign of life, and then answer."""
LEAVE = 10.0
"""Seconds in which a worker whose job is stopped must remove its folder."""
LEAST_DISK = 1e9
"""Bytes that a worker's node needs for the folders of its jobs."""


class Cluster(Seats):
    """A connected Ray with its workers; an `Engine`. Arguments as of `Seats`."""

    worker = JobWorker

    def __init__(self, ray: Any, workers: int, lanes: int, base: Path | None) -> None:
        super().__init__(ray, workers, lanes, base)
        self._source: Any = None
        self._manifests = dict[str, asyncio.Task[tuple[Manifest, ...]]]()
        self._parts = dict[Path, Manifest]()
        self.answers = LookupCache()

    @property
    def at_once(self) -> int:
        """Jobs at once of all workers."""
        return self.workers * self.lanes

    def executor(
        self, factory: Callable[[str], HostFactory], shared: Shared, accept_changes: bool, again: str | None
    ) -> Executor:
        return OnRay(self, factory, shared, accept_changes, again)

    async def call(self, work: Work, config: RunConfig, *arguments: Any, meter: Meter) -> Any:
        files = await asyncio.to_thread(_files_of, config)
        call = Call(work, config, arguments, files, frozenset(allowed_words()))
        match await _CallAttempts(self, meter, call).run():
            case UserError() as error:
                raise error
            case Failure() as failure:
                raise ModelError(failure.reason)
            case outcome:
                return outcome

    async def corpora(self, config: RunConfig) -> tuple[tuple[Manifest, Any], ...]:
        """What a run opens that a node may not have, and the actor that hands it out. Raises `CorpusError`, `EmbeddingError`."""
        self._need_full(config.embedding)
        if self.base or not system_of(config).corpus(config):
            return ()  # workers of this machine open the driver's folder
        names = dict.fromkeys((config.corpus, *config.settings.corpora))
        found = [await self._manifests_of(name) for name in names if name not in SHIPPED]
        return tuple(dict.fromkeys((each, self._source) for some in found for each in some))

    async def _manifests_of(self, name: str) -> tuple[Manifest, ...]:
        if name not in self._manifests:
            options = {"num_cpus": 0, "max_restarts": -1, "max_task_retries": 3, "max_concurrency": 4}
            here = placed(self.ray.get_runtime_context().get_node_id())
            self._source = self._source or self.ray.remote(CorpusSource).options(**options, **here).remote()
            self._manifests[name] = asyncio.create_task(asyncio.to_thread(manifests_of, name, self._parts))
        return await asyncio.shield(self._manifests[name])

    async def embed(self, choice: str, name: str, texts: list[str]) -> "Vectors":
        """See `worker.vectors_of`. Raises `UserError`."""
        self._need_full(choice)
        return await self.call(vectors_of, RunConfig(), choice, name, texts, meter=unmetered)

    def _need_full(self, choice: str) -> None:
        """Other nodes would look up a relative folder elsewhere."""
        named = choice == "auto" or choice.startswith(LEXICAL)
        if not (named or self.base or (folder := expanded(choice)).is_absolute()) and folder.is_dir():
            raise EmbeddingError(
                f"the embedding model {choice} is a folder relative to this process's, which other nodes do not know",
                hint=f"put it into the same folder on all nodes, and name that in full: {folder.absolute()}",
            )

    async def extract(self, batch: list[Any]) -> list[Any]:
        """See `worker.extracted`: readings and phrases. Raises `UserError`."""
        return await self.call(extracted, RunConfig(), *batch, meter=unmetered)

    async def findings(self, variables: Collection[str], corpus: str | None) -> list[CheckResult]:
        """What is wrong with each node, before anything is paid.

        Args:
            variables: of the keys that it needs.
            corpus: of the runs.
        """
        found = list[CheckResult]()
        for node in (each for each in self.ray.nodes() if each["Alive"]):
            name, here = f"node {node['NodeManagerHostname']}", placed(node["NodeID"])
            actor = self.ray.remote(JobWorker).options(num_cpus=0, **here).remote(None)
            try:
                about = await self.about(actor, tuple(variables), corpus)
            except (UserError, self.ray.exceptions.RayError) as error:
                error = error if isinstance(error, UserError) else ModelError(in_a_line(error))
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
    with joined(address, workers) as (ray, free, own):
        cluster = Cluster(ray, workers or free, lanes, own)
        try:
            yield cluster
        finally:
            cluster.answers.close()


@dataclass(frozen=True)
class OnRay:
    """Runs jobs on the workers of a cluster; an `Executor`. Arguments as of `Local`."""

    cluster: Cluster
    factory: Callable[[str], HostFactory]
    shared: Shared
    accept_changes: bool = False
    again: str | None = None

    async def __call__(self, job: Job, meter: Meter, note: Callable[[AnyEvent], None]) -> Failure | None:
        before, journals = ended_at(job), dict[str, Journal]()
        try:
            with writing(job.folder):
                job.folder.mkdir(parents=True, exist_ok=True)
            journals[JOURNAL] = Journal(job.folder / JOURNAL)
            if ended_at(job) not in (None, before):
                raise HeldError(f"{job.folder}: finished by another process")
            failure = await _JobAttempts(self.cluster, meter, self, job, journals, note).run()
        except HeldError:
            raise
        except UserError as error:
            failure = Failure(
                str(error), "" if isinstance(error, BudgetError | JournalError) else error.message
            )
        finally:
            for journal in journals.values():
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
                return self._set_apart([str(error)], f"its worker failed: {in_a_line(error)}")
            except errors.RayError as error:
                deaths = [*(deaths if self._turns == turns else ()), str(error)]
                if len(deaths) == MOST_DEATHS:
                    return self._set_apart(deaths, f"its worker died {MOST_DEATHS} times without a new turn")

    async def _run_on(self, seat: Seat) -> Any:
        raise NotImplementedError

    def _set_apart(self, errors: Sequence[str], reason: str) -> Failure:
        return Failure(f"Ray: {reason}\n  next: give the nodes more memory, or run it without --engine ray")

    async def _stream(self, seat: Seat, parcel: Parcel | Call) -> Any:
        """Send it to a worker and answer the worker's messages; returns the outcome."""
        ticket, outcome = uuid4().hex, None
        stream = seat.actor.run.options(num_returns="streaming").remote(ticket, parcel)
        async with aclosing(_Desk(self, seat.actor, ticket)) as desk:
            try:
                while batch := await self._next_batch(stream, seat):
                    for message in batch:
                        if message[0] == "end":  # its folder is gone by then
                            outcome = message[2]
                            await desk.settled()
                            return outcome[0]
                        await desk.take(message)
            finally:
                if outcome is None:
                    with suppress(Exception):  # it may have ended, or its worker be gone
                        self.cluster.ray.cancel(stream)
                        await asyncio.wait_for(seat.actor.left.remote(ticket), LEAVE)
        return Failure("Ray: the stream of the job ended early\n  next: run the same command again")

    async def _next_batch(self, stream: Any, seat: Seat) -> list[Message]:
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

    async def _run_on(self, seat: Seat) -> Any:
        return await self._stream(seat, self.call)


@dataclass
class _JobAttempts(_Attempts):
    """A job on one worker after the other."""

    executor: OnRay
    job: Job
    journals: dict[str, Journal]
    note: Callable[[AnyEvent], None]

    def inside(self, name: str) -> Path:
        """A file of the run's folder. Raises `JournalError` for another one."""
        path = (folder := self.job.folder) / name
        if ".." in path.parts or not path.resolve().is_relative_to(folder.resolve()):
            raise JournalError(f"{path}: a worker names a file outside the run's folder")
        return path

    def journal_of(self, name: str) -> Journal:
        """The run's journal, or that of a run below it."""
        if name not in self.journals:
            path = self.inside(name)
            with writing(path.parent):
                path.parent.mkdir(parents=True, exist_ok=True)
            self.journals[name] = Journal(path)
        return self.journals[name]

    def close(self, name: str) -> None:
        """Close a journal, if the file is one."""
        if journal := self.journals.pop(name, None):
            journal.close()

    async def _run_on(self, seat: Seat) -> Failure | None:
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
        for path in (*folder.rglob(RECORD), *folder.rglob(JOURNAL)):
            if journal := self.journals.get(path.relative_to(folder).as_posix()):
                files |= {} if journal.blank else {str(path): journal.copy()}
            elif path.exists():
                with reading(path) as database:
                    files[str(path)] = database.serialize()
        return Parcel(
            config, str(folder), files, executor.factory, embedder_of(config), corpora, executor.accept_changes,
            executor.again, frozenset(allowed_words()), os.getcwd(),
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
                journal = self._job.journal_of(parts[0])
                journal.keep(*parts[1:])
                await journal.written()  # on disk before the next request is paid
                self.attempts._turns += 1  # pyright: ignore[reportPrivateUsage]
            case "state":
                self._job.journal_of(parts[0]).state(*parts[1:])
            case "give_up":
                self._job.journal_of(parts[0]).give_up(*parts[1:])
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
            case "lookup":
                key, seconds = parts
                until = asyncio.get_running_loop().time() + seconds
                self._lend(number, self.attempts.cluster.answers.lookup(key, until), Charge(Usage()))
            case "store":
                await self.attempts.cluster.answers.store(*parts)
            case "release":
                self._release(*parts)
            case "pause":
                server, pace, seconds = cast(tuple[Any, Pace, float], parts)
                limiter(server, pace).pause(seconds)
            case "more":  # a line or two: a thread takes longer
                self._write(kind, *parts)
            case _:
                await asyncio.to_thread(self._write, kind, *parts)

    def _write(self, kind: str, *parts: Any) -> None:
        """Mirror a change of the run's folder."""
        with writing(folder := self._job.job.folder):
            if kind == "config":
                (config := self._job.job.config.model_copy()).__setstate__(parts[0])
                keep_config(config, folder, parts[1])
                return
            path = self._job.inside(parts[0])
            if kind == "lookups":
                path.parent.mkdir(parents=True, exist_ok=True)
                with LookupCache(path, record=True) as record:
                    record.put(parts[1])
                return
            if kind == "gone":
                self._job.close(parts[0])
                path.unlink(missing_ok=True)
                with suppress(OSError):  # up to the first folder that has more
                    os.removedirs(path.parent)
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind == "more":
                with opened(path, "ab") as file:
                    file.write(parts[1])
            else:
                replace_bytes(path, parts[1])

    def _answer(self, number: int, problem: Any = None, value: Any = None) -> None:
        self.actor.answer.remote(self.ticket, number, problem, value)

    def _lend(self, number: int, slot: AbstractAsyncContextManager[Any], charge: Charge) -> None:
        lease = self._leases[number] = _Loan(charge)

        async def hold() -> None:
            try:
                with door(None):  # whatever it is, the worker must not wait for ever
                    try:
                        async with slot as value:
                            lease.granted = True
                            self._answer(number, value=value)
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
