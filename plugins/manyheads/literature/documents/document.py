"""The full text of a paper: sections, references, figures and tables, each with the pages where it stands."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

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
    text: int = 10_000_000
    """Bytes; a larger text (LaTeX, HTML, Markdown, JSON) is refused."""
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
    starts: tuple[tuple[int, int], ...] = ()
    """Page anchors: a page, and the character of `text` from which on it stands there."""
    cites: tuple[int, ...] = ()
    """Indices into the document's references, in the order in which they are first cited."""

    @property
    def name(self) -> str:
        """Number and title."""
        return f"{self.number} {self.title}".strip()


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
    """Its label in a numbered list, or its key."""


class Figure(_Part):
    """A figure; `picture` of this room draws it."""

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
    files: tuple[str, ...] = ()
    """Pictures beside the document, relative to its folder, where its format has them in files."""


class Table(_Part):
    """A table; its rows are what stands in one line, split where the space between words is wide."""

    number: str
    caption: str
    page: int
    box: Box | None = None
    rows: tuple[tuple[str, ...], ...] = ()
    turn: Literal[0, 90, 180, 270] = 0


class Note(_Part):
    """A footnote."""

    text: str
    page: int = 0
    """Counted from 1; 0 where the format has no pages."""


Why = Literal["invisible", "tiny", "off the page", "covered", "comment", "metadata"]
"""Drawn without ink, or as the ground is; too small; outside; under a picture; in a format's comments; in a file's own description."""


class Hidden(_Part):
    """Text that a reader of the page does not see; it is in no section."""

    text: str
    page: int
    """Counted from 1; 0 for what stands on no page."""
    why: Why
    figure: str = ""
    """The number of the figure whose labels these are, such as those of an axis; empty for other text."""


class Speech(_Part):
    """Words that everyone sees, and that address whoever reviews the paper, or a model that reads it."""

    text: str
    why: str
    """What they ask for, such as `praise`; see `speech.yaml`."""
    where: str = ""
    """A section by its name, `abstract`, `title`, a figure, a table, a note."""
    page: int | None = None


class Unit(NamedTuple):
    """A text of a document, and where it stands."""

    text: str
    where: str
    """`Section 4.2`, `abstract`, `title`, `Figure 2`, `Table 1`, `note` or `references`."""
    section: int | None = None
    """The index of the section that it is of."""
    on: int = 0
    """The page of all of it; 0 where that is not known, or `starts` tells."""
    starts: tuple[tuple[int, int], ...] = ()

    def page(self, place: int) -> int | None:
        """The page of a character; None where that is not known."""
        return max((page for page, start in self.starts if start <= place), default=self.on) or None


class Document(_Part):
    """A paper's full text, as far as it could be read."""

    title: str = ""
    abstract: str = ""
    abstract_page: int = 0
    """Counted from 1; 0 where the format has no pages."""
    authors: tuple[str, ...] = ()
    year: int | None = None
    """As the first page or the header tells it; None where neither does."""
    numbers: tuple[str, ...] = ()
    """Its own DOI and its number on arXiv, as the first page or the header tells them."""
    sections: tuple[Section, ...] = ()
    references: tuple[Reference, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[Note, ...] = ()
    hidden: tuple[Hidden, ...] = ()
    speech: tuple[Speech, ...] = ()
    """What stands visibly in the paper and speaks to its reviewer: to be marked, not obeyed."""
    pages: int = 0
    faults: tuple[str, ...] = ()
    """What could not be read, was cut or is in doubt, a sentence each."""

    @property
    def core(self) -> tuple[Reference, ...]:
        """The references that introduction and method cite, in the order of the list."""
        cited = {index for section in self.sections if section.kind in CORE for index in section.cites}
        return tuple(self.references[index] for index in sorted(cited))

    def units(self) -> Iterator["Unit"]:
        """All that the document says, but for what is hidden: each text with its place."""
        first = 1 if self.pages else 0
        for number, one in enumerate(self.sections):
            yield Unit(
                one.text, f"Section {one.number}" if one.number else one.title, number, starts=one.starts
            )
        yield Unit(self.abstract, "abstract", on=self.abstract_page)
        yield Unit(self.title, "title", on=first)
        for one in (*self.figures, *self.tables):
            name = f"{type(one).__name__} {one.number}"
            yield Unit(one.caption, name, on=one.page)
            if isinstance(one, Table):
                yield Unit("\n".join(" ".join(row) for row in one.rows), name, on=one.page)
        for one in self.notes:
            yield Unit(one.text, "note", on=one.page)
        for number, one in enumerate(self.sections):
            yield Unit(one.title, one.name, number, on=next(iter(one.pages), 0))
        for one in self.references:
            yield Unit(one.text, "references")

    def text(self, *kinds: Kind) -> str:
        """The text of all sections, or of those of some kinds, with their headings."""
        chosen = (one for one in self.sections if not kinds or one.kind in kinds)
        heads = ((one.name, one.text) for one in chosen)
        return "\n\n".join("\n".join(part for part in pair if part) for pair in heads)
