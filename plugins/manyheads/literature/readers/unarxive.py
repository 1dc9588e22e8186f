"""unarXive (github.com/IllDepence/unarXive): the papers of arXiv in full, with their bibliographies, as JSON Lines."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from manyheads.bank.corpus import RawAuthor, RawPaper, Rejects, sift
from manyheads.literature.readers.bibtex import NotTeXError, plain_text
from manyheads.literature.readers.common import Record, each, objects, paper, shards
from manyheads.literature.readers.table import person

ENDINGS = (".jsonl", ".jsonl.gz")
IDS = {"doi": "doi:", "arxiv_id": "arXiv:"}
"""What a bibliography's entry is known by elsewhere, and what stands before it in a reference."""
EXAMPLE = (
    'lines such as {"paper_id": "2212.00001", "metadata": {"title": "…", "abstract": "…", "authors_parsed": '
    '[["Berg", "Jo", ""]], …}, "bib_entries": {…}, …}'
)


class UnArXive:
    """A `Reader` of the dataset: a file, or a folder of them.

    A paper's references are the entries of its bibliography as they stand, with the DOI and the arXiv number that
    the dataset has found for them. Its year is that of its first version. The full text is not read.
    """

    def __init__(self, path: Path) -> None:
        self.name, self._path = path.resolve().name, path

    def papers(self, rejects: Rejects) -> Iterator[tuple[int, RawPaper]]:
        """See `Reader.papers`; a record's number is its line's.

        Raises:
            CorpusError: a file cannot be read, or is not of this dataset.
        """
        yield from sift(self._path, self._records(rejects), rejects, example=EXAMPLE)

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        """Nothing but what the papers say."""
        return {}

    def _records(self, rejects: Rejects) -> Iterator[Record]:
        files = shards(self._path, ENDINGS, "unarXive")
        for file in each(self._path, files, rejects, "line"):
            for number, row in objects(file):
                yield number, _paper(row) if isinstance(row, dict) else row


def _paper(row: Mapping[str, Any]) -> RawPaper | tuple[str, str]:
    about = _object(row.get("metadata"))
    people = about.get("authors_parsed")
    try:
        return paper(
            {
                "id": row.get("paper_id"),
                "title": plain_text(str(about.get("title") or "")),
                "abstract": _abstract(row, about),
                "authors": [plain_text(person(one)) for one in cast("list[object]", people)]
                if isinstance(people, list)
                else None,
                "year": _date(about),
                "venue": about.get("journal-ref"),
                "references": [*filter(None, map(_entry, _object(row.get("bib_entries")).values()))],
            }
        )
    except NotTeXError as wrong:
        return "metadata", str(wrong)


def _abstract(row: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """That of arXiv's record, else that of the paper's text."""
    text = about.get("abstract") or _object(row.get("abstract")).get("text")
    return " ".join(text.split()) if isinstance(text, str) else ""


def _date(about: Mapping[str, Any]) -> str | None:
    """Of the first version, else of the last change."""
    versions = about.get("versions")
    first = _object(cast("list[object]", versions)[0]) if isinstance(versions, list) and versions else {}
    dates = (first.get("created"), about.get("update_date"))
    return next((date for date in dates if isinstance(date, str)), None)


def _entry(given: object) -> str:
    """An entry as it stands, and what it is known by: the links in it, and ids that the dataset has found."""
    entry = _object(given)
    links = entry.get("contained_links")
    shown = (
        [_object(link).get("url") for link in cast("list[object]", links)] if isinstance(links, list) else []
    )
    ids = _object(entry.get("ids"))
    known = [f"{before}{ids[name]}" for name, before in IDS.items() if ids.get(name)]
    texts = (text for text in (entry.get("bib_entry_raw"), *shown, *known) if isinstance(text, str))
    return " ".join(" ".join(texts).split())


def _object(value: object) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
