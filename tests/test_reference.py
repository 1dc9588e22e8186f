"""The reference pages say what the code says."""

import pytest

from manyheads.base.resources import shipped
from reference import FOLDER, PAGES, text_of

SLOW = ("python.md",)
"""Pages that need both frameworks."""


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.slow] * (page in SLOW)) for page in PAGES]
)
def test_the_reference_is_fresh(page: str) -> None:
    assert (shipped() / FOLDER / page).read_text("utf-8") == text_of(page), "refresh it: make schemas"
