"""The ways to name a paper: an id of ours, a DOI, an arXiv number, or its title."""

import re
from dataclasses import dataclass
from typing import Literal, get_args

from manyheads.config import SourceName
from manyheads.literature.arxiv import NUMBER, OWN_DOI
from manyheads.papers import Paper, fold

_DOI = re.compile(r"10\.\d{4,9}/\S+", re.ASCII)
_ARXIV_PLACES = (
    "arxiv:",
    *(
        f"{scheme}arxiv.org/{page}/"
        for scheme in ("https://", "http://", "")
        for page in ("abs", "pdf", "html")
    ),
)
_DOI_PLACES = ("doi:", "https://doi.org/", "http://doi.org/", "https://dx.doi.org/", "http://dx.doi.org/")


@dataclass(frozen=True)
class Identifier:
    """A paper's name.

    Args:
        kind: what sort of name; `own` is a source's identifier.
        value: the name, without a prefix.
        source: of an `own` one.
    """

    kind: Literal["own", "doi", "arxiv", "title"]
    value: str
    source: SourceName | None = None

    def at(self, source: SourceName) -> str | None:
        """What the source's `paper` is asked for; None where it must be searched for by its title."""
        match self.kind:
            case "own":
                return self.value if source == self.source else None
            case "doi" | "arxiv" if source == "local":
                return None
            case "arxiv":
                return self.value if source == "arxiv" else f"ARXIV:{self.value}"
            case "doi":
                return f"DOI:{self.value}"
            case "title":
                return None

    def means(self, paper: Paper) -> bool:
        """Whether a paper found bears this title."""
        return self.kind == "title" and paper.key == fold(self.value) != ""


def identify(text: str) -> Identifier:
    """How a paper is named, told by its form; what is nothing else is a title."""
    text = text.strip()
    prefix, _, rest = text.partition(":")
    if prefix == "arxiv" or _behind(text, _ARXIV_PLACES) is not None or NUMBER.fullmatch(_bare(text)):
        number = _bare(_behind(text, _ARXIV_PLACES) or text)
        if NUMBER.fullmatch(number):
            return Identifier("arxiv", number)
    for source in get_args(SourceName):
        if prefix == source and rest.strip() == rest != "":
            return Identifier("own", rest, source)
    doi = _behind(text, _DOI_PLACES) or text
    if _DOI.fullmatch(doi):
        own = doi.casefold().startswith(OWN_DOI)
        return Identifier("arxiv", _bare(doi[len(OWN_DOI) :])) if own else Identifier("doi", doi)
    return Identifier("title", " ".join(text.split()))


def identifiers_of(paper: Paper) -> tuple[Identifier, ...]:
    """The names by which other sources may know a paper, surest first."""
    found: list[Identifier] = []
    if paper.source == "arxiv":
        found.append(Identifier("arxiv", paper.id.partition(":")[2]))
    if paper.doi:
        found.append(identify(paper.doi))
    return (*found, Identifier("title", paper.title))


def _behind(text: str, places: tuple[str, ...]) -> str | None:
    low = text.casefold()
    return next((text[len(place) :].strip() for place in places if low.startswith(place)), None)


def _bare(number: str) -> str:
    return re.sub(r"v\d+$", "", number.strip().removesuffix(".pdf"))
