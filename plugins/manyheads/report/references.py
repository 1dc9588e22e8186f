"""References of a run: links, and BibTeX to copy."""

import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from manyheads.base.papers import ARXIV_DOI, Identifier, identify
from manyheads.base.text import plain
from manyheads.core.results import Evidence


def links_of(paper: Evidence) -> list[tuple[str, str]]:
    """Links to a paper: names and addresses, the DOI first; empty if there are none."""
    return [*dict(_links(paper)).items()]


def _links(paper: Evidence) -> Iterator[tuple[str, str]]:
    for text in (paper.doi, paper.paper):
        if text and (link := _link(identify(text))):
            yield link
    if paper.url and re.fullmatch(r"https?://[^\s<>\"]+", paper.url):
        yield "Web", paper.url


def _link(known: Identifier) -> tuple[str, str] | None:
    value = quote(known.value, safe="/:;().,_-~")
    match known.kind, known.source:
        case "doi", _ if known.value.lower().startswith(ARXIV_DOI):
            return "arXiv", f"https://arxiv.org/abs/{value[len(ARXIV_DOI) :]}"
        case "doi", _:
            return "DOI", f"https://doi.org/{value}"
        case ("arxiv", _) | ("own", "arxiv"):
            return "arXiv", f"https://arxiv.org/abs/{value}"
        case "own", "semantic_scholar":
            return "Semantic Scholar", f"https://www.semanticscholar.org/paper/{value}"
        case "own", "openalex":
            return "OpenAlex", f"https://openalex.org/{value}"
        case _:
            return None


def bibtex(papers: Iterable[Evidence]) -> str:
    """The papers as BibTeX; unknown fields are left out."""
    from bibtexparser.entrypoint import write_string
    from bibtexparser.library import Library
    from bibtexparser.model import Entry, Field

    entries, keys = list[Any](), set[str]()
    for paper in papers:
        word = next(iter(re.findall(r"[a-z]{4,}", paper.title.lower())), "paper")
        key = stem = f"{word}{paper.year or ''}"
        number = 1
        while key in keys:
            number += 1
            key = f"{stem}-{number}"
        keys.add(key)
        links = dict(links_of(paper))
        doi = links.get("DOI", "").removeprefix("https://doi.org/")
        arxiv = links.get("arXiv", "").removeprefix("https://arxiv.org/abs/")
        fields = {
            "author": " and ".join(map(_value, paper.authors)),
            "title": f"{{{_value(paper.title)}}}",
            "journal": _value(paper.venue or ""),
            "year": str(paper.year or ""),
            "doi": doi,
            "eprint": arxiv,
            "archiveprefix": "arXiv" if arxiv else "",
            "url": next(iter(links.values()), ""),
            "note": "" if links else _value(paper.paper),
        }
        told = [Field(name, value) for name, value in fields.items() if value]
        entries.append(Entry("article" if paper.venue else "misc", key, told))
    return write_string(Library(entries)) if entries else ""


def _value(text: str) -> str:
    """A text for the braces of a BibTeX entry, which must be balanced."""
    from pylatexenc.latexencode import UnicodeToLatexEncoder

    encoder: Any = UnicodeToLatexEncoder(unknown_char_policy="keep", unknown_char_warning=False)
    return encoder.unicode_to_latex(plain(re.sub(r"[{}]", "", text)))
