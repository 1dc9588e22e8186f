"""What was said, kept: a finished turn is never paid for twice.

A turn's key is its place in the run; beside it stands a hash of the request. Running again from the top answers
recorded turns at once. A place whose request has changed means that a prompt or a config was edited.
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeVar

from manyheads.core import Host, Message, Place, Reply, ToolCall, Turn, Usage
from manyheads.errors import ChangedError, JournalError
from manyheads.replies import ReplyModel
from manyheads.structured import schema_of

R = TypeVar("R", bound=ReplyModel)

TABLE = """
CREATE TABLE IF NOT EXISTS turn (
    stage TEXT, turn INTEGER, speaker TEXT, task TEXT, ordinal INTEGER,
    hash TEXT NOT NULL, request TEXT NOT NULL, reply TEXT NOT NULL, at TEXT DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (stage, turn, speaker, task, ordinal))"""
WHERE = "stage = ? AND turn = ? AND speaker = ? AND task = ? AND ordinal = ?"


class Journal:
    """One SQLite file of a run's turns, safe against `kill -9`.

    Args:
        path: the file; made when missing.

    Raises:
        JournalError: the file cannot be opened or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._db = sqlite3.connect(path, isolation_level=None, timeout=1)
            self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.execute(TABLE)
        except sqlite3.Error as error:
            raise JournalError(f"{path}: {error}", hint=_hint(error)) from error

    def get(self, place: Place) -> tuple[str, dict[str, Any]] | None:
        """The recorded hash and reply of a place, or None."""
        row = self._db.execute(f"SELECT hash, reply FROM turn WHERE {WHERE}", _key(place)).fetchone()
        return (row[0], json.loads(row[1])) if row else None

    def put(self, place: Place, digest: str, request: dict[str, Any], reply: dict[str, Any]) -> None:
        """Record a finished turn; it is on the disk when this returns."""
        values = (*_key(place), digest, _dump(request), _dump(reply))
        try:
            self._db.execute(
                "INSERT OR REPLACE INTO turn (stage, turn, speaker, task, ordinal, hash, request, reply)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )
        except sqlite3.Error as error:
            raise JournalError(
                f"{self.path}: {place} could not be kept: {error}",
                hint="make room on the disk, then: manyheads resume RUN",
            ) from error

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._db.close()


def _hint(error: sqlite3.Error) -> str:
    if "locked" in str(error):
        return "another process is running in this folder; wait for it, or stop it"
    return "check that the disk is writable and not full"


def read_turns(path: Path) -> list[tuple[Place, dict[str, Any], dict[str, Any]]]:
    """Every turn that a finished or stopped run has recorded, with request and reply, in the order they ended.

    Raises:
        JournalError: there is no journal, or a run is writing to it.
    """
    query = "SELECT stage, turn, speaker, task, ordinal, request, reply FROM turn ORDER BY rowid"
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=1)) as database:
            rows = database.execute(query).fetchall()
    except sqlite3.Error as error:
        raise JournalError(
            f"{path}: no readable journal ({error})", hint="name a run folder: --model replay/FOLDER"
        ) from error
    return [(Place(*row[:5]), json.loads(row[5]), json.loads(row[6])) for row in rows]


def _key(place: Place) -> tuple[str, int, str, str, int]:
    return (place.stage, place.turn, place.speaker, place.task, place.ordinal)


def _dump(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


class Recorded:
    """A host whose finished turns are kept in a journal and answered from it.

    Args:
        host: the host that is asked for what is not recorded.
        journal: the run's journal.
        model_of: settings of a model alias that change its answers; part of the request's hash.
        accept_changes: go on from a changed turn instead of stopping there.
        on_replayed: told of each reply that came from the record.
    """

    def __init__(
        self,
        host: Host,
        journal: Journal,
        model_of: Callable[[str], dict[str, Any]],
        *,
        accept_changes: bool = False,
        on_replayed: Callable[[Usage], None] = lambda usage: None,
    ) -> None:
        self._host, self._journal, self._model_of = host, journal, model_of
        self._accept_changes, self._on_replayed = accept_changes, on_replayed

    async def gate(self) -> None:
        await self._host.gate()

    async def ask(self, turn: Turn[R]) -> Reply[R]:
        """See `Host.ask`.

        Raises:
            ChangedError: the record at this place answers another request, and changes are not accepted.
        """
        request = request_of(turn, self._model_of(turn.speaker.model))
        digest = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
        if recorded := self._journal.get(turn.place):
            kept, data = recorded
            if kept == digest:
                reply = _load(data, turn.reply_type)
                self._on_replayed(reply.usage)
                return reply
            if not (self._accept_changes or turn.nested):
                raise self._changed(turn.place)
        reply = await self._host.ask(turn)
        self._journal.put(turn.place, digest, request, _save(reply))
        return reply

    def _changed(self, place: Place) -> ChangedError:
        return ChangedError(
            f"{self._journal.path}: from here on the record no longer applies: {place}",
            tried="the recorded request differs from today's: a prompt, a role, a config key or the corpus changed",
            hint="undo the change, or go on from that turn: manyheads resume RUN --accept-changes",
        )


def request_of(turn: Turn[Any], model: dict[str, Any]) -> dict[str, Any]:
    """All of a turn that its answer depends on, as JSON data."""
    return {
        "system": turn.speaker.system,
        "thread": [_message(message) for message in turn.thread],
        "schema": schema_of(turn.reply_type),
        "tools": sorted(tool.name for tool in turn.tools),
        "recall": turn.recall,
        "model": model,
    }


def _message(message: Message) -> dict[str, Any]:
    images = [hashlib.sha256(image.data).hexdigest() for image in message.images]
    return {"sender": message.sender, "text": message.text, "images": images}


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
    }


def _load(data: dict[str, Any], reply_type: type[R]) -> Reply[R]:
    return Reply(
        text=data["text"],
        value=reply_type.model_validate(data["value"]),
        model=data["model"],
        usage=Usage.model_validate(data["usage"]),
        tool_calls=tuple(ToolCall.model_validate(call) for call in data["tool_calls"]),
        attempts=data["attempts"],
        seconds=data["seconds"],
        warnings=tuple(data["warnings"]),
    )
