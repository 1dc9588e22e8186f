"""Semantic Scholar's Academic Graph as one downloads it: its parts, such as `papers` and `abstracts`, joined by corpusid."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from manyheads.bank.corpus import RawAuthor, RawPaper, Rejects, sifted
from manyheads.errors import CorpusError
from manyheads.literature.readers.common import Record, each, objects, paper, whole
from manyheads.literature.readers.semantic_scholar_join import Join

Years = tuple[int | None, int | None]
PARTS = ("papers", "abstracts", "authors")
EXAMPLE = 'lines such as {"corpusid": 1, "title": "…", "authors": [{"authorId": "2", "name": "…"}], "year": 2015, …}'
HINT = "name the folder that holds papers/, abstracts/ and authors/, as downloaded from the datasets API"


class AcademicGraph:
    """A `Reader` of the dumps: a folder with the parts as folders, or as files whose names begin so.

    Abstracts stand in files of their own. Papers wait for theirs in a database on the disk, which takes about as
    much room as the unpacked papers of these years.

    Args:
        folder: of the dump.
        years: the first and the last year of interest; papers of others do not wait, and come without abstracts.
        scratch: folder for the database; the system's for temporary files if not given.
        references: whether papers tell what they cite, where `citations` was downloaded too; corpora need it not, and
            the database takes as much more room as the unpacked citations.
    """

    def __init__(
        self,
        folder: Path,
        years: Years = (None, None),
        scratch: Path | None = None,
        *,
        references: bool = False,
    ) -> None:
        self.name, self._folder, self._years, self._scratch = folder.resolve().name, folder, years, scratch
        self._citations = part_files(folder, "citations") if references else []

    def papers(self, rejects: Rejects) -> Iterator[tuple[int, RawPaper]]:
        """See `Reader.papers`; a record's number is its line's. Papers come in the order of their abstracts.

        Raises:
            CorpusError: papers or abstracts are missing, or cannot be read.
        """
        papers, abstracts = (self._need(part) for part in ("papers", "abstracts"))
        with Join.in_folder(self._scratch) as join:
            records = self._records(papers, abstracts, join, rejects)
            found = sifted(self._folder, records, rejects, example=EXAMPLE)
            yield from self._citing(found, join, rejects) if self._citations else found

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        """See `Reader.authors`; {} where the dump was downloaded without authors."""
        rows = (row for file in part_files(self._folder, "authors") for _, row in objects(file))
        found = (_author(row) for row in rows if isinstance(row, dict) and str(row.get("authorid")) in wanted)
        return {one.key: one for one in found if one}

    def _citing(
        self, papers: Iterable[tuple[int, RawPaper]], join: Join, rejects: Rejects
    ) -> Iterator[tuple[int, RawPaper]]:
        """The papers with what they cite."""
        join.cite(self._pairs(rejects))
        for number, known in papers:
            yield number, known.model_copy(update={"references": join.cited(known.id)})

    def _pairs(self, rejects: Rejects) -> Iterator[tuple[str, str]]:
        """Who cites whom, of those of whom the dump knows both."""
        for file in each(self._folder, self._citations, rejects, "line"):
            for number, row in objects(file):
                if not isinstance(row, dict):
                    rejects.note(number, *row)
                elif row.get("citingcorpusid") is not None and row.get("citedcorpusid") is not None:
                    yield str(row["citingcorpusid"]), str(row["citedcorpusid"])

    def _need(self, part: str) -> list[Path]:
        if not (files := part_files(self._folder, part)):
            raise CorpusError(f"{self._folder}: no {part} of Semantic Scholar in it", hint=HINT)
        return files

    def _records(
        self, papers: list[Path], abstracts: list[Path], join: Join, rejects: Rejects
    ) -> Iterator[Record]:
        for file in each(self._folder, papers, rejects, "line"):
            for number, row in objects(file):
                made = paper(_fields(row)) if isinstance(row, dict) else row
                if not isinstance(made, RawPaper) or not self._in_time(made):
                    yield number, made
                elif not join.wait(rejects.file, number, made):
                    yield number, ("corpusid", "is another paper's already")
        for file in each(self._folder, abstracts, rejects, "line"):
            name = rejects.file
            for number, row in objects(file):
                if not isinstance(row, dict):
                    rejects.file = name
                    yield number, row
                elif waiting := join.take(row.get("corpusid")):
                    rejects.file, at, known = waiting
                    text = row.get("abstract")
                    yield at, known.model_copy(update={"abstract": text if isinstance(text, str) else ""})
        for rejects.file, number, known in join.left():
            yield number, known

    def _in_time(self, made: RawPaper) -> bool:
        first, last = self._years
        return (first is None or made.year >= first) and (last is None or made.year <= last)


def part_files(folder: Path, part: str) -> list[Path]:
    """The files of a part: in a folder of its name, or with names that begin so."""
    if not folder.is_dir():
        return []
    inside = (folder / part).rglob("*") if (folder / part).is_dir() else folder.glob(f"{part}*")
    return sorted(file for file in inside if file.is_file() and not file.name.startswith((".", "README")))


def _fields(row: Mapping[str, Any]) -> dict[str, Any]:
    given = row.get("authors")
    people = (
        [one for one in cast("list[Any]", given) if isinstance(one, dict)] if isinstance(given, list) else []
    )
    number = row.get("corpusid")
    return {
        "id": None if number is None else str(number),
        "title": row.get("title"),
        "abstract": "",
        "authors": [one.get("name") for one in people],
        "author_ids": [str(one.get("authorId") or "") for one in people],
        "year": row.get("year"),
        "citations": row.get("citationcount"),
        "venue": row.get("venue") or None,
    }


def _author(row: Mapping[str, Any]) -> RawAuthor | None:
    """None where the counts are no counts."""
    places = row.get("affiliations")
    try:
        return RawAuthor(
            key=str(row["authorid"]),
            name=str(row.get("name") or ""),
            affiliations=tuple(map(str, cast("list[Any]", places)))
            if isinstance(places, list) and places
            else None,
            papers=whole(row.get("papercount")),
            citations=whole(row.get("citationcount")),
        )
    except ValueError:
        return None
