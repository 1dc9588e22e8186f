"""Pictures of figures, as a model is shown them: PNG, on white, of a set size at most."""

from io import BytesIO
from math import sqrt
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from PIL import Image, ImageOps
from PIL.Image import DecompressionBombError, DecompressionBombWarning

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP")
READ = 50_000_000
"""Pixels of a picture that is read, at most; a JPEG is made smaller while it is read."""
SIDE = 6000
"""Pixels that servers take in a row or a column, at most."""
LEAST = 16
"""Pixels of a side below which nothing can be made out."""

Fault: TypeAlias = Literal["missing", "unreadable", "small", "large"]


class NoPictureError(ValueError):
    """A file that gives no picture to look at, and why."""

    def __init__(self, why: Fault, detail: str) -> None:
        super().__init__(detail)
        self.why: Fault = why


def scaled(source: Path | bytes, pixels: int) -> bytes:
    """A picture as PNG of so many pixels at most; never larger than it is.

    Raises:
        NoPictureError: there is none, it cannot be read, or it is too small or too large to be looked at.
    """
    try:
        with Image.open(BytesIO(source) if isinstance(source, bytes) else source, formats=FORMATS) as image:
            _need(image.size)
            shrink = min(1.0, sqrt(pixels / (image.width * image.height)), SIDE / max(image.size))
            size = max(1, int(image.width * shrink)), max(1, int(image.height * shrink))
            image.draft("RGB", size)
            if image.width * image.height > READ:
                raise NoPictureError("large", f"{image.width:,} × {image.height:,} pixels")
            shown = _on_white(ImageOps.exif_transpose(image))
    except (DecompressionBombError, DecompressionBombWarning) as error:
        raise NoPictureError("large", str(error)) from error
    except FileNotFoundError as error:
        raise NoPictureError("missing", "there is no such file") from error
    except (OSError, SyntaxError, ValueError, EOFError, MemoryError) as error:
        if isinstance(error, NoPictureError):
            raise
        raise NoPictureError("unreadable", "it is no picture of a known kind, or damaged") from error
    if shown.width * shown.height > size[0] * size[1]:
        turned = (shown.width > shown.height) != (size[0] > size[1])  # as its camera was held
        shown = shown.resize((size[1], size[0]) if turned else size, Image.Resampling.LANCZOS)
    png = BytesIO()
    shown.save(png, "PNG")
    return png.getvalue()


def _need(size: tuple[int, int]) -> None:
    if min(size) < LEAST:
        raise NoPictureError("small", f"{size[0]} × {size[1]} pixels")


def _on_white(image: Image.Image) -> Image.Image:
    """In colours, without what lets the ground shine through."""
    if image.mode.startswith(("I", "F")):  # sixteen bits a pixel, as of microscopes
        values = np.nan_to_num(np.asarray(image, dtype=np.float64))
        span = max(float(np.ptp(values)), 1e-9)
        return Image.fromarray(((values - values.min()) * (255 / span)).astype(np.uint8)).convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    ground = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(ground, image.convert("RGBA")).convert("RGB")
