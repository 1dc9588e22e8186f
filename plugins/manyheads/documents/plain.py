"""Papers as Markdown or plain text."""

import re
from itertools import groupby
from pathlib import Path
from typing import Literal

from manyheads.documents.blocks import ITEM, Block, draft_of
from manyheads.documents.document import Document, Hidden, letter_count
from manyheads.documents.layout import joined
from manyheads.documents.pictures import beside
from manyheads.documents.sections import PLAIN

FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
HASH = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*(?:\{#.*\})?$")
IMAGE = re.compile(r"!\[([^\]]*)\]\(\s*<?([^)\s>]+)>?(?:\s+[\"'(].*?[\"')])?\s*\)(?:\{[^}]*\})?")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?:[^()\s]|\([^()]*\))*(?:\s+\"[^\"]*\")?\)")
NOTE = re.compile(r"^\[\^([^\]]+)\]:\s*(.*)$")
COMMENT = re.compile(r"<!--(.*?)(?:-->|\Z)", re.S)
TAG = re.compile(r"</?(?:[a-z][a-z0-9]*)(?:\s[^<>]*)?/?>", re.I)
UNREAD = re.compile(r"\]\([^()\n]{0,500}\)|<[^<>]{0,500}>")
"""Addresses and tags."""
FRONT = re.compile(r"\A---\s*\n(.*?)\n(?:---|\.\.\.)\s*(?:\n|\Z)", re.S)
MARKED = re.compile(ITEM.pattern + r"|\[[\w+-]{1,12}\]\s")
KEYS: dict[str, Literal["title", "authors", "abstract"]] = {
    "title": "title",
    "author": "authors",
    "authors": "authors",
    "abstract": "abstract",
}
PARAGRAPH = 20_000
"""Maximum letters of a paragraph for which markup is parsed."""
LONGEST = 250
"""Maximum letters of a heading."""
DIVIDER = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3}|_{1,3})(?=\S)(.+?)(?<=\S)\1(?![\w*])")


def read_markdown(path: Path, text: str) -> Document:
    """A paper in Markdown: headings, pipe tables, pictures, footnotes; comments are skipped."""
    comments = [
        Hidden(text=one, page=0, why="comment")
        for each in COMMENT.findall(text)
        if (one := " ".join(each.split()))
    ]
    text = COMMENT.sub("", text)
    blocks = [*_front(text)]
    text = FRONT.sub("", text)
    draft = draft_of([*blocks, *_markdown(text.expandtabs(4).split("\n"), path.parent)])
    draft.letters = letter_count(UNREAD.sub("", text))
    draft.hidden += comments
    return draft.document()


def read_plain(path: Path, text: str) -> Document:
    """A paper as plain text: paragraphs separated by blank lines; a short numbered or well-known line is a heading."""
    lines = text.split("\n")
    if sum(bool(HASH.match(line)) for line in lines) > max(
        1, sum(_is_heading(line.strip()) for line in lines)
    ):
        return read_markdown(path, text)
    long = [len(line) for line in lines if len(line) > 60]
    # Without broken lines, each line is a paragraph.
    whole = bool(long) and sum(long) / len(long) > 120
    blocks: list[Block] = []
    number: tuple[str, ...] = ()
    for blank, group in groupby(lines, key=lambda line: not line.strip()):
        for part in () if blank else [[line] for line in group] if whole else [[*group]]:
            first = part[0].strip()
            if _is_heading(first) and (later := _follows(first, number)) is not None:
                number = later
                blocks.append(Block("heading", first))
                part = part[1:]
            if part:
                blocks += [Block("paragraph", one) for one in _items(part)]
    draft = draft_of(blocks)
    draft.letters = letter_count(text)
    return draft.document()


def _follows(line: str, last: tuple[str, ...]) -> tuple[str, ...] | None:
    """A heading's number if it follows the last one, else the last one; None if it is out of order: lists have numbers too."""
    match = re.match(r"(\d{1,2}(?:\.\d{1,2})*)\.?\s", line)
    if not match:
        return last
    parts = tuple(match[1].split("."))
    order, before = [*map(int, parts)], [*map(int, last)]
    return parts if not before or (before < order and order[0] <= before[0] + 2) else None


def _is_heading(line: str) -> bool:
    number = re.match(
        r"(?:Appendix\s+[A-Z]\b[.:]?|\d{1,2}(?:\.\d{1,2})*\.?|[IVX]{1,5}\.|[A-Z](?:\.\d{1,2})*\.|[A-Z](?:\.\d{1,2})+)\s+(?=\S)",
        line,
    )
    title = line[number.end() :] if number else line
    if PLAIN.match(title.rstrip(".:")):
        return True
    short = len(title.split()) <= 12 and not title.endswith((".", ",", ";"))
    return number is not None and short and title[:1].isupper()


def _front(text: str) -> list[Block]:
    """The metadata in a Markdown file's header."""
    blocks: list[Block] = []
    match = FRONT.match(text)
    for line in match[1].split("\n") if match else ():
        key, _, value = line.partition(":")
        kind, value = KEYS.get(key.strip().casefold()), value.strip().strip("\"'")
        if kind and value:
            blocks.append(Block(kind, value.strip("[]")))
    return blocks


def _items(lines: list[str]) -> list[str]:
    """The items of a list, each with its continuation lines; for a paragraph its text."""
    items: list[list[str]] = []
    listed = MARKED.match(lines[0].strip())
    for line in lines:
        if not items or (listed and MARKED.match(line.strip())):
            items.append([])
        items[-1].append(line)
    return [joined(item) for item in items]


def _markdown(lines: list[str], folder: Path) -> list[Block]:
    blocks: list[Block] = []
    paragraph: list[str] = []
    fence = ""

    def close() -> None:
        if not paragraph:
            return
        blocks.extend(Block("paragraph", _inline(one)) for one in _items(paragraph))
        paragraph.clear()

    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        if match := FENCE.match(line):
            fence = "" if fence and match[1].startswith(fence) else fence or match[1]
            continue
        if fence:
            paragraph.append(line)
        elif not line.strip():
            close()
        elif (match := HASH.match(line)) and len(line) < LONGEST:
            close()
            blocks.append(Block("heading", _inline(match[2]), level=len(match[1])))
        elif paragraph and re.fullmatch(r" {0,3}(=+|-{3,})\s*", line):
            text = _inline(joined(paragraph))
            paragraph.clear()
            blocks.append(Block("heading", text, level=1 if "=" in line else 2))
        elif match := NOTE.match(line):
            close()
            blocks.append(Block("note", _inline(match[2])))
        elif "|" in line and index < len(lines) and DIVIDER.match(lines[index]) and "|" in lines[index]:
            close()
            rows = [line]
            index += 1
            while index < len(lines) and "|" in lines[index] and lines[index].strip():
                rows.append(lines[index])
                index += 1
            cells = [
                tuple(_inline(cell) for cell in re.split(r"(?<!\\)\|", row.strip().strip("|")))
                for row in rows
            ]
            blocks.append(Block("table", rows=tuple(cells)))
        elif len(line) < PARAGRAPH and (images := IMAGE.findall(line)):
            close()
            files = tuple(name for _, source in images if (name := beside(folder, source)))
            alt = next(filter(None, (_inline(text) for text, _ in images)), "")
            blocks.append(Block("figure", alt, files=files) if files or alt else Block("figure", " "))
            rest = IMAGE.sub("", line).strip()
            if rest:
                paragraph.append(rest)
        else:
            paragraph.append(line)
    close()
    return blocks


def _inline(text: str) -> str:
    """A text without Markdown markup; formulas keep theirs."""
    if len(text) > PARAGRAPH:
        return " ".join(text.split())
    pieces = re.split(r"(\$[^$\n]+\$|`[^`\n]+`)", text)
    for number, piece in enumerate(pieces):
        if number % 2:
            pieces[number] = piece.strip("`")
        else:
            piece = LINK.sub(r"\1", TAG.sub("", re.sub(r"\[\^[^\]]+\]", "", piece)))
            for _ in range(2):
                piece = EMPHASIS.sub(r"\2", piece)
            pieces[number] = re.sub(r"\\([\\`*_{}\[\]()#+.!|$%&~>-])", r"\1", piece)
    return " ".join("".join(pieces).split())
