"""What an arena holds and asks: its questions and answers, from `configs/arena/*.yaml`; raters, cases, texts, and what raters are shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, ValidationError, model_validator

from manyheads.base.errors import ArenaError, describe, did_you_mean
from manyheads.base.resources import Resources
from manyheads.config import Strict
from manyheads.config.files import read_yaml
from manyheads.measures.votes import ANSWERS, Answer, RaterKind

Kind: TypeAlias = Literal["pairs", "ratings", "ranking"]
FOLDER = "arena"


class FormQuestion(Strict):
    """A question about the texts that a rater sees."""

    id: str = Field(pattern="^[a-z][a-z0-9_]{0,39}$")
    """Its name in tables."""
    text: str = Field(min_length=1, max_length=200)
    """The question, as raters read it."""
    help: str = Field(default="", max_length=2000)
    """What it means, Markdown."""


class ArenaForm(Strict):
    """What raters of an arena do and are asked. Texts are Markdown for people; model raters get the same."""

    title: str = Field(min_length=1, max_length=200)
    """Heading of the page."""
    kind: Kind = "pairs"
    """`pairs`: two texts side by side. `ratings`: one text, a number for each question. `ranking`: all texts of a case, in order."""
    noun: str = Field(default="Text", max_length=40)
    """The name of a text on the page: `Review` gives Review A and Review B."""
    writer: str = Field(default="the author", min_length=1, max_length=40)
    """What replaces a maker's name in a text, such as `the reviewer`."""
    guide: str = Field(default="", max_length=20_000)
    """Instructions, Markdown."""
    questions: Annotated[tuple[FormQuestion, ...], Field(min_length=1, max_length=20)]
    """One of them for a ranking."""
    main: str | None = None
    """The question that decides which pair comes next. [default: overall, else the first]"""
    answers: tuple[Answer, ...] = ANSWERS
    """Allowed answers about a pair."""
    scale: tuple[int, int] = (1, 10)
    """Lowest and highest rating."""
    comment: bool = True
    """Whether a rater may add a comment."""

    @model_validator(mode="after")
    def _consistent(self) -> "ArenaForm":
        names = [each.id for each in self.questions]
        if len(set(names)) < len(names):
            raise ValueError(f"questions: an id is there twice: {', '.join(names)}")
        if self.main is not None and self.main not in names:
            raise ValueError(f"main: {self.main} is no question; choose one of: {', '.join(names)}")
        if not {"left", "right"} <= set(self.answers):
            raise ValueError("answers: left and right must be among them")
        if self.scale[0] >= self.scale[1]:
            raise ValueError("scale: the lowest comes first")
        if self.kind == "ranking" and len(names) > 1:
            raise ValueError("questions: a ranking has one question")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.id for each in self.questions)

    @property
    def first(self) -> str:
        """The question that matters most."""
        return self.main or ("overall" if "overall" in self.names else self.names[0])

    @property
    def ratings(self) -> range:
        """The numbers that can be given."""
        return range(self.scale[0], self.scale[1] + 1)


def form_names(resources: Resources) -> list[str]:
    """The forms that `--form` can name."""
    files = resources.names("configs", ".yaml", f"{FOLDER}/")
    return sorted(Path(name).stem for name in files)


def read_form(name: str) -> ArenaForm:
    """A form by name, or a file of one's own.

    Raises:
        ArenaError: there is no such form, or it is invalid.
    """
    resources, path = Resources.of(), Path(name)
    if path.suffix.lower() not in (".yaml", ".yml") and not path.is_file():
        names = form_names(resources)
        if name not in names:
            listed = f"choose one of: {', '.join(names)}; or name a YAML file of your own"
            raise ArenaError(f"--form {name}: no such form", hint=did_you_mean(name, names, listed))
        path = resources.need("configs", f"{FOLDER}/{name}.yaml")
    try:
        return ArenaForm.model_validate(read_yaml(path))
    except ValidationError as error:
        hint = "see configs/arena/review.yaml for an example"
        raise ArenaError(f"{path}: {describe(error)}", hint=hint) from error


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
class ShownText:
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
    texts: tuple[ShownText, ...]
    answers: Mapping[str, str] = field(default_factory=dict[str, str])
    comment: str = ""

    @property
    def left(self) -> ShownText:
        return self.texts[0]

    @property
    def right(self) -> ShownText:
        return self.texts[-1]


@dataclass(frozen=True)
class RaterProgress:
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
class AnsweredItem:
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
