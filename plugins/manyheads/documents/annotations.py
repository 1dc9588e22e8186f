"""Comments on a PDF as annotations in a copy of it: highlights of passages, and notes, which any viewer shows."""

import ctypes
from collections import defaultdict
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from manyheads.base.errors import DocumentError
from manyheads.base.text import printable
from manyheads.documents.document import Box
from manyheads.documents.pdfium import opened, page_of
from manyheads.documents.quotes import quote_boxes
from manyheads.documents.words import PageFrame

YELLOW = (255, 233, 120)
SIDE, STEP, MARGIN = 18.0, 22.0, 6.0
"""Size of a note's icon, the distance to the next, and to the edges of the page, in points."""


class Comment(NamedTuple):
    """A comment on passages; without any that is found on its page, a note in the margin of `page`."""

    text: str
    page: int = 1
    passages: Sequence[tuple[int, str]] = ()
    """Each with its page, from 1."""


def annotated(path: Path, comments: Iterable[Comment], author: str) -> bytes:
    """A copy of a PDF with comments.

    Raises:
        DocumentError: the file cannot be read.
    """
    highlights = defaultdict[int, dict[tuple[Box, ...], list[str]]](dict)
    notes = defaultdict[int, list[str]](list)
    for comment in comments:
        found = defaultdict[int, list[Box]](list)
        for page, passage in comment.passages:
            found[page] += quote_boxes(path, page, passage)
        marked = {page: boxes for page, boxes in found.items() if boxes}
        for page, boxes in marked.items():
            highlights[page].setdefault(tuple(boxes), []).append(comment.text)
        if not marked:
            notes[comment.page].append(comment.text)
    with opened(path) as document:
        for number in [each for each in notes if each > len(document)]:
            notes[1] += notes.pop(number)
        for number in sorted({*highlights, *notes}):
            page = page_of(document, path, number)
            frame = PageFrame.on(page)
            # of equal ones, only the uppermost could be opened
            for boxes, texts in highlights[number].items():
                _annotate(page, frame, "\n\n".join(texts), author, boxes)
            for place, text in enumerate(notes[number]):
                _annotate(page, frame, text, author, [_margin(frame, place)], note=True)
            page.close()
        written = BytesIO()
        document.save(written)
    return written.getvalue()


def _margin(frame: PageFrame, place: int) -> Box:
    """The icon of a page's first, second, … note: down the left edge, then in further columns."""
    column, row = divmod(place, max(1, int((frame.height - 2 * MARGIN) / STEP)))
    left, top = MARGIN + column * STEP, MARGIN + row * STEP
    return left, top, left + SIDE, top + SIDE


def _annotate(
    page: Any, frame: PageFrame, text: str, author: str, boxes: Sequence[Box], *, note: bool = False
) -> None:
    import pypdfium2.raw as c

    made = c.FPDFPage_CreateAnnot(page, c.FPDF_ANNOT_TEXT if note else c.FPDF_ANNOT_HIGHLIGHT)
    if not made:
        raise DocumentError("this PDF takes no annotations", hint="print it to a new PDF, and review that")
    corners = [
        [frame.source(x, y) for x, y in ((left, top), (right, top), (left, bottom), (right, bottom))]
        for left, top, right, bottom in boxes
    ]
    across, up = zip(*(point for box in corners for point in box), strict=True)
    c.FPDFAnnot_SetRect(made, ctypes.byref(c.FS_RECTF(min(across), max(up), max(across), min(up))))
    c.FPDFAnnot_SetColor(made, c.FPDFANNOT_COLORTYPE_Color, *YELLOW, 255)
    c.FPDFAnnot_SetFlags(made, c.FPDF_ANNOT_FLAG_PRINT)
    for box in () if note else corners:
        points = c.FS_QUADPOINTSF(*(value for point in box for value in point))
        c.FPDFAnnot_AppendAttachmentPoints(made, ctypes.byref(points))
    for key, value in ((b"Contents", text), (b"T", author)):
        coded = f"{printable(value)}\0".encode("utf-16-le", "replace")
        c.FPDFAnnot_SetStringValue(made, key, (c.FPDF_WCHAR * (len(coded) // 2)).from_buffer_copy(coded))
    c.FPDFPage_CloseAnnot(made)
