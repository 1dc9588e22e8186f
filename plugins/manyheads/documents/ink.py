"""The letters of Word and OpenDocument texts that a reader of the page sees: the others are cut out of a part's XML.

Styles whose names say it (title, authors, abstract, captions) become marks at the beginning of their paragraphs, as Pandoc drops them.
"""

import re
from collections.abc import Mapping
from io import BytesIO
from typing import Any
from xml.parsers.expat import ParserCreate

from manyheads.documents.document import Hidden, Why

TINY = 2.0
"""Maximum points of letters that nobody sees."""
WHITE = re.compile(r"#?[f][0-9a-f][f][0-9a-f][f][0-9a-f]|white", re.I)
NO_FILL = re.compile(f"auto|none|clear|transparent|{WHITE.pattern}", re.I)
MARK = re.compile("\ue000(title|authors|abstract|caption|date)\ue001")
Look = dict[str, Any]
"""`white`, `gone`, `shaded`, `size` in points, `mark`, `why`; those that are known."""
MARKED = {
    "title": "title", "authors": "authors?", "abstract": "abstract(text)?", "date": "date", "caption": ".*caption.*|illustration|figure",
}  # fmt: skip
"""Names of styles."""
APART: Mapping[str, Look] = {"annotation": {"why": "comment"}, "tracked-changes": {"why": "deleted"}}
"""Elements of OpenDocument texts."""
DEEPEST = 20
OFF = ("0", "false", "off", "none")


def styles_of(*parts: bytes) -> dict[str, Look]:
    """The looks of the styles that parts define, by id, with those of the styles that they are based on."""
    from defusedxml.ElementTree import iterparse

    looks, bases = dict[str, Look](), dict[str, str]()
    for part in parts:
        for _, node in iterparse(BytesIO(part)):
            own, local = _own(node.attrib), _local(node.tag)
            if local == "style" and (key := own.get("styleId") or own.get("name")):
                name = re.sub(r"_20_|\W", "", own.get("display-name", key))
                marks = (kind for kind, pattern in MARKED.items() if re.fullmatch(pattern, name, re.I))
                look = looks[key] = Look([("mark", each) for each in marks])
                bases[key] = own.get("parent-style-name", "")
                for each in node.iter():
                    look |= _look(_local(each.tag), _own(each.attrib), {})
                    if _local(each.tag) == "basedOn":
                        bases[key] = _own(each.attrib).get("val", "")
            if local in ("style", "p", "h"):
                node.clear()  # the text is long

    def whole(key: str, depth: int = 0) -> Look:
        base = bases[key]
        return (whole(base, depth + 1) if base in looks and depth < DEEPEST else {}) | looks[key]

    return {key: whole(key) for key in looks}


class Ink:
    """One part of a text: `visible`, its XML, and `hidden`, what was cut out.

    Raises:
        ExpatError, ValueError: it is no XML, or defines entities.
    """

    def __init__(self, part: bytes, styles: Mapping[str, Look]) -> None:
        self._part, self._styles = part, styles
        self.hidden: list[Hidden] = []
        self._pieces, self._place, self._cut = list[bytes](), 0, -1
        self._open: list[tuple[str, Look]] = [("", {}), ("", {})]
        self._spelled: list[str] = []
        self._why: Why = "invisible"
        self._marked = True
        """Whether this paragraph has its mark."""
        self._parser = ParserCreate()
        self._parser.StartElementHandler, self._parser.EndElementHandler = self._start, self._end
        self._parser.CharacterDataHandler = self._letters
        self._parser.CommentHandler = self._parser.ProcessingInstructionHandler = self._close
        self._parser.EntityDeclHandler = self._refuse
        self._parser.Parse(part, True)
        self.visible = b"".join((*self._pieces, part[self._place :]))

    def _refuse(self, *_: object) -> None:
        raise ValueError("it defines entities, which are not allowed")

    def _close(self, *_: str) -> None:
        """End a cut where the next event begins."""
        if self._cut >= 0:
            self._pieces.append(self._part[self._place : self._cut])
            self._place = self._parser.CurrentByteIndex
            self._cut = -1

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._close()
        local, own, look = _local(name), _own(attributes), dict(self._open[-1][1])
        if self._open[-1][0] in ("rPr", "pPr", "tcPr", "tblPr") and self._open[-2][0] != "pPr":
            self._open[-2][1].update(_look(local, own, self._styles))
        look |= self._styles.get(own.get("style-name", ""), {}) | APART.get(local, {})
        if local in ("p", "h"):
            self._flush()
        self._open.append((local, look))

    def _end(self, name: str) -> None:
        self._close()
        if self._open.pop()[0] in ("p", "h"):
            self._flush()

    def _letters(self, text: str) -> None:
        self._close()
        (local, look), at = self._open[-1], self._parser.CurrentByteIndex
        if not text.strip() or local in ("instrText", "delText", "creator", "date"):
            return
        tiny = look.get("size", 99) <= TINY
        if tiny or look.get("gone") or "why" in look or (look.get("white") and not look.get("shaded")):
            self._cut, self._why = at, look.get("why", "tiny" if tiny else "invisible")
            self._spelled.append(text)
        elif "mark" in look and not self._marked:
            self._pieces += (self._part[self._place : at], f"\ue000{look['mark']}\ue001".encode())
            self._place, self._marked = at, True

    def _flush(self) -> None:
        if text := " ".join("".join(self._spelled).split()):
            self.hidden.append(Hidden(text=text, page=0, why=self._why))
        self._spelled.clear()
        self._marked = False


def _look(local: str, own: Mapping[str, str], styles: Mapping[str, Look]) -> Look:
    """What an element of a style or of a run's properties says of letters."""
    value, look = own.get("val", ""), Look()
    match local:
        case "color":
            look["white"] = bool(WHITE.fullmatch(value))
        case "vanish":
            look["gone"] = value not in OFF
        case "sz" if value.isdecimal():
            look["size"] = int(value) / 2
        case "shd":
            look["shaded"] = not NO_FILL.fullmatch(own.get("fill", "auto"))
        case "highlight":
            look["shaded"] = not NO_FILL.fullmatch(value)
        case "rStyle" | "pStyle" | "tblStyle":
            look |= styles.get(value, {})
        case _ if local.endswith("-properties"):
            if "color" in own:
                look["white"] = bool(WHITE.fullmatch(own["color"]))
            if "background-color" in own:
                look["shaded"] = not NO_FILL.fullmatch(own["background-color"])
            if size := re.fullmatch(r"([\d.]{1,6})pt", own.get("font-size", "")):
                look["size"] = float(size[1])
            if own.get("display") == "none":
                look["gone"] = True
        case _:
            pass
    return look


def _own(attributes: Mapping[str, str]) -> dict[str, str]:
    return {_local(name): value for name, value in attributes.items()}


def _local(name: str) -> str:
    return re.split("[:}]", name)[-1]
