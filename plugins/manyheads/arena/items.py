"""What an arena holds: raters, invitations, cases, texts, and the items that raters are shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from manyheads.measures.votes import RaterKind


@dataclass(frozen=True)
class Rater:
    """A person or a model that votes."""

    id: int
    name: str
    kind: RaterKind = "person"


@dataclass(frozen=True)
class Invitation:
    """A way in for a rater. The token is not stored: it can be read only here.

    Attributes:
        expires: seconds since 1970.
    """

    rater: Rater
    token: str
    expires: float

    @property
    def path(self) -> str:
        """Where the web server lets the rater in."""
        return f"/arena/enter?token={self.token}"


@dataclass(frozen=True)
class Case:
    """What the texts are about.

    Attributes:
        context: its background, Markdown; empty if there is none.
        paper: its file, relative to the arena's folder.
    """

    id: str
    title: str = ""
    context: str = ""
    paper: str | None = None


@dataclass(frozen=True)
class Text:
    """A text without its maker, Markdown; `id` says nothing about the maker."""

    id: str
    title: str
    body: str


@dataclass(frozen=True)
class Item:
    """What a rater is shown: a pair of texts, one text to rate, or the texts of a case to rank, in the order shown.

    Attributes:
        answers: the rater's own, if there are any, with the comment.
    """

    id: str
    case: Case
    texts: tuple[Text, ...]
    answers: Mapping[str, str] = field(default_factory=dict[str, str])
    comment: str = ""

    @property
    def left(self) -> Text:
        return self.texts[0]

    @property
    def right(self) -> Text:
        return self.texts[-1]


@dataclass(frozen=True)
class Progress:
    """A rater's answered and skipped items, and those that are left, with the open one."""

    answered: int
    skipped: int
    left: int


@dataclass(frozen=True)
class NewText:
    """A text to add, without hints at its maker.

    Attributes:
        hints: number of hints at its maker that were removed.
        source: its file or run, for the owner of the arena.
        paper: the file of the case's paper.
        details: further cells for the key of an exported form.
    """

    case: Case
    maker: str
    title: str
    body: str
    hints: int = 0
    source: str = ""
    paper: Path | None = None
    details: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Row:
    """An answered item with all that is known of it, for exports. `places` has the texts as they were shown."""

    item: str
    rater: Rater
    case: str
    places: tuple["StoredText", ...]
    answers: Mapping[str, str]
    comment: str
    seconds: float | None
    time: float


@dataclass(frozen=True)
class StoredText:
    """A text with its maker; not for raters."""

    id: str
    case: str
    maker: str
    title: str
    body: str
    digest: str
    style: Mapping[str, int]
    hints: int
    source: str
    details: Mapping[str, str]
