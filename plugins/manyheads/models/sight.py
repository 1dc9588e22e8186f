"""Whether a model sees: a picture of three bands, and the colours that it names."""

import re
from functools import cache
from pathlib import Path

COLOURS = ("yellow", "blue", "green")
"""Of the bands in `colours.png`, from left to right; no flag has them, which is what a model would guess."""


@cache
def picture() -> bytes:
    """The picture, a PNG; a file, since one that is drawn may have other bytes with each version of a library."""
    return Path(__file__).with_name("colours.png").read_bytes()


def colours_in(text: str) -> tuple[str, ...]:
    """The colours that a text names, in order; `none` is one."""
    return tuple(re.findall(r"\b(red|green|blue|yellow|black|white|none)\b", text.casefold()))
