"""Papers as Word, OpenDocument, EPUB, JATS, reStructuredText and Typst, read by Pandoc in a process of its own.

Pandoc is the extra `office`, or a `pandoc` on the PATH. It opens no other file, and has limits of time, memory and output.
"""

import io
import json
import re
import shutil
import subprocess
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from manyheads.base.errors import DocumentError, install_command
from manyheads.base.papers import identify
from manyheads.documents.bibliography import reference_of
from manyheads.documents.document import Document, Hidden, Limits, Reference, letter_count
from manyheads.documents.draft import CAPTION, Block, draft_of, speech
from manyheads.documents.html import UNSEEN
from manyheads.documents.ink import MARK, Ink, styles_of
from manyheads.documents.pictures import beside

SECONDS, MEMORY, OUTPUT = 20.0, "-M512m", 60_000_000
"""Pandoc's limits: of time, of its heap, and bytes of its answer."""
UNPACKED, MEMBERS = 60_000_000, 5_000
"""Maximum bytes and files of an unpacked archive, without pictures."""
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".emf", ".wmf", ".svg")
INKED = {
    "docx": re.compile(r"word/(document\d*|footnotes|endnotes)\.xml"),
    "odt": re.compile(r"content\.xml"),
    "epub": re.compile("(?!)"),
}
"""The parts of an archive with text."""
COMMENTS = {
    "rst": re.compile(r"^[ \t]*\.\. (?!\S[\w -]*::|\[|_|\|)(.+(?:\n[ \t]+\S.*)*)", re.M),
    "typst": re.compile(r"(?<![:/])//(.*)"),
}
SETUP = re.compile(r"^#show:\s*(?:\w+\s*=>\s*)?[\w.-]+\((.*?)^\)[^\n]*$|^#import\s*\"@[^\n]*$", re.M | re.S)
"""The template of a Typst paper with its arguments, and packages, which Pandoc cannot load."""
ARGUMENT = re.compile(r"\b(title|abstract|name):\s*(?:\"([^\"]*)\"|\[((?:[^\[\]]|\[[^\[\]]*\])*)\])")
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError)


def office_reader(kind: str) -> Callable[[Path, Limits], Document]:
    """The reader of a format, by Pandoc's name of it.

    Raises:
        DocumentError: the file is broken or too large, or there is no Pandoc.
    """
    return lambda path, limits: _read(path, kind, limits)


def _read(path: Path, kind: str, limits: Limits) -> Document:
    pandoc, hidden, faults = _pandoc(path), list[Hidden](), list[str]()
    data = path.read_bytes()
    if kind in INKED:
        data, faults = _repacked(path, data, kind, hidden)
    elif len(data) > limits.text:
        raise DocumentError(
            f"{path} is too large: {len(data):,} bytes",
            tried=f"texts of up to {limits.text:,} bytes are read",
        )
    else:
        text = data.decode("utf-8-sig", "replace")
        comments = COMMENTS[kind].findall(text) if kind in COMMENTS else []
        hidden += [
            Hidden(text=" ".join(one.split()), page=0, why="comment") for one in comments if speech(one)
        ]
        data = (SETUP.sub(_told, text) if kind == "typst" else text).encode()
    tree = _tree(path, pandoc, kind, data)
    walk = _Blocks(path.parent, archive=kind in INKED)
    walk.meta(tree["meta"])
    walk.blocks_of(tree["blocks"])
    draft = draft_of(walk.blocks)
    if kind == "jats":
        draft.authors, draft.numbers, references = _jats(path, data)
        draft.references = references or draft.references
    draft.year = walk.year
    draft.hidden += [*hidden, *walk.hidden]
    draft.faults += faults
    cut = "".join(one.text for one in walk.hidden)
    draft.letters = letter_count("".join(_strings(tree["blocks"]))) - letter_count(cut)
    return draft.document()


def _strings(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if cast(Any, node).get("t") == "Str":
            yield cast(Any, node)["c"]
        node = [*cast(dict[str, Any], node).values()]
    for one in cast(list[Any], node) if isinstance(node, list) else ():
        yield from _strings(one)


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
        raise DocumentError(
            f"{path} is broken XML: {error}", hint="download it again, or use the PDF"
        ) from error
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


def _pandoc(path: Path) -> str:
    try:
        import pypandoc

        return str(pypandoc.get_pandoc_path())
    except (ImportError, OSError) as error:
        if found := shutil.which("pandoc"):
            return found
        raise DocumentError(
            f"{path} needs Pandoc to be read", tried="the extra `office`; `pandoc` on the PATH",
            hint=f"{install_command('office')}, or save it as a PDF",
        ) from error  # fmt: skip


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
            own = [name for name in parts if INKED[kind].fullmatch(name)]
            styles = styles_of(
                *(parts[one] for one in ("word/styles.xml", "styles.xml", "content.xml") if one in parts)
            )
            for name in own:
                ink = Ink(parts[name], styles)
                parts[name] = ink.visible
                hidden += ink.hidden
            for name, part in parts.items():
                new.writestr(name, part)
            if objects := parts.get("content.xml", b"").count(b"<draw:object "):
                faults.append(f"embedded objects, such as formulas, are not read: {objects}")
    except BROKEN as error:
        raise DocumentError(
            f"{path} cannot be unpacked: {error}",
            hint="open it in its own program, save it as a PDF, and use that",
        ) from error
    return made.getvalue(), faults


def _tree(path: Path, pandoc: str, kind: str, data: bytes) -> dict[str, Any]:
    """Pandoc's tree of a text, which it gets by standard input."""
    command = [
        pandoc,
        "+RTS",
        MEMORY,
        "-RTS",
        "--sandbox",
        "-s",
        "--track-changes=all",
        "-f",
        kind,
        "-t",
        "json",
    ]
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as told:
        given.write(data)
        given.seek(0)
        with subprocess.Popen(
            command,
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=told,
            env={"HOME": tempfile.gettempdir(), "LC_ALL": "C.UTF-8"},
        ) as process:
            assert process.stdout
            timer = threading.Timer(SECONDS, process.kill)
            timer.start()
            answer = b""
            try:
                answer = process.stdout.read(OUTPUT + 1)
            finally:
                late = not timer.is_alive()
                timer.cancel()
                process.kill() if len(answer) > OUTPUT else None
        told.seek(0)
        said = " ".join(told.read(2000).decode("utf-8", "replace").split())[:300]
    if process.returncode or len(answer) > OUTPUT:
        why = f"it took more than {SECONDS:g} s" if late else f"its text is larger than {OUTPUT:,} bytes"
        why = why if late or len(answer) > OUTPUT else said or f"it takes more memory than {MEMORY[2:]}B"
        raise DocumentError(
            f"{path} cannot be read by Pandoc: {why}",
            hint="open it in its own program, save it as a PDF, and use that",
        )
    return json.loads(answer)


def _told(setup: re.Match[str]) -> str:
    """Title, authors and abstract of a Typst template as marked paragraphs."""
    kinds = {"name": "authors"}
    parts = ((one[1], one[2] or one[3] or "") for one in ARGUMENT.finditer(setup[1] or ""))
    return "".join(
        f"\n\n\ue000{kinds.get(name, name)}\ue001{' '.join(text.split())}\n\n" for name, text in parts
    )


class _Blocks:
    """The blocks of Pandoc's tree, in order."""

    def __init__(self, folder: Path, *, archive: bool) -> None:
        self.blocks: list[Block] = []
        self.hidden: list[Hidden] = []
        self._folder, self._archive = folder, archive
        self.year: int | None = None
        self._images: list[str] = []
        self._caption = ""
        """A caption that stands above its table or figure."""

    def meta(self, meta: dict[str, Any]) -> None:
        """Title, authors and abstract."""
        self._add("title", self._words(meta.get("title")))
        self._date(self._words(meta.get("date")))
        authors = meta.get("author", {"t": "", "c": []})
        for one in authors["c"] if authors["t"] == "MetaList" else [authors]:
            self._add("authors", self._words(one))
        abstract = meta.get("abstract", {"t": "", "c": []})
        for one in abstract["c"] if abstract["t"] == "MetaBlocks" else [abstract]:
            self._add("abstract", self._words(one))

    def _date(self, text: str) -> None:
        if year := re.search(r"(?:19|20)\d\d", text):
            self.year = int(year[0])

    def _add(self, kind: Any, text: str, **more: Any) -> None:
        if text or more.get("rows") or more.get("files"):
            self.blocks.append(Block(kind, text, **more))

    def blocks_of(self, nodes: Any, item: str = "") -> None:
        """Add a list of blocks; `item` begins the first."""
        for node in nodes:
            content: Any = node.get("c")
            match node["t"]:
                case "Header":
                    self._add("heading", self._words(content[2]), level=content[0])
                case "Para" | "Plain":
                    self._paragraph(item, self._spaced(content))
                case "CodeBlock":
                    self._add("paragraph", " ".join(content[1].split()))
                case "LineBlock":
                    self._paragraph(item, " ".join(map(self._spaced, content)))
                case "BlockQuote":
                    self.blocks_of(content, item)
                case "BulletList":
                    for one in content:
                        self.blocks_of(one)
                case "OrderedList":
                    (start, style, _), items = content
                    for number, one in enumerate(items, start):
                        letter = chr(64 + number) if number < 27 else str(number)
                        mark = letter if style["t"] == "UpperAlpha" else str(number)
                        self.blocks_of(one, f"{item}{mark}. ")
                case "DefinitionList":
                    self._definitions(content)
                case "Table":
                    self._table(content)
                case "Figure":
                    self._caption = self._words(content[1][1]) or self._caption
                    self.blocks_of(content[2])
                    self._add("figure", self._caption)  # its picture is not there
                    self._caption = ""
                case "Div":
                    self._div(content)
                case _:
                    continue
            item = ""

    def _paragraph(self, item: str, text: str) -> None:
        mark = MARK.search(text)
        text, files = MARK.sub("", text).strip(), tuple(self._images)
        self._images.clear()
        if files:
            self._add("figure", self._caption or text or " ", files=files)
            self._caption = ""
        elif mark and mark[1] == "date":
            self._date(text)
        elif mark and mark[1] != "caption":
            self._add(mark[1], text)
        elif mark and not CAPTION.match(text):
            last = self.blocks[-1] if self.blocks else None
            if last and last.kind == "figure" and not last.text.strip():
                self.blocks[-1] = Block("figure", text, files=last.files)
            else:
                self._caption = text
        else:
            self._add("paragraph", f"{item}{text}" if text else "")

    def _div(self, content: Any) -> None:
        (_, classes, pairs), inner = content
        if self._unseen(dict(pairs)):
            if text := self._words(inner):
                self.hidden.append(Hidden(text=text, page=0, why="invisible"))
        elif "caption" in classes:
            self._caption = self._words(inner)
        elif "abstract" in classes:
            self._add("abstract", self._words(inner))
        else:
            self.blocks_of(inner)

    def _definitions(self, content: Any) -> None:
        for term, definitions in content:
            spans = [one["c"][0] for one in term if one["t"] == "Span"]
            if spans and "citation-label" in spans[0][1]:
                before, self.blocks = self.blocks, []
                for one in definitions:
                    self.blocks_of(one)
                text, self.blocks = " ".join(one.text for one in self.blocks), before
                self._add("reference", text, number=spans[0][0])
            else:
                self._add("paragraph", self._words(term))
                for one in definitions:
                    self.blocks_of(one)

    def _table(self, content: Any) -> None:
        _, caption, _, (_, head), bodies, (_, foot) = content
        lines = [*head, *(row for body in bodies for row in (*body[2], *body[3])), *foot]
        rows = (tuple(self._words(cell[4]) for cell in row[1]) for row in lines)
        rows = tuple(row for row in rows if any(row))
        text = self._words(caption[1]) or self._caption
        self._caption = ""
        if not self._has_heading and not text and self.blocks[:1] and self.blocks[0].kind != "abstract":
            for cell in (cell for row in rows for cell in row):  # authors side by side
                self._add("paragraph", cell)
        else:
            self._add("table", text, rows=rows)

    @property
    def _has_heading(self) -> bool:
        return any(one.kind in ("heading", "abstract") for one in self.blocks)

    @staticmethod
    def _unseen(attributes: dict[str, str]) -> bool:
        return bool(UNSEEN.search(re.sub(r"\s+", "", attributes.get("style", "")).casefold()))

    def _words(self, node: Any) -> str:
        """The text of inlines or blocks, in one line."""
        return MARK.sub("", self._spaced(node))

    def _spaced(self, node: Any) -> str:
        return " ".join("".join(self._texts(node)).split())

    def _texts(self, node: Any) -> Iterator[str]:
        if isinstance(node, list):
            for one in cast(list[Any], node):
                yield from self._texts(one)
            return
        if not isinstance(node, dict):
            return
        kind, content = cast(Any, node).get("t"), cast(Any, node).get("c")
        match kind:
            case "Str" | "MetaString":
                yield content
            case "Space" | "SoftBreak" | "LineBreak":
                yield " "
            case "Code" | "CodeBlock":
                yield content[1]
            case "Math":
                yield f"${content[1]}$"
            case "Quoted":
                yield "“" if content[0]["t"] == "DoubleQuote" else "‘"
                yield from self._texts(content[1])
                yield "”" if content[0]["t"] == "DoubleQuote" else "’"
            case "Cite":
                text = self._words(content[1])
                yield f"[{text}]" if text.isdecimal() else text
            case "Note":
                self._add("note", self._words(content))
            case "Image":
                name = content[2][0]
                if file := name if self._archive else beside(self._folder, name):
                    self._images.append(file)
                yield from self._texts(content[1])
            case "Span":
                yield from self._span(content)
            case "RawInline" | "RawBlock":
                return
            case _:
                gap = " " if kind in ("Para", "Plain", "Header") else ""
                yield gap
                yield from self._texts(content)
                yield gap

    def _span(self, content: Any) -> Iterator[str]:
        (_, classes, pairs), inner = content
        attributes = dict(pairs)
        deleted = "deletion" in classes
        if deleted or "comment-start" in classes or self._unseen(attributes):
            if text := self._words(inner):
                why = "deleted" if deleted else "comment" if "comment-start" in classes else "invisible"
                self.hidden.append(Hidden(text=text, page=0, why=why))
        else:
            yield from self._texts(inner)
