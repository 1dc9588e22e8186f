"""Tests whether a model sees: an image of three bands, whose colours the model must name."""

import re
from functools import cache
from pathlib import Path

COLOURS = ("yellow", "blue", "green")
"""The bands in `colours.png`, left to right; no flag has them, so a guess fails."""


@cache
def picture() -> bytes:
    """The PNG as a file, since drawn images differ between versions of a library."""
    return Path(__file__).with_name("colours.png").read_bytes()


def colours_in(text: str) -> tuple[str, ...]:
    """The colours named in a text, in order, including `none`."""
    return tuple(re.findall(r"\b(red|green|blue|yellow|black|white|none)\b", text.casefold()))
