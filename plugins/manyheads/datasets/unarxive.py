"""unarXive (github.com/IllDepence/unarXive): full papers of arXiv with their bibliographies, as JSON Lines."""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from manyheads.base.text import NotTeXError, from_latex
from manyheads.corpus.records import RawPaper, Reader, Record
from manyheads.datasets.common import mapping, objects, paper, sequence
from manyheads.datasets.table import person
from manyheads.documents.section_kinds import Section, core_of

IDS = {"doi": "doi:", "arxiv_id": "arXiv:"}
"""Identifiers of a bibliography's entry, with their prefixes in references."""
LEVELS = {"section": 1, "subsection": 2, "subsubsection": 3}
UNNUMBERED = "-1"
CITED = re.compile(r"\s*\{\{cite:[0-9a-f-]+\}\}(?:,\s*(?=\{\{cite:))?")
MARKER = re.compile(r"\{\{[a-z]+:[0-9a-f-]+\}\}")


class UnArXive(Reader):
    """A `Reader` of the dataset.

    A paper's references are the entries of its bibliography, with the DOI and the arXiv number that the dataset has for them;
    introduction and method are detected by headings, see `core_of`. Its year is that of its first version.
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
    entries = {key: text for key, one in mapping(row.get("bib_entries")).items() if (text := _reference(one))}
    core = core_of([*_sections(row.get("body_text"), entries)])
    dates = (mapping(versions[0]).get("created") if versions else None, about.get("update_date"))
    try:
        return paper(
            {
                "id": row.get("paper_id"),
                "title": from_latex(str(about.get("title") or "")),
                "abstract": " ".join(abstract.split()) if isinstance(abstract, str) else "",
                "authors": [from_latex(person(one)) for one in sequence(people)]
                if isinstance(people, list)
                else None,
                "year": next((date for date in dates if isinstance(date, str)), None),
                "venue": about.get("journal-ref"),
                "references": [*entries.values()],
                "core_references": core.cites,
                "introduction": core.introduction,
                "method": core.method,
            }
        )
    except NotTeXError as wrong:
        return "metadata", str(wrong)


def _sections(body: object, entries: Mapping[str, str]) -> Iterator[Section]:
    """The paragraphs of each section as one, without markers, for example of formulas."""

    def heading(paragraph: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(str(paragraph.get(key) or "") for key in ("section", "sec_type", "sec_number"))

    for (title, depth, number), each in groupby(map(mapping, sequence(body)), heading):
        texts, cites = list[str](), list[str]()
        for paragraph in each:
            texts.append(" ".join(MARKER.sub(" ", CITED.sub("", str(paragraph.get("text") or ""))).split()))
            spans = (str(mapping(span).get("ref_id")) for span in sequence(paragraph.get("cite_spans")))
            cites += (entries[key] for key in spans if key in entries)
        level = LEVELS.get(depth, len(LEVELS) + 1) if title else 0
        yield Section(title, "\n".join(texts), cites, level, number if number != UNNUMBERED else "")


def _reference(given: object) -> str:
    """An entry, and its identifiers: the links in it, and ids from the dataset."""
    entry = mapping(given)
    links = [mapping(link).get("url") for link in sequence(entry.get("contained_links"))]
    ids = mapping(entry.get("ids"))
    known = [f"{before}{ids[name]}" for name, before in IDS.items() if ids.get(name)]
    texts = (text for text in (entry.get("bib_entry_raw"), *links, *known) if isinstance(text, str))
    return " ".join(" ".join(texts).split())
