"""Papers as Word, OpenDocument, EPUB, JATS, reStructuredText and Typst, read by Pandoc."""

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from manyheads.base.errors import DocumentError
from manyheads.base.papers import identify
from manyheads.documents.bibliography import reference_of
from manyheads.documents.document import Document, Hidden, Limits, Reference
from manyheads.documents.draft import speech
from manyheads.documents.folders import BROKEN
from manyheads.documents.html import draft_of_html
from manyheads.documents.ink import MARK, Ink, styles_of
from manyheads.documents.programs import run_pandoc

PAGE = "-s --track-changes=all --mathjax --wrap=none -t html -f"
OTHERWISE = "open it in its own program, save it as a PDF, and use that"
UNPACKED, MEMBERS = 50_000_000, 5_000
"""Maximum bytes and files of an unpacked archive, without pictures."""
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".emf", ".wmf", ".svg")
ARCHIVES = ("docx", "odt", "epub")
STYLES = re.compile(r"(?:word/)?styles\d*\.xml|content\.xml")
BARE = re.compile(rb"(?<=</text:p>)\s*([^<\s](?:[^<]|</?text:span[^>]*>)*)(?=<text:)")
"""An abstract as Pandoc writes it into OpenDocument texts: in no paragraph, so that it would not be read."""
COMMENTS = {
    "rst": re.compile(r"^[ \t]*\.\. (?!\S[\w -]*::|\[|_|\|)(.+(?:\n[ \t]+\S.*)*)", re.M),
    "typst": re.compile(r"(?<![:/])//(.*)"),
}
SETUP = re.compile(r"^#show:\s*(?:\w+\s*=>\s*)?[\w.-]+\((.*?)^\)[^\n]*$|^#import\s*\"@[^\n]*$", re.M | re.S)
"""The template of a Typst paper with its arguments, and packages, which Pandoc cannot load."""
ARGUMENT = re.compile(r"\b(title|abstract|name|date):\s*(?:\"([^\"]*)\"|\[((?:[^\[\]]|\[[^\[\]]*\])*)\])")
_AUTHORS = re.compile(r"^:Author:[ \t]*(\S.*?)[ \t]*$", re.M | re.I)
DATE = re.compile(r'<p(?: class="date">|>\ue000date\ue001)([^<]*)</p>')
CAPTION = "<p>\ue000caption\ue001(.*?)</p>"
REWRITES = [
    (re.compile(pattern), made)
    for pattern, made in (
        (r'<span class="math \w+">\\[(\[](.*?)\\[)\]]</span>', r'<math alttext="\1"></math>'),
        (r'<p class="author">|<p>\ue000authors\ue001', '<p class="authors">'),
        (r"<p>\ue000title\ue001(.*?)</p>", r'<h1 class="title">\1</h1>'),
        (r"<p>\ue000abstract\ue001(.*?)</p>", r'<div class="abstract">\1</div>'),
        (r'<span class="(deletion|comment-start)"', r'<span hidden class="\1"'),
        (r'<span class="citation"[^>]*>(\d+)</span>', r"[\1]"),
        (rf"<p>(<img[^>]*>)</p>\s*{CAPTION}", r"<figure>\1<figcaption>\2</figcaption></figure>"),
        (
            rf'(?:<div class="caption">\s*<p>(.*?)</p>\s*</div>|{CAPTION})\s*<table[^>]*>',
            r"<table><caption>\1\2</caption>",
        ),
        (
            r'<dt><span id="[^"]*" class="citation-label">(.*?)</span></dt>\s*<dd>',
            r'<dd role="doc-biblioentry">[\1] ',
        ),
        (MARK.pattern, ""),
    )
]
"""Pandoc's page as that of a paper: notes, formulas, title, captions, references."""
INITIAL = re.compile(r'<ol(?: start="(\d+)")? type="A">\s*<li>(?:<p>)?')
"""A name that begins with an initial, which reStructuredText takes for a list."""


def office_reader(kind: str) -> Callable[[Path, Limits], Document]:
    """The reader of a format, by Pandoc's name of it.

    Raises:
        DocumentError: the file is broken or too large, or there is no Pandoc.
    """
    return lambda path, limits: _read(path, kind, limits)


def _read(path: Path, kind: str, limits: Limits) -> Document:
    data, text, hidden, faults = path.read_bytes(), "", list[Hidden](), list[str]()
    if kind in ARCHIVES:
        data, faults = _repacked(path, data, kind, hidden)
    elif len(data) > limits.text:
        tried = f"texts of up to {limits.text:,} bytes are read"
        raise DocumentError(f"{path} is too large: {len(data):,} bytes", tried=tried)
    else:
        text = data.decode("utf-8-sig", "replace")
        comments = COMMENTS[kind].findall(text) if kind in COMMENTS else []
        spoken = (" ".join(one.split()) for one in comments if speech(one))
        hidden += [Hidden(text=one, page=0, why="comment") for one in spoken]
        data = (SETUP.sub(_told, text) if kind == "typst" else text).encode()
    page = run_pandoc(f"reading {path}", f"{PAGE} {kind}", data, OTHERWISE).decode("utf-8", "replace")
    year = re.search(r"(?:19|20)\d\d", " ".join(DATE.findall(page)))
    page = INITIAL.sub(lambda one: f"{chr(64 + min(26, int(one[1] or 1)))}. ", DATE.sub("", page))
    for pattern, made in REWRITES:
        page = pattern.sub(made, page)
    draft = draft_of_html(path if kind in ARCHIVES else path.parent, page)
    if kind == "jats":
        draft.authors, draft.numbers, references = _jats(path, data)
        draft.references = references or draft.references
    if kind == "epub":  # Pandoc names them from the last to the first
        draft.authors = draft.authors[::-1]
    if kind == "rst" and len(people := _AUTHORS.findall(text)) > 1:  # of which it keeps one
        draft.authors = tuple(people)
    draft.year = int(year[0]) if year else draft.year
    draft.hidden += hidden
    draft.faults += faults
    return draft.document()


def _told(setup: re.Match[str]) -> str:
    """Title, authors and abstract of a Typst template as marked paragraphs."""
    parts = (
        (one[1].replace("name", "authors"), one[2] or one[3] or "")
        for one in ARGUMENT.finditer(setup[1] or "")
    )
    return "".join(f"\n\n\ue000{name}\ue001{' '.join(text.split())}\n\n" for name, text in parts)


def _jats(path: Path, data: bytes) -> tuple[tuple[str, ...], tuple[str, ...], list[Reference]]:
    """What Pandoc drops of JATS: some authors, the paper's DOI, and references that are not in parts."""
    from defusedxml.ElementTree import ParseError, fromstring

    def text(node: Any) -> str:
        return "" if node is None else " ".join(" ".join(node.itertext()).split())

    def people(node: Any) -> list[str]:
        named = (one for one in node.iter() if one.tag in ("name", "string-name", "collab"))
        pairs = ((text(one.find("given-names")), text(one.find("surname")), one) for one in named)
        return [f"{given} {family}".strip() or text(one) for given, family, one in pairs]

    try:
        root: Any = fromstring(data)
    except (ParseError, ValueError, LookupError) as error:
        hint = "download it again, or use the PDF"
        raise DocumentError(f"{path} is broken XML: {error}", hint=hint) from error
    head: Any = root.find(".//article-meta")
    references = list[Reference]()
    for number, ref in enumerate(root.iter("ref"), 1):
        year = re.search(r"(?:19|20)\d\d", text(ref.find(".//year")))
        references.append(
            reference_of(
                " ".join(text(one) for one in ref if one.tag == "mixed-citation"),
                people=people(ref),
                families=[text(one) for one in ref.iter("surname")] or None,
                title=text(ref.find(".//article-title")),
                venue=text(ref.find(".//source")),
                year=int(year[0]) if year else None,
                number=text(ref.find("label")).strip("[]. ") or str(number),
                doi=next((text(one) for one in ref.iter("pub-id") if one.get("pub-id-type") == "doi"), None),
            )
        )
    if head is None:
        return (), (), references
    found = (identify(text(one)) for one in head.findall("article-id"))
    authors = [
        one
        for each in head.iter("contrib")
        if each.get("contrib-type", "author") == "author"
        for one in people(each)[:1]
    ]
    return tuple(authors), tuple(one.value for one in found if one.kind in ("doi", "arxiv")), references


def _repacked(path: Path, data: bytes, kind: str, hidden: list[Hidden]) -> tuple[bytes, list[str]]:
    """An archive without pictures and hidden text, which is added to `hidden`; and its faults."""
    made, left, faults = io.BytesIO(), UNPACKED, list[str]()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(made, "w") as new:
            names = [one for one in archive.namelist() if not one.endswith("/")]
            if len(names) > MEMBERS:
                raise ValueError(f"more than {MEMBERS:,} files")
            parts = dict[str, bytes]()
            for name in dict.fromkeys(names):
                with archive.open(name) as file:
                    parts[name] = b"" if name.lower().endswith(PICTURES) else file.read(left + 1)
                left -= len(parts[name])
                if left < 0:
                    raise ValueError(f"more than {UNPACKED:,} bytes when unpacked")
            if "content.xml" in parts:
                paragraph = "<text:p>\ue000abstract\ue001".encode() + rb"\1</text:p>"
                parts["content.xml"] = BARE.sub(paragraph, parts["content.xml"])
            texts = [name for name in parts if kind != "epub" and _is_text(name, parts[name])]
            styles = styles_of(*(parts[name] for name in texts if STYLES.fullmatch(name)))
            for name in texts:
                ink = Ink(parts[name], styles)
                parts[name] = ink.visible
                hidden += ink.hidden
            for name, part in parts.items():
                new.writestr(name, part)
            if objects := parts.get("content.xml", b"").count(b"<draw:object "):
                faults.append(f"embedded objects, such as formulas, are not read: {objects}")
    except (*BROKEN, ExpatError, SyntaxError) as error:
        raise DocumentError(f"{path} cannot be unpacked: {error}", hint=OTHERWISE) from error
    return made.getvalue(), faults


def _is_text(name: str, part: bytes) -> bool:
    """Whether a part may have text of the paper: a Word file may give it any name."""
    return part[:99].lstrip(b"\xef\xbb\xbf\r\n\t ").startswith(b"<") and not name.endswith(".rels")
