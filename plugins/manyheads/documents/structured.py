"""Papers as JSON: sections, references, figures and tables by the keys of common datasets.

Our own format is `{"title", "abstract", "authors": […], "year", "sections": [{"title", "number", "text"}],
"references": […], "figures": [{"caption"}], "tables": [{"caption", "rows"}]}`; those of unarXive, S2ORC and
science-parse are read too.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from manyheads.base.errors import DocumentError
from manyheads.base.papers import identify
from manyheads.base.resources import parse_json
from manyheads.documents.bibliography import reference
from manyheads.documents.blocks import CAPTION
from manyheads.documents.document import Document, Figure, Note, Reference, Table, letter_count
from manyheads.documents.draft import Draft
from manyheads.documents.pictures import beside
from manyheads.documents.sections import ABSTRACT, REFERENCES, Division

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
