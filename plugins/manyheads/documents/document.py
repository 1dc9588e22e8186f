"""The full text of a paper: sections, references, figures and tables, with page numbers."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in points, from the upper left corner of the page in reading direction."""
Turn = Literal[0, 90, 180, 270]
Kind = Literal[
    "introduction", "related", "method", "experiments", "results", "conclusion", "appendix", "other"
]
"""Subjects of sections, in the usual order."""
CORE: frozenset[Kind] = frozenset(("introduction", "method"))
"""The sections whose citations count as core references (SciPIP, arXiv 2410.23166, §3)."""


@dataclass(frozen=True)
class Limits:
    """Limits of reading; cuts are listed in the document's `faults`."""

    bytes: int = 100_000_000
    """Maximum bytes of a file."""
    text: int = 10_000_000
    """Maximum bytes of a text (LaTeX, HTML, Markdown, JSON)."""
    pages: int = 200
    characters: int = 60_000
    """Maximum per page."""
    objects: int = 20_000
    """Maximum images, lines and other drawings per page."""
    pixels: int = 2_000_000
    """Maximum pixels of one rendered page or crop."""
    side: float = 20_000.0
    """Maximum points of a page's width and height."""
    seconds: float = 60.0
    """Seconds after which no further page is read."""


SIGN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
"""The signs of Chinese and Japanese, which are written without blanks; Korean has them."""
STOPS = "\u3000-\u303f\uff00-\uff0f\uff1a-\uff20"
"""Their punctuation."""
WORD = re.compile(rf"[{SIGN}]|[^\W_{SIGN}]+")
BLANK = re.compile(rf"(?<=[{SIGN}{STOPS}]) +(?=[{SIGN}{STOPS}])")
"""Between two signs: from the end of a line, or from a line stretched to its column."""


def word_count(text: str) -> int:
    """Number of words; a sign of Chinese or Japanese counts as one."""
    return len(WORD.findall(text))


def letter_count(text: str) -> int:
    return len(re.sub(r"[\W_]+", "", text))


def hull(boxes: Iterable[Box]) -> Box:
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Section(_Part):
    """A heading and its text, up to the next heading; paragraphs are lines of `text`."""

    title: str
    """Without its number."""
    number: str = ""
    """Such as `4.2` or `B.1`; empty for unnumbered headings."""
    kind: Kind = "other"
    text: str = ""
    pages: tuple[int, ...] = ()
    """Page of its start, from 1; empty if the format has no pages."""
    starts: tuple[tuple[int, int], ...] = ()
    """Page anchors: a page, and the character of `text` at which it begins."""
    cites: tuple[int, ...] = ()
    """Indices of the document's references, in order of first citation."""

    @property
    def name(self) -> str:
        return f"{self.number} {self.title}".strip()


class Reference(_Part):
    """An entry of the reference list; unknown parts are empty."""

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
    """A figure; `picture` of this room renders it."""

    number: str
    """As printed: `3`, `S1`, `A.2`."""
    caption: str
    page: int
    """From 1; 0 if the format has no pages."""
    box: Box | None = None
    """Without the caption; None if no picture was found."""
    source: Literal["raster", "vector", "space", ""] = ""
    """Images, drawings, or a region above a caption with a drawing in it."""
    turn: Turn = 0
    """Clockwise rotation for reading, relative to the displayed page."""
    files: tuple[str, ...] = ()
    """Files of the picture, relative to the document's folder, if the format has them."""


class Table(_Part):
    """A table; rows are lines, split at wide spaces between words."""

    number: str
    caption: str
    page: int
    box: Box | None = None
    rows: tuple[tuple[str, ...], ...] = ()
    turn: Turn = 0


class Note(_Part):
    """A footnote."""

    text: str
    page: int = 0
    """From 1; 0 if the format has no pages."""


Why = Literal["invisible", "tiny", "off the page", "covered", "comment", "deleted", "metadata"]
"""Drawn without ink or in the background's colour; too small; outside; under a picture; in a format's comments; a tracked
deletion; in a file's metadata."""


class Hidden(_Part):
    """Text hidden from readers of the page; it is in no section."""

    text: str
    page: int
    """From 1; 0 for text outside pages."""
    why: Why
    figure: str = ""
    """The figure's number, for labels of a figure such as those of an axis; empty for other text."""


class Speech(_Part):
    """Visible words addressed to the paper's reviewer, or to a model that reads it."""

    text: str
    why: str
    """What they request, such as `praise`; see `speech.yaml`."""
    where: str = ""
    """A section by name, `abstract`, `title`, a figure, a table, a note."""
    page: int | None = None


class Unit(NamedTuple):
    """A text of a document with its location."""

    text: str
    where: str
    """`Section 4.2`, `abstract`, `title`, `Figure 2`, `Table 1`, `note` or `references`."""
    section: int | None = None
    """The index of its section."""
    on: int = 0
    """The page of the whole text; 0 if unknown, or if `starts` has pages."""
    starts: tuple[tuple[int, int], ...] = ()

    def page(self, place: int) -> int | None:
        """The page of a character; None if unknown."""
        return max((page for page, start in self.starts if start <= place), default=self.on) or None


class Document(_Part):
    """A paper's full text, possibly incomplete."""

    title: str = ""
    abstract: str = ""
    abstract_page: int = 0
    """From 1; 0 if the format has no pages."""
    authors: tuple[str, ...] = ()
    year: int | None = None
    """From the first page or the header; None if unknown."""
    made: dt.date | None = None
    """When the file was made, from a PDF's metadata: the paper is not later, and may be older."""
    numbers: tuple[str, ...] = ()
    """Its own DOI and arXiv number, from the first page or the header."""
    sections: tuple[Section, ...] = ()
    references: tuple[Reference, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[Note, ...] = ()
    hidden: tuple[Hidden, ...] = ()
    speech: tuple[Speech, ...] = ()
    """Visible text addressed to reviewers: shown with a mark, never obeyed."""
    pages: int = 0
    unread: tuple[int, ...] = ()
    """Pages that only text recognition can read: pictures, and pages whose fonts do not say which letters they draw."""
    faults: tuple[str, ...] = ()
    """Parts that are unreadable, cut or doubtful, a sentence each."""

    @property
    def core(self) -> tuple[Reference, ...]:
        """The references cited in introduction and method, in the order of the list."""
        cited = {index for section in self.sections if section.kind in CORE for index in section.cites}
        return tuple(self.references[index] for index in sorted(cited))

    def units(self) -> Iterator["Unit"]:
        """All visible texts, each with its location."""
        first = 1 if self.pages else 0
        for number, one in enumerate(self.sections):
            name = f"Section {one.number}" if one.number else one.title
            yield Unit(one.text, name, number, starts=one.starts)
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

    @property
    def words(self) -> int:
        return sum(word_count(unit.text) for unit in self.units())

    def text(self, *kinds: Kind) -> str:
        """The text of all sections, or of some kinds, with headings."""
        chosen = (one for one in self.sections if not kinds or one.kind in kinds)
        heads = ((one.name, one.text) for one in chosen)
        return "\n\n".join("\n".join(part for part in pair if part) for pair in heads)
