"""Builds a `Document`: from the parts that a format provides, or from the blocks of a text with markup.

Words addressed to a reviewer or to a model are found by the patterns in `speech.yaml`.
"""

import datetime as dt
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from manyheads.base.resources import parse_yaml
from manyheads.documents.bibliography import DOI, CitationFinder, reference
from manyheads.documents.document import (
    Document,
    Figure,
    Hidden,
    Note,
    Reference,
    Section,
    Speech,
    Table,
    letter_count,
    word_count,
)
from manyheads.documents.headings import FLOAT, is_table
from manyheads.documents.sections import (
    ABSTRACT,
    PERSON,
    PLAIN,
    REFERENCES,
    Division,
    numbered_title,
    pieces_of_names,
    set_kinds,
)

_TOLD = re.compile(
    r"(?:published as|accepted (?:at|to|as|for|by)|under review|proceedings of|\bproc\.|copyright|©|received|available online"
    r"|\d(?:st|nd|rd|th) (?:\w+ ){0,5}(?:conference|workshop|symposium|meeting))[^.]{0,120}?(?<!\d)((?:19|20)\d\d)(?!\d)",
    re.IGNORECASE,
)
"""Phrases of publishers and conferences; a year alone may be a cited paper's."""
_ARXIV = re.compile(r"arXiv:\s?(\d\d)\d\d\.\d{4,5}")
_STAMP = re.compile(r"arXiv:\s?(\d{4}\.\d{4,5})(?:v\d+)?\s*\[[a-z-]+(?:\.[A-Za-z-]+)?\]")
"""In the margin of a first page; a number alone may be a cited paper's."""


def day_made(text: str) -> dt.date | None:
    """The day of a date in a PDF's metadata, such as `D:20240131120000+01'00'`; None for anything else."""
    with suppress(ValueError):
        return dt.date.fromisoformat(text.removeprefix("D:")[:8])
    return None


def year_told(text: str) -> int | None:
    """The year of the conference or the journal, else of the arXiv number; None if unknown."""
    if told := _TOLD.search(text):
        return int(told[1])
    return 2000 + int(number[1]) if (number := _ARXIV.search(text)) else None


def numbers_told(text: str) -> tuple[str, ...]:
    """The paper's arXiv number, if stamped on the page, and its DOI, if it is the only one."""
    stamps = {match[1] for match in _STAMP.finditer(text)}
    dois = {match[0].rstrip(".)]").casefold() for match in DOI.finditer(text)}
    return (*(stamps if len(stamps) == 1 else ()), *(dois if len(dois) == 1 else ()))


WHOLE = 0.8
"""Minimum share of a reader's letters that are in the document."""
LONGEST = 500
"""Maximum words of an abstract of several paragraphs."""


@dataclass
class Draft:
    """The parts of a paper; `document` finds citations, kinds of sections, missing parts and invisible letters."""

    title: str = ""
    abstract: str = ""
    abstract_starts: tuple[tuple[int, int], ...] = ()
    """As in a section."""
    authors: tuple[str, ...] = ()
    year: int | None = None
    made: dt.date | None = None
    numbers: tuple[str, ...] = ()
    divisions: list[Division] = field(default_factory=list[Division])
    references: list[Reference] = field(default_factory=list[Reference])
    figures: list[Figure] = field(default_factory=list[Figure])
    tables: list[Table] = field(default_factory=list[Table])
    notes: list[Note] = field(default_factory=list[Note])
    hidden: list[Hidden] = field(default_factory=list[Hidden])
    pages: int = 0
    unread: tuple[int, ...] = ()
    letters: int = 0
    """Letters and digits that its reader saw; 0 if unknown."""
    faults: list[str] = field(default_factory=list[str])

    def document(self) -> Document:
        """The document; its sections' kinds are inferred from titles and positions."""
        self._shorten_abstract()
        spelled = self._cleared()
        set_kinds(self.divisions)
        citations = CitationFinder(self.references)
        for one in self.divisions:
            one.cites = citations.of(one.text) if one.cites is None else one.cites
        sections = tuple(
            Section.model_validate({name: getattr(one, name) for name in Section.model_fields})
            for one in self.divisions
            if (one.title or one.text) and not one.references
        )
        share = self.read() / self.letters if self.letters else 1.0
        faults = [
            *self.faults,
            *[f"only {share:.0%} of its letters were read: parts of its text are missing"] * (share < WHOLE),
            *["no title found"] * (not self.title),
            *["no abstract found"] * (not self.abstract),
            *["no reference list found"] * (not self.references),
            *["only an abstract: no sections found"] * (bool(self.abstract) and not sections),
        ]
        parts = {name: part for name, part in vars(self).items() if name in Document.model_fields} | {
            "abstract_page": next((page for page, _ in self.abstract_starts), 0),
            "sections": sections,
            "hidden": (*self.hidden, *(Hidden(text=text, page=0, why="invisible") for text in spelled)),
            "faults": faults,
        }
        return Document.model_validate(parts)

    def read(self) -> int:
        cells = (cell for one in self.tables for row in one.rows for cell in row)
        sections = (f"{one.number} {one.title} {one.text}" for one in self.divisions if not one.references)
        parts = (one.text for one in (*self.references, *self.notes))
        captions = (one.caption for one in (*self.figures, *self.tables))
        head = self.title, self.abstract, *self.authors
        return sum(map(letter_count, (*head, *sections, *parts, *captions, *cells)))

    def _shorten_abstract(self) -> None:
        """End a too long abstract at its first paragraph: what follows is the text, whose heading was not found."""
        abstract, _, rest = self.abstract.partition("\n")
        if not rest or word_count(self.abstract) <= LONGEST:
            return
        cut = len(abstract) + 1
        begun = [(page, start - cut) for page, start in self.abstract_starts if start > cut]
        before = [(page, 0) for page, start in self.abstract_starts if start <= cut]
        starts = (*before[-1:], *begun)
        self.abstract = abstract
        pages = tuple(page for page, _ in starts)
        self.divisions.insert(0, Division("", text=rest, starts=starts, pages=pages))
        self.faults.append(f"the abstract was longer than {LONGEST} words: it ends at its first paragraph")

    def _cleared(self) -> list[str]:
        """Remove invisible letters, and return the text that they spell."""
        spelled = list[str]()

        def clear(text: str) -> str:
            text, more = seen(text)
            spelled.extend(more)
            return text

        self.title, self.abstract = clear(self.title), clear(self.abstract)
        for one in self.divisions:
            one.title, one.text = clear(one.title), clear(one.text)
        self.figures = [one.model_copy(update={"caption": clear(one.caption)}) for one in self.figures]
        self.tables = [one.model_copy(update={"caption": clear(one.caption)}) for one in self.tables]
        self.notes = [one.model_copy(update={"text": clear(one.text)}) for one in self.notes]
        self.references = [one.model_copy(update={"text": clear(one.text)}) for one in self.references]
        return spelled


CAPTION = re.compile(
    rf"^[*_]*{FLOAT}\s*"
    r"([A-Z]?\.?\d{1,3}(?:\.\d{1,2})?|[IVX]{1,5})[*_]*\s*[:：.．|–—][*_]*\s*(.*)$",
    re.S | re.I,
)
ITEM = re.compile(r"^(?:[-*+•]\s+|\d{1,3}[.)]\s+(?=\S))")
FRONT = 200
"""Maximum words above the abstract that are addresses and the like."""


@dataclass(frozen=True)
class Block:
    kind: Literal[
        "title", "authors", "abstract", "heading", "paragraph", "figure", "table", "note", "reference"
    ]
    text: str = ""
    """The caption of a figure or table."""
    number: str = ""
    level: int = 1
    """Level of a heading."""
    rows: tuple[tuple[str, ...], ...] = ()
    files: tuple[str, ...] = ()
    appendix: bool = False


def draft_of(blocks: Sequence[Block]) -> Draft:
    """A paper from its blocks: title and abstract by markup, else by position."""
    draft, front, abstract, listed = Draft(), list[str](), list[str](), list[Block]()
    texts = front
    """The paragraphs of this place."""
    parts = list[tuple[Division, list[str]]]()
    for one in _captioned(_titled([one for one in blocks if one.text or one.rows or one.files], draft)):
        match one.kind:
            case "title":
                draft.title = draft.title or one.text
            case "authors":
                draft.authors += tuple(_names(one.text)) or (one.text,)
            case "figure":
                number = one.number or str(len(draft.figures) + 1)
                draft.figures.append(Figure(number=number, caption=one.text, page=0, files=one.files))
            case "table":
                number = one.number or str(len(draft.tables) + 1)
                draft.tables.append(Table(number=number, caption=one.text, page=0, rows=one.rows))
            case "note":
                draft.notes.append(Note(text=one.text))
            case "abstract":
                abstract.append(one.text)
            case "heading":
                number, title = numbered_title(one.text, one.number)
                texts = abstract if ABSTRACT.fullmatch(title) else []
                if texts is not abstract:
                    part = Division(title, number, "appendix" if one.appendix else "other", depth=one.level)
                    part.references = bool(REFERENCES.match(title))
                    parts.append((part, texts))
            case "paragraph" if not (parts and texts is parts[-1][1] and parts[-1][0].references):
                texts.append(one.text)
            case _:
                listed.append(one)
    for part, paragraphs in parts:
        part.text = "\n".join(paragraphs)
    draft.divisions = [part for part, _ in parts]
    draft.references = [*map(_reference, listed)]
    draft.abstract = "\n".join(filter(None, abstract))
    _front(draft, front)
    return draft


def _titled(blocks: list[Block], draft: Draft) -> list[Block]:
    """The blocks without the paper's title: the first heading, unless it names a section."""
    first = next((one for one in blocks if one.kind == "heading"), None)
    if first is None or blocks[0] is not first or any(one.kind == "title" for one in blocks):
        return blocks
    number, title = numbered_title(first.text, first.number)
    others = [one for one in blocks if one.kind == "heading" and one is not first]
    if number or PLAIN.match(title) or any(one.level < first.level for one in others):
        return blocks
    draft.title = title
    level = min((one.level for one in others), default=1) - 1
    return [replace(one, level=one.level - level) if one.kind == "heading" else one for one in blocks[1:]]


def _captioned(blocks: Sequence[Block]) -> list[Block]:
    """The blocks, with captions attached to neighbouring pictures or tables."""
    done: list[Block] = []
    waiting: Block | None = None
    for one in blocks:
        caption = CAPTION.match(one.text) if one.kind in ("paragraph", "figure", "table") else None
        if one.kind == "paragraph" and caption:
            kind = "table" if is_table(caption[1]) else "figure"
            last = done[-1] if done else None
            if last and last.kind == kind and not last.number:
                done[-1] = replace(last, text=caption[3] or last.text, number=caption[2])
            else:
                waiting = Block(kind, caption[3], caption[2])
                done.append(waiting)
            continue
        if caption:
            one = replace(one, text=caption[3], number=one.number or caption[2])
        if waiting and done[-1] is waiting and one.kind == waiting.kind and not one.number:
            done[-1] = replace(one, text=waiting.text, number=waiting.number)
        else:
            done.append(one)
    return done


def _reference(one: Block) -> Reference:
    text = ITEM.sub("", one.text) if not re.match(r"\d", one.text) else one.text
    entry = reference(" ".join(text.split()))
    return entry.model_copy(update={"number": one.number}) if one.number else entry


def _names(text: str) -> list[str]:
    """The names in a line of names; [] for any other line."""
    names = pieces_of_names(text)
    return names if all(PERSON.match(name) and len(name) < 50 for name in names) else []


def _front(draft: Draft, paragraphs: list[str]) -> None:
    """The text above the first heading: authors, abstract; all of it without headings."""
    others = len(paragraphs) > 1 or draft.divisions or draft.abstract
    first = paragraphs[0] if paragraphs else ""
    short = first and word_count(first) <= 30 and not first.endswith((".", ";", ",", "。"))
    if short and not draft.title and others:
        draft.title = re.sub(r"^Title:\s+", "", " ".join(paragraphs.pop(0).split()))
    if paragraphs and not draft.authors and (names := _names(paragraphs[0])):
        draft.authors = tuple(names)
        paragraphs.pop(0)
    for number, text in enumerate(paragraphs):
        if (match := ABSTRACT.match(text)) and not draft.abstract:
            rest = [text[match.end() :], *paragraphs[number + 1 :]]
            if draft.divisions or sum(map(word_count, rest)) <= LONGEST:
                draft.abstract = "\n".join(filter(None, rest))
                return
    words = sum(map(word_count, paragraphs))
    if draft.abstract and draft.divisions and words <= FRONT:
        return
    introduced = draft.divisions and draft.divisions[0].title.casefold().startswith("introduction")
    if not draft.abstract and (words >= 40 and introduced if draft.divisions else words <= LONGEST):
        draft.abstract = "\n".join(paragraphs)
    elif words:
        draft.divisions.insert(0, Division("", text="\n".join(paragraphs)))
        if len(draft.divisions) == 1:
            draft.faults.append("no headings found: the text is one section")


LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁһӏАВЕКМНОРСТУХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧοаν", "aeopcyxijsdhlABEKMHOPCTYXIJSABEZHIKMNOPTYXoav"
) | {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
UNSEEN = re.compile(
    "[\u200b\u200e\u200f\u2060-\u2064\u206a-\u206f\u00ad\u034f\u180e\ufeff\u202a-\u202e\u2066-\u2069]"
    "|(?<=[ -~])[\u200c\u200d]|[\u200c\u200d](?=[ -~])"
)
"""Zero-width letters and direction marks; joiners count unless they join Persian or Hindi letters."""
TAGS = re.compile("[\U000e0000-\U000e007f]+|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")
"""Unicode tags that spell invisible ASCII, and variant selectors, which can do the same."""
BLANKS = re.compile(r"\(\?<![^)]*\)| \??")
AROUND = 160
"""Letters of context on each side of a match."""


class Span(NamedTuple):
    """Words addressed to a reviewer or a model: their position and request."""

    start: int
    end: int
    why: str


def speech(text: str) -> tuple[Span, ...]:
    """Where a text addresses its reviewer or a model, in order; () if nowhere."""
    plain = text.translate(LOOKALIKES)
    spans = (Span(*match.span(), why) for why, pattern in _patterns() for match in pattern.finditer(plain))
    apart: list[Span] = []
    for span in sorted(spans):
        if not apart or span.start >= apart[-1].end:
            apart.append(span)
        elif span.end > apart[-1].end:
            apart[-1] = apart[-1]._replace(end=span.end)
    return tuple(apart)


def seen(text: str) -> tuple[str, tuple[str, ...]]:
    """A text without invisible letters, and the text that those spell."""
    if text.isascii():
        return text, ()
    spelled = list[str]()

    def spell(run: re.Match[str]) -> str:
        bases = (0xE00F0 if one >= "\U000e0100" else 0xE0000 if one > "\uffff" else 0xFE00 for one in run[0])
        codes = (ord(one) - base for one, base in zip(run[0], bases, strict=True))
        spelled.append("".join(chr(code) for code in codes if 0x20 <= code < 0x7F))
        return ""

    return UNSEEN.sub("", TAGS.sub(spell, text)), tuple(filter(None, spelled))


def heard(document: Document) -> tuple[Speech, ...]:
    """Each sentence of a document addressed to a reviewer or a model, with its requests and location."""
    sentences: dict[tuple[str, str, int | None], list[str]] = {}
    for unit in document.units():
        for span in speech(unit.text):
            place = _sentence(unit.text, span), unit.where, unit.page(span.start)
            sentences.setdefault(place, []).append(span.why)
    return tuple(
        Speech(text=text, why=", ".join(dict.fromkeys(asked)), where=where, page=page)
        for (text, where, page), asked in sentences.items()
    )


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    blanks = {" ?": r"\s*", " ": r"\s+"}
    kinds = parse_yaml(Path(__file__).with_name("speech.yaml").read_text(encoding="utf-8"))
    # Look-behinds have a fixed width, so their blanks stay.
    joined = {kind: f"(?:{')|(?:'.join(patterns)})" for kind, patterns in kinds.items()}
    spaced = {kind: BLANKS.sub(lambda one: blanks.get(one[0], one[0]), text) for kind, text in joined.items()}
    return tuple((kind, re.compile(text, re.I)) for kind, text in spaced.items())


def _sentence(text: str, span: Span) -> str:
    """The words with their context, to the ends of the sentence or line."""
    before = re.split(r"(?<=[.!?])\s|\n", text[max(0, span.start - AROUND) : span.start])[-1]
    behind = re.split(r"(?<=[.!?])\s|\n", text[span.end : span.end + AROUND])[0]
    return " ".join((before + text[span.start : span.end] + behind).split())
