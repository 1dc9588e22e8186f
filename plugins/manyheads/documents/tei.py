"""GROBID's TEI of a paper: title, abstract, sections, references, citations, captions."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from manyheads.base.errors import DocumentError
from manyheads.base.papers import identify
from manyheads.documents.bibliography import reference_of
from manyheads.documents.document import Box, Document, Figure, Note, Reference, Table, hull, letter_count
from manyheads.documents.draft import Draft, year_told
from manyheads.documents.headings import FLOAT
from manyheads.documents.layout import STAMP
from manyheads.documents.sections import REFERENCES, Division

TEI = "{http://www.tei-c.org/ns/1.0}"
ID = "{http://www.w3.org/XML/1998/namespace}id"
NUMBER = re.compile(rf"^{FLOAT}\s*([A-Z]?\.?\d+[a-z]?)\s*[:.|]?\s*", re.I)
SUBMITTED = re.compile(
    r"^(?:Under review|Published|Accepted) as an? .{4,20}? paper at [A-Z][\w ]{2,20}? \d{4}\s+"
)
"""A running head that GROBID takes for the start of the title."""
_FIRST = 8
"""Number of paragraphs that may be on the first page and contain its margins' text."""
COORDS = re.compile(r"(?:^|;)" + ",".join([r"(-?\d+(?:\.\d+)?)"] * 5) + r"(?=;|$)")
LETTERED = re.compile(r"^([A-Z](?:\.\d+)*)\.?\s+(?=\S)")


def read_tei(text: bytes, path: Path) -> Document:
    """A paper's full text from GROBID; no entity is expanded, nothing is fetched.

    Args:
        text: of a file, or a server's answer for the paper at `path`.

    Raises:
        DocumentError: it is not well-formed TEI, or has entities.
    """
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    hint = "create it again with GROBID (processFulltextDocument)"
    try:
        root: Any = fromstring(text, forbid_dtd=False)
    except DefusedXmlException as error:
        raise DocumentError(
            f"{path} defines entities, which are not allowed", tried=type(error).__name__, hint=hint
        ) from error
    except (ParseError, UnicodeDecodeError, ValueError, LookupError) as error:
        raise DocumentError(f"{path} is broken XML: {error}", hint=hint) from error
    if root.tag != f"{TEI}TEI":
        raise DocumentError(f"{path} is XML, but not TEI", tried=f"its root is {root.tag[:60]}", hint=hint)
    for one in root.iter():
        one.tag = one.tag.removeprefix(TEI)
    return _draft(root).document()


def _draft(root: Any) -> Draft:
    header = next(root.iter("teiHeader"), root.makeelement("none", {}))
    title = _text(header.find(".//titleStmt/title"))
    structs = [one for each in root.iter("listBibl") for one in each.iter("biblStruct")]
    draft = Draft(
        title=SUBMITTED.sub("", title),
        abstract=_text(header.find(".//abstract")),
        authors=tuple(filter(None, map(_person, header.findall(".//sourceDesc//analytic/author")))),
        year=_year(root, header, title),
        numbers=tuple(filter(None, (_own_number(_text(one)) for one in header.iter("idno")))),
        divisions=_divisions(root, {one.get(ID): number for number, one in enumerate(structs)}),
        references=[*map(_reference, structs)],
        notes=[Note(text=text) for one in root.iterfind(".//note[@place='foot']") if (text := _text(one))],
        pages=len([*root.iter("surface")]),
    )
    for one in root.iter("figure"):
        told = _captioned(one)
        if one.get("type") == "table":
            rows = (tuple(map(_text, row.iter("cell"))) for row in one.iter("row"))
            draft.tables.append(Table(**told, rows=tuple(rows)))
        else:
            draft.figures.append(Figure(**told))
    text, listed = (
        sum(letter_count("".join(one.itertext())) for one in root.iter(tag)) for tag in ("text", "listBibl")
    )
    draft.letters = text - listed + sum(letter_count(one.text) for one in draft.references)
    return draft


def _year(root: Any, header: Any, title: str) -> int | None:
    """The year of publication, else from the first page, if GROBID kept it."""
    for one in header.iter("date"):
        if year := re.match(r"(?:19|20)\d\d", one.get("when") or ""):
            return int(year[0])
    begin = islice(root.iter("p"), _FIRST)
    return year_told(" ".join((title, *map(_text, header.iter("idno")), *map(_text, begin))))


def _divisions(root: Any, places: Mapping[str, int]) -> list[Division]:
    # Captions have divisions of their own, inside of figures.
    inside = {one for figure in root.iter("figure") for one in figure.iter()}
    made = list[Division]()
    for part in ("body", "back"):
        for one in (div for each in root.iter(part) for div in each.iter("div") if div not in inside):
            head = one.find("head")
            title, number = _text(head), "" if head is None else (head.get("n") or "").rstrip(".")
            if not number and (match := LETTERED.match(title)):
                number, title = match[1], title[match.end() :]
            lines = [text for each in one if each.tag in ("p", "formula", "list") and (text := _text(each))]
            if REFERENCES.match(title) or (not title and all(map(STAMP.match, lines))):
                continue
            division = Division(title, number, "appendix" if part == "back" else "other", "\n".join(lines))
            pages = {_place(each.get("coords", ""))[0] for each in one.iter()}
            cited = (ref.get("target", "")[1:] for ref in one.iter("ref") if ref.get("type") == "bibr")
            division.pages = tuple(sorted(pages - {0}))
            division.cites = tuple(dict.fromkeys(places[each] for each in cited if each in places))
            made.append(division)
    return made


def _text(element: Any) -> str:
    """All text below an element, with spaces between sentences and paragraphs."""
    return "" if element is None else " ".join("".join(_walk(element)).split())


def _walk(element: Any) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        yield from _walk(child)
        yield " " if child.tag in ("s", "p", "item", "cell") else ""
        yield child.tail or ""


def _person(author: Any) -> str:
    name = author.find("persName")
    return "" if name is None else " ".join(part for one in name if (part := _text(one)))


def _reference(struct: Any) -> Reference:
    parts = [part for tag in ("analytic", "monogr") if (part := struct.find(tag)) is not None]
    titles = [_text(part.find("title")) for part in parts]
    authors = [author for part in parts for author in part.findall("author")]
    date = struct.find(".//date[@when]")
    year = re.search(r"(?:19|20)\d\d", date.get("when") if date is not None else "")
    numbers = {one.get("type", "").casefold(): _text(one) for one in struct.iter("idno")}
    title = next(filter(None, titles), "")
    return reference_of(
        next((_text(one) for one in struct.iter("note") if one.get("type") == "raw_reference"), ""),
        people=[_person(one) for one in authors],
        families=[_text(one.find("persName/surname")) for one in authors],
        title=title,
        venue=titles[-1] if titles and titles[-1] != title else "",
        year=int(year[0]) if year else None,
        doi=numbers.get("doi"),
        arxiv=numbers.get("arxiv"),
    )


def _own_number(text: str) -> str:
    """A DOI or an arXiv number in a header; "" for any other identifier."""
    name = identify(re.split(r"[\s\[]", text)[0])
    return name.value if name.kind in ("doi", "arxiv") else ""


def _captioned(figure: Any) -> dict[str, Any]:
    head, label, text = (_text(figure.find(tag)) for tag in ("head", "label", "figDesc"))
    match = NUMBER.match(head) or NUMBER.match(text)
    caption = text if NUMBER.match(text) or not head else f"{head} {text}".strip()
    page, box = _place(figure.get("coords", ""))
    number = label or (match[2] if match else "")
    return {"number": number, "caption": NUMBER.sub("", caption), "page": page, "box": box}


def _place(coords: str) -> tuple[int, Box | None]:
    """Page and box of GROBID's `page,x,y,width,height;…`; the first of several pages."""
    given = [[float(part) for part in one] for one in re.findall(COORDS, coords)]
    own = [(x, y, x + wide, y + high) for page, x, y, wide, high in given if page == given[0][0]]
    return (int(given[0][0]), hull(own)) if own else (0, None)
