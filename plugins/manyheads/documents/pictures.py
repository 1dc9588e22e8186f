"""Pictures: crops of a PDF's pages, and files beside a document."""

import math
import zipfile
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal, TypeAlias

from manyheads.base.errors import DocumentError
from manyheads.base.files import inside
from manyheads.documents.document import Box, Figure, Turn
from manyheads.documents.folders import BROKEN
from manyheads.documents.pdfium import opened, page_of, spare

if TYPE_CHECKING:
    from PIL.Image import Image

MOST = 4_000_000
"""Maximum pixels of a picture."""
SHARP = 4.0
"""Pixels per point above which no more detail appears."""
LARGEST = 50_000_000
"""Maximum pixels of a decoded file; a JPEG is scaled down while reading."""
LEAST = 16
"""Minimum pixels per side for a useful picture."""
SIDE = 6000
"""Maximum pixels per side, the limit of models' servers."""
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP")
ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".pdf")
"""Supported formats, most likely first."""
ARCHIVES = (".docx", ".docm", ".odt", ".epub")
Lack: TypeAlias = Literal["missing", "unreadable", "small", "large"]


class PictureError(DocumentError):
    """There is no picture, and why."""

    def __init__(self, why: Lack, message: str, **more: str | None) -> None:
        super().__init__(message, **more)
        self.why: Lack = why


def picture(path: Path, figure: Figure, pixels: int = 1_000_000) -> bytes:
    """A figure as PNG, with at most this many pixels: its crop, the whole page if none was found, or its files.

    Raises:
        DocumentError: the PDF cannot be read; `PictureError` if there is no picture, or it cannot be drawn.
    """
    if names := figure.files[:12]:
        packed = path.suffix.lower() in ARCHIVES
        files = (_unpacked(path, name) if packed else _need_inside(path.parent, name) for name in names)
        return png(_joined([_read(file, pixels, path) for file in files], pixels))
    if not figure.page or path.suffix.lower() != ".pdf":
        raise PictureError(
            "missing",
            f"figure {figure.number} of {path} has no picture",
            tried="its page and the files in the document's folder",
            hint="use the paper as PDF",
        )
    return png(drawn(path, figure.page, figure.box, figure.turn, pixels=pixels))


def _unpacked(path: Path, name: str) -> BytesIO:
    """A picture in an archive, whose folders Pandoc leaves out."""
    try:
        with zipfile.ZipFile(path) as archive:
            member = next(one for one in archive.namelist() if f"/{one}".endswith(f"/{name}"))
            with archive.open(member) as file:
                return BytesIO(file.read(LARGEST))
    except (*BROKEN, StopIteration) as error:
        raise PictureError("missing", f"{path}: no picture {name}", tried=str(error)) from error


def _need_inside(folder: Path, name: str) -> Path:
    if beside(folder, name) is None:
        raise PictureError("missing", f"{folder / name} is not a picture in the document's folder")
    return folder / name


def beside(folder: Path, name: str) -> str | None:
    """The picture that a document names, with any supported ending, if it is in the document's folder."""
    pure = PurePosixPath(name.strip().replace("\\", "/"))
    if not name.strip() or pure.is_absolute() or ".." in pure.parts or ":" in name:
        return None
    if folder.is_file():  # an archive
        return str(pure) if pure.suffix.lower() in ENDINGS else None
    names = [pure, *(pure.with_name(pure.name + ending) for ending in ENDINGS)]
    pictures = (str(one) for one in names if one.suffix.lower() in ENDINGS)
    return next((one for one in pictures if inside(folder, one)), None)


def picture_in(file: Path, pixels: int = 1_000_000) -> bytes:
    """A picture in a file, or the first page of a PDF, as PNG with at most this many pixels; never enlarged.

    Raises:
        DocumentError: as `picture`.
    """
    return png(_read(file, pixels))


def _read(source: Path | BytesIO, pixels: int, file: Path | None = None) -> "Image":
    """In colour, on white; `file` names a source without a name."""
    from PIL import Image, ImageOps
    from PIL.Image import DecompressionBombError, DecompressionBombWarning

    if isinstance(source, Path):
        file = source
        if not file.is_file():
            raise PictureError("missing", f"{file}: no such file")
        if file.suffix.lower() == ".pdf":
            return drawn(file, 1, pixels=pixels, margin=0)
    smaller = "save it in a smaller size"
    try:
        with Image.open(source, formats=FORMATS) as image:
            size = f"{image.width:,} × {image.height:,} pixels"
            if min(image.size) < LEAST:
                raise PictureError("small", f"{file}: too small to see anything: {size}")
            image.draft("RGB", _size_within(image, pixels))
            if image.width * image.height > LARGEST:
                most = f"pictures of up to {LARGEST:,} pixels are decoded"
                raise PictureError("large", f"{file} is too large: {size}", tried=most, hint=smaller)
            return _within(_on_white(ImageOps.exif_transpose(image)), pixels)
    except (DecompressionBombError, DecompressionBombWarning) as error:
        raise PictureError("large", f"{file} is too large", tried=str(error), hint=smaller) from error
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        tried = str(error) or type(error).__name__
        raise PictureError("unreadable", f"{file} cannot be drawn", tried=tried) from error


def _on_white(image: "Image") -> "Image":
    import numpy as np
    from PIL import Image

    if image.mode.startswith(("I", "F")):  # sixteen bits a pixel, as of microscopes
        values = np.nan_to_num(np.asarray(image, dtype=np.float64))
        span = max(float(np.ptp(values)), 1e-9)
        return Image.fromarray(((values - values.min()) * (255 / span)).astype(np.uint8)).convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    ground = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(ground, image.convert("RGBA")).convert("RGB")


def _joined(panels: "list[Image]", pixels: int) -> "Image":
    """Panels side by side, in rows of at most three, on white."""
    from PIL import Image

    across = min(3, len(panels))
    wide, high = max(one.width for one in panels), max(one.height for one in panels)
    whole = Image.new("RGB", (across * wide, math.ceil(len(panels) / across) * high), "white")
    for number, one in enumerate(panels):
        place = number % across * wide + (wide - one.width) // 2, number // across * high
        whole.paste(one, place)
    return _within(whole, pixels)


def _size_within(image: "Image", pixels: int) -> tuple[int, int]:
    scale = min(1.0, math.sqrt(pixels / (image.width * image.height)), SIDE / max(image.size))
    return max(1, int(image.width * scale)), max(1, int(image.height * scale))


def _within(image: "Image", pixels: int) -> "Image":
    size = _size_within(image, pixels)
    return image if size == image.size else image.resize(size)


def render(
    path: Path, page: int, box: Box | None = None, *, turn: Turn = 0, width: int = 1000, margin: float = 3
) -> bytes:
    """A crop of a page as PNG, of at most 4 million pixels; see `drawn`."""
    return png(drawn(path, page, box, turn, width=width, margin=margin))


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
    """A crop of a page (from 1; the whole page without a box), with at most `SHARP` pixels per point.

    Args:
        box, turn: of a figure or table; points.
        width: at most, in pixels.
        margin: points left around the box.

    Raises:
        DocumentError: the file cannot be read, or has no such page.
    """
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
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()
