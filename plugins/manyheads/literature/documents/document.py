"""The full text of a paper: sections, references, figures and tables, each with the pages where it stands."""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from manyheads.bank.sections import Kind

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in points, from the upper left corner of the page as it is read."""
CORE: frozenset[Kind] = frozenset(("introduction", "method"))
"""The sections whose citations a paper is built on (SciPIP, arXiv 2410.23166, §3)."""


@dataclass(frozen=True)
class Limits:
    """How much of a document is read; what is cut stands in its `faults`."""

    bytes: int = 100_000_000
    """A larger file is refused."""
    pages: int = 200
    characters: int = 60_000
    """On one page."""
    objects: int = 20_000
    """Images, lines and other drawings of one page."""
    pixels: int = 2_000_000
    """Of one rendered page or crop."""
    seconds: float = 60.0
    """After so long no further page is begun."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Section(_Part):
    """A heading and the text below it, up to the next heading; paragraphs are lines of `text`."""

    title: str
    """Without its number."""
    number: str = ""
    """Such as `4.2` or `B.1`; empty where headings are not numbered."""
    kind: Kind = "other"
    text: str = ""
    pages: tuple[int, ...] = ()
    """Where it stands, counted from 1; empty where the format has no pages."""
    cites: tuple[int, ...] = ()
    """Indices into the document's references, in the order in which they are first cited."""


class Reference(_Part):
    """An entry of the reference list; what cannot be told from its text is empty."""

    text: str
    title: str = ""
    year: int | None = None
    doi: str | None = None
    arxiv: str | None = None
    """The number without its version, such as `1706.03762`."""
    authors: tuple[str, ...] = ()
    """Family names, in order."""
    number: str = ""
    """Its label in a numbered list."""


class Figure(_Part):
    """A figure; `render` of this room draws its crop."""

    number: str
    """As it is printed: `3`, `S1`, `A.2`."""
    caption: str
    page: int
    """Counted from 1; 0 where the format has no pages."""
    box: Box | None = None
    """Without the caption; None where no picture was found by it."""
    source: Literal["raster", "vector", "space", ""] = ""
    """Made of images, of drawings, or the blank above a caption in which something is drawn."""
    turn: Literal[0, 90, 180, 270] = 0
    """By how much the page is turned clockwise to be read, beyond the way in which it is shown."""


class Table(_Part):
    """A table; its rows are what stands in one line, split where the space between words is wide."""

    number: str
    caption: str
    page: int
    box: Box | None = None
    rows: tuple[tuple[str, ...], ...] = ()
    turn: Literal[0, 90, 180, 270] = 0


class Hidden(_Part):
    """Text that a reader of the page does not see; it is in no section."""

    text: str
    page: int
    why: Literal["invisible", "tiny", "off the page"]


class Document(_Part):
    """A paper's full text, as far as it could be read."""

    title: str = ""
    abstract: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    """As the first page or the header tells it; None where neither does."""
    sections: tuple[Section, ...] = ()
    references: tuple[Reference, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    """Footnotes."""
    hidden: tuple[Hidden, ...] = ()
    pages: int = 0
    faults: tuple[str, ...] = ()
    """What could not be read, was cut or is in doubt, a sentence each."""

    @property
    def core(self) -> tuple[Reference, ...]:
        """The references that introduction and method cite, in the order of the list."""
        cited = {index for section in self.sections if section.kind in CORE for index in section.cites}
        return tuple(self.references[index] for index in sorted(cited))

    def text(self, *kinds: Kind) -> str:
        """The text of all sections, or of those of some kinds, with their headings."""
        chosen = (one for one in self.sections if not kinds or one.kind in kinds)
        heads = ((f"{one.number} {one.title}".strip(), one.text) for one in chosen)
        return "\n\n".join("\n".join(part for part in pair if part) for pair in heads)
