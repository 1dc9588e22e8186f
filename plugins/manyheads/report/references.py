"""Papers that a report cites, as a reader goes on with them: links, and BibTeX to copy."""

import re
from collections.abc import Iterable, Iterator

from manyheads.core.results import Evidence
from manyheads.papers import ARXIV_DOI, ARXIV_NUMBER

SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{letter: f"\\{letter}" for letter in "&%$#_"},
}  # fmt: skip
"""What TeX reads as a command."""
DOI = re.compile(r"10\.\d{4,9}/[^\s<>\"{}|\\^`]+")
PAGES = {
    "semantic_scholar": ("Semantic Scholar", r"[0-9a-f]{40}", "https://www.semanticscholar.org/paper/{}"),
    "openalex": ("OpenAlex", r"W\d+", "https://openalex.org/{}"),
    "arxiv": ("arXiv", ARXIV_NUMBER.pattern, "https://arxiv.org/abs/{}"),
}
"""By the source of a paper's id: its name, what an id looks like, and where the paper's page is."""


def links_of(paper: Evidence) -> list[tuple[str, str]]:
    """Where a paper is found on the web: names and addresses, the DOI first; empty of one that tells none."""
    return [*dict(_links(paper)).items()]


def _links(paper: Evidence) -> Iterator[tuple[str, str]]:
    if paper.doi and (doi := DOI.fullmatch(paper.doi.strip())):
        if doi[0].lower().startswith(ARXIV_DOI):
            yield "arXiv", f"https://arxiv.org/abs/{doi[0][len(ARXIV_DOI) :]}"
        else:
            yield "DOI", f"https://doi.org/{doi[0]}"
    source, _, own = paper.paper.partition(":")
    if source in PAGES:
        name, form, address = PAGES[source]
        if re.fullmatch(form, own, re.ASCII):
            yield name, address.format(own)
    if paper.url and re.fullmatch(r"https?://[^\s<>\"]+", paper.url):
        yield "Web", paper.url


def bibtex(papers: Iterable[Evidence]) -> str:
    """The papers as BibTeX, each once; a field that is not known is left out."""
    return "\n\n".join(_entry(paper) for paper in {each.paper: each for each in papers}.values())


def _entry(paper: Evidence) -> str:
    links = dict(links_of(paper))
    fields = {
        "author": " and ".join(map(_tex, paper.authors)),
        "title": f"{{{_tex(paper.title)}}}",
        "year": str(paper.year or ""),
        "journal": _tex(paper.venue or ""),
        "doi": paper.doi if "DOI" in links else "",
        "url": next(iter(links.values()), ""),
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    key = re.sub(r"\W+", "", paper.paper.rpartition(":")[2], flags=re.ASCII) or paper.id
    return ",\n".join([f"@{'article' if paper.venue else 'misc'}{{{key}", *lines]) + "\n}"


def _tex(text: str) -> str:
    return "".join(SPECIAL.get(letter, letter) for letter in " ".join(text.split()))
