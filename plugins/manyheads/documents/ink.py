"""The letters of Word and OpenDocument texts that a reader of the page sees: the others are cut out of a part's XML.

Styles whose names say it (title, authors, abstract, captions) become marks at the beginning of their paragraphs, as Pandoc drops them.
"""

import re
from collections.abc import Mapping
from typing import Any
from xml.parsers.expat import ParserCreate

from manyheads.documents.document import Hidden, Why

TINY = 2.0
"""Maximum points of letters that nobody sees."""
WHITE = re.compile(r"#?[f][0-9a-f][f][0-9a-f][f][0-9a-f]|white", re.I)
NO_FILL = re.compile(f"auto|none|clear|transparent|{WHITE.pattern}", re.I)
MARK = re.compile("\ue000(title|authors|abstract|caption|date)\ue001")
MARKED = {
    "title": re.compile(r"title", re.I),
    "authors": re.compile(r"authors?", re.I),
    "abstract": re.compile(r"abstract(text)?", re.I),
    "date": re.compile(r"date", re.I),
    "caption": re.compile(r".*caption.*|illustration|figure", re.I),
}
OFF = ("0", "false", "off", "none")
Look = dict[str, Any]
"""`white`, `gone`, `shaded`, `size` in points, `mark`, `why`; those that are known."""


def styles_of(*parts: bytes) -> dict[str, Look]:
    """The looks of the styles that parts define, by id, with those of the styles that they are based on."""
    styles, bases = dict[str, Look](), dict[str, str]()

    def start(name: str, attributes: Mapping[str, str]) -> None:
        local, own = _local(name), {_local(key): value for key, value in attributes.items()}
        if local == "style" and (key := own.get("styleId") or own.get("name")):
            open_style[:] = [styles.setdefault(key, {})]
            bases[key] = own.get("parent-style-name", "")
            keys[:] = [key]
            name = re.sub(r"_20_|\W", "", own.get("display-name", key))
            if mark := next((kind for kind, pattern in MARKED.items() if pattern.fullmatch(name)), None):
                open_style[0]["mark"] = mark
        elif local == "basedOn" and keys:
            bases[keys[0]] = own.get("val", "")
        elif open_style:
            open_style[0].update(_look(local, own, {}))

    def end(name: str) -> None:
        if _local(name) == "style":
            open_style.clear()

    open_style, keys = list[Look](), list[str]()
    for part in parts:
        _parse(part, StartElementHandler=start, EndElementHandler=end)
    for key in styles:
        look, base, seen = dict(styles[key]), bases.get(key, ""), {key}
        while base in styles and base not in seen:
            look = {**styles[base], **look}
            seen.add(base)
            base = bases.get(base, "")
        styles[key] = look
    return styles


class Ink:
    """One part of a text: `visible`, its XML, and `hidden`, what was cut out.

    Raises:
        ValueError: it is no XML, or defines entities.
    """

    def __init__(self, part: bytes, styles: Mapping[str, Look]) -> None:
        self._part, self._styles = part, styles
        self.hidden: list[Hidden] = []
        self._pieces, self._place, self._cut = list[bytes](), 0, -1
        self._open: list[tuple[str, Look]] = [("", {})]
        self._spelled: list[str] = []
        self._why: Why = "invisible"
        self._marks: list[str] = []
        self._parser = _parse(
            part,
            StartElementHandler=self._start,
            EndElementHandler=self._end,
            CharacterDataHandler=self._letters,
            CommentHandler=self._close,
            ProcessingInstructionHandler=self._close,
            keep=self,
        )
        self._close()
        self._flush()
        self.visible = b"".join((*self._pieces, part[self._place :]))

    parser: Any = None

    def _close(self, *_: str) -> None:
        """End a cut where the next event begins."""
        if self._cut >= 0:
            self._pieces.append(self._part[self._place : self._cut])
            self._place = self.parser.CurrentByteIndex
            self._cut = -1

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._close()
        local, own = _local(name), {_local(key): value for key, value in attributes.items()}
        look = dict(self._open[-1][1])
        if self._open[-1][0] in ("rPr", "pPr", "tcPr", "tblPr") and self._open[-2][0] != "pPr":
            self._open[-2][1].update(_look(local, own, self._styles))
        elif styled := self._styles.get(own.get("style-name", "")):
            look |= styled
        if local == "annotation":
            look["why"] = "comment"
        elif local == "tracked-changes":
            look["why"] = "deleted"
        if local in ("p", "h"):
            self._flush()
            self._marks.append("")
        self._open.append((local, look))

    def _end(self, name: str) -> None:
        self._close()
        if self._open.pop()[0] in ("p", "h"):
            self._flush()
            self._marks.pop()

    def _letters(self, text: str) -> None:
        local, look = self._open[-1]
        self._close()
        if not text.strip() or local in ("instrText", "delText", "creator", "date"):
            return
        tiny = look.get("size", 99) <= TINY
        if look.get("gone") or (look.get("white") and not look.get("shaded")) or tiny or "why" in look:
            self._cut = self.parser.CurrentByteIndex
            self._why = look.get("why", "tiny" if tiny else "invisible")
            self._spelled.append(text)
        elif (mark := look.get("mark")) and self._marks and not self._marks[-1]:
            at = self.parser.CurrentByteIndex
            self._pieces += (self._part[self._place : at], f"\ue000{mark}\ue001".encode())
            self._place, self._marks[-1] = at, mark

    def _flush(self) -> None:
        if text := " ".join("".join(self._spelled).split()):
            self.hidden.append(Hidden(text=text, page=0, why=self._why))
        self._spelled.clear()


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


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _parse(part: bytes, keep: Any = None, **handlers: Any) -> Any:
    from xml.parsers.expat import ExpatError

    parser = ParserCreate()
    if keep is not None:
        keep.parser = parser

    def refuse(*_: object) -> None:
        raise ValueError("it defines entities, which are not allowed")

    for name, handler in {**handlers, "EntityDeclHandler": refuse}.items():
        setattr(parser, name, handler)
    try:
        parser.Parse(part, True)
    except ExpatError as error:
        raise ValueError(f"broken XML: {error}") from error
    return parser
