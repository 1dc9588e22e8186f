"""PDFium: files checked and opened, and what their pages hold.

PDFium is not thread-safe: every call, including closing, holds one lock. Before it opens a file, the file's objects are read
from its bytes: whether it can bear them, and the pages of a file cut off. Cross references are not followed, so a file can
hide objects from this; `reading.read_apart` limits what these take.
"""

import base64
import ctypes
import math
import re
import threading
import zlib
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from manyheads.base import files
from manyheads.base.errors import DocumentError, need_extra
from manyheads.base.text import count
from manyheads.documents.document import Box

STREAM = 40_000_000
"""Maximum bytes of a stream without its compression, and of what a page draws: PDFium needs twenty times as many."""
ALL = 250_000_000
"""Maximum bytes of all streams without their compression, and of what all pages draw."""
OBJECTS = 500_000
"""Maximum objects."""
DEEP = 40
"""Maximum compressions of a stream, and forms within one another."""
START = re.compile(rb"(?<!\d)(\d{1,9}+)\s{1,9}+\d{1,5}+\s{1,9}+obj\b")
BODY = re.compile(rb"endobj|\bstream\r?\n?")
REFERENCE = rb"(\d{1,9})\s{1,9}\d{1,5}\s{1,9}R\b"
NAME = rb"/([^\s/<>\[\]()]{1,127})\s{0,9}"


class _Object(NamedTuple):
    words: bytes
    """Without its stream."""
    size: int
    """Bytes of its stream, without compression."""
    draws: Counter[bytes]
    """How often its stream draws each form or picture, by name."""


class Objects:
    """The objects of a PDF; of a file that is cut off, those that are whole.

    Raises:
        DocumentError: PDFium would need too much memory or time for them.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        self._path, self._data, self._end, self._all, self._added = path, data, 0, 0, 0
        self._objects: dict[int, _Object] = {}
        self._drawn: dict[int, int] = {}
        while (start := START.search(data, self._end)) and (body := BODY.search(data, start.end())):
            words, stream, end = data[start.end() : body.start()], b"", body.end()
            if body[0] != b"endobj":
                end = data.find(b"endstream", end)
                stream = self._stream(words, data[body.end() : end if end >= 0 else None])
                if end < 0:
                    break
                end += len(b"endstream")
            self._add(int(start[1]), words, stream)
            self._end = end
        pages = {
            number: self._contents(one.words)
            for number, one in self._objects.items()
            if re.search(rb"/Type\s*/Page\b", one.words)
        }
        drawn = [self._draws(page, contents) for page, contents in pages.items()]
        self._check(max(drawn, default=0), STREAM, "bytes on a page")
        self._check(sum(drawn), ALL, "bytes on its pages")
        self.pages = [page for page, contents in pages.items() if self._objects.keys() >= {*contents}]
        """The numbers of those whose content is whole, in the order of the file."""
        self.cut = b"%%EOF" not in data[self._end :]

    def mended(self) -> bytes:
        """The file with a new end, by which its whole pages are all its pages."""
        root = max(self._objects) + 1
        kids = b" ".join(b"%d 0 R" % page for page in self.pages)
        return self._data[: self._end] + (
            b"\nendobj\n%d 0 obj\n<</Type/Catalog/Pages %d 0 R>>\nendobj\n" % (root, root + 1)
            + b"%d 0 obj\n<</Type/Pages/Kids[%s]/Count %d>>\nendobj\n" % (root + 1, kids, len(self.pages))
            + b"trailer\n<</Root %d 0 R/Size %d>>\nstartxref\n0\n%%%%EOF\n" % (root, root + 2)
        )

    def _add(self, number: int, words: bytes, stream: bytes = b"") -> None:
        """Add an object, and those in its stream."""
        draws = Counter(one[1] for one in re.finditer(NAME + rb"Do\b", stream))
        self._objects[number] = _Object(words, len(stream), draws)
        self._added += 1
        self._check(self._added, OBJECTS, "objects")
        if stream and b"/ObjStm" in words and (first := re.search(rb"/First\s+(\d{1,9})\b", words)):
            head = [int(one) for one in re.findall(rb"\d{1,9}", stream[: min(int(first[1]), 10 * OBJECTS)])]
            places = [int(first[1]) + place for place in head[1::2]]
            for inner, start, end in zip(head[::2], places, [*places[1:], len(stream)], strict=False):
                self._add(inner, stream[start:end])

    def _stream(self, words: bytes, raw: bytes) -> bytes:
        """A stream without its compressions, or the beginning of one that is written in letters."""
        # A picture's pixels are counted before a page is drawn, and attached files are not read.
        is_image = re.search(rb"/Subtype\s*/Image\b", words) is not None
        if b"/EmbeddedFile" in words or (is_image and words.count(b"/Fl") < 2):
            return b""
        with suppress(zlib.error, ValueError):
            if b"/ASCII85Decode" in words or b"/A85" in words:
                raw = base64.a85decode(raw[:1_000_000].strip().removeprefix(b"<~").partition(b"~>")[0])
            for _ in range(DEEP):
                if not raw:
                    break
                raw = zlib.decompressobj().decompress(raw, STREAM + 1)
                self._check(len(raw), STREAM, "bytes in a stream")
        self._all += len(raw)
        self._check(self._all, ALL, "bytes in its streams")
        return raw

    def _contents(self, words: bytes) -> list[int]:
        found = re.search(rb"/Contents\s*(?:\[[^\]]*|%s)" % REFERENCE, words)
        numbers = [int(one) for one in re.findall(REFERENCE, found[0])] if found else []
        array = self._words(numbers[0]) if len(numbers) == 1 else b""
        return [int(one) for one in re.findall(REFERENCE, array)] if array[:1] == b"[" else numbers

    def _draws(self, owner: int, contents: Sequence[int], depth: int = 0) -> int:
        """Bytes that a page or a form draws by its streams, each form as often as it is drawn."""
        if owner in self._drawn or owner not in self._objects or depth > DEEP:
            return self._drawn.get(owner, 0)
        self._drawn[owner] = 0
        words = self._objects[owner].words
        for key in (b"/Resources", b"/Parent", b"/Resources", b"/XObject"):
            if apart := re.search(rb"%s\s*%s" % (key, REFERENCE), words):
                words += key + self._words(int(apart[1]))
        inside = re.search(rb"/XObject\s*<<", words)
        forms = re.findall(NAME + REFERENCE, words[inside.end() :].partition(b">>")[0]) if inside else []
        for number, times in Counter(contents).items():
            if one := self._objects.get(number):
                inner = (
                    one.draws[name] * self._draws(int(form), [int(form)], depth + 1)
                    for name, form in forms
                    if name in one.draws
                )
                self._drawn[owner] += times * (one.size + sum(inner))
        return self._drawn[owner]

    def _words(self, number: int) -> bytes:
        return self._objects[number].words[:4_000].lstrip() if number in self._objects else b""

    def _check(self, number: int, most: int, what: str) -> None:
        if number > most:
            raise DocumentError(
                f"{self._path} is too large to be read: it has more than {most:,} {what}",
                tried="counting its bytes without compression, before opening it",
                hint="open it in a viewer, print it to a new PDF, and use that",
            )


LOCK = threading.RLock()
HUGE = 100_000_000
"""Maximum pixels of a picture in a page to decode it."""


@contextmanager
def opened(path: Path, faults: list[str] | None = None) -> Generator[Any]:
    """PDFium's document; the caller holds the lock.

    Of a file that is cut off, it has the pages that are whole, which is added to the faults.

    Raises:
        DocumentError: the file is broken, encrypted, too large for PDFium, or not a PDF.
        ConfigError: PDFs need an optional extra, which is missing.
    """
    need_extra("papers", str(path))
    import pypdfium2 as pdfium

    try:
        with files.opened(path) as file:
            data = file.read()
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror or 'no such file'}") from error
    parts = Objects(path, data)
    with LOCK:
        try:
            try:
                document = pdfium.PdfDocument(data)
                if not len(document):
                    raise pdfium.PdfiumError("it has no pages")
            except pdfium.PdfiumError as error:
                if "password" in str(error).casefold():
                    tried = "opening it without a password"
                    hint = "save a copy without a password, and use that"
                    raise DocumentError(f"{path} is encrypted", tried=tried, hint=hint) from error
                if not parts.pages:
                    raise
                document = pdfium.PdfDocument(parts.mended())
                parts.cut = True
        except pdfium.PdfiumError as error:
            raise DocumentError(
                f"{path} is broken: no page of it can be read",
                tried=f"PDFium: {error}",
                hint="if a viewer can open it, print it to a new PDF, and use that",
            ) from error
        if parts.cut and faults is not None:
            faults.append(
                f"the file is cut off or broken: {count(len(parts.pages), 'whole page')} of it could be found; where a font is lost, "
                "signs such as ligatures and decimal points may be missing or wrong"
            )
        try:
            yield document
        finally:
            document.close()


def page_of(document: Any, path: Path, page: int) -> Any:
    """A page, from 1; raises `DocumentError` if it does not exist, or is broken."""
    import pypdfium2 as pdfium

    if not 1 <= page <= len(document):
        raise DocumentError(f"{path} has no page {page}", tried=f"it has {len(document)} pages")
    try:
        return document[page - 1]
    except pdfium.PdfiumError as error:
        what = f"page {page} of {path}"
        raise DocumentError(f"{what} cannot be read: it is broken", tried=str(error)) from error


def objects(page: Any, most: int) -> Iterator[tuple[Any, int, int, Any]]:
    """Drawings of a page and of its forms, at most `most`: each with its kind, the address of the form around it (0 on the page
    itself), and the matrix from there to the page."""
    import pypdfium2 as pdfium
    import pypdfium2.raw as c

    waiting = [(page.raw, 0, pdfium.PdfMatrix(), c.FPDFPage_CountObjects(page.raw), c.FPDFPage_GetObject)]
    while waiting:
        owner, around, matrix, count, item = waiting.pop()
        for index in range(min(count, most)):
            drawing = item(owner, index)
            kind = c.FPDFPageObj_GetType(drawing)
            yield drawing, kind, around, matrix
            if kind == c.FPDF_PAGEOBJ_FORM:
                form = c.FS_MATRIX()
                c.FPDFPageObj_GetMatrix(drawing, form)
                inner = pdfium.PdfMatrix.from_raw(form).multiply(matrix)
                held = c.FPDFFormObj_CountObjects(drawing)
                waiting.append((drawing, address(drawing), inner, held, c.FPDFFormObj_GetObject))
        most -= min(count, most)


def clips(page: Any, most: int) -> dict[int, Box]:
    """The visible part of each text clipped within a form, as for cropped pictures, by the text's address: left, bottom, right,
    top, in the page's own coordinates. Checks at most `most` objects."""
    import pypdfium2.raw as c

    seen: dict[int, Box] = {}
    everything: Box = (-math.inf, -math.inf, math.inf, math.inf)
    frames = {0: everything}
    for drawing, kind, around, matrix in objects(page, most):
        if kind not in (c.FPDF_PAGEOBJ_FORM, c.FPDF_PAGEOBJ_TEXT):
            continue
        box = frames[around]
        if own := _clip(drawing):
            left, bottom, right, top = matrix.on_rect(*own)
            box = max(box[0], left), max(box[1], bottom), min(box[2], right), min(box[3], top)
        if kind == c.FPDF_PAGEOBJ_FORM:
            frames[address(drawing)] = box
        elif box != everything and len(frames) + len(seen) < most:
            seen[address(drawing)] = box
    return seen


def address(drawing: Any) -> int:
    """Of a drawing, as a key: the same drawing has many pointers."""
    return ctypes.cast(drawing, ctypes.c_void_p).value or 0


def _clip(drawing: Any) -> Box | None:
    """The bounds of a drawing's clip paths; None if there are none."""
    import pypdfium2.raw as c

    path = c.FPDFPageObj_GetClipPath(drawing)
    x, y = ctypes.c_float(), ctypes.c_float()
    box: Box | None = None
    for index in range(max(0, c.FPDFClipPath_CountPaths(path))):
        points: list[tuple[float, float]] = []
        for place in range(max(0, c.FPDFClipPath_CountPathSegments(path, index))):
            segment = c.FPDFClipPath_GetPathSegment(path, index, place)
            if c.FPDFPathSegment_GetPoint(segment, x, y):
                points.append((x.value, y.value))
        if points:
            (left, right), (bottom, top) = ((min(each), max(each)) for each in zip(*points, strict=True))
            own = box or (left, bottom, right, top)
            box = max(own[0], left), max(own[1], bottom), min(own[2], right), min(own[3], top)
    return box


def spare(page: Any) -> list[tuple[int, int]]:
    """Exclude too large pictures from further renderings of a page; returns their widths and heights."""
    import pypdfium2.raw as c

    left_out: list[tuple[int, int]] = []
    wide, high = ctypes.c_uint(), ctypes.c_uint()
    for drawing, kind, *_ in objects(page, 20_000):
        sized = kind == c.FPDF_PAGEOBJ_IMAGE and c.FPDFImageObj_GetImagePixelSize(drawing, wide, high)
        if sized and wide.value * high.value > HUGE:
            c.FPDFPageObj_SetIsActive(drawing, False)
            left_out.append((wide.value, high.value))
    return left_out
