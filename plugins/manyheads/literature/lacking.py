"""Look-ups that a source does not have: known beforehand, so that nobody is asked in vain."""

from collections.abc import Mapping
from typing import NoReturn

from manyheads.config import SourceName
from manyheads.errors import LiteratureError

LACKING: Mapping[tuple[SourceName, str], str] = {
    ("local", "references"): "a corpus keeps no references",
    ("local", "citations"): "a corpus keeps no citing papers",
    ("local", "authors"): "a corpus keeps its scientists masked",
    ("arxiv", "references"): "arXiv keeps no references",
    ("arxiv", "citations"): "arXiv keeps no citing papers",
    ("arxiv", "recommendations"): "arXiv recommends nothing",
    ("arxiv", "authors"): "arXiv keeps no records of authors",
}
"""Why a source has no such look-up, for those that it has not."""


class LackingError(LiteratureError):
    """A source has no such look-up at all. It is passed over for it, which is no failure."""


def lacks(source: SourceName, operation: str) -> NoReturn:
    """Say so for a look-up of `LACKING`; raises `LackingError`."""
    raise LackingError(LACKING[source, operation], source=source)
