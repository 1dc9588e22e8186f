"""A run on a worker of a cluster: in a folder of its own, with each write mirrored to the driver, whose folder is the truth.

A job is one stream of messages to the driver, in order: what the journal writes, the look-ups' record, the files, the events, the
end. Requests wait for the driver to pay for them and for their slot at the server. It takes messages in order, so that what was
recorded before is on its disk by then. A worker that the driver has given up gets no answer, and asks nothing more.
"""

import asyncio
import errno
import itertools
import os
import shutil
import socket
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from manyheads.base.errors import CorpusError, EmbeddingError, UserError
from manyheads.base.files import expanded, replace_bytes
from manyheads.base.folders import CONFIG, JOURNAL, door
from manyheads.base.http import GATE, OverdueError, Pace
from manyheads.config import RunConfig
from manyheads.config.environment import ADDRESSES, lend
from manyheads.config.files import HERE, moved
from manyheads.config.keys import read_keys, value_of
from manyheads.core import Charge, Meter, Place
from manyheads.core.events import AnyEvent
from manyheads.corpus.corpora import resolve_corpus
from manyheads.corpus.digest import PaperTexts, extract
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.layers import COPIES
from manyheads.corpus.phrases import KeyPhrases
from manyheads.corpus.transfer import Manifest, local_copy
from manyheads.engine.jobs import Failure
from manyheads.engine.journal import Fact, Journal
from manyheads.engine.local import BELOW, ENGINE, Process, Work, failure_of
from manyheads.engine.seats import versions
from manyheads.engine.session import HostFactory, Session
from manyheads.literature.lookup import ANSWERS, RECORD, LookupCache, Row

Message: TypeAlias = tuple[str, int, tuple[Any, ...]]
"""Kind, number, content."""
JOB = "manyheads-job-"
"""Beginning of the names of jobs' folders on a worker."""
SOON = 0.05
"""Seconds for which what needs no answer may wait for other messages: each sending costs a millisecond on both sides."""
STALE = 86_400.0
"""Seconds after which a folder that a killed worker left is removed."""
FULL = 2**20
"""Bytes of free disk below which a job's failure is that of a full disk."""


@dataclass(frozen=True)
class Parcel:
    """All that a worker needs of a job.

    Args:
        config: with the driver's files.
        folder: of the run, on the driver.
        files: of the run's folder with its journal and those of the runs below it, of its inputs and of its own roles and
            prompts, by their full names on the driver.
        factory: makes a host by name.
        embedding: the embedding model, as the driver has it.
        corpora: those that it opens, but for shipped ones, and the actor that hands out their pieces.
        allowed: hosts, variables and programs that the user has allowed.
        here: the driver's working folder.
    """

    config: RunConfig
    folder: str
    files: Mapping[str, bytes]
    factory: Callable[[str], HostFactory]
    embedding: str
    corpora: tuple[tuple[Manifest, Any], ...]
    accept_changes: bool
    again: str | None
    allowed: frozenset[str]
    here: str


@dataclass(frozen=True)
class Call:
    """Work other than a run, for a worker; see `Engine.call`.

    Args:
        files: of the config, by their full names on the driver.
        allowed: as of `Parcel`.
    """

    work: Work
    config: RunConfig
    arguments: tuple[Any, ...]
    files: Mapping[str, bytes]
    allowed: frozenset[str]


class Wire:
    """The messages of one job to the driver, and the driver's answers. Belongs to one event loop.

    Args:
        root: the worker's folder, which no message names.
    """

    def __init__(self, root: str) -> None:
        self.root, self._numbers = root, itertools.count(1)
        self._loop, self._messages, self._due = asyncio.get_running_loop(), list[Message](), asyncio.Event()
        self._waiting = dict[int, asyncio.Future[Any]]()
        self.before: Callable[[], object] = lambda: None
        """Called before messages are sent; it may add to them."""
        self.closed = asyncio.Event()

    def wake(self) -> None:
        """Send soon what there is by then."""
        self._loop.call_later(SOON, self._due.set)

    def send(self, kind: str, *parts: Any, at_once: bool = False) -> int:
        """Send what needs no answer; returns its number."""
        if not self._messages:
            self.wake()
        self._messages.append((kind, number := next(self._numbers), parts))
        if at_once:
            self._due.set()
        return number

    def request(self, kind: str, *parts: Any) -> tuple[int, asyncio.Future[Any]]:
        """Send what the driver answers; returns its number, and the answer to wait for."""
        number = self.send(kind, *parts, at_once=True)
        answer = self._waiting[number] = self._loop.create_future()
        return number, answer

    def answer(self, number: int, problem: Any, value: Any = None) -> None:
        """Take the driver's answer: a value, or what speaks against it."""
        answer = self._waiting.pop(number, None)
        if answer is None or answer.done():
            return
        if problem is None:
            answer.set_result(value)
        else:
            late = isinstance(problem, tuple)
            answer.set_exception(OverdueError(problem[0], paused=problem[1]) if late else problem)

    async def batches(self) -> AsyncGenerator[list[Message]]:
        """The messages, several together if they came together; the last one's kind is `end`."""
        batch = list[Message]()
        while not batch or batch[-1][0] != "end":
            await self._due.wait()
            self.before()
            batch, self._messages = self._messages, []
            self._due.clear()
            if batch:
                yield batch

    def placeless(self, value: Any) -> Any:
        """The same with the driver's folders."""
        match value:
            case bytes():
                return value.replace(self.root.encode(), b"")
            case str():
                return value.replace(self.root, "")
            case Mapping():
                return {key: self.placeless(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
            case list():
                return [self.placeless(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
            case _:
                return value

    @asynccontextmanager
    async def _loan(self, kind: str, *parts: Any, charge: Charge | None = None) -> AsyncGenerator[Any]:
        number, answer = self.request(kind, *parts)
        try:
            yield await answer
        finally:
            self.send("release", number, charge and charge.usage)

    def pay(self, charge: Charge) -> AbstractAsyncContextManager[None]:
        """The driver's meter around one request; a `core.Meter`."""
        return self._loan("pay", charge.most, charge=charge)

    def turn(self, server: Hashable, pace: Pace, until: float) -> AbstractAsyncContextManager[None]:
        """See `Gate`: a slot of the whole cluster."""
        return self._loan("slot", server, pace, until - time.monotonic())

    def pause(self, server: Hashable, pace: Pace, seconds: float) -> None:
        self.send("pause", server, pace, seconds)

    def lookup(self, key: bytes, until: float) -> AbstractAsyncContextManager[Row | None]:
        """See `StoredAnswers`: those of the driver."""
        return self._loan("lookup", key, until - time.monotonic())

    async def store(self, row: Row) -> None:
        self.send("store", row)


class Mirror:
    """A run's folder on a worker: what has changed in it goes to the driver, then its events.

    Args:
        there: files that the driver has already.
    """

    def __init__(self, folder: Path, wire: Wire, there: Collection[str]) -> None:
        self._folder, self._wire = folder, wire
        self._known = {name: self._state(folder / name) for name in there}
        self._rows = dict[str, set[bytes]]()
        """Those sent, by the name of the record, as of the journals."""
        self._read = dict[str, tuple[Any, ...]]()
        """How the files of a record were when it was last read: of a society, most have not changed."""
        self.events = list[AnyEvent]()
        self._journals = {path.relative_to(folder).as_posix() for path in folder.rglob(JOURNAL)}
        self.session: Session | None = None
        for _ in self._new_rows():
            pass  # the driver has them

    @staticmethod
    def _state(path: Path) -> tuple[int, int, int]:
        stat = path.stat()
        return stat.st_mtime_ns, stat.st_ino, stat.st_size

    def name_of(self, journal: Path) -> str:
        """The name for the driver of a journal in this folder or below."""
        self._journals.add(name := journal.relative_to(self._folder).as_posix())
        return name

    def note(self, event: AnyEvent) -> None:
        """Send an event and what has changed with it soon."""
        self.events.append(event)
        self._wire.wake()

    def sync(self) -> None:
        """Send changes of the folder, unless it is gone: the new end of a log, other files whole. Then the events."""
        if self._folder.exists():
            self._send_changes()
        for event in self.events:
            self._wire.send("event", event)
        self.events.clear()

    def _send_changes(self) -> None:
        with suppress(OSError):  # it is in use; see `STALE`
            os.utime(self._wire.root)
        for name, rows in self._new_rows():
            self._wire.send("lookups", name, rows)
        now = dict[str, tuple[int, int, int]]()
        for path in files_in(self._folder):
            with suppress(FileNotFoundError):  # replaced meanwhile
                now[path.relative_to(self._folder).as_posix()] = self._state(path)
        for name in self._known.keys() - now.keys():
            self._wire.send("gone", name)
        for name in [name for name in (*self._journals, *self._rows) if not (self._folder / name).exists()]:
            self._journals.discard(name)
            self._rows.pop(name, None)
            self._read.pop(name, None)
            self._wire.send("gone", name)
        for name, state in [*now.items()]:
            before = self._known.get(name)
            if before == state:
                continue
            content = (self._folder / name).read_bytes()
            if name == CONFIG and self.session:
                config = moved(self.session.config, self._wire.placeless).__getstate__()
                self._wire.send("config", config, content.split(b"\n", 1)[0].decode())
            elif name.endswith(".jsonl") and before and before[1] == state[1] and len(content) >= before[2]:
                self._wire.send("more", name, self._wire.placeless(content[before[2] :]))
                now[name] = *state[:2], len(content)
            else:
                self._wire.send("file", name, self._wire.placeless(content))
        self._known = now

    def _new_rows(self) -> Iterator[tuple[str, list[Row]]]:
        """What is new in the records of this run and of those below it, by their names."""
        for base in sorted(base for base, _, names in os.walk(self._folder) if RECORD in names):
            path, states = Path(base) / RECORD, list[Any]()
            name = path.relative_to(self._folder).as_posix()
            for each in (path, path.with_name(f"{RECORD}-wal")):
                with suppress(FileNotFoundError):
                    states.append(self._state(each))
            if self._read.get(name) == (*states,):
                continue
            self._read[name], known = (*states,), self._rows.setdefault(name, set())
            with LookupCache(path, record=True) as record:
                rows = record.rows(known)
            known.update(key for key, *_ in rows)
            if rows:
                yield name, rows


class MirroredJournal(Journal):
    """A journal of a worker: the driver writes each turn, before it lets the run pay for another request."""

    safety = "none"  # if the worker dies, its file is of no use: the driver's is sent again

    def __init__(self, path: Path, wire: Wire, mirror: Mirror) -> None:
        super().__init__(path)
        self._wire, self._mirror, self._unsettled = wire, mirror, False
        self._name = mirror.name_of(path)

    def keep(
        self, place: Place, digest: str, request: dict[str, Any], reply: dict[str, Any]
    ) -> asyncio.Future[None]:
        self._mirror.sync()  # the look-ups that it depends on are sent first
        self._wire.send("keep", self._name, place, digest, request, reply, at_once=True)
        return super().keep(place, digest, request, reply)

    def state(self, name: Fact, value: Mapping[str, Any]) -> None:
        super().state(name, value)
        self._wire.send("state", self._name, name, self._wire.placeless(dict(value)))
        self._unsettled = True

    def _keep_lost(self) -> None:
        self.state("lost", self.lost.model_dump())

    def give_up(self, place: Place, request: dict[str, Any], reply: dict[str, Any]) -> None:
        super().give_up(place, request, reply)
        self._wire.send("give_up", self._name, place, request, reply)

    async def settled(self) -> None:
        if self._unsettled:
            self._unsettled = False
            await self._wire.request("settled")[1]


def files_in(folder: Path) -> Iterator[Path]:
    """The files of a folder and those below it, but for hidden ones, those half written, and SQLite's: their rows are sent."""
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and not name.endswith((".sqlite", "-wal", "-shm", ".part")):
                yield Path(base) / name


class JobWorker:
    """A process that runs jobs, several at once; an actor of Ray.

    Args:
        base: the folder for its jobs' folders; None for the machine's temporary folder.
        addresses: of model servers, by their variables, in place of the node's own; None to keep these.
    """

    def __init__(self, base: str | None, addresses: Mapping[str, str] | None = None) -> None:
        self._base = base or tempfile.gettempdir()
        self._wires = dict[str, Wire]()
        read_keys()  # a node has its own; none comes from the driver
        if addresses is not None:  # the node's key must not go to another server than the driver's
            for name in ADDRESSES:
                os.environ.pop(name, None)
            os.environ.update(addresses)
        for left in Path(self._base).glob(f"{JOB}*"):
            with suppress(OSError):
                if time.time() - left.stat().st_mtime > STALE:
                    shutil.rmtree(left, ignore_errors=True)

    async def about(self, variables: tuple[str, ...] = (), corpus: str | None = None) -> dict[str, Any]:
        """What the driver compares: versions, the node, keys that are missing on it, free disk in bytes.

        Args:
            variables: of the keys.
            corpus: is to be found, or built if it is a shipped one; `corpus` is then what is wrong with it.
        """
        problem = ""
        try:
            if corpus:
                await asyncio.to_thread(resolve_corpus, corpus)
        except UserError as error:
            problem = error.message
        return {
            "corpus": problem,
            **versions(),
            "node": socket.gethostname(),
            "pid": os.getpid(),
            "missing": [each for each in variables if not value_of(each)],
            "free": shutil.disk_usage(self._base).free,
        }

    async def run(self, ticket: str, parcel: Parcel | Call) -> AsyncGenerator[list[Message]]:
        """One job or call; yields its messages."""
        try:
            root = tempfile.mkdtemp(prefix=JOB, dir=self._base)
        except OSError as error:
            yield [("end", 0, (self._no_room(error.strerror or str(error)),))]
            return
        wire = self._wires[ticket] = Wire(root)
        job = isinstance(parcel, Parcel)
        doing = self._work(wire, Path(root), parcel) if job else self._call(wire, Path(root), parcel)
        work = asyncio.create_task(doing)
        try:
            async for batch in wire.batches():
                yield batch
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            shutil.rmtree(root, ignore_errors=True)
            del self._wires[ticket]
            wire.closed.set()

    async def left(self, ticket: str) -> None:
        """Wait until a job that has ended, or was cancelled, has removed its folder."""
        if wire := self._wires.get(ticket):
            await wire.closed.wait()

    async def answer(self, ticket: str, number: int, problem: Any, value: Any = None) -> None:
        """The driver's answer to a message; see `Wire.answer`."""
        if wire := self._wires.get(ticket):
            wire.answer(number, problem, value)

    def _no_room(self, reason: str) -> Failure:
        text = f"{socket.gethostname()}: {self._base}: {reason}"
        return Failure(f"{text}\n  next: make room on that node's disk, and run the same command again", text)

    async def _call(self, wire: Wire, root: Path, call: Call) -> None:
        GATE.set(wire)
        ANSWERS.set(wire)
        lend(call.allowed)
        try:
            with door(None):
                await asyncio.to_thread(write_files, call.files, root)
                config = moved(call.config, lambda name: _under(root, name, call.files))
                outcome = await call.work(wire.pay, config, *call.arguments)
        except UserError as error:
            outcome = error
        wire.send("end", outcome, at_once=True)

    async def _work(self, wire: Wire, root: Path, parcel: Parcel) -> None:
        GATE.set(wire)
        ANSWERS.set(wire)
        lend(parcel.allowed)
        HERE.set(Path(f"{root}{parcel.here}"))
        failure: Failure | None = None
        try:
            with door(None):
                for manifest, source in parcel.corpora:
                    copy = await local_copy(manifest, partial(_piece, source))
                    COPIES[manifest.corpus] = COPIES[manifest.fingerprint] = copy
                need_here(parcel.embedding)
                folder = await asyncio.to_thread(unpack, parcel, root)
                prefix = f"{parcel.folder}/"
                there = {each.removeprefix(prefix) for each in parcel.files if each.startswith(prefix)}
                mirror = Mirror(folder, wire, {each for each in there if not each.endswith(".sqlite")})
                opened = partial(MirroredJournal, wire=wire, mirror=mirror)
                ENGINE.set(Process(BELOW, opened))
                session = mirror.session = Session(
                    moved(parcel.config, lambda name: _under(root, name, parcel.files)), folder,
                    parcel.accept_changes, parcel.again, wire.pay, settle=lambda model: model,
                    journal=opened, embedder=lambda config: parcel.embedding,
                )  # fmt: skip
                wire.before = lambda: mirror.events and mirror.sync()
                failure = await failure_of(session, parcel.factory, mirror.note)
                mirror.sync()
        except UserError as error:
            failure = Failure(str(error), error.message)
        wire.before = lambda: None  # the folder goes
        if failure and shutil.disk_usage(self._base).free < FULL:
            failure = self._no_room(os.strerror(errno.ENOSPC))
        elif failure:
            failure = replace(
                failure, reason=wire.placeless(failure.reason), cause=wire.placeless(failure.cause)
            )
        await asyncio.to_thread(shutil.rmtree, root, ignore_errors=True)  # the driver may end right after it
        wire.send("end", failure, at_once=True)


def need_here(choice: str) -> None:
    """Raises `EmbeddingError` if an embedding model is named by a folder that this node lacks."""
    if os.path.isabs(folder := expanded(choice)) and not folder.is_dir():
        hint = "put its folder there on each node"
        raise EmbeddingError(f"{socket.gethostname()}: there is no embedding model in {choice}", hint=hint)


async def vectors_of(meter: Meter, config: RunConfig, choice: str, name: str, texts: Sequence[str]) -> Any:
    """The vectors of texts, (n, dim) float32; a `Work`. Raises `EmbeddingError` if a model is not here or has another name."""
    try:
        model = await asyncio.to_thread(load_embedder, choice)
        if model.name != name:
            raise EmbeddingError(f"the embedding model here is {model.name}, on the driver {name}")
        return await asyncio.to_thread(model.embed, texts)
    except UserError as error:
        error.message = f"{socket.gethostname()}: {error.message}"
        raise


async def extracted(meter: Meter, config: RunConfig, readings: list[PaperTexts], phrases: KeyPhrases) -> Any:
    """The records of papers by rules, a list; a `Work`."""
    return await asyncio.to_thread(lambda: [*extract(readings, phrases)])


async def _piece(source: Any, path: str, start: int) -> bytes:
    """A piece of a corpus. Ray asks again for one that is lost. Raises `CorpusError`, as the error would pass for a lost worker."""
    errors: Any = import_module("ray").exceptions
    try:
        return await source.piece.remote(path, start)
    except errors.RayError as error:
        raise CorpusError(
            f"{path}: the driver does not hand it out: {str(error).strip().rpartition(chr(10))[2]}",
            hint="run the same command again",
        ) from error


def _under(root: Path, name: str, files: Mapping[str, bytes]) -> str:
    """A file or folder of the parcel where it was unpacked; other names stay."""
    sent = name in files or any(each.startswith(f"{name}/") for each in files)
    return f"{root}{name}" if sent else name


def write_files(files: Mapping[str, bytes], root: Path) -> None:
    """Write the driver's files below a folder."""
    for name, content in files.items():
        path = Path(f"{root}{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_bytes(path, content)


def unpack(parcel: Parcel, root: Path) -> Path:
    """Write a parcel's files below a folder, as they lie on the driver; returns the run's folder."""
    folder = Path(f"{root}{parcel.folder}")
    write_files(parcel.files, root)
    return folder
