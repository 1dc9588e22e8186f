"""unarXive (github.com/IllDepence/unarXive): the papers of arXiv in full, with their bibliographies, as JSON Lines."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from manyheads.bank.corpus import RawPaper, Reader, Record
from manyheads.literature.readers.bibtex import NotTeXError, plain_text
from manyheads.literature.readers.common import mapping, objects, paper, sequence
from manyheads.literature.readers.table import person

IDS = {"doi": "doi:", "arxiv_id": "arXiv:"}
"""What a bibliography's entry is known by elsewhere, and what stands before it in a reference."""


class UnArXive(Reader):
    """A `Reader` of the dataset.

    A paper's references are the entries of its bibliography as they stand, with the DOI and the arXiv number that
    the dataset has found for them. Its year is that of its first version. The full text is not read.
    """

    kind = "unarXive"
    endings = (".jsonl", ".jsonl.gz")
    example = (
        'lines such as {"paper_id": "2212.00001", "metadata": {"title": "…", "abstract": "…", "authors_parsed": '
        '[["Berg", "Jo", ""]], …}, "bib_entries": {…}, …}'
    )

    def records_of(self, file: Path) -> Iterator[Record]:
        for number, row in objects(file):
            yield number, _paper(row) if isinstance(row, dict) else row


def _paper(row: Mapping[str, Any]) -> RawPaper | tuple[str, str]:
    about = mapping(row.get("metadata"))
    people, versions = about.get("authors_parsed"), sequence(about.get("versions"))
    abstract = about.get("abstract") or mapping(row.get("abstract")).get("text")
    dates = (mapping(versions[0]).get("created") if versions else None, about.get("update_date"))
    try:
        return paper(
            {
                "id": row.get("paper_id"),
                "title": plain_text(str(about.get("title") or "")),
                "abstract": " ".join(abstract.split()) if isinstance(abstract, str) else "",
                "authors": [plain_text(person(one)) for one in sequence(people)]
                if isinstance(people, list)
                else None,
                "year": next((date for date in dates if isinstance(date, str)), None),
                "venue": about.get("journal-ref"),
                "references": [*filter(None, map(_reference, mapping(row.get("bib_entries")).values()))],
            }
        )
    except NotTeXError as wrong:
        return "metadata", str(wrong)


def _reference(given: object) -> str:
    """An entry as it stands, and what it is known by: the links in it, and ids that the dataset has found."""
    entry = mapping(given)
    links = [mapping(link).get("url") for link in sequence(entry.get("contained_links"))]
    ids = mapping(entry.get("ids"))
    known = [f"{before}{ids[name]}" for name, before in IDS.items() if ids.get(name)]
    texts = (text for text in (entry.get("bib_entry_raw"), *links, *known) if isinstance(text, str))
    return " ".join(" ".join(texts).split())
