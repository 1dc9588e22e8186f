"""The journal of finished turns: none is paid for twice.

A turn's key is its place in the run, stored with a hash of the request. A rerun from the top answers recorded turns at
once. A changed request means that a prompt or the config was edited.
"""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from platform import python_version
from threading import Lock
from typing import Any, Literal, TypeAlias

from manyheads import __version__
from manyheads.asking.json_text import printable
from manyheads.base.errors import ChangedError, HeldError, JournalError
from manyheads.base.files import FEWER, out_of_files
from manyheads.base.http import in_short
from manyheads.base.sqlite import Database, Safety, reading
from manyheads.base.text import hash_of
from manyheads.config.environment import hosts
from manyheads.core import NOTHING, Place, Usage
from manyheads.core.events import MadeBy

_Turn: TypeAlias = tuple[Place, str, dict[str, Any], dict[str, Any]]

USAGES = "SELECT json_extract(reply, '$.usage') FROM turn"
TABLE = """
CREATE TABLE IF NOT EXISTS turn (
    stage TEXT, turn INTEGER, speaker TEXT, task TEXT, ordinal INTEGER,
    hash TEXT NOT NULL, request TEXT NOT NULL, reply TEXT NOT NULL, at TEXT DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (stage, turn, speaker, task, ordinal))"""
GIVEN_UP = "CREATE TABLE IF NOT EXISTS given_up (request TEXT NOT NULL, reply TEXT NOT NULL)"
"""Turns without a valid reply; a resumed run asks them again, unless they are spare and other turns came after them."""
FACTS = "CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
Fact = Literal["course", "models", "lost", "notes", "versions", "refused", "steered"]
DAMAGES = (TypeError, ValueError, LookupError, AttributeError, RecursionError)
"""Errors when reading a record that was edited or damaged."""
WHERE = "stage = ? AND turn = ? AND speaker = ? AND task = ? AND ordinal = ?"


class Journal:
    """One SQLite file of a run's turns, safe against `kill -9`.

    Args:
        path: the file, created if missing.

    Raises:
        JournalError: the file cannot be opened or written.
    """

    safety: Safety = "each write"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writes: set[Future[None]] = set()
        self._unwritten = set[asyncio.Future[None]]()
        self._failure: BaseException | None = None
        self._lost: Usage | None = None
        self._losing = Lock()
        self._facts = dict[Fact, dict[str, Any]]()
        self._given_up: dict[tuple[tuple[Any, ...], str], dict[str, Any]] | None = None
        try:
            self._db = Database(path, TABLE, GIVEN_UP, FACTS, safety=self.safety, alone=True, wait=1)
        except sqlite3.Error as error:
            kind = HeldError if "locked" in str(error) else JournalError
            raise kind(f"{path}: {error}", hint=_hint(error)) from error
        # A new journal contains only new turns: nothing to look up while another turn is being written.
        self._before = self.turns
        self._kept: set[Place] | None = None if self._before else set()

    def get(self, place: Place) -> tuple[str, Any] | None:
        """The recorded hash of a place, and its reply as JSON; None if nothing is recorded."""
        if self._kept is not None and place not in self._kept:
            return None
        with self._speaking("it cannot be read"):
            query = f"SELECT hash, reply FROM turn WHERE {WHERE}"
            return self._db.row(query, *_key(place))  # pyright: ignore[reportReturnType]

    @property
    def turns(self) -> int:
        with self._speaking("it cannot be read"):
            return self._db.rows("SELECT count(*) FROM turn")[0][0]

    @property
    def blank(self) -> bool:
        """Whether nothing is recorded, no fact either."""
        with self._speaking("it cannot be read"):
            query = "SELECT 1 FROM turn UNION ALL SELECT 1 FROM given_up UNION ALL SELECT 1 FROM fact LIMIT 1"
            return not self._db.rows(query)

    @property
    def useful(self) -> Usage:
        """Usage of the recorded turns; a damaged record counts nothing, as it stops the run only at its own turn."""
        with self._speaking("it cannot be read"):
            rows = self._db.rows(f"{USAGES} WHERE json_valid(reply)")
        return sum((usage_of(usage) for (usage,) in rows), NOTHING)

    def put(self, *turns: _Turn) -> None:
        """Record finished turns, all or none: place, hash of the request, request, reply.

        On return they are on disk.
        """
        with self._speaking(f"{', '.join(str(place) for place, *_ in turns)} could not be written"):
            self._db.change_all(
                "INSERT OR REPLACE INTO turn (stage, turn, speaker, task, ordinal, hash, request, reply)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [(*_key(at), digest, _dump(request), _dump(reply)) for at, digest, request, reply in turns],
            )
        if self._kept is not None:
            self._kept.update(place for place, *_ in turns)

    def give_up(self, place: Place, request: dict[str, Any], reply: dict[str, Any]) -> None:
        """Record a turn without a valid reply, and how many turns were recorded before it."""
        request, reply = {**request, "place": _key(place)}, {**reply, "before": self.turns}
        with self._speaking("a failed turn could not be written"):
            self._db.change("INSERT INTO given_up VALUES (?, ?)", _dump(request), _dump(reply))

    def given_up(self, place: Place, request: dict[str, Any]) -> dict[str, Any] | None:
        """The last reply at a place to a request that never got a valid one in earlier starts; None if there is no such
        record, or if no turn was recorded after it: then nothing was built on its absence yet.
        """
        if self._kept is not None:  # a new journal
            return None
        if self._given_up is None:
            with self._speaking("failed turns cannot be read"):
                records = self._db.rows("SELECT * FROM given_up")
                rows = [(json.loads(each), json.loads(reply)) for each, reply in records]
            self._given_up = {}
            for each, reply in rows:
                if reply.get("before", 0) < self._before:
                    at = tuple(each.pop("place", ()))
                    each.pop("task", None)
                    self._given_up[at, digest_of(each)] = reply
        return self._given_up.get((_key(place), digest_of(request)))

    async def settled(self) -> None:
        """Wait until the facts are where they are safe, if that is not on this disk."""

    def copy(self) -> bytes:
        """The whole file, with what its write-ahead log has."""
        with self._speaking("it cannot be copied"):
            return self._db.copy()

    def keep(
        self, place: Place, digest: str, request: dict[str, Any], reply: dict[str, Any]
    ) -> asyncio.Future[None]:
        """Record a finished turn without blocking other runs; what must not happen before it is on disk awaits `written`."""
        return self._written_soon(partial(self.put, (place, digest, request, reply)))

    def _written_soon(self, act: Callable[[], None]) -> asyncio.Future[None]:
        write = _writers().submit(act)
        self._writes.add(write)
        write.add_done_callback(self._writes.discard)
        kept = asyncio.wrap_future(write)
        self._unwritten.add(kept)
        kept.add_done_callback(self._note_end)
        return kept

    def _note_end(self, kept: asyncio.Future[None]) -> None:
        self._unwritten.discard(kept)
        self._failure = self._failure or kept.exception()

    async def written(self) -> None:
        """Wait until the turns kept so far, and the lost usage, are on disk; raises `JournalError` if one cannot be written."""
        if self._unwritten:
            await asyncio.wait(self._unwritten.copy())
        if self._failure:
            raise self._failure

    def fact(self, name: Fact) -> dict[str, Any]:
        """Facts about the recorded turns: the config keys of the `course`, the `models`' settings, the `lost` usage, `notes` for
        the user, the `versions` of each start, from where on a person `steered`.

        Empty for a new run.
        """
        if name in self._facts:  # read once: the file is busy while a turn is written to the disk
            return self._facts[name]
        with self._speaking(f"its record of {name!r} cannot be read"):
            row = self._db.row("SELECT value FROM fact WHERE name = ?", name)
            value = json.loads(row[0]) if row else {}
            if not isinstance(value, dict):
                raise ValueError("it is not a mapping")
            self._facts[name] = value
            return value

    def state(self, name: Fact, value: Mapping[str, Any]) -> None:
        """Store a fact; on return it is on disk."""
        with self._speaking("it cannot be written"):
            self._db.change("INSERT OR REPLACE INTO fact VALUES (?, ?)", name, _dump(value))
        self._facts.pop(name, None)

    def notes(self, new: Sequence[str]) -> list[str]:
        """The notes of all starts, each once: those of the first are not found again."""
        before: list[str] = self.fact("notes").get("all", [])
        notes = list(dict.fromkeys((*before, *new)))
        if notes != before:
            self.state("notes", {"all": notes})
        return notes

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
            before, now = single_keys(before), single_keys(models)
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
        """Store the lost usage so far, as `keep` does a turn."""
        if usage != self.lost:
            self._lost = usage
            self._keep_lost()

    def _keep_lost(self) -> None:
        self._written_soon(self._write_lost)

    def _write_lost(self) -> None:
        with self._losing:  # the latest is the last that is written
            self.state("lost", self.lost.model_dump())

    @contextmanager
    def _speaking(self, what: str) -> Generator[None]:
        """Turns errors of a full disk or a damaged file into messages."""
        try:
            yield
        except (sqlite3.Error, TypeError, ValueError, RecursionError) as error:
            raise JournalError(f"{self.path}: {what}: {in_short(error)}", hint=_hint(error)) from error

    def close(self) -> None:
        wait(self._writes.copy())
        self._db.close()


@cache
def _writers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(4, thread_name_prefix="manyheads-journal")


DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


def _hint(error: Exception) -> str:
    if out_of_files(error):
        return f"{FEWER}, then: manyheads resume RUN"
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
    with _reading(path, "no readable journal", "name a run folder: --model replay/FOLDER") as database:
        query = "SELECT stage, turn, speaker, task, ordinal, request, reply FROM turn ORDER BY rowid"
        return [(Place(*row[:5]), json.loads(row[5]), json.loads(row[6])) for row in database.execute(query)]


def replies_in(path: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Request and reply of each turn of a run; the reply of a failed turn has no `value`.

    Raises:
        JournalError: there is no journal, or the run is still running.
    """
    with _reading(path, "no readable journal", "name the folder of a run") as database:
        rows = database.execute(
            "SELECT request, reply FROM turn UNION ALL SELECT request, reply FROM given_up"
        )
        return [(json.loads(request), json.loads(reply)) for request, reply in rows]


def spent_in(path: Path) -> Usage:
    """Total usage of a run: its turns, and invalid replies.

    Raises:
        JournalError: there is no journal, or the run is still running.
    """
    with _reading(path, "its cost cannot be read") as database:
        rows = database.execute(f"{USAGES} UNION ALL SELECT value FROM fact WHERE name = 'lost'")
        return sum((Usage.model_validate_json(usage) for (usage,) in rows), NOTHING)


@contextmanager
def _reading(path: Path, what: str, hint: str | None = None) -> Generator[sqlite3.Connection]:
    try:
        with reading(path) as database:
            yield database
    except (sqlite3.Error, *DAMAGES) as error:
        raise JournalError(f"{path}: {what}: {in_short(error)}", hint=hint) from error


def usage_of(text: str) -> Usage:
    """A recorded usage; nothing if it is damaged."""
    with suppress(*DAMAGES):
        return Usage.model_validate_json(text)
    return NOTHING


def _key(place: Place) -> tuple[str, int, str, str, int]:
    return (place.stage, place.turn, place.speaker, place.task, place.ordinal)


def single_keys(course: Mapping[str, Any]) -> dict[str, Any]:
    """A course, or models, by `NAME.team`, `inputs.topic`, `default.max_tokens`, …"""
    return {
        f"{key}.{inner}" if inner else key: each
        for key, value in course.items()
        for inner, each in (value.items() if isinstance(value, dict) else [("", value)])
    }


def digest_of(request: Mapping[str, Any]) -> str:
    return hash_of(json.dumps(request, sort_keys=True))


def _dump(value: Mapping[str, Any]) -> str:
    return printable(json.dumps(value, ensure_ascii=False))


# The versions that begin and resume a run, and its start date.


class Starts:
    """The starts of a run, from its journal.

    Attributes:
        made_by: the versions of this start, with the date of the first.
    """

    def __init__(self, journal: Journal, host: str) -> None:
        self._journal, self._before = journal, list[MadeBy]()
        with suppress(*DAMAGES):
            self._before += [MadeBy.model_validate(each) for each in journal.fact("versions")["starts"]]
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        self.made_by = MadeBy(
            manyheads=__version__,
            host=host,
            host_version=entry.version if (entry := hosts().get(host)) else None,
            python=python_version(),
            at=self._before[0].at if self._before else now,
        )
        if not journal.turns:
            self.keep()

    def warnings(self) -> Iterator[str]:
        """One sentence if an earlier start used another version of manyheads or of the same host."""
        now = self.made_by
        for each in self._before:
            other_host = each.host == now.host and each.host_version != now.host_version
            if each.manyheads != now.manyheads or other_host:
                yield f"this run began with {each} and is resumed with {now}"
                return

    def keep(self) -> None:
        """Record this start in the journal."""
        if self.made_by not in self._before:
            self._before.append(self.made_by)
            self._journal.state("versions", {"starts": [each.model_dump() for each in self._before]})
