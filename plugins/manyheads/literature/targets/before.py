"""What was known before a paper: nothing later than it, and nothing that tells the paper's own idea."""

import re
from collections.abc import Iterable
from typing import Protocol, TypeVar

LATER = 1
"""Years by which a paper may be younger than one that cites it: cited before print, or counted by another date."""
RUN = 8
"""Words in a row that texts seldom have in common but where one is made of the other."""
RETOLD = 1 / 3
"""Of the runs of the shorter text: from there on both tell the same, a preprint, say, and its extended version."""


class Written(Protocol):
    """A paper, of whatever source."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def abstract(self) -> str: ...
    @property
    def year(self) -> int | None: ...


_W = TypeVar("_W", bound=Written)


def later(year: int | None, than: int | None) -> bool:
    """Whether a paper of a year is too young to be cited by one of another; of what is not known, nothing is."""
    return year is not None and than is not None and year > than + LATER


def retells(text: str, other: str) -> bool:
    """Whether two texts have so many words in a row in common that one tells what the other does."""
    ours, theirs = _runs(text), _runs(other)
    return len(ours & theirs) >= RETOLD * min(len(ours), len(theirs))


def before(paper: Written, others: Iterable[_W]) -> list[_W]:
    """Those of other papers that may stand in the paper's background."""
    return [
        one for one in others if not later(one.year, paper.year) and not retells(one.abstract, paper.abstract)
    ]


def _runs(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return {tuple(words[start : start + RUN]) for start in range(max(1, len(words) - RUN + 1))}
