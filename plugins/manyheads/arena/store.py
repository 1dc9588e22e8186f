"""The store of an arena: a folder with `arena.sqlite` and the papers of the cases.

A rater is shown one item at a time, chosen by `Arena.next_item`, and keeps it until it is answered or skipped. Answers are added,
never overwritten: the last one of an item counts, so a page that is sent twice counts once, and nothing is lost.
Each change is one transaction on disk; processes and threads may share an arena.
"""

import json
import secrets
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from filecmp import cmp
from functools import cached_property
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING, Any

from manyheads.arena.items import (
    AnsweredItem,
    ArenaForm,
    Case,
    Invitation,
    Item,
    Kind,
    NewText,
    Rater,
    RaterProgress,
    ShownText,
    StoredText,
)  # fmt: skip
from manyheads.base.errors import ArenaError
from manyheads.base.files import Closing, inside, make_folder
from manyheads.base.sqlite import Database
from manyheads.base.text import hash_of, plain
from manyheads.measures.votes import PairVote, RaterKind, style_of

if TYPE_CHECKING:
    from manyheads.arena.pairing import Choice

FILE, PAPERS = "arena.sqlite", "papers"
VERSION = 1
LONGEST_NAME = 200
LONGEST_COMMENT = 10_000
DAYS = 30
"""Days until an invitation expires."""
MAKE = "manyheads arena new DIR --form review"
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    'CREATE TABLE IF NOT EXISTS "case" (id TEXT PRIMARY KEY, title TEXT NOT NULL, context TEXT NOT NULL, paper TEXT)',
    """CREATE TABLE IF NOT EXISTS text (
    id TEXT PRIMARY KEY, "case" TEXT NOT NULL REFERENCES "case" (id), maker TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL,
    digest TEXT NOT NULL, style TEXT NOT NULL, hints INTEGER NOT NULL, source TEXT NOT NULL, details TEXT NOT NULL,
    UNIQUE ("case", maker, digest)
)""",
    "CREATE TABLE IF NOT EXISTS rater (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS invitation (
    hash TEXT PRIMARY KEY, rater INTEGER NOT NULL REFERENCES rater (id), expires REAL NOT NULL, revoked INTEGER NOT NULL DEFAULT 0
)""",
    """CREATE TABLE IF NOT EXISTS item (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, rater INTEGER NOT NULL REFERENCES rater (id), "case" TEXT NOT NULL,
    texts TEXT NOT NULL, shown REAL NOT NULL, state TEXT NOT NULL
)""",
    "CREATE UNIQUE INDEX IF NOT EXISTS one_open ON item (rater) WHERE state = 'open'",
    "CREATE INDEX IF NOT EXISTS item_rater ON item (rater, state)",
    """CREATE TABLE IF NOT EXISTS answer (
    number INTEGER PRIMARY KEY, item TEXT NOT NULL REFERENCES item (id), answers TEXT NOT NULL, comment TEXT NOT NULL,
    seconds REAL, time REAL NOT NULL
)""",
    "CREATE INDEX IF NOT EXISTS answer_item ON answer (item)",
    "CREATE TABLE IF NOT EXISTS imported (key TEXT PRIMARY KEY, vote TEXT NOT NULL)",
)
ADD_ITEM = 'INSERT OR IGNORE INTO item (id, rater, "case", texts, shown, state) VALUES (?, ?, ?, ?, ?, ?)'
LATEST = "answer.number = (SELECT max(number) FROM answer AS later WHERE later.item = item.id)"


class Arena(Closing):
    """An arena; open it by `Arena.create` or `Arena.open`, and use it as a context manager or close it.

    What raters may see: `form`, `next_item`, `item`, `progress`. All else is for the owner.

    Attributes:
        kind: `pairs` (two texts, an answer to each question), `ratings` (one text, a number for each question) or `ranking`
            (all texts of a case, a rank for each).

    Raises:
        ArenaError: from each call, if the file cannot be read or written.
    """

    def __init__(self, folder: Path, database: Database) -> None:
        self.folder, self._db = folder, database
        self._lock = threading.RLock()
        meta = dict(database.rows("SELECT key, value FROM meta"))
        if meta.get("version") != str(VERSION):
            database.close()
            hint = "use the version that made it, or export its votes there: manyheads arena export DIR"
            other = f"an arena of version {meta.get('version', 'unknown')}; this version reads {VERSION}"
            raise ArenaError(f"{folder / FILE}: {other}", hint=hint)
        self.form = ArenaForm.model_validate_json(meta["form"])

    @cached_property
    def _choice(self) -> "Choice":
        from manyheads.arena.pairing import Choice  # with numpy

        return Choice(self._db, self.form)

    @classmethod
    def create(cls, folder: Path, form: ArenaForm) -> "Arena":
        """A new arena in a folder, created if missing; raises `ArenaError` if there is one already."""
        if (folder / FILE).exists():
            raise ArenaError(f"{folder}: an arena already", hint=f"manyheads arena status {folder}")
        with _access(folder):
            make_folder(folder)
            database = Database(folder / FILE, *SCHEMA, safety="each write")
            rows = [("version", str(VERSION)), ("form", form.model_dump_json())]
            database.change_all("INSERT OR IGNORE INTO meta VALUES (?, ?)", rows)
            return cls(folder, database)

    @classmethod
    def open(cls, folder: Path) -> "Arena":
        """The arena of a folder; raises `ArenaError` if there is none."""
        if not (folder / FILE).is_file():
            raise ArenaError(f"{folder}: no arena", hint=f"make one: {MAKE}")
        with _access(folder):
            return cls(folder, Database(folder / FILE, *SCHEMA, safety="each write"))

    def close(self) -> None:
        self._db.close()

    @property
    def kind(self) -> Kind:
        return self.form.kind

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with _access(self.folder):
            return self._db.rows(sql, *values)

    # Texts.

    def add(self, texts: Iterable[NewText]) -> list[str]:
        """Add texts, with their cases and papers, all or none.

        Returns:
            The sources that were left out, as the same maker has the same text on the same case already.

        Raises:
            ArenaError: a paper cannot be copied.
        """
        left = list[str]()
        with _access(self.folder), self._db.transaction() as database:
            for each in texts:
                same = hash_of(" ".join(f"{each.title} {each.body}".split()))
                paper = self._copy(each.case.id, each.paper) if each.paper else each.case.paper
                database.execute(
                    'INSERT INTO "case" VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET'
                    " title = iif(title = '', excluded.title, title),"
                    " context = iif(context = '', excluded.context, context), paper = coalesce(paper, excluded.paper)",
                    (each.case.id, each.case.title, each.case.context, paper),
                )
                added = database.execute(
                    "INSERT OR IGNORE INTO text VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        secrets.token_hex(6), each.case.id, each.maker, each.title, each.body, same,
                        json.dumps(style_of(each.body)), each.hints, each.source, json.dumps(dict(each.details)),
                    ),
                ).rowcount  # fmt: skip
                left += [] if added else [each.source or each.maker]
        return left

    def texts(self) -> list[StoredText]:
        rows = self._rows("SELECT * FROM text ORDER BY rowid")
        read = ((*row[:6], json.loads(row[6]), *row[7:9], json.loads(row[9])) for row in rows)
        return [StoredText(*row) for row in read]

    def cases(self) -> list[Case]:
        return [Case(*row) for row in self._rows('SELECT * FROM "case" ORDER BY rowid')]

    def paper(self, case: Case) -> Path | None:
        """The file of a case's paper, among the papers of the arena."""
        path = inside(self.folder, case.paper) if case.paper else None
        return path if path and path.parent == self.folder.resolve() / PAPERS else None

    def _copy(self, case: str, paper: Path) -> str:
        (self.folder / PAPERS).mkdir(exist_ok=True)
        name = f"{hash_of(case)[:16]}{paper.suffix.lower()}"
        copy = self.folder / PAPERS / name
        if not copy.exists():
            copyfile(paper, copy)
        elif not cmp(paper, copy, shallow=False):
            hint = "name the case: --case NAME"
            raise ArenaError(f"{paper}: the case {case!r} has another paper already", hint=hint)
        return f"{PAPERS}/{name}"

    # Raters and their invitations.

    def invite(self, name: str, *, days: float = DAYS) -> Invitation:
        """Invite a person; a second invitation of the same name is a second way in for the same rater.

        Raises:
            ArenaError: the name is empty, too long, or that of a model.
        """
        rater, token = self.enter(name), secrets.token_urlsafe(24)
        expires = time.time() + days * 86_400
        sql = "INSERT INTO invitation (hash, rater, expires) VALUES (?, ?, ?)"
        self._rows(sql, hash_of(token), rater.id, expires)
        return Invitation(rater, token, expires)

    def enter(self, name: str, kind: RaterKind = "person") -> Rater:
        """The rater of a name, entered if missing; raises `ArenaError` for an unusable name or one of the other kind."""
        name = plain(name)
        if not name or len(name) > LONGEST_NAME:
            raise ArenaError(
                "a rater's name is empty" if not name else f"a rater's name has {len(name):,} characters",
                hint=f"choose one of 1 to {LONGEST_NAME} characters",
            )
        with _access(self.folder), self._db.transaction() as database:
            database.execute("INSERT OR IGNORE INTO rater (name, kind) VALUES (?, ?)", (name, kind))
            rater = Rater(
                *database.execute("SELECT id, name, kind FROM rater WHERE name = ?", (name,)).fetchone()
            )
        if rater.kind != kind:
            raise ArenaError(f"{name}: a {rater.kind} of this name votes here", hint="choose another name")
        return rater

    def revoke(self, name: str) -> int:
        """Revoke all invitations of a rater, whose votes stay; returns their number.

        Raises:
            ArenaError: no rater has this name.
        """
        if name not in (names := [each.name for each in self.raters()]):
            hint = f"choose one of: {', '.join(names) or 'none'}"
            raise ArenaError(f"{name}: no rater of this name", hint=hint)
        sql = "UPDATE invitation SET revoked = 1 WHERE revoked = 0 AND rater = (SELECT id FROM rater WHERE name = ?)"
        with _access(self.folder):
            return self._db.change(sql, name)

    def rater(self, token: str) -> Rater | None:
        """The rater of an invitation that is neither revoked nor expired."""
        sql = (
            "SELECT rater.id, name, kind FROM invitation JOIN rater ON rater.id = invitation.rater"
            " WHERE hash = ? AND revoked = 0 AND expires > ?"
        )
        found = self._rows(sql, hash_of(token), time.time())
        return Rater(*found[0]) if found else None

    def invitations(self) -> list[tuple[str, float, bool]]:
        """The rater's name, the end in seconds since 1970, and whether it was revoked, of each invitation."""
        sql = "SELECT name, expires, revoked FROM invitation JOIN rater ON rater.id = rater ORDER BY invitation.rowid"
        return [(name, expires, bool(revoked)) for name, expires, revoked in self._rows(sql)]

    def raters(self) -> list[Rater]:
        return [Rater(*row) for row in self._rows("SELECT id, name, kind FROM rater ORDER BY id")]

    # What a rater is shown.

    def next_item(self, rater: Rater) -> Item | None:
        """The open item of a person, else a new one; None if there is nothing left for this rater.

        A pair is never shown to a rater twice, and never has two texts of one maker or equal texts.
        """
        with self._lock, _access(self.folder):
            if rater.kind == "person" and (opened := self.unanswered(rater)):
                return self.item(rater, opened[0])
            if (chosen := self._choice.next(rater.id)) is None:
                return None
            new = self._open(rater, *chosen)
            # another page of the same person may have been quicker
            return self.item(rater, new) or self.item(rater, self.unanswered(rater)[0])

    def item(self, rater: Rater, item: str) -> Item | None:
        """An item that this rater was shown, with the rater's answers."""
        sql = 'SELECT item.texts, "case".* FROM item JOIN "case" ON "case".id = item."case" WHERE item.id = ? AND rater = ?'
        if not (rows := self._rows(sql, item, rater.id)):
            return None
        [(texts, *case)] = rows
        ids: list[str] = json.loads(texts)
        marks = ", ".join("?" * len(ids))
        bodies = self._rows(f"SELECT id, title, body FROM text WHERE id IN ({marks})", *ids)
        shown = {each[0]: ShownText(*each) for each in bodies}
        said = self._rows(
            "SELECT answers, comment FROM answer WHERE item = ? ORDER BY number DESC LIMIT 1", item
        )
        answers, comment = said[0] if said else ("{}", "")
        return Item(item, Case(*case), tuple(shown[each] for each in ids), json.loads(answers), comment)

    def past(self, rater: Rater) -> list[str]:
        """The ids of the items that a rater has answered or skipped, in the order shown."""
        sql = "SELECT id FROM item WHERE rater = ? AND state != 'open' ORDER BY number"
        return [row[0] for row in self._rows(sql, rater.id)]

    def unanswered(self, rater: Rater) -> list[str]:
        """The items that a rater has neither answered nor skipped, in the order shown: one of a person, several of a model."""
        sql = "SELECT id FROM item WHERE rater = ? AND state IN ('open', 'asked') ORDER BY number"
        return [row[0] for row in self._rows(sql, rater.id)]

    def pairs(self, rater: Rater) -> int:
        """Number of pairs that a rater was shown, in one order or both."""
        rows = self._rows("SELECT texts FROM item WHERE rater = ?", rater.id)
        return len({frozenset(json.loads(texts)) for (texts,) in rows})

    def one_sided(self, rater: Rater, *, unanswered: bool = False) -> list[str]:
        """The pairs that a rater has answered in one order, or has yet to answer, and not seen in the other: the ids of these items."""
        rows = self._rows("SELECT id, texts, state FROM item WHERE rater = ? ORDER BY number", rater.id)
        shown = [(item, tuple(json.loads(texts)), state) for item, texts, state in rows]
        seen = {texts for _, texts, _ in shown}
        states = ("answered", "open", "asked") if unanswered else ("answered",)
        return [item for item, texts, state in shown if state in states and texts[::-1] not in seen]

    def turned(self, rater: Rater, item: str) -> Item | None:
        """A pair that a model has answered, once more with the sides exchanged."""
        with _access(self.folder):
            row = self._db.row('SELECT "case", texts FROM item WHERE id = ? AND rater = ?', item, rater.id)
            if row is None:
                return None
            return self.item(rater, self._open(rater, row[0], json.loads(row[1])[::-1]))

    def next_question(self, rater: Rater, pairs: int, under_way: Collection[str]) -> Item | None:
        """What a model is asked next: a question without an answer, the other order of a pair, or a new pair; None at the end.

        Args:
            pairs: maximum number of its pairs.
            under_way: the items that it is being asked.
        """
        if left := [each for each in self.unanswered(rater) if each not in under_way]:
            return self.item(rater, left[0])
        if one_sided := self.one_sided(rater):
            return self.turned(rater, one_sided[0])
        return self.next_item(rater) if self.pairs(rater) < pairs else None

    def progress(self, rater: Rater) -> RaterProgress:
        with self._lock, _access(self.folder):
            sql = "SELECT state, count(*) FROM item WHERE rater = ? GROUP BY state"
            states = dict(self._db.rows(sql, rater.id))
            left = self._choice.left(rater.id) + states.get("open", 0) + states.get("asked", 0)
        return RaterProgress(states.get("answered", 0), states.get("skipped", 0), left)

    def _open(self, rater: Rater, case: str, texts: Sequence[str]) -> str:
        """Open an item for a rater, unless it is a person who has one."""
        item, state = secrets.token_urlsafe(12), "asked" if rater.kind == "model" else "open"
        self._db.rows(ADD_ITEM, item, rater.id, case, json.dumps(texts), time.time(), state)
        return item

    # Votes.

    def vote(
        self,
        rater: Rater,
        item: str,
        answers: Mapping[str, str],
        seconds: float | None = None,
        comment: str = "",
    ) -> bool:
        """Keep a rater's answers to an item; returns whether they are new. The same again change nothing; others replace them.

        Args:
            answers: of `pairs`, one of the form's answers by question; of `ratings`, a whole number by question; of a
                `ranking`, the rank by text id, 1 for the best, each once.
            seconds: since the item was shown.

        Raises:
            ArenaError: the item is not this rater's, or an answer is missing or not allowed.
        """
        with _access(self.folder), self._db.transaction() as database:
            found = database.execute("SELECT texts FROM item WHERE id = ? AND rater = ?", (item, rater.id))
            if (row := found.fetchone()) is None:
                raise ArenaError("this vote belongs to no item of yours", hint="reload the page")
            kept = self.checked(answers, json.loads(row[0]))
            comment = comment.strip()[:LONGEST_COMMENT] if self.form.comment else ""
            sql = "SELECT answers, comment FROM answer WHERE item = ? ORDER BY number DESC"
            last = database.execute(sql, (item,)).fetchone()
            if new := last is None or (json.loads(last[0]), last[1]) != (kept, comment):
                sql = "INSERT INTO answer (item, answers, comment, seconds, time) VALUES (?, ?, ?, ?, ?)"
                database.execute(sql, (item, json.dumps(kept), comment, seconds, time.time()))
            database.execute("UPDATE item SET state = 'answered' WHERE id = ?", (item,))
        return new

    def take(
        self, rater: Rater, case: str, texts: Sequence[str], answers: Mapping[str, str], comment: str = ""
    ) -> bool:
        """Keep answers about texts of a case that a rater gave elsewhere, such as on a sheet; see `vote`."""
        with _access(self.folder), self._db.transaction() as database:
            sql = 'SELECT id, texts FROM item WHERE rater = ? AND "case" = ?'
            shown = database.execute(sql, (rater.id, case)).fetchall()
            item = next((each for each, seen in shown if {*json.loads(seen)} == {*texts}), None)
            if item is None:
                item = secrets.token_urlsafe(12)
                values = (item, rater.id, case, json.dumps(texts), time.time(), "answered")
                database.execute(ADD_ITEM, values)
        return self.vote(rater, item, answers, None, comment)

    def skip(self, rater: Rater, item: str) -> None:
        """Leave out an open item: this rater does not see it again as a next one."""
        sql = "UPDATE item SET state = 'skipped' WHERE id = ? AND rater = ? AND state IN ('open', 'asked')"
        self._rows(sql, item, rater.id)

    def checked(self, answers: Mapping[str, str], texts: Sequence[str]) -> dict[str, str]:
        """The answers by question, or by text for a ranking; raises `ArenaError` if one is missing or not allowed."""
        if self.kind == "ranking":
            ranks = {text: answers.get(text, "").strip() for text in texts}
            if sorted(ranks.values()) != sorted(str(n) for n in range(1, len(texts) + 1)):
                raise ArenaError(
                    f"the ranks are {', '.join(each or 'empty' for each in ranks.values())}",
                    hint=f"give each text a rank from 1 to {len(texts)}, each once",
                )
            return ranks
        allowed = self.form.answers if self.kind == "pairs" else [str(n) for n in self.form.ratings]
        kept = {each.id: answers.get(each.id, "").strip() for each in self.form.questions}
        for question in self.form.questions:
            if (given := kept[question.id]) not in allowed:
                why = f"{plain(given)[:40]!r} is no answer" if given else "no answer"
                raise ArenaError(f"{question.text}: {why}", hint=f"choose one of: {', '.join(allowed)}")
        return kept

    def rows(self) -> list[AnsweredItem]:
        """All answered items, the last answers of each, in the order in which they were given."""
        sql = (
            'SELECT item.id, rater.id, rater.name, rater.kind, item."case", item.texts, answers, comment, seconds, time'
            " FROM item JOIN rater ON rater.id = item.rater JOIN answer ON answer.item = item.id"
            f" WHERE item.state = 'answered' AND {LATEST} ORDER BY answer.number"
        )
        texts = {each.id: each for each in self.texts()}
        return [
            AnsweredItem(item, Rater(*rater), case, tuple(texts[each] for each in json.loads(places)),
                json.loads(answers), comment, seconds, when)
            for item, *rater, case, places, answers, comment, seconds, when in self._rows(sql)
        ]  # fmt: skip

    def keep(self, votes: Iterable[PairVote]) -> int:
        """Keep votes that were cast elsewhere; returns the number of new ones. The same votes again change nothing.

        Raises:
            ArenaError: this is no arena of pairs.
        """
        if self.kind != "pairs":
            raise ArenaError(f"{self.folder}: an arena of {self.kind} takes no votes on pairs")
        rows, times = list[tuple[str, str]](), Counter[str]()
        for vote in votes:
            text = json.dumps(asdict(vote), sort_keys=True, ensure_ascii=False)
            times[text] += 1  # equal rows of unknown raters are several votes
            rows.append((hash_of(f"{times[text]} {text}"), text))
        with _access(self.folder), self._db.transaction() as database:
            before = database.total_changes
            database.executemany("INSERT OR IGNORE INTO imported VALUES (?, ?)", rows)
            return database.total_changes - before

    def votes(self) -> list[PairVote]:
        """The votes on pairs, imported ones first; empty for other kinds."""
        if self.kind != "pairs":
            return []
        imported = self._rows("SELECT vote FROM imported ORDER BY rowid")
        votes = [PairVote(**json.loads(vote)) for (vote,) in imported]
        for row in self.rows():
            left, right = row.places
            answers: Any = row.answers
            votes.append(
                PairVote(left.maker, right.maker, answers, row.rater.name, row.case, row.rater.kind,
                     left.style, right.style, row.seconds)
            )  # fmt: skip
        return votes


@contextmanager
def _access(folder: Path) -> Generator[None]:
    """Errors of the disk and of SQLite as messages."""
    try:
        yield
    except sqlite3.Error as error:
        hint = "check that the folder is writable, the disk is not full, and the file is an arena"
        raise ArenaError(f"{folder / FILE}: cannot be used: {error}", hint=hint) from error
    except OSError as error:
        hint = "choose a folder that can be written"
        raise ArenaError(f"{error.filename or folder}: {error.strerror}", hint=hint) from error
