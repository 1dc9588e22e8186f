"""Pictures of figures: a crop of a PDF's page, or the files beside a document."""

import math
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from manyheads.errors import DocumentError
from manyheads.literature.documents.document import Figure
from manyheads.literature.documents.pdfium import drawn, png

if TYPE_CHECKING:
    from PIL.Image import Image

LARGEST = 120_000_000
"""Pixels from which on a file is not decoded."""
ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".pdf")
"""What can be drawn, the likeliest first."""


def picture(path: Path, figure: Figure, pixels: int = 1_000_000) -> bytes:
    """A figure as PNG, of so many pixels at most: its crop, the whole page where none was found, or its files.

    Raises:
        DocumentError: the document has no picture of it, or one that cannot be drawn.
    """
    if figure.files:
        return png(_joined([_from_file(path.parent, name, pixels) for name in figure.files[:12]], pixels))
    if not figure.page or path.suffix.lower() != ".pdf":
        raise DocumentError(
            f"figure {figure.number} of {path} has no picture",
            tried="its page and the files beside the document",
            hint="give the paper as PDF",
        )
    return png(drawn(path, figure.page, figure.box, figure.turn, pixels=pixels))


def beside(folder: Path, name: str) -> str | None:
    """The picture that a document names, with its ending, if it is in the document's folder."""
    pure = PurePosixPath(name.strip().replace("\\", "/"))
    if not name.strip() or pure.is_absolute() or ".." in pure.parts or ":" in name:
        return None
    names = [pure, *(pure.with_name(pure.name + ending) for ending in ENDINGS)]
    for one in names:
        try:
            file = (folder / one).resolve()
            if one.suffix.lower() in ENDINGS and file.is_file() and file.is_relative_to(folder.resolve()):
                return str(one)
        except (OSError, ValueError):
            continue
    return None


def _from_file(folder: Path, name: str, pixels: int) -> "Image":
    from PIL import Image, UnidentifiedImageError

    file = folder / name
    if beside(folder, name) is None:
        raise DocumentError(f"{file} cannot be drawn: it is no picture in the document's folder")
    if file.suffix.lower() == ".pdf":
        return drawn(file, 1, pixels=pixels, margin=0)
    try:
        with Image.open(file) as image:
            if image.width * image.height > LARGEST:
                raise DocumentError(
                    f"{file} is too large: {image.width:,} × {image.height:,} pixels",
                    tried=f"pictures of up to {LARGEST:,} pixels are decoded",
                    hint="save it smaller",
                )
            image.draft("RGB", (4000, 4000))
            return _within(image.convert("RGBA"), pixels)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, UnidentifiedImageError) as error:
        raise DocumentError(f"{file} cannot be drawn", tried=str(error) or type(error).__name__) from error


def _joined(panels: "list[Image]", pixels: int) -> "Image":
    """Panels side by side, in rows of three at most, on white."""
    from PIL import Image

    across = min(3, len(panels))
    wide, high = max(one.width for one in panels), max(one.height for one in panels)
    whole = Image.new("RGB", (across * wide, math.ceil(len(panels) / across) * high), "white")
    for number, one in enumerate(panels):
        place = number % across * wide + (wide - one.width) // 2, number // across * high
        whole.paste(one, place, one if one.mode == "RGBA" else None)
    return _within(whole, pixels)


def _within(image: "Image", pixels: int) -> "Image":
    scale = math.sqrt(pixels / max(1, image.width * image.height))
    if scale >= 1:
        return image
    return image.resize((max(1, int(image.width * scale)), max(1, int(image.height * scale))))
