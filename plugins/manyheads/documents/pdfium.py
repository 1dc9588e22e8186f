"""PDFium: documents opened, and pages drawn.

PDFium is not thread-safe: every call, including closing, holds one lock.
"""

import ctypes
import math
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from manyheads.base import files
from manyheads.base.errors import DocumentError, need_extra
from manyheads.core.texts import count
from manyheads.documents.document import Box
from manyheads.documents.streams import Objects

if TYPE_CHECKING:
    from PIL.Image import Image

LOCK = threading.RLock()
Turn = Literal[0, 90, 180, 270]
MOST = 4_000_000
"""Maximum pixels of a picture."""
HUGE = 100_000_000
"""Maximum pixels of a picture in a page to decode it."""
SHARP = 4.0
"""Pixels per point above which no more detail appears."""


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
                    raise DocumentError(
                        f"{path} is encrypted",
                        tried="opening it without a password",
                        hint="save a copy without a password, and use that",
                    ) from error
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
        raise DocumentError(
            f"page {page} of {path} cannot be read: it is broken", tried=str(error)
        ) from error


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


def render(
    path: Path, page: int, box: Box | None = None, *, turn: Turn = 0, width: int = 1000, margin: float = 3
) -> bytes:
    """A crop of a page (the whole page without a box) as PNG.

    Args:
        path: the PDF.
        page: from 1.
        box: of a figure or table, in points.
        turn: of the same figure or table.
        width: in pixels; a crop is limited to 4 million pixels.
        margin: points left around the box.

    Raises:
        DocumentError: the file cannot be read, or has no such page.
    """
    return png(drawn(path, page, box, turn, width=width, pixels=MOST, margin=margin))


def drawn(
    path: Path,
    page: int,
    box: Box | None = None,
    turn: Turn = 0,
    *,
    width: float = math.inf,
    pixels: int = MOST,
    margin: float = 3,
) -> "Image":
    """A crop of a page, with at most the given width, pixels, and `SHARP` pixels per point."""
    import pypdfium2 as pdfium

    with opened(path) as document:
        raw = page_of(document, path, page)
        spare(raw)
        try:
            across, down = raw.get_size()
            if turn in (90, 270):
                across, down = down, across
            left, top, right, bottom = box or (0.0, 0.0, across, down)
            left, top = max(0.0, left - margin), max(0.0, top - margin)
            right, bottom = min(across, right + margin), min(down, bottom + margin)
            wide, high = max(1.0, right - left), max(1.0, bottom - top)
            scale = min(width / wide if width < math.inf else SHARP, math.sqrt(pixels / (wide * high)))
            while (int(wide * scale) + 1) * (int(high * scale) + 1) > max(pixels, 4):  # sides are rounded up
                scale *= 0.998
            crop = (left, down - bottom, across - right, top)
            return raw.render(scale=scale, rotation=turn, crop=crop).to_pil()
        except pdfium.PdfiumError as error:
            raise DocumentError(f"page {page} of {path} cannot be rendered", tried=str(error)) from error


def page_size(path: Path, page: int) -> tuple[float, float]:
    """Width and height of a page as displayed, in points; raises `DocumentError` if it does not exist."""
    with opened(path) as document:
        return page_of(document, path, page).get_size()


def png(image: "Image") -> bytes:
    """A picture as a file."""
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()
