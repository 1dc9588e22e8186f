"""Papers as Markdown, plain text, or JSON: sections, references, figures and tables by the keys of common datasets.

Our own JSON is `{"title", "abstract", "authors": […], "year", "sections": [{"title", "number", "text"}],
"references": […], "figures": [{"caption"}], "tables": [{"caption", "rows"}]}`; those of unarXive, S2ORC and
science-parse are read too.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from manyheads.base.errors import DocumentError
from manyheads.base.papers import identify
from manyheads.base.resources import parse_json
from manyheads.documents.bibliography import reference_of
from manyheads.documents.document import Document, Figure, Note, Reference, Table, letter_count
from manyheads.documents.draft import CAPTION, ITEM, Block, Draft, draft_of
from manyheads.documents.headings import FLOAT
from manyheads.documents.html import read_html
from manyheads.documents.layout import groups, joined
from manyheads.documents.pictures import beside
from manyheads.documents.sections import ABSTRACT, PLAIN, REFERENCES, Division

HEADING = re.compile(r"^ {0,3}#{1,6}\s")
NOTE = re.compile(r"^\[\^[^\]]+\]:[ \t]*(.*)$", re.M)
ATTRIBUTES = re.compile(r"(?<=\))\{[^{}\n]*\}|[ \t]*\{#[^{}\n]*\}[ \t]*$|\[\^[^\]\n]{1,99}\](?!:)", re.M)
"""Pandoc's, and marks of footnotes."""
FORMULA = re.compile(r"(?P<code>^ {0,3}(`{3,}+|~{3,}+).*?^ {0,3}\2|`[^`\n]+`)|\$([^$\n]+)\$", re.M | re.S)
FRONT = re.compile(r"\A---\s*\n(.*?)\n(?:---|\.\.\.)\s*(?:\n|\Z)", re.S)
LABEL = r"\[[\w+-]{1,12}\]\s"
MARKED = re.compile(f"{ITEM.pattern}|{LABEL}")


def read_markdown(path: Path, text: str) -> Document:
    """A paper in Markdown, as the page that it makes: headings, pipe tables, pictures, footnotes, metadata in a header."""
    from markdown_it import MarkdownIt

    front, metas = FRONT.match(text), list[str]()
    for line in front[1].split("\n") if front else ():
        key, _, value = (part.strip() for part in line.partition(":"))
        metas.append(f'<meta name="{escape(key.rstrip("s"))}" content="{escape(value.strip("[]"))}">')
    text = ATTRIBUTES.sub("", text[front.end() if front else 0 :])
    text = NOTE.sub(r'\n<aside class="footnote">\n\n\1\n\n</aside>\n', text)
    # Entries begin a paragraph; markdown-it gives up on quotes within quotes within quotes.
    text = re.sub(r"(?m)^(?:> ?){9,}", "> ", re.sub(f"(?m)^(?={LABEL})", "\n", text))
    text = FORMULA.sub(lambda one: one["code"] or f'<math alttext="{escape(one[3])}"></math>', text)
    return read_html(path, "\n".join((*metas, MarkdownIt("commonmark").enable("table").render(text))))


def read_plain(path: Path, text: str) -> Document:
    """A paper as plain text: paragraphs separated by blank lines; a short numbered or well-known line is a heading."""
    lines = text.split("\n")
    marked = sum(bool(HEADING.match(line)) for line in lines)
    if marked > max(1, sum(_is_heading(line.strip()) for line in lines)):
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


def _items(lines: list[str]) -> list[str]:
    """The items of a list, each with its continuation lines; for a paragraph its text."""
    listed = MARKED.match(lines[0].strip())
    items = groups(lines, lambda line, _: bool(listed and MARKED.match(line.strip())))
    return [joined(item) for item in items]


TITLES = ("title", "heading", "section", "name", "section_title")
OWN = ("doi", "DOI", "arxiv_id", "arXiv", "arxiv", "paper_id")
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
    parsed = _object(_first(paper, "pdf_parse", "latex_parse"))
    about = {**_object(paper.get("metadata")), **parsed, **{key: one for key, one in paper.items() if one}}
    keyed = _object(about.get("bib_entries"))
    # The order of unarXive's entries is that of the list.
    references = [_reference(one, str(number)) for number, one in enumerate(keyed.values(), 1)]
    references += map(_reference, _list(_first(about, "references", "bibliography")))
    ids = map(identify, (_text(about.get(key)) for key in OWN))
    draft = Draft(
        title=_text(about.get("title")),
        abstract=_text(_first(about, "abstract", "abstractText")),
        authors=tuple(_people(_first(about, "authors_parsed", "authors"))),
        year=_year(about.get("year")),
        numbers=tuple(one.value for one in ids if one.kind in ("doi", "arxiv")),
        references=references,
        notes=[Note(text=text) for text in map(_text, _list(_first(about, "notes", "footnotes"))) if text],
    )
    shown = {key: f"[{number}]" for number, key in enumerate(keyed, 1)}
    for key, given in _object(about.get("ref_entries")).items():
        one = _object(given)
        if _text(_first(one, "caption", "text")) not in ("", "NO_CAPTION"):
            table = "tab" in str(one.get("type") or "").casefold()
            before = sum(name.startswith("Table" if table else "Figure") for name in shown.values())
            shown[key] = f"{'Table' if table else 'Figure'} {before + 1}"
            _add_float(draft, one, folder)
    for kind in ("figure", "table"):
        for one in _list(about.get(f"{kind}s")):
            _add_float(draft, {"type": kind, **(_object(one) or {"caption": one})}, folder)
    body = _first(about, "sections", "body_text", "full_text", "body")
    draft.letters = draft.read() + sum(letter_count(MARKER.sub("", text)) for text in _prose(body))
    places = {key: number for number, key in enumerate(keyed)}
    for one in divisions_of(body, places, shown):
        if not ABSTRACT.fullmatch(one.title):
            draft.divisions.append(one)
        elif not draft.abstract:
            draft.abstract = one.text
    return draft


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


def divisions_of(body: Any, places: Mapping[str, int], shown: Mapping[str, str]) -> Iterator[Division]:
    """The sections; a marker becomes what a reader sees: `[3]`, `Figure 2`, `…` for a formula."""
    if isinstance(body, str):
        yield Division("", text=_paragraphs(body))
        return
    if isinstance(body, dict):
        body = [{"title": title, "text": text} for title, text in cast("dict[str, Any]", body).items()]
    for (title, number, depth), same in groupby(_pieces(_list(body), 1), key=lambda one: one[:3]):
        keys, texts = list[str](), list[str]()
        for *_, text, spans in same:
            keys += (str(_object(span).get("ref_id")) for span in spans)
            text = MARKER.sub(lambda mark: shown.get(mark[2], "…" if mark[1] == "formula" else ""), text)
            texts.append(_paragraphs(text))
        cites = tuple(dict.fromkeys(places[key] for key in keys if key in places)) if keys else None
        text = "\n".join(filter(None, texts))
        if title or text:
            references = bool(REFERENCES.match(title))
            yield Division(title, number, text=text, cites=cites, depth=depth, references=references)


def _pieces(body: Sequence[Any], depth: int) -> Iterator[tuple[str, str, int, str, list[Any]]]:
    """Title, number, depth, text and citation markers of each section, or of each of its paragraphs."""
    for one in body:
        section = {"text": one} if isinstance(one, str) else _object(one)
        title = " ".join(_text(_first(section, *TITLES)).split())
        number = str(_first(section, "number", "sec_number") or "").strip(". ")
        number = "" if number in ("-1", "None") else number
        if not number and (match := re.match(r"((?:\d{1,2}|[A-Z](?=\.))(?:\.\d{1,2})*)\.?\s+(?=\S)", title)):
            number, title = match[1], title[match.end() :]
        level = LEVELS.get(str(section.get("sec_type") or ""), _year(section.get("level")) or depth)
        yield title, number, level, _text(_first(section, *TEXTS)), _list(section.get("cite_spans"))
        yield from _pieces(_list(_first(section, "sections", "subsections")), depth + 1)


def _add_float(draft: Draft, one: Mapping[str, Any], folder: Path) -> None:
    kind = str(one.get("type") or "figure").casefold()
    caption = _text(_first(one, "caption", "text"))
    number = str(_first(one, "number", "num", "label") or "").strip(". ")
    if match := CAPTION.match(caption):
        number, caption = number or match[2], match[3]
    number = re.sub(rf"^{FLOAT}\s*", "", number, flags=re.I)
    others = draft.tables if "tab" in kind else draft.figures
    number, page = number or str(len(others) + 1), _year(one.get("page")) or 0
    parts: Any = {"number": number, "caption": caption, "page": page}
    if "tab" in kind:
        rows = tuple(tuple(map(_text, _list(row))) for row in _list(one.get("rows")))
        draft.tables.append(Table(**parts, rows=rows))
    elif "fig" in kind:
        names = [one.get(key) for key in ("file", "image", "path", "uri")] + _list(one.get("files"))
        files = (beside(folder, name) for name in names if isinstance(name, str))
        draft.figures.append(Figure(**parts, files=tuple(filter(None, files))))


def _reference(given: Any, number: str = "") -> Reference:
    if isinstance(given, str):
        return reference_of(given)
    entry = _object(given)
    ids = dict[str, Any]()
    for one in (entry, *map(entry.get, ("ids", "externalIds", "other_ids"))):
        ids |= {key: value for key, value in _object(one).items() if value}
    return reference_of(
        _text(_first(entry, "bib_entry_raw", "text", "raw", "raw_text")),
        people=_people(_first(entry, "authors", "author")),
        title=_text(entry.get("title")),
        venue=_text(_first(entry, "venue", "journal")),
        year=_year(entry.get("year")),
        doi=_first(ids, "doi", "DOI"),
        arxiv=str(_first(ids, "arxiv_id", "arXiv", "ArXiv", "arxiv") or ""),
        number=str(entry.get("number") or number),
    )


def _first(one: Mapping[str, Any], *keys: str) -> Any:
    return next(filter(None, map(one.get, keys)), None)


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
    return _paragraphs(str(value)) if isinstance(value, (str, int, float)) else ""


def _paragraphs(text: str) -> str:
    """A text, one paragraph per line: separated by blank lines, else by lines that mostly end a sentence."""
    parts = re.split(r"\n\s*\n", text.strip())
    if len(parts) == 1:
        lines = [line for line in text.split("\n") if line.strip()]
        ended = sum(line.rstrip().endswith((".", ":", "?", "!")) for line in lines)
        parts = lines if ended > len(lines) / 2 else parts
    return "\n".join(line for part in parts if (line := " ".join(part.split())))


def _people(value: object) -> list[str]:
    return [*filter(None, map(_name, _list(value)))]


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
