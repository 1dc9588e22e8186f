"""Papers that wait for their abstracts, and who cites whom, on the disk instead of in memory."""

import sqlite3
import tempfile
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from manyheads.bank.corpus import RawPaper
from manyheads.errors import CorpusError


class Join:
    """A table of papers by corpusid, in a database that is thrown away afterwards."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._db = database
        # Nothing here outlives the build, so nothing need survive a crash.
        self._db.execute("PRAGMA journal_mode=OFF")
        self._db.execute("PRAGMA synchronous=OFF")
        self._db.execute(
            "CREATE TABLE papers (id TEXT PRIMARY KEY, file TEXT, number INTEGER, paper TEXT) WITHOUT ROWID"
        )

    @classmethod
    @contextmanager
    def in_folder(cls, folder: Path | None) -> "Generator[Join]":
        """A new one in a folder, the system's for temporary files if None; removed at the end.

        Raises:
            CorpusError: the disk is full, or the folder cannot be written.
        """
        try:
            with (
                tempfile.TemporaryDirectory(dir=folder, prefix=".join-") as place,
                closing(sqlite3.connect(Path(place) / "papers.sqlite", isolation_level=None)) as database,
            ):
                yield cls(database)
        except sqlite3.Error as wrong:
            raise CorpusError(
                f"papers and abstracts cannot be joined on the disk: {wrong}",
                hint="make room there, or set TMPDIR to a folder with more, and run the same command again",
            ) from wrong

    def wait(self, file: str, number: int, paper: RawPaper) -> bool:
        """Put a paper; False if its id is there already."""
        row = (paper.id, file, number, paper.model_dump_json(by_alias=True))
        return self._db.execute("INSERT OR IGNORE INTO papers VALUES (?, ?, ?, ?)", row).rowcount == 1

    def take(self, corpusid: object) -> tuple[str, int, RawPaper] | None:
        """The paper that waits under an id, with its file and number, once."""
        found = self._db.execute(
            "DELETE FROM papers WHERE id = ? RETURNING file, number, paper", (str(corpusid),)
        ).fetchone()
        return found and (found[0], found[1], RawPaper.model_validate_json(found[2]))

    def cite(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Put who cites whom: ids of the citing and of the cited papers."""
        self._db.execute("CREATE TABLE cites (citing TEXT, cited TEXT)")
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO cites VALUES (?, ?)", pairs)
        self._db.execute("CREATE INDEX by_citing ON cites (citing)")
        self._db.execute("COMMIT")

    def cited(self, corpusid: str) -> tuple[str, ...]:
        """What a paper cites, in the order put."""
        found = self._db.execute("SELECT cited FROM cites WHERE citing = ? ORDER BY rowid", (corpusid,))
        return tuple(cited for (cited,) in found)

    def left(self) -> Iterator[tuple[str, int, RawPaper]]:
        """The papers that have found no abstract."""
        for file, number, paper in self._db.execute("SELECT file, number, paper FROM papers ORDER BY id"):
            yield file, number, RawPaper.model_validate_json(paper)
