"""Pictures in files: of many kinds, scaled; and what is none."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from manyheads.documents import PictureError, picture_in
from support.pngs import png_of, size

PIXELS = 40_000


@pytest.mark.filterwarnings("ignore:Image size")
@pytest.mark.parametrize(
    ("data", "why"),
    [
        (png_of(20_000, 20_000), "large"),
        (png_of(9_000, 9_000), "large"),
        (png_of(11_000, 9_000), "large"),
        (png_of(0, 0), "small unreadable"),
        (png_of(3, 800), "small"),
        (png_of(300, 300), "unreadable"),
        (b"", "unreadable"),
        (b"%PDF-1.7 no picture", "unreadable"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "unreadable"),
    ],
)
def test_what_is_no_picture_to_look_at(data: bytes, why: str, tmp_path: Path) -> None:
    file = tmp_path / "picture.png"
    file.write_bytes(data)
    with pytest.raises(PictureError, match="picture") as caught:
        picture_in(file, PIXELS)
    assert caught.value.why in why.split()


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    for gone in (tmp_path / "gone.png", tmp_path / "gone.pdf", tmp_path):
        with pytest.raises(PictureError) as caught:
            picture_in(gone)
        assert caught.value.why == "missing"


def encoded(image: Image.Image, kind: str, **more: Any) -> bytes:
    out = BytesIO()
    image.save(out, kind, **more)
    return out.getvalue()


def turned(image: Image.Image) -> bytes:
    tags = Image.Exif()
    tags[0x0112] = 6
    return encoded(image, "JPEG", exif=tags)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: encoded(Image.new("RGB", (100, 80), "navy"), "PNG"), (100, 80)),
        (lambda: encoded(Image.new("RGBA", (400, 400), (0, 0, 0, 0)), "PNG"), (200, 200)),
        (lambda: encoded(Image.new("P", (400, 400)), "GIF"), (200, 200)),
        (lambda: encoded(Image.new("CMYK", (400, 400)), "JPEG"), (200, 200)),
        (lambda: encoded(Image.linear_gradient("L").convert("I;16"), "PNG"), (200, 200)),
        (lambda: turned(Image.new("RGB", (800, 200))), (100, 400)),
        (lambda: encoded(Image.new("1", (2_500, 2_500)), "TIFF", compression="group4"), (200, 200)),
    ],
)  # fmt: skip
def test_pictures_of_many_kinds_are_scaled(
    make: Callable[[], bytes], expected: tuple[int, int], tmp_path: Path
) -> None:
    file = tmp_path / "picture"
    file.write_bytes(make())
    made = picture_in(file, PIXELS)
    assert size(made) == expected
    assert Image.open(BytesIO(made)).mode == "RGB"


def test_what_shines_through_is_white(tmp_path: Path) -> None:
    file = tmp_path / "picture.png"
    file.write_bytes(encoded(Image.new("RGBA", (64, 64), (0, 0, 0, 0)), "PNG"))
    made = picture_in(file, PIXELS)
    assert Image.open(BytesIO(made)).getpixel((5, 5)) == (255, 255, 255)
