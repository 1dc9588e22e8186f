"""Blocks of a text with markup (Markdown, plain text, HTML, LaTeX), and the document made of them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from manyheads.documents.bibliography import reference
from manyheads.documents.document import Figure, Note, Reference, Table
from manyheads.documents.draft import LONGEST, Draft
from manyheads.documents.sections import (
    ABSTRACT,
    NUMBERED,
    PERSON,
    PLAIN,
    REFERENCES,
    Division,
    pieces_of_names,
)

CAPTION = re.compile(
    r"^[*_]*(?:(Figure|Fig\.?|Table|Tab\.)\s*([A-Z]?\.?\d{1,3}(?:\.\d{1,2})?|[IVX]{1,5}))[*_]*\s*[:.|–—][*_]*\s*(.*)$",
    re.S | re.I,
)
ITEM = re.compile(r"^(?:[-*+•]\s+|\d{1,3}[.)]\s+(?=\S))")
FRONT = 200
"""Maximum words above the abstract that are addresses and the like."""


@dataclass(frozen=True)
class Block:
    """A piece of a text."""

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
    draft = Draft()
    blocks = _captioned(_titled([one for one in blocks if one.text or one.rows or one.files], draft))
    place: Literal["front", "abstract", "references", "section"] = "front"
    paragraphs = list[str]()
    front = list[str]()
    for one in blocks:
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
            case "reference":
                draft.references.append(_reference(one))
            case "abstract":
                draft.abstract = "\n".join(filter(None, (draft.abstract, one.text)))
            case "heading":
                _close(draft, paragraphs)
                number, title = _numbered(one)
                place = "references" if REFERENCES.match(title) else "section"
                if ABSTRACT.fullmatch(title):
                    place = "abstract"
                    continue
                part = Division(title, number, references=place == "references", depth=one.level)
                part.kind = "appendix" if one.appendix else "other"
                draft.divisions.append(part)
            case "paragraph" if place == "references":
                draft.references.append(_reference(one))
            case "paragraph" if place == "abstract":
                draft.abstract = "\n".join(filter(None, (draft.abstract, one.text)))
            case "paragraph" if place == "front":
                front.append(one.text)
            case _:
                paragraphs.append(one.text)
    _close(draft, paragraphs)
    _front(draft, front)
    return draft


def _close(draft: Draft, paragraphs: list[str]) -> None:
    if paragraphs and draft.divisions:
        draft.divisions[-1].text = "\n".join(paragraphs)
    paragraphs.clear()


def _titled(blocks: list[Block], draft: Draft) -> list[Block]:
    """The blocks without the paper's title: the first heading, unless it names a section."""
    first = next((one for one in blocks if one.kind == "heading"), None)
    if first is None or blocks[0] is not first or any(one.kind == "title" for one in blocks):
        return blocks
    number, title = _numbered(first)
    others = [one for one in blocks if one.kind == "heading" and one is not first]
    if number or PLAIN.match(title) or any(one.level < first.level for one in others):
        return blocks
    draft.title = title
    level = min((one.level for one in others), default=1) - 1
    return [replace(one, level=one.level - level) if one.kind == "heading" else one for one in blocks[1:]]


def _numbered(one: Block) -> tuple[str, str]:
    """A heading's number and its title."""
    text = " ".join(one.text.split())
    if one.number:
        return one.number, text
    if (match := NUMBERED.match(text)) and not match[2].islower() and not match[1].isalpha():
        return match[1].rstrip("."), match[2].rstrip(".:")
    if match := re.match(
        r"(?:Appendix\s+)?([A-Z](?:\.\d+)*)[.:]\s+(?=\S)|(?:Appendix\s+)([A-Z])\s+(?=\S)|([IVX]+)\.\s+(?=\S)",
        text,
    ):
        return match[1] or match[2] or match[3], text[match.end() :].rstrip(".:")
    return "", text.rstrip(".:")


def _captioned(blocks: Sequence[Block]) -> list[Block]:
    """The blocks, with captions attached to neighbouring pictures or tables."""
    done: list[Block] = []
    waiting: Block | None = None
    for one in blocks:
        caption = CAPTION.match(one.text) if one.kind in ("paragraph", "figure", "table") else None
        if one.kind == "paragraph" and caption:
            kind: Literal["figure", "table"] = "table" if caption[1].lower().startswith("tab") else "figure"
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
    short = paragraphs and len(paragraphs[0].split()) <= 30 and not paragraphs[0].endswith((".", ";", ","))
    if short and not draft.title and others:
        draft.title = re.sub(r"^Title:\s+", "", " ".join(paragraphs.pop(0).split()))
    if paragraphs and not draft.authors and (names := _names(paragraphs[0])):
        draft.authors = tuple(names)
        paragraphs.pop(0)
    for number, text in enumerate(paragraphs):
        if (match := ABSTRACT.match(text)) and not draft.abstract:
            rest = [text[match.end() :], *paragraphs[number + 1 :]]
            if draft.divisions or sum(len(one.split()) for one in rest) <= LONGEST:
                draft.abstract = "\n".join(filter(None, rest))
                return
    words = sum(len(text.split()) for text in paragraphs)
    if draft.abstract and draft.divisions and words <= FRONT:
        return
    introduced = draft.divisions and draft.divisions[0].title.casefold().startswith("introduction")
    if not draft.abstract and (words >= 40 and introduced if draft.divisions else words <= LONGEST):
        draft.abstract = "\n".join(paragraphs)
    elif words:
        draft.divisions.insert(0, Division("", text="\n".join(paragraphs)))
        if len(draft.divisions) == 1:
            draft.faults.append("no headings found: the text is one section")
