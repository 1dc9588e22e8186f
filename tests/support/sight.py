"""A model that sees: it names the colours that are in the pictures of a request, and none where there are none."""

from io import BytesIO

from PIL import Image

from support.llm import Given
from support.requests import Request

NAMES = {(1, 1, 0): "Yellow", (0, 0, 1): "dark blue", (0, 1, 0): "green"}


def colour(request: Request, share: float) -> str:
    """What is at this share of the picture's width."""
    if not request.pictures:
        return "none"
    image = Image.open(BytesIO(request.pictures[0])).convert("RGB")
    red, green, blue = (
        image.resize((3, 1), Image.Resampling.NEAREST)
        .crop((int(share * 3), 0, int(share * 3) + 1, 1))
        .tobytes()
    )
    most = max(red, green, blue)
    return NAMES.get((int(red > 0.7 * most), int(green > 0.7 * most), int(blue > 0.7 * most)), "grey")


SEEING: Given = {
    "left": lambda request: colour(request, 0.0),
    "middle": lambda request: colour(request, 0.4),
    "right": lambda request: colour(request, 0.8),
}
"""The answers of a server whose model sees."""
