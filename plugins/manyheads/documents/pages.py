"""The pages of a PDF: words with positions, hidden words, drawings, rendered pixels."""

import ctypes
import math
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from manyheads.documents.document import Limits
from manyheads.documents.letters import Place, letters_of
from manyheads.documents.page import Drawing, Page, hide_text, sort_words
from manyheads.documents.pdfium import address, clips, objects, opened, spare


def read_pages(path: Path, limits: Limits) -> tuple[list[Page], int, list[str], dict[str, str]]:
    """The pages within the limits, their total number, faults, and the file's metadata."""
    import pypdfium2 as pdfium

    pages: list[Page] = []
    faults: list[str] = []
    deadline = time.monotonic() + limits.seconds
    with opened(path, faults) as document:
        count = len(document)
        about = {name: " ".join(str(text).split()) for name, text in document.get_metadata_dict().items()}
        if count > limits.pages:
            faults.append(f"only the first {limits.pages} of {count} pages were read")
        for index in range(min(count, limits.pages)):
            if time.monotonic() > deadline:
                faults.append(
                    f"pages {index + 1} to {count} were not read: the first took {limits.seconds:g} s"
                )
                break
            try:
                with closing(document[index]) as raw:
                    side = max(raw.get_size())
                    if side > limits.side:
                        faults.append(f"page {index + 1} was not read: it is {side:,.0f} points wide or high")
                        continue
                    page = _page(raw, index + 1, limits)
            except pdfium.PdfiumError:
                faults.append(f"page {index + 1} cannot be read: it is broken")
            else:
                pages.append(page)
                faults += page.faults
    return pages, count, faults, about


def _page(raw: Any, number: int, limits: Limits) -> Page:
    """The content of an open page."""
    textpage = raw.get_textpage()
    try:
        letters = letters_of(textpage, limits, clips(raw, limits.objects))
        faults = [f"page {number}: only the first {limits.characters} characters were read"] * (
            textpage.count_chars() > limits.characters
        )
    finally:
        textpage.close()
    turns = Counter[int]()
    for letter in letters:
        if letter.style is not None and letter.style.quarter is not None:
            turns[letter.style.quarter] += 1
    shown = raw.get_rotation() // 90
    quarter = turns.most_common(1)[0][0] if turns else shown
    place = Place.on(raw, quarter)
    turn: Any = (quarter - shown) % 4 * 90
    page = Page(number, place.width, place.height, turn, faults=faults)
    page.drawings, cut = _drawings(raw, place, limits)
    if cut:
        page.faults.append(f"page {number}: only {limits.objects} of its drawings were read")
    page.faults += [
        f"page {number}: a picture of {wide:,} × {high:,} pixels was not rendered: it is too large"
        for wide, high in spare(raw)
    ]
    page.scale = min(1.0, math.sqrt(limits.pixels / max(1.0, page.width * page.height)))
    bitmap = raw.render(scale=page.scale, rotation=turn, grayscale=True)
    page.pixels = bitmap.to_numpy().copy()
    bitmap.close()
    if hide_text(raw, limits.objects):
        bitmap = raw.render(scale=page.scale, rotation=turn, grayscale=True)
        page.ground = bitmap.to_numpy().copy()
        bitmap.close()
    sort_words(page, letters, place)
    page.ground = None
    return page


def _drawings(raw: Any, place: Place, limits: Limits) -> tuple[list[Drawing], bool]:
    """Visible images, forms and paths of a page, and whether there are too many."""
    import pypdfium2.raw as c

    kinds: dict[int, Any] = {
        c.FPDF_PAGEOBJ_IMAGE: "image",
        c.FPDF_PAGEOBJ_FORM: "form",
        c.FPDF_PAGEOBJ_PATH: "path",
        c.FPDF_PAGEOBJ_SHADING: "path",
    }
    values = [ctypes.c_float() for _ in range(4)]
    drawings: list[Drawing] = []
    pages = {0}
    """The page itself, and forms that are most of it: what is drawn in others belongs to them."""
    for number, (drawing, code, around, matrix) in enumerate(objects(raw, limits.objects + 1)):
        if number == limits.objects:
            return drawings, True
        kind = kinds.get(code)
        if around not in pages or not kind or not c.FPDFPageObj_GetBounds(drawing, *values):
            continue
        x0, y0, x1, y1 = place.box(*matrix.on_rect(*(value.value for value in values)))
        if x1 <= 0 or y1 <= 0 or x0 >= place.width or y0 >= place.height:
            continue
        if kind == "form" and (x1 - x0) * (y1 - y0) > place.width * place.height / 2:
            pages.add(address(drawing))
        else:
            box = max(0.0, x0), max(0.0, y0), min(place.width, x1), min(place.height, y1)
            drawings.append(Drawing(kind, box))
    return drawings, False
