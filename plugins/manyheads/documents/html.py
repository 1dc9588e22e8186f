"""Papers as HTML: LaTeXML's as on arXiv and ar5iv, and other pages with headings, paragraphs, figures and tables."""

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from manyheads.documents.document import Document, Hidden, Why, letter_count
from manyheads.documents.draft import Block, Draft, draft_of
from manyheads.documents.headings import FLOAT, is_table
from manyheads.documents.pictures import beside
from manyheads.documents.sections import ABSTRACT

VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
SKIPPED = frozenset(
    ("script", "style", "noscript", "template", "nav", "button", "svg", "head", "select", "iframe", "footer")
)
APART = frozenset(
    re.findall(
        r"\w+",
        "p div section article main body html ul ol dl li dd dt blockquote pre br hr header figure figcaption table tr aside "
        "address h1 h2 h3 h4 h5 h6",
    )
)
"""Elements that begin and end a paragraph."""
CLOSES = {one: group for group in (("p",), ("li",), ("dd", "dt"), ("tr",), ("td", "th")) for one in group}
"""Elements that an element of their kind ends, if it is not closed."""
LEFT_OUT = ("ltx_page_footer", "ltx_page_navbar", "ltx_TOC", "ltx_dates", "ltx_role_affiliationtext")
MARKS = ("footnote-ref", "footnote-back")
"""Of Pandoc: links between a note and its place."""
EQUATIONS = ("ltx_equation", "ltx_equationgroup", "ltx_eqn_table")
"""Classes of LaTeXML."""
DEEPEST = 150
UNSEEN = re.compile(
    r"display:none|visibility:hidden|opacity:0(?:\.0\d*)?(?:;|$)|font-size:(?:0|[01](?:\.\d+)?p[xt])(?:;|p|$)|(?<![\w-])color:(?:white|#fff(?:fff)?|transparent|rgba?\(255,255,255)"
    r"|text-indent:-\d{3,}|left:-\d{3,}|clip:rect\(0"
)
NOTE = re.compile(r"fn\d+")
"""Pandoc's footnotes, by id."""
DATES = ("date", "dcterms.date", "citation_date", "citation_publication_date")
METAS: Mapping[str, Literal["title", "authors", "abstract"]] = {
    "title": "title", "author": "authors", "abstract": "abstract",
}  # fmt: skip


@dataclass
class Element:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    children: "list[Element | str]" = field(default_factory=list["Element | str"])

    def has(self, *names: str) -> bool:
        return not {*names}.isdisjoint(self.attributes.get("class", "").split())

    def all(self, tag: str, *names: str) -> "Iterator[Element]":
        """The descendants of a kind; with names, those with one of these classes."""
        for child in self.children:
            if isinstance(child, Element):
                if child.tag == tag and (not names or child.has(*names)):
                    yield child
                yield from child.all(tag, *names)


class _Tree(HTMLParser):
    """The elements of a page; too deep nesting is flattened."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("")
        self.comments: list[str] = []
        self._open = [self.root]
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        while len(self._open) > 1 and self._open[-1].tag in CLOSES.get(tag, ()):
            self._open.pop()
        if tag in APART and self._open[-1].tag == "p":
            self._open.pop()
        node = Element(tag, {key: value or "" for key, value in attrs})
        self._open[-1].children.append(node)
        if tag not in VOID and len(self._open) < DEEPEST:
            self._open.append(node)

    def handle_endtag(self, tag: str) -> None:
        for depth in range(len(self._open) - 1, 0, -1):
            if self._open[depth].tag == tag:
                del self._open[depth:]
                return

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(" ".join(data.split()))


def read_html(path: Path, text: str) -> Document:
    """A paper on a page; hidden text and comments are separated."""
    return draft_of_html(path.parent, text).document()


def draft_of_html(home: Path, text: str) -> Draft:
    """As above, before citations are found. `home` has the pictures: a folder, or an archive."""
    tree = _Tree(text)
    page = _Blocks(home)
    page.walk(tree.root)
    page.end_paragraph()
    kinds = {one.kind for one in page.blocks}
    metas, year = list[Block](), None
    for one in tree.root.all("meta"):
        name, content = one.attributes.get("name", "").casefold(), one.attributes.get("content", "")
        kind = METAS.get(name.removeprefix("citation_"))
        if kind and content and kind not in kinds:
            metas.append(Block(kind, content))
        if name in DATES and (told := re.search(r"(?:19|20)\d\d", content)):
            year = int(told[0])
    draft = draft_of([*metas, *page.blocks])
    if not draft.title:
        draft.title = next(map(_inline, tree.root.all("title")), "")
    draft.year = year
    draft.letters = letter_count(_inline(tree.root))
    draft.hidden += page.hidden
    draft.hidden += [Hidden(text=one, page=0, why="comment") for one in tree.comments if len(one.split()) > 3]
    return draft


class _Blocks:
    """The blocks of a page, in order."""

    def __init__(self, folder: Path) -> None:
        self.blocks: list[Block] = []
        self.hidden: list[Hidden] = []
        self._folder = folder
        self._text: list[str] = []
        self._item = ""
        """The number of an item of a list."""
        self._panels = False
        """Whether the last block is a picture of this paragraph."""
        self._appendix = False

    def end_paragraph(self) -> None:
        text = " ".join("".join(self._text).split())
        self._text.clear()
        if text:
            self.blocks.append(Block("paragraph", self._item + text))
            self._item = ""
        self._panels = False

    def walk(self, node: Element) -> None:
        """Add all descendants of an element."""
        start = int(node.attributes.get("start", "")[:4] or 1) if node.tag == "ol" else 1
        numbers = itertools.count(start)
        for child in node.children:
            if isinstance(child, str):
                self._text.append(child)
                continue
            if node.tag == "ol" and child.tag == "li" and not node.has("ltx_enumerate"):
                self.end_paragraph()
                self._item = f"{next(numbers)}. "
            self._take(child)

    def _take(self, node: Element) -> None:
        tag, role = node.tag, node.attributes.get("role")
        if tag in SKIPPED or node.has(*LEFT_OUT, *MARKS):
            return
        if _hides(node):
            if text := _inline(node):
                deleted, said = node.has("deletion"), node.has("comment-start")  # by Pandoc
                why: Why = "deleted" if deleted else "comment" if said else "invisible"
                self.hidden.append(Hidden(text=text, page=0, why=why))
            return
        if tag in APART:
            self.end_paragraph()
        if node.has("ltx_title_document") or (tag == "h1" and node.has("title")):
            self.blocks.append(Block("title", re.sub(r"^Title:\s*", "", _inline(node))))
        elif node.has("ltx_authors", "authors"):
            people = [*map(_inline, node.all("span", "ltx_personname"))]
            people = people or [re.sub(r"^Authors?:\s*", "", _inline(node))]
            self.blocks += [Block("authors", one) for one in people]
        elif node.has("ltx_abstract", "abstract") or node.attributes.get("id") == "abstract":
            self.blocks.append(Block("abstract", ABSTRACT.sub("", _inline(node))))
        elif re.fullmatch("h[1-6]", tag):
            level = int(tag[1]) - ("ltx_title" in node.attributes.get("class", ""))
            self.blocks.append(Block("heading", _inline(node), level=max(1, level), appendix=self._appendix))
        elif tag == "figure" or (tag == "table" and not node.has(*EQUATIONS)):
            self._take_float(node)
        elif node.has("ltx_bibitem") or role == "doc-biblioentry":
            label = next(map(_inline, node.all("span", "ltx_tag_bibitem")), "")
            number = label.strip("[]() ") if re.fullmatch(r"\W*[\w+]{1,9}\W*", label) else ""
            parts = " ".join(map(_inline, node.all("span", "ltx_bibblock")))
            self.blocks.append(Block("reference", parts or _inline(node), number=number))
        elif (
            node.has("ltx_note", "footnote")
            or role == "doc-footnote"
            or (tag == "li" and NOTE.fullmatch(node.attributes.get("id", "")))
        ):
            self._item = ""
            inner = next(node.all("span", "ltx_note_content"), node)
            self.blocks.append(Block("note", re.sub(r"^[\d*†‡]{1,3}\s*", "", _inline(inner))))
        elif tag == "math":
            self._text.append(_formula(node))
        elif tag == "img" and (name := self._file(node)):
            one = self.blocks.pop() if self._panels else Block("figure", node.attributes.get("alt", ""))
            self.blocks.append(replace(one, files=(*one.files, name)))
            self._panels = True
        else:
            before, self._appendix = self._appendix, self._appendix or node.has("ltx_appendix")
            self.walk(node)
            self._appendix = before
        if tag in APART:
            self.end_paragraph()

    def _take_float(self, node: Element) -> None:
        captions = [_inline(one) for tag in ("figcaption", "caption") for one in node.all(tag)]
        labelled = (one for one in captions if re.match(FLOAT, one))
        caption = next(labelled, captions[-1] if captions else "")
        images = [*node.all("img")]
        inner = not images and next(node.all("table"), None) is not None
        if inner or node.has("ltx_table") or node.tag == "table" or (is_table(caption) and not images):
            cells = ([one for one in row.children if isinstance(one, Element)] for row in node.all("tr"))
            rows = (tuple(_inline(one) for one in row if one.tag in ("td", "th")) for row in cells)
            self.blocks.append(Block("table", caption, rows=tuple(filter(any, rows))))
        else:
            files = tuple(filter(None, map(self._file, images)))
            self.blocks.append(Block("figure", caption or " ", files=files))

    def _file(self, image: Element) -> str | None:
        return beside(self._folder, unquote(image.attributes.get("src", "")))


def _hides(node: Element) -> bool:
    style = re.sub(r"\s+", "", node.attributes.get("style", "")).casefold()
    return "hidden" in node.attributes or bool(UNSEEN.search(style))


def _formula(node: Element) -> str:
    return f"${node.attributes['alttext']}$" if node.attributes.get("alttext") else _inline(node)


def _inline(node: Element) -> str:
    """The text below an element with formulas as source, without notes and hidden text."""
    return " ".join("".join(_texts(node)).split())


def _texts(node: Element) -> Iterator[str]:
    for child in node.children:
        if isinstance(child, str):
            yield child
        elif child.tag == "math":
            yield _formula(child)
        elif not (
            child.tag in SKIPPED
            or child.tag.startswith("annotation")
            or child.has("ltx_note", "ltx_tag_note", *MARKS)
            or _hides(child)
        ):
            gap = " " if child.tag in APART or child.tag in ("td", "th") else ""
            yield gap
            yield from _texts(child)
            yield gap
