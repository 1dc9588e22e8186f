"""GROBID's TEI of a paper: title, abstract, sections, references, citations, captions."""

import re
from itertools import islice
from pathlib import Path
from typing import Any

from manyheads.base.errors import DocumentError
from manyheads.base.papers import identify
from manyheads.documents.bibliography import ARXIV
from manyheads.documents.document import Box, Document, Figure, Note, Reference, Table, letter_count
from manyheads.documents.draft import Draft, year_told
from manyheads.documents.layout import STAMP
from manyheads.documents.sections import REFERENCES, Division, set_kinds

TEI = "{http://www.tei-c.org/ns/1.0}"
ID = "{http://www.w3.org/XML/1998/namespace}id"
NUMBER = re.compile(r"^(?:Figure|Fig\.?|Table|Tab\.)\s*([A-Z]?\.?\d+[a-z]?)\s*[:.|]?\s*", re.I)
SUBMITTED = re.compile(
    r"^(?:Under review|Published|Accepted) as an? .{4,20}? paper at [A-Z][\w ]{2,20}? \d{4}\s+"
)
"""A running head that GROBID takes for the start of the title."""
_FIRST = 8
"""Number of paragraphs that may be on the first page and contain its margins' text."""
LETTERED = re.compile(r"^([A-Z](?:\.\d+)*)\.?\s+(?=\S)")


def read_tei(path: Path) -> Document:
    """A paper's full text from GROBID; no entity is expanded, nothing is fetched.

    Raises:
        DocumentError: the file is not well-formed TEI, or has entities.
    """
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import parse

    hint = "create it again with GROBID (processFulltextDocument)"
    try:
        root: Any = parse(path, forbid_dtd=False).getroot()
    except DefusedXmlException as error:
        raise DocumentError(
            f"{path} defines entities, which are not allowed", tried=type(error).__name__, hint=hint
        ) from error
    except (ParseError, UnicodeDecodeError, ValueError, LookupError) as error:
        raise DocumentError(f"{path} is broken XML: {error}", hint=hint) from error
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror or error}") from error
    if root.tag != f"{TEI}TEI":
        raise DocumentError(f"{path} is XML, but not TEI", tried=f"its root is {root.tag[:60]}", hint=hint)
    return _Tei(root).document()


class _Tei:
    def __init__(self, root: Any) -> None:
        self._root = root
        lists = [*root.iter(f"{TEI}listBibl")]
        structs = [one for each in lists for one in each.iter(f"{TEI}biblStruct")]
        self.references = [_reference(one) for one in structs]
        self._places = {one.get(ID): number for number, one in enumerate(structs)}

    def document(self) -> Document:
        root = self._root
        header = next(root.iter(f"{TEI}teiHeader"), root.makeelement("none", {}))
        title = SUBMITTED.sub("", _text(header.find(f".//{TEI}titleStmt/{TEI}title")))
        people = header.findall(f".//{TEI}sourceDesc//{TEI}analytic/{TEI}author")
        figures = [one for one in root.iter(f"{TEI}figure") if one.get("type") != "table"]
        tables = [one for one in root.iter(f"{TEI}figure") if one.get("type") == "table"]
        return Draft(
            title=title,
            abstract=_text(header.find(f".//{TEI}abstract")),
            authors=tuple(name for one in people if (name := _person(one))),
            year=self._year(header),
            numbers=tuple(filter(None, map(_own_number, header.iter(f"{TEI}idno")))),
            divisions=self._divisions(),
            references=self.references,
            figures=[
                Figure(number=number, caption=caption, page=page, box=box)
                for number, caption, page, box in map(_captioned, figures)
            ],
            tables=[
                Table(number=number, caption=caption, page=page, box=box, rows=_rows(one))
                for one in tables
                for number, caption, page, box in [_captioned(one)]
            ],
            notes=[
                Note(text=text)
                for one in root.iter(f"{TEI}note")
                if one.get("place") == "foot" and (text := _text(one))
            ],
            pages=len([*root.iter(f"{TEI}surface")]),
            letters=self._letters("text")
            - self._letters("listBibl")
            + sum(letter_count(one.text) for one in self.references),
        ).document(kinds=False)

    def _letters(self, tag: str) -> int:
        return sum(letter_count("".join(one.itertext())) for one in self._root.iter(f"{TEI}{tag}"))

    def _year(self, header: Any) -> int | None:
        """The year of publication, else from the first page, if GROBID kept it."""
        dates = (one.get("when") or "" for one in header.iter(f"{TEI}date"))
        years = (year for date in dates if (year := re.match(r"(?:19|20)\d\d", date)))
        if year := next(years, None):
            return int(year[0])
        numbers = map(_text, header.iter(f"{TEI}idno"))
        first = _text(header.find(f".//{TEI}titleStmt/{TEI}title"))
        begin = " ".join(_text(one) for one in islice(self._root.iter(f"{TEI}p"), _FIRST))
        return year_told(" ".join((first, *numbers, begin)))

    def _divisions(self) -> list[Division]:
        # Captions have divisions of their own, inside of figures.
        inside = {id(one) for figure in self._root.iter(f"{TEI}figure") for one in figure.iter()}
        divisions = [
            (one, back)
            for back in (False, True)
            for part in self._root.iter(f"{TEI}back" if back else f"{TEI}body")
            for one in part.iter(f"{TEI}div")
            if id(one) not in inside
            and (one.find(f"{TEI}head") is not None or one.find(f"{TEI}p") is not None)
        ]
        made: list[tuple[Division, Any]] = []
        for division, back in divisions:
            head = division.find(f"{TEI}head")
            title = _text(head)
            number = (head.get("n") or "").rstrip(".") if head is not None else ""
            if not number and (match := LETTERED.match(title)):
                number, title = match[1], title[match.end() :]
            if REFERENCES.match(title):
                continue
            made.append((Division(title, number, kind="appendix" if back else "other"), division))
        body = [part for part, _ in made if part.kind != "appendix"]
        set_kinds(body)
        divided: list[Division] = []
        for part, division in made:
            paragraphs = [
                text
                for one in division
                if one.tag in (f"{TEI}p", f"{TEI}formula", f"{TEI}list") and (text := _text(one))
            ]
            if not part.title and all(map(STAMP.match, paragraphs)):
                continue
            part.text, part.pages, part.cites = "\n".join(paragraphs), _pages(division), self._cites(division)
            divided.append(part)
        return divided

    def _cites(self, division: Any) -> tuple[int, ...]:
        targets = (
            one.get("target", "")[1:] for one in division.iter(f"{TEI}ref") if one.get("type") == "bibr"
        )
        return tuple(dict.fromkeys(self._places[one] for one in targets if one in self._places))


def _text(element: Any) -> str:
    """All text below an element, with spaces between sentences and paragraphs."""
    if element is None:
        return ""
    return " ".join("".join(_walk(element)).split())


def _walk(element: Any) -> list[str]:
    pieces = [element.text or ""]
    for child in element:
        pieces += [
            *_walk(child),
            " " if child.tag in (f"{TEI}s", f"{TEI}p", f"{TEI}item", f"{TEI}cell") else "",
            child.tail or "",
        ]
    return pieces


def _person(author: Any) -> str:
    name = author.find(f"{TEI}persName")
    return "" if name is None else " ".join(part for one in name if (part := _text(one)))


def _reference(struct: Any) -> Reference:
    analytic, monograph = struct.find(f"{TEI}analytic"), struct.find(f"{TEI}monogr")
    titles = [_text(part.find(f"{TEI}title")) for part in (analytic, monograph) if part is not None]
    title = next(filter(None, titles), "")
    names = [
        (_person(one), _text(one.find(f"{TEI}persName/{TEI}surname")))
        for part in (analytic, monograph)
        if part is not None
        for one in part.findall(f"{TEI}author")
    ]
    date = struct.find(f".//{TEI}date[@when]")
    year = re.search(r"(?:19|20)\d\d", date.get("when") if date is not None else "")
    numbers = {one.get("type", "").casefold(): _text(one) for one in struct.iter(f"{TEI}idno")}
    raw = next((_text(one) for one in struct.iter(f"{TEI}note") if one.get("type") == "raw_reference"), "")
    venue = _text(monograph.find(f"{TEI}title")) if monograph is not None else ""
    told = ". ".join(
        part
        for part in (
            ", ".join(name for name, _ in names),
            title,
            venue if venue != title else "",
            year[0] if year else "",
        )
        if part
    )
    arxiv = ARXIV.search(
        f"arXiv:{numbers['arxiv'].removeprefix('arXiv:')}" if "arxiv" in numbers else raw or venue
    )
    return Reference(
        text=raw or told,
        title=title,
        year=int(year[0]) if year else None,
        doi=numbers.get("doi"),
        arxiv=arxiv[1] if arxiv else None,
        authors=tuple(family for _, family in names if family),
    )


def _own_number(one: Any) -> str:
    """A DOI or an arXiv number in a header; "" for any other identifier."""
    name = identify(re.split(r"[\s\[]", _text(one))[0])
    return name.value if name.kind in ("doi", "arxiv") else ""


def _captioned(figure: Any) -> tuple[str, str, int, Box | None]:
    head, label, text = (_text(figure.find(f"{TEI}{tag}")) for tag in ("head", "label", "figDesc"))
    match = NUMBER.match(head) or NUMBER.match(text)
    number = label or (match[1] if match else "")
    caption = text if NUMBER.match(text) or not head else f"{head} {text}".strip()
    return number, NUMBER.sub("", caption), *_place(figure.get("coords", ""))


def _place(coords: str) -> tuple[int, Box | None]:
    """Page and box of GROBID's `page,x,y,width,height;…`; the first of several pages."""
    boxes: list[tuple[int, Box]] = []
    for one in filter(None, coords.split(";")):
        try:
            page, x, y, width, height = map(float, one.split(","))
        except ValueError:
            continue
        boxes.append((int(page), (x, y, x + width, y + height)))
    if not boxes:
        return 0, None
    own = [box for page, box in boxes if page == boxes[0][0]]
    edges = [*zip(*own, strict=True)]
    return boxes[0][0], (min(edges[0]), min(edges[1]), max(edges[2]), max(edges[3]))


def _rows(table: Any) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(_text(cell) for cell in row.iter(f"{TEI}cell")) for row in table.iter(f"{TEI}row"))


def _pages(division: Any) -> tuple[int, ...]:
    """The pages of all parts of a division."""
    places = (_place(one.get("coords", ""))[0] for one in division.iter())
    return tuple(sorted({page for page in places if page}))
