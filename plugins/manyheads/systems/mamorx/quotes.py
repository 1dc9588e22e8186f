"""Quotes looked up letter by letter."""

from typing import NamedTuple

from manyheads.literature.documents import Document


class Passage(NamedTuple):
    """Where a quote stands."""

    text: str
    section: int | None
    page: int | None
    similarity: float
    exact: bool


def find_quote(document: Document, quote: str) -> Passage | None:
    """The passage that a quote is of."""
    wanted = " ".join(quote.split())
    for at, one in enumerate(document.sections):
        if wanted in " ".join(one.text.split()):
            return Passage(wanted, at, one.pages[0] if one.pages else None, 1.0, True)
    others = [document.abstract, *(one.caption for one in (*document.figures, *document.tables))]
    return (
        Passage(wanted, None, None, 1.0, True)
        if any(wanted in " ".join(each.split()) for each in others)
        else None
    )
