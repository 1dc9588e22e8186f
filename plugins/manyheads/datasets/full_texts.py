"""Papers as PDF or as GROBID's TEI, one file each, supplemented by a table or a bibliography beside them."""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from manyheads.base.errors import DocumentError
from manyheads.base.papers import fold
from manyheads.corpus.records import RawPaper, Reader, Record, Rejects, shards
from manyheads.corpus.vectors import in_order
from manyheads.datasets.formats import Dataset, FieldReader, Format, format_of, validated
from manyheads.datasets.records import csv_records
from manyheads.datasets.values import YEAR, FieldName
from manyheads.documents import Document, Kind, Reference, read_apart

PROCESSES = min(4, os.cpu_count() or 1)
"""PDFs read concurrently."""
_ENDING = re.compile(r"(?:\.grobid)?\.(?:tei\.xml|tei|xml|pdf)$", re.IGNORECASE)
_ARXIV = re.compile(r"(\d\d)\d\d\.\d{4,5}(?:v\d+)?")
_FILES = ("file", "filename", "pdf", "path")
"""Columns of a table that may name a row's file, besides its id."""
_TOLD = ("title", "abstract", "authors", "year", "venue", "citations", "keywords", "affiliations")
_FLOATS = ("figure", "table")
"""Prefix of faults in parts that a corpus does not store."""
_YEAR = (
    "none in its name or on its first page: rename the file to 2019-NAME, or give file and year in papers.csv, or title and year in "
    "a .bib, beside it"
)


class Documents(Reader):
    """A `Reader` of full texts, one paper per file; a TEI with the name of a PDF replaces it.

    A paper's id is its file's name without ending. Data in any `.csv`, `.tsv` or `.bib` in the folder (by file name, by id, else
    by title) has priority over the document. The year is otherwise that in the file's name, as in `2019-berg.pdf` or
    `1905.00001v2.pdf`, else that of the conference, journal or arXiv number on the first page; papers without a year, and
    unreadable documents, are rejected.
    """

    unit = "document"

    def __init__(self, path: Path, format: Format) -> None:  # noqa: A002
        super().__init__(path)
        self.kind, self.endings = format.kind, format.endings
        self.example, self.most_broken = format.sample, format.most_broken

    def records(self, rejects: Rejects) -> Iterator[Record]:
        told = _SideData(self.path) if self.path.is_dir() else None
        files = shards(self.path, self.endings, self.kind)
        best = {self._name(file): file for file in files}
        best |= {self._name(file): file for file in files if file.suffix.lower() != ".pdf"}
        for number, (file, document) in enumerate(_documents(best.values()), 1):
            next(self.each([file], rejects))
            if isinstance(document, DocumentError):
                reason = document.message.replace(str(file), "it")
                yield number, ("file", "; ".join(filter(None, (reason, document.hint))))
            else:
                name = self._name(file)
                rejects.remark(number, [one for one in document.faults if not one.startswith(_FLOATS)])
                yield number, _paper(document, name, told.of(name, document.title) if told else {})

    def _name(self, file: Path) -> str:
        return _ENDING.sub("", file.name if file == self.path else file.relative_to(self.path).as_posix())


def _documents(files: Iterable[Path]) -> Iterator[tuple[Path, Document | DocumentError]]:
    """The content of each file, or why it cannot be read; several at once."""

    def read(file: Path) -> Document | DocumentError:
        try:
            return read_apart(file)
        except DocumentError as wrong:
            return wrong

    with ThreadPoolExecutor(PROCESSES) as pool:
        begun = ((file, pool.submit(read, file).result) for file in files)
        yield from in_order(begun, PROCESSES + 1)


class _SideData:
    """Data on the papers in tables and bibliographies of a folder."""

    def __init__(self, folder: Path) -> None:
        self._about: dict[str, Mapping[str, Any]] = {}
        for file in sorted(folder.iterdir()):
            if file.suffix.lower() in (".csv", ".tsv"):
                self._read_table(file)
            elif file.suffix.lower() == ".bib":
                for _, one in Dataset(file, format_of("bibtex")).records_of(file):
                    if isinstance(one, RawPaper):
                        self._add(one.model_dump(by_alias=True), one.id, one.title)

    def of(self, name: str, title: str) -> Mapping[str, Any]:
        """Data for a file's name, else for a paper's title; {} if there is none."""
        keys = (_key(name), _key(Path(name).name), fold(title))
        return next((self._about[key] for key in keys if key and key in self._about), {})

    def _read_table(self, file: Path) -> None:
        tables, columns = format_of("csv"), dict[FieldName, tuple[str, ...]]()

        def header(names: Sequence[str]) -> Collection[str]:
            columns.update(tables.columns(names, {}))
            return names

        reading = None
        for _, row in csv_records(file, partial(tables.columns, chosen={}), header):
            reading = reading or FieldReader(tables, columns)
            if isinstance(row, dict):
                about = reading.fields(row)
                files = [Path(name).name for column, name in row.items() if fold(column) in _FILES]
                if isinstance(about, dict):
                    self._add(about, *files, about.get("id", ""), about.get("title", ""))

    def _add(self, about: Mapping[str, Any], *names: str) -> None:
        *files, title = names
        told = {key: about[key] for key in _TOLD if about.get(key)}
        for key in (*map(_key, files), fold(title)):
            self._about.setdefault(key, told)


def _key(name: str) -> str:
    """Key of a file's name, with or without ending, distinct from any title."""
    return f"file:{_ENDING.sub('', name.strip())}"


def _paper(document: Document, name: str, told: Mapping[str, Any]) -> RawPaper | tuple[str, str]:
    year = told.get("year") or _year_of(Path(name).name) or document.year
    if not year:
        return "year", _YEAR
    own: dict[str, Any] = {
        "id": name,
        "title": document.title,
        "abstract": document.abstract,
        "authors": list(document.authors),
        "year": year,
        "references": [*map(_reference, document.references)],
        "core_references": [*map(_reference, document.core)],
        "introduction": _text(document, "introduction"),
        "method": _text(document, "method"),
    }
    return validated({**own, **told})


def _year_of(name: str) -> int | None:
    if number := _ARXIV.fullmatch(name):
        return 2000 + int(number[1])
    return int(year[0]) if (year := YEAR.search(name)) else None


def _text(document: Document, kind: Kind) -> str:
    return "\n\n".join(one.text for one in document.sections if one.kind == kind and one.text)


def _reference(one: Reference) -> str:
    """An entry, followed by its identifiers; a title in brackets is separated from its surroundings."""
    known = {f"[{one.title}]": one.title, f"doi:{one.doi}": one.doi, f"arXiv:{one.arxiv}": one.arxiv}
    return " ".join((one.text, *(text for text, value in known.items() if value)))
