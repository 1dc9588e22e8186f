"""Papers as Markdown or plain text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, cast

from manyheads.base.errors import DocumentError
from manyheads.base.papers import identify
from manyheads.base.resources import parse_json
from manyheads.documents.bibliography import reference
from manyheads.documents.document import Document, Figure, Hidden, Note, Reference, Table, letter_count
from manyheads.documents.draft import CAPTION, ITEM, Block, Draft, draft_of
from manyheads.documents.layout import joined
from manyheads.documents.pictures import beside
from manyheads.documents.sections import ABSTRACT, PLAIN, REFERENCES, Division

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


TITLES = ("title", "heading", "section", "name", "section_title")
TEXTS = ("text", "paragraphs", "content", "body")
LEVELS = {"section": 1, "subsection": 2, "subsubsection": 3}
MARKER = re.compile(r"\{\{(\w+):([0-9a-f-]+)\}\}")
"""unarXive's marker of a citation, a formula, a figure."""


def read_json(path: Path, text: str) -> Document:
    """A paper from a JSON object.

    Raises:
        DocumentError: not JSON, or not an object with a text.
    """
    try:
        data = parse_json(text)
    except ValueError as error:
        raise DocumentError(f"{path} is not valid JSON: {error}", hint="fix it, or write it again") from error
    paper = _object(data)
    draft = _draft(paper, path.parent)
    if not (draft.abstract or draft.divisions):
        raise DocumentError(
            f"{path} has no text",
            tried="the keys "
            + (", ".join(f"`{key}`" for key in [*paper][:8]) or "of an object, which it is not"),
            hint='such as {"title": "…", "abstract": "…", "sections": [{"title": "Introduction", "text": "…"}], "references": ["…"]}',
        )
    return draft.document()


def _draft(paper: Mapping[str, Any], folder: Path) -> Draft:
    parsed = next(
        (_object(paper[key]) for key in ("pdf_parse", "latex_parse") if _object(paper.get(key))), {}
    )
    about = {**_object(paper.get("metadata")), **parsed, **{key: one for key, one in paper.items() if one}}
    keyed = {key: _object(one) for key, one in _object(about.get("bib_entries")).items()}
    # The order of unarXive's entries is that of the list.
    references = [_reference(one, str(number)) for number, one in enumerate(keyed.values(), 1)]
    places = {key: number for number, key in enumerate(keyed)}
    for one in _list(about.get("references") or about.get("bibliography")):
        references.append(_reference(one))
    entries = {
        key: one
        for key, given in _object(about.get("ref_entries")).items()
        if _text((one := _object(given)).get("caption") or one.get("text")) not in ("", "NO_CAPTION")
    }
    floats = [*map(_object, entries.values())]
    draft = Draft(
        title=_text(about.get("title")),
        abstract=_text(about.get("abstract") or about.get("abstractText")),
        authors=tuple(filter(None, map(_name, _list(about.get("authors_parsed") or about.get("authors"))))),
        year=_year(about.get("year")),
        numbers=tuple(_own_numbers(about)),
        references=references,
        notes=[
            Note(text=_text(one)) for one in _list(about.get("notes") or about.get("footnotes")) if _text(one)
        ],
    )
    numbers = dict[str, str]()
    for key, one in entries.items():
        kind = str(one.get("type") or "").casefold()
        same = [
            other for other in numbers.values() if other.startswith("Table" if "tab" in kind else "Figure")
        ]
        numbers[key] = f"{'Table' if 'tab' in kind else 'Figure'} {len(same) + 1}"
    for kind, several in (("figure", about.get("figures")), ("table", about.get("tables"))):
        floats += [{"type": kind, **(_object(one) or {"caption": one})} for one in _list(several)]
    for one in floats:
        _add_float(draft, one, folder)
    body = _body(about)
    draft.letters = draft.read() + sum(letter_count(MARKER.sub("", text)) for text in _prose(body))
    for one in _divisions(body, places, numbers):
        if ABSTRACT.fullmatch(one.title) and not draft.abstract:
            draft.abstract = one.text
        elif not ABSTRACT.fullmatch(one.title):
            draft.divisions.append(one)
    return draft


def _body(about: Mapping[str, Any]) -> object:
    return about.get("sections") or about.get("body_text") or about.get("full_text") or about.get("body")


def _prose(value: object) -> Iterator[str]:
    """The texts of several words in a value."""
    if isinstance(value, str):
        yield from (value,) * (len(value.split()) > 3)
    elif isinstance(value, dict):
        for key, one in cast("dict[str, object]", value).items():
            yield from () if key.endswith("_spans") else _prose(one)
    elif isinstance(value, list):
        for one in cast("list[object]", value):
            yield from _prose(one)


def _divisions(body: Any, places: Mapping[str, int], numbers: Mapping[str, str]) -> Iterator[Division]:
    if isinstance(body, str):
        yield Division("", text=_paragraphs(body))
        return
    if isinstance(body, dict):
        body = [{"title": title, "text": text} for title, text in cast("dict[str, Any]", body).items()]
    pieces = [*_pieces(_list(body), 1)]
    for (title, number, depth), same in groupby(pieces, key=lambda one: one[:3]):
        cites, texts = list[int](), list[str]()
        marked = False
        for *_, text, spans in same:
            keys = [str(_object(span).get("ref_id")) for span in spans]
            cites += [places[key] for key in keys if key in places]
            marked = marked or bool(keys)
            texts.append(MARKER.sub(lambda mark: _shown(mark, places, numbers), text))
        found = tuple(dict.fromkeys(cites)) if marked else None
        division = Division(
            title, number, text="\n".join(filter(None, map(_paragraphs, texts))), cites=found, depth=depth
        )
        division.references = bool(REFERENCES.match(title))
        if title or division.text:
            yield division


def _pieces(body: Sequence[Any], depth: int) -> Iterator[tuple[str, str, int, str, list[Any]]]:
    """Title, number, depth, text and citation markers of each section, or of each of its paragraphs."""
    for one in body:
        if isinstance(one, str):
            yield "", "", depth, one, []
            continue
        section = _object(one)
        title = " ".join(_text(next((section[key] for key in TITLES if section.get(key)), "")).split())
        number = str(section.get("number") or section.get("sec_number") or "").strip(". ")
        number = "" if number in ("-1", "None") else number
        if not number and (match := re.match(r"((?:\d{1,2}|[A-Z](?=\.))(?:\.\d{1,2})*)\.?\s+(?=\S)", title)):
            number, title = match[1], title[match.end() :]
        level = LEVELS.get(str(section.get("sec_type") or ""), int(_year(section.get("level")) or depth))
        spans = _list(section.get("cite_spans"))
        yield (
            title,
            number,
            level,
            _text(next((section[key] for key in TEXTS if section.get(key)), "")),
            spans,
        )
        yield from _pieces(_list(section.get("sections") or section.get("subsections")), depth + 1)


def _shown(mark: re.Match[str], places: Mapping[str, int], numbers: Mapping[str, str]) -> str:
    """A marker as a reader sees it: `[3]`, `Figure 2`; formulas are dropped."""
    if mark[1] == "cite" and mark[2] in places:
        return f"[{places[mark[2]] + 1}]"
    return numbers.get(mark[2], "…" if mark[1] == "formula" else "")


def _add_float(draft: Draft, one: Mapping[str, Any], folder: Path) -> None:
    caption = _text(one.get("caption") or one.get("text"))
    kind = str(one.get("type") or "figure").casefold()
    number = str(one.get("number") or one.get("num") or one.get("label") or "").strip(". ")
    if match := CAPTION.match(caption):
        number, caption = number or match[2], match[3]
    number = re.sub(r"^(?:figure|fig\.?|table|tab\.?)\s*", "", number, flags=re.I)
    page = int(_year(one.get("page")) or 0)
    if "tab" in kind:
        rows = tuple(tuple(map(_text, _list(row))) for row in _list(one.get("rows")))
        draft.tables.append(
            Table(number=number or str(len(draft.tables) + 1), caption=caption, page=page, rows=rows)
        )
    elif "fig" in kind:
        names = [one.get(key) for key in ("file", "image", "path", "uri")] + _list(one.get("files"))
        files = tuple(file for name in names if isinstance(name, str) and (file := beside(folder, name)))
        draft.figures.append(
            Figure(number=number or str(len(draft.figures) + 1), caption=caption, page=page, files=files)
        )


def _own_numbers(about: Mapping[str, Any]) -> Iterator[str]:
    for key in ("doi", "DOI", "arxiv_id", "arXiv", "arxiv", "paper_id"):
        name = identify(_text(about.get(key)))
        if name.kind in ("doi", "arxiv"):
            yield name.value


def _reference(given: Any, number: str = "") -> Reference:
    """An entry, from its text or its parts."""
    if isinstance(given, str):
        return reference(" ".join(given.split()))
    entry = _object(given)
    ids = {
        **_object(entry.get("ids")),
        **_object(entry.get("externalIds")),
        **_object(entry.get("other_ids")),
    }
    people = [*filter(None, map(_name, _list(entry.get("authors") or entry.get("author"))))]
    raw = _text(entry.get("bib_entry_raw") or entry.get("text") or entry.get("raw") or entry.get("raw_text"))
    title, venue = _text(entry.get("title")), _text(entry.get("venue") or entry.get("journal"))
    year = _year(entry.get("year"))
    told = ". ".join(filter(None, (", ".join(people), title, venue, str(year or ""))))
    read = reference(" ".join((raw or told).split()))
    doi, arxiv = (
        next((str(one) for key in keys for one in (ids.get(key), entry.get(key)) if one), None)
        for keys in (("doi", "DOI"), ("arxiv_id", "arXiv", "ArXiv", "arxiv"))
    )
    known = {
        "number": str(entry.get("number") or number or read.number),
        "title": title or read.title,
        "year": year or read.year,
        "doi": doi or read.doi,
        "arxiv": re.sub(r"v\d+$", "", arxiv.removeprefix("arXiv:")) if arxiv else read.arxiv,
        "authors": tuple(person.split()[-1] for person in people) or read.authors,
    }
    return read.model_copy(update=known)


def _object(value: object) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    if isinstance(value, list):
        return cast("list[Any]", value)
    return [value] if isinstance(value, str) else []


def _text(value: object) -> str:
    """A text; a list's paragraphs become lines."""
    if isinstance(value, list):
        return "\n".join(filter(None, map(_text, cast("list[object]", value))))
    if isinstance(value, dict):
        return _text(cast("dict[str, object]", value).get("text"))
    return (
        _paragraphs(value)
        if isinstance(value, str)
        else str(value)
        if isinstance(value, (int, float))
        else ""
    )


def _paragraphs(text: str) -> str:
    """A text, one paragraph per line: separated by blank lines, else by lines that mostly end a sentence."""
    parts = re.split(r"\n\s*\n", text.strip())
    if len(parts) == 1:
        lines = [line for line in text.split("\n") if line.strip()]
        ended = sum(line.rstrip().endswith((".", ":", "?", "!")) for line in lines)
        parts = lines if ended > len(lines) / 2 else parts
    return "\n".join(line for part in parts if (line := " ".join(part.split())))


def _name(value: object) -> str:
    if isinstance(value, list):
        # unarXive: family name, given names, suffix.
        parts = [str(one) for one in cast("list[object]", value) if one]
        return " ".join([*parts[1:2], *parts[:1]])
    person = _object(value)
    if not person:
        return " ".join(value.split()) if isinstance(value, str) else ""
    parts = [person.get("first"), *_list(person.get("middle")), person.get("last")]
    return str(person.get("name") or " ".join(str(one) for one in parts if one)).strip()


def _year(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    match = re.match(r"\d{1,4}(?!\d)", str(value).strip())
    return int(match[0]) if match else None
