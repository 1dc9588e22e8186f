"""The journal of finished turns: none is paid for twice.

A turn's key is its place in the run, stored with a hash of the request. A rerun from the top answers recorded turns at
once. A changed request means that a prompt or the config was edited.
"""

import asyncio
import hashlib
import json
import sqlite3
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path, PurePath
from threading import Lock
from typing import Any, Literal, TypeAlias, TypeVar, cast

from manyheads.core import NOTHING, Host, Message, Place, Raw, Reply, ToolCall, Turn, Usage
from manyheads.disk import Database, reading
from manyheads.engine.replying import asked_at
from manyheads.errors import ChangedError, JournalError, ModelError, ReplyError
from manyheads.forms import schema_of, shipped_forms
from manyheads.objects import printable
from manyheads.replies import ReplyModel
from manyheads.retry import in_short

R = TypeVar("R", bound=ReplyModel)
_Turn: TypeAlias = tuple[Place, str, dict[str, Any], dict[str, Any]]

TABLE = """
CREATE TABLE IF NOT EXISTS turn (
    stage TEXT, turn INTEGER, speaker TEXT, task TEXT, ordinal INTEGER,
    hash TEXT NOT NULL, request TEXT NOT NULL, reply TEXT NOT NULL, at TEXT DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (stage, turn, speaker, task, ordinal))"""
GIVEN_UP = "CREATE TABLE IF NOT EXISTS given_up (request TEXT NOT NULL, reply TEXT NOT NULL)"
"""Turns without a valid reply; a resumed run asks them again, unless they are spare."""
FACTS = "CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
Fact = Literal["course", "models", "lost", "versions"]
WHERE = "stage = ? AND turn = ? AND speaker = ? AND task = ? AND ordinal = ?"


class Journal:
    """One SQLite file of a run's turns, safe against `kill -9`.

    Args:
        path: the file, created if missing.

    Raises:
        JournalError: the file cannot be opened or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writes: set[Future[None]] = set()
        self._queue: deque[tuple[_Turn, Future[None]]] = deque()
        self._writing = Lock()
        self._lost: Usage | None = None
        self._given_up: dict[str, dict[str, Any]] | None = None
        try:
            self._db = Database(path, TABLE, GIVEN_UP, FACTS, safety="each write", alone=True, wait=1)
        except sqlite3.Error as error:
            raise JournalError(f"{path}: {error}", hint=_hint(error)) from error
        # A new journal contains only new turns: nothing to look up while another turn is being written.
        self._kept: set[Place] | None = None if self.turns else set()

    def get(self, place: Place) -> tuple[str, Any] | None:
        """The recorded hash of a place, and its reply as JSON; None if nothing is recorded."""
        if self._kept is not None and place not in self._kept:
            return None
        with self._speaking("it cannot be read"):
            return next(
                iter(self._db.rows(f"SELECT hash, reply FROM turn WHERE {WHERE}", *_key(place))), None
            )  # pyright: ignore[reportReturnType]

    @property
    def turns(self) -> int:
        """Number of recorded turns."""
        with self._speaking("it cannot be read"):
            return self._db.rows("SELECT count(*) FROM turn")[0][0]

    def put(self, *turns: _Turn) -> None:
        """Record finished turns, all or none: place, hash of the request, request, reply.

        On return they are on disk.
        """
        with self._speaking(f"{', '.join(str(place) for place, *_ in turns)} could not be written"):
            self._db.change_all(
                "INSERT OR REPLACE INTO turn (stage, turn, speaker, task, ordinal, hash, request, reply)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (*_key(place), digest, _dump(request), _dump(reply))
                    for place, digest, request, reply in turns
                ],
            )
        if self._kept is not None:
            self._kept.update(place for place, *_ in turns)

    def give_up(self, request: dict[str, Any], reply: dict[str, Any]) -> None:
        """Record a turn without a valid reply."""
        with self._speaking("a failed turn could not be written"):
            self._db.change("INSERT INTO given_up VALUES (?, ?)", _dump(request), _dump(reply))

    def given_up(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """The last reply to a request that never got a valid one in earlier starts; None if there is no such record."""
        if self._kept is not None:  # a new journal
            return None
        if self._given_up is None:
            with self._speaking("failed turns cannot be read"):
                rows = [
                    (json.loads(each), json.loads(reply))
                    for each, reply in self._db.rows("SELECT * FROM given_up")
                ]
            self._given_up = {
                _hash({name: each[name] for name in each if name != "task"}): reply for each, reply in rows
            }
        return self._given_up.get(_hash(request))

    async def keep(self, place: Place, digest: str, request: dict[str, Any], reply: dict[str, Any]) -> None:
        """Record a finished turn without blocking other runs; written even if the caller is cancelled meanwhile.

        Turns that end at about the same time are written in one transaction.
        """
        write = Future[None]()
        self._writes.add(write)
        write.add_done_callback(self._writes.discard)
        self._queue.append(((place, digest, request, reply), write))
        _writers().submit(self._write_queue)
        await asyncio.shield(asyncio.wrap_future(write))

    def _write_queue(self) -> None:
        """Record all waiting turns; if that fails, each by itself, so that one failure does not affect the others."""
        with self._writing:
            turns = [self._queue.popleft() for _ in range(len(self._queue))]
            try:
                self.put(*(turn for turn, _ in turns))
                outcomes: list[JournalError | None] = [None] * len(turns)
            except JournalError:
                outcomes = [self._failure(turn) for turn, _ in turns]
            for (_, write), failure in zip(turns, outcomes, strict=True):
                write.set_exception(failure) if failure else write.set_result(None)

    def _failure(self, turn: _Turn) -> JournalError | None:
        try:
            return self.put(turn)
        except JournalError as error:
            return error

    def fact(self, name: Fact) -> dict[str, Any]:
        """Facts about the recorded turns: the config keys of the `course`, the `models`' settings, the `lost` usage, the
        `versions` of each start.

        Empty for a new run.
        """
        with self._speaking(f"its record of {name!r} cannot be read"):
            row = self._db.row("SELECT value FROM fact WHERE name = ?", name)
            value = json.loads(row[0]) if row else {}
            if not isinstance(value, dict):
                raise ValueError("it is not a mapping")
            return value

    def state(self, name: Fact, value: Mapping[str, Any]) -> None:
        """Store a fact; on return it is on disk."""
        with self._speaking("it cannot be written"):
            self._db.change("INSERT OR REPLACE INTO fact VALUES (?, ?)", name, _dump(value))

    def need_same_models(self, models: Mapping[str, dict[str, Any]]) -> None:
        """Compare the models' settings with the recorded ones, before anything is opened for a replay.

        Raises:
            ChangedError: recorded turns do not match today's models.
        """
        before = self.fact("models")
        gone = [model for model in before.values() if model not in models.values()]
        if not gone:
            return
        query = "SELECT stage, turn, speaker, task, ordinal, json_extract(request, '$.model') FROM turn ORDER BY rowid"
        with self._speaking("it cannot be read"):
            rows = self._db.rows(query)
            place = next((Place(*row[:5]) for row in rows if json.loads(row[5] or "null") in gone), None)
        if place:
            before, now = _single_keys(before), _single_keys(models)
            keys = [f"models.{key}" for key, value in before.items() if now.get(key) != value]
            raise self.changed(place, keys)

    def changed(self, place: Place, keys: Sequence[str]) -> ChangedError:
        """The error for a turn whose record cannot be used, with the changed config keys."""
        what = ", ".join(keys) or "a prompt, a role, a model or the corpus"
        return ChangedError(
            f"{self.path}: recorded with different settings, from this turn on: {place}",
            tried=f"changed: {what}",
            hint="undo the change, or continue from that turn: manyheads resume RUN --accept-changes",
        )

    def damaged(self, place: Place) -> JournalError:
        """The error for a damaged record."""
        return JournalError(
            f"{self.path}: the record of {place} is damaged, or was edited",
            hint="restore the journal from a copy, or ask this turn again: manyheads resume RUN --accept-changes",
        )

    @property
    def lost(self) -> Usage:
        """Usage of invalid replies in earlier starts."""
        if self._lost is None:
            with self._speaking("its record of 'lost' cannot be read"):
                self._lost = Usage.model_validate(self.fact("lost"))
        return self._lost

    def lose(self, usage: Usage) -> None:
        """Store the lost usage so far; on return it is on disk."""
        if usage != self.lost:
            self.state("lost", usage.model_dump())
            self._lost = usage

    @contextmanager
    def _speaking(self, what: str) -> Generator[None]:
        """Turns errors of a full disk or a damaged file into messages."""
        try:
            yield
        except (sqlite3.Error, TypeError, ValueError, RecursionError) as error:
            raise JournalError(f"{self.path}: {what}: {in_short(error)}", hint=_hint(error)) from error

    def close(self) -> None:
        """Close the file after every finished turn is written."""
        wait(self._writes.copy())
        self._db.close()


@cache
def _writers() -> ThreadPoolExecutor:
    """Threads that write to disk."""
    return ThreadPoolExecutor(4, thread_name_prefix="manyheads-journal")


DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


def _hint(error: Exception) -> str:
    if "locked" in str(error):
        return "another process is running in this folder: wait for it or stop it, then: manyheads resume RUN"
    if not isinstance(error, sqlite3.Error) or getattr(error, "sqlite_errorcode", None) in DAMAGED:
        return "it is damaged or not a journal: start a new run, or restore it from a copy, then: manyheads resume RUN"
    return "check that the disk is writable and not full, then: manyheads resume RUN"


def read_turns(path: Path) -> list[tuple[Place, dict[str, Any], dict[str, Any]]]:
    """Every recorded turn of a run, with request and reply, in the order of their ends.

    Raises:
        JournalError: there is no journal, or the run is still running.
    """
    query = "SELECT stage, turn, speaker, task, ordinal, request, reply FROM turn ORDER BY rowid"
    try:
        with reading(path) as database:
            rows = database.execute(query).fetchall()
        return [(Place(*row[:5]), json.loads(row[5]), json.loads(row[6])) for row in rows]
    except (sqlite3.Error, *DAMAGES) as error:
        raise JournalError(
            f"{path}: no readable journal ({in_short(error)})",
            hint="name a run folder: --model replay/FOLDER",
        ) from error


def replies_in(path: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Request and reply of each turn of a run; the reply of a failed turn has no `value`.

    Raises:
        JournalError: there is no journal, or the run is still running.
    """
    try:
        with reading(path) as database:
            tables = ["turn", *(row[0] for row in database.execute(
                "SELECT name FROM sqlite_master WHERE name = 'given_up'"
            ))]  # fmt: skip
            rows = [
                row for table in tables for row in database.execute(f"SELECT request, reply FROM {table}")
            ]
        return [(json.loads(request), json.loads(reply)) for request, reply in rows]
    except (sqlite3.Error, *DAMAGES) as error:
        raise JournalError(
            f"{path}: no readable journal ({in_short(error)})", hint="name the folder of a run"
        ) from error


def spent_in(path: Path) -> Usage:
    """Total usage of a run: its turns, and invalid replies.

    Raises:
        JournalError: there is no journal, or the run is still running.
    """
    turns = "SELECT json_extract(reply, '$.usage') FROM turn"
    try:
        with reading(path) as database:
            rows = database.execute(
                f"{turns} UNION ALL SELECT value FROM fact WHERE name = 'lost'"
            ).fetchall()
        return sum((Usage.model_validate_json(usage) for (usage,) in rows), NOTHING)
    except (sqlite3.Error, *DAMAGES) as error:
        raise JournalError(f"{path}: its cost cannot be read: {in_short(error)}") from error


def _key(place: Place) -> tuple[str, int, str, str, int]:
    return (place.stage, place.turn, place.speaker, place.task, place.ordinal)


def _single_keys(course: Mapping[str, Any]) -> dict[str, Any]:
    """A course, or models, by `NAME.team`, `inputs.topic`, `default.max_tokens`, …"""
    return {
        f"{key}.{inner}" if inner else key: each
        for key, value in course.items()
        for inner, each in (value.items() if isinstance(value, dict) else [("", value)])
    }


def _by_name(value: Any) -> Any:
    """The same with files by their names: a project may be moved."""
    match value:
        case dict():
            return {key: _by_name(each) for key, each in cast(dict[str, Any], value).items()}
        case list() | tuple():
            return [_by_name(each) for each in cast(Sequence[Any], value)]
        case str() if value.startswith(("/", "./", "../")) and "\n" not in value:
            return PurePath(value).name
        case _:
            return value


def _hash(request: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()


def _dump(value: Mapping[str, Any]) -> str:
    return printable(json.dumps(value, ensure_ascii=False))


DAMAGES = (TypeError, ValueError, LookupError, AttributeError, RecursionError)
"""Errors when reading a record that was edited or damaged."""


class Recorded:
    """A host whose finished turns are recorded in a journal and answered from it.

    Args:
        host: the host for turns that are not recorded.
        journal: the run's journal.
        model_of: settings of a model alias that change its answers; part of the request's hash.
        course: the config keys that determine the turns, besides the requests themselves.
        accept_changes: continue from a changed turn instead of stopping there.
        on_replayed: receives the usage of each recorded reply, including replaced ones.
        on_live: called once, before the first new turn.
        on_ended: called after each turn, successful or not.
    """

    def __init__(
        self,
        host: Host,
        journal: Journal,
        model_of: Callable[[str], dict[str, Any]],
        *,
        course: dict[str, Any] | None = None,
        accept_changes: bool = False,
        on_replayed: Callable[[Usage], None] = lambda usage: None,
        on_live: Callable[[], None] = lambda: None,
        on_ended: Callable[[], None] = lambda: None,
    ) -> None:
        self._host, self._journal, self._model_of = host, journal, model_of
        self._course, self._accept_changes = course or {}, accept_changes
        self._on_replayed, self._on_live, self._on_ended = on_replayed, on_live, on_ended
        self._live = False
        self.useful = NOTHING
        """Usage of all replies so far, new and recorded."""

    async def gate(self) -> None:
        await self._host.gate()

    async def ask(self, turn: Turn[R]) -> Reply[R]:
        """See `Host.ask`.

        Raises:
            ChangedError: the record at this place is of another request, or ends where the config changes the course,
                and changes are not accepted.
        """
        try:
            request = request_of(turn, self._model_of(turn.speaker.model))
            digest = _hash(request)
            recorded = self._journal.get(turn.place)
            if recorded and recorded[0] == digest and (reply := self._read(turn, recorded[1])):
                self._on_replayed(reply.usage)
                self.useful += reply.usage
                return reply
            if recorded and not (self._accept_changes or turn.nested):
                raise self._journal.changed(turn.place, self._turned())
            if turn.spare and not self._accept_changes and (given_up := self._journal.given_up(request)):
                raise ReplyError(
                    f"{turn.place}: no valid reply; the run continued without it",
                    raw=str(given_up.get("text")),
                    hint="ask it again: manyheads resume RUN --accept-changes",
                )
            self._go_live(turn.place)
            asked = {**request, "task": turn.task or f"{turn.speaker.role}.{turn.place.task}"}
            try:
                reply = await self._host.ask(turn)
            except ReplyError as error:
                self._journal.give_up(asked, {"text": error.raw, "unusable": error.unusable})
                raise
            # Counts as used while it is written: a turn that ends meanwhile must not count it as lost.
            self.useful += reply.usage
            try:
                await self._journal.keep(turn.place, digest, asked, _save(reply))
            except JournalError:
                self.useful -= reply.usage
                raise
            if recorded:
                with suppress(*DAMAGES):
                    self._on_replayed(Usage.model_validate(json.loads(recorded[1])["usage"]))
            return reply
        finally:
            self._on_ended()

    def _read(self, turn: Turn[R], recorded: Any) -> Reply[R] | None:
        """A recorded reply; None if it is damaged and must be asked again."""
        try:
            return _load(json.loads(recorded), turn.reply_type)
        except DAMAGES as error:
            if self._accept_changes:
                return None
            raise self._journal.damaged(turn.place) from error

    def _go_live(self, place: Place) -> None:
        if self._live:
            return
        if (keys := self._turned()) and not self._accept_changes:
            raise self._journal.changed(place, keys)
        self._journal.state("course", self._course)
        self._on_live()
        self._live = True

    def _turned(self) -> list[str]:
        """The config keys of the course that differ from the recorded ones."""
        before = _single_keys(_by_name(self._journal.fact("course")))
        now = _single_keys(_by_name(self._course))
        return [key for key, value in now.items() if before and before.get(key) != value]


def request_of(turn: Turn[Any], model: dict[str, Any]) -> dict[str, Any]:
    """Everything in a turn that its answer depends on, as JSON data."""
    thread = [
        {
            "sender": message.sender,
            "text": message.text,
            "images": [hashlib.sha256(image.data).hexdigest() for image in message.images],
        }
        for message in turn.thread
    ]
    return {
        "system": turn.speaker.system,
        "thread": thread,
        "schema": schema_of(turn.reply_type),
        "form": (turn.forms or shipped_forms()).form(turn.reply_type),
        "tools": sorted(tool.name for tool in turn.tools),
        "recall": turn.recall,
        "model": model,
    }


def _save(reply: Reply[Any]) -> dict[str, Any]:
    return {
        "text": reply.text,
        "value": reply.value.model_dump(mode="json"),
        "model": reply.model,
        "usage": reply.usage.model_dump(),
        "tool_calls": [call.model_dump(mode="json") for call in reply.tool_calls],
        "attempts": reply.attempts,
        "seconds": reply.seconds,
        "warnings": list(reply.warnings),
        "unusable": list(reply.unusable),
    }


def _load(data: dict[str, Any], reply_type: type[R]) -> Reply[R]:
    """The reply of a record; raises one of `DAMAGES` if it is damaged."""
    text, model, attempts, seconds = data["text"], data["model"], data["attempts"], data["seconds"]
    plain = isinstance(text, str) and isinstance(model, str) and isinstance(attempts, int)
    if not plain or not isinstance(seconds, int | float):
        raise TypeError("no reply")
    return Reply(
        text,
        reply_type.model_validate(data["value"]),
        model,
        Usage.model_validate(data["usage"]),
        tuple(map(ToolCall.model_validate, data["tool_calls"])),
        attempts,
        seconds,
        tuple(map(str, data["warnings"])),
        tuple(map(str, data.get("unusable", ()))),
    )


class ReplayModel:
    """A model that answers each question with the recorded reply of an earlier run.

    A question with several recorded replies gets the one of the same place in the run, or else the replies in order.

    Args:
        turns: place, recorded request and its reply.
    """

    def __init__(self, turns: Sequence[tuple[Place, dict[str, Any], dict[str, Any]]]) -> None:
        # Concurrent turns ended in any order.
        self._waiting = {
            place: (_asked(request["system"], (each["text"] for each in request["thread"])), reply)
            for place, request, reply in sorted(turns, key=lambda turn: (turn[0].turn, turn[0].ordinal))
        }

    @classmethod
    def from_run(cls, folder: str) -> "ReplayModel":
        """The model that answers from `folder/journal.sqlite`.

        Raises:
            JournalError: there is no journal.
        """
        path = Path(folder) / "journal.sqlite" if Path(folder).is_dir() else Path(folder)
        return cls(read_turns(path))

    async def complete(self, system: str, thread: Sequence[Message], answered: int = 0) -> Raw:
        """See `LocalModel.complete`; recorded tool calls are repeated before the answer.

        Raises:
            ModelError: the journal has no reply to this question.
        """
        asked = _asked(system, (message.text for message in thread))
        here = asked_at.get()
        for place in (here, *self._waiting) if here in self._waiting else self._waiting:
            recorded, reply = self._waiting[place]
            # The passage of a retrieval hook, and the reply's form, come after the text.
            if len(asked) == len(recorded) and all(map(str.startswith, asked, recorded)):
                break
        else:
            raise ModelError(
                "replay: the journal has no reply to this question", tried=" ".join(asked[1:])[:200]
            )
        calls = tuple(map(ToolCall.model_validate, reply["tool_calls"]))
        if answered < len(calls):
            return Raw("", reply["model"], tool_calls=calls)
        del self._waiting[place]
        return Raw(reply["text"], reply["model"], Usage.model_validate(reply["usage"]))


def _asked(system: str, thread: Iterable[str]) -> tuple[str, ...]:
    return (system.strip(), *(text.strip() for text in thread))
