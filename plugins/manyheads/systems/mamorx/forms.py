"""Review forms: files of fields with their meanings, and the reply types made of them."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field, field_validator, model_validator

from manyheads.asking.prompts import Prompts
from manyheads.asking.replies import ReplyModel, Text, of, whole_number
from manyheads.asking.roles import Roles
from manyheads.base.errors import ConfigError, did_you_mean
from manyheads.base.resources import Resources
from manyheads.config import RunConfig, Strict
from manyheads.systems.mamorx.replies import Point, WrittenReview, written_on

FORMS, ENDING = "review_leader/forms/", ".yaml"
TAKEN = frozenset(("thought", "doubts"))
"""Names reserved for fields that a model may fill in before the form's own."""
Kind: TypeAlias = Literal["text", "points", "flag", "score", "choice"]


KINDS: tuple[Kind, ...] = ("text", "points", "flag", "score", "choice")


class FormField(Strict):
    """One field of a form; the key for its type has its meaning."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": [kind]} for kind in KINDS]})

    title: str
    """Its heading in the review."""
    text: str | None = None
    """A text: its content."""
    points: str | None = None
    """Any number of points: the meaning of a point."""
    flag: str | None = None
    """Yes or no: the condition for yes."""
    score: dict[int, str] | None = Field(default=None, min_length=2)
    """A number: the meaning of each, from the lowest up."""
    choice: dict[str, str] | None = Field(default=None, min_length=2)
    """A choice: the meaning of each option."""
    meaning: str = ""
    """For a score or a choice, what is rated or chosen."""

    @model_validator(mode="after")
    def _one_kind(self) -> "FormField":
        if sum(getattr(self, name) is not None for name in KINDS) != 1:
            raise ValueError("should have one of text, points, flag, score and choice")
        return self

    @property
    def kind(self) -> Kind:
        return next(name for name in KINDS if getattr(self, name) is not None)

    @property
    def about(self) -> str:
        """Its meaning, for any type."""
        return self.text or self.points or self.flag or self.meaning

    @property
    def options(self) -> Mapping[str, str]:
        """The values of a score or a choice, each with its meaning."""
        return self.choice or {str(number): text for number, text in (self.score or {}).items()}

    @property
    def scale(self) -> tuple[int, int] | None:
        return (min(self.score), max(self.score)) if self.score else None

    def type(self, *, sources: bool) -> Any:
        """The type of its value in a reply.

        Args:
            sources: whether each point names its sources.
        """
        line = Field(description=self.about)
        match self.kind:
            case "text":
                return Annotated[Text, line]
            case "points":
                return Annotated[list[Point] if sources else list[Text], line]
            case "flag":
                return Annotated[bool, line]
            case "choice":
                return Annotated[Literal[tuple(self.options)], line]
            case "score":
                low, high = self.scale or (0, 0)
                if len(self.options) == high - low + 1:
                    return Annotated[int, Field(ge=low, le=high, description=self.about), of(high)]
                number = BeforeValidator(lambda value: str(whole_number(value, most=high)))
                return Annotated[Literal[tuple(self.options)], line, number]


class ReviewForm(Strict):
    """A form of review: `prompts/review_leader/forms/<name>.yaml`."""

    title: str
    """The title of the review."""
    about: str
    """Guidelines for its reviewer."""
    fields: dict[str, FormField] = Field(min_length=1)
    """In the order of filling in: reasons before scores."""

    @field_validator("fields")
    @classmethod
    def _names(cls, fields: dict[str, FormField]) -> dict[str, FormField]:
        for name in fields:
            if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in TAKEN or hasattr(WrittenReview, name):
                raise ValueError(
                    f"{name!r} is not a valid field name: use lower-case letters, and not {', '.join(TAKEN)}"
                )
        return fields

    def reply(
        self, kind: type[WrittenReview], first: type[ReplyModel] | None = None, *, sources: bool = True
    ) -> type[WrittenReview]:
        """The reply type for the form, see `written_on`."""
        return _reply(self.model_dump_json(), kind, first, sources)


@lru_cache(maxsize=64)
def _reply(
    form: str, kind: type[WrittenReview], first: type[ReplyModel] | None, sources: bool
) -> type[WrittenReview]:
    fields = ReviewForm.model_validate_json(form).fields
    return written_on(kind, {name: (each.type(sources=sources), ...) for name, each in fields.items()}, first)


def form_of(name: str, prompts: Prompts) -> ReviewForm:
    """A form by its name; raises `ConfigError` if it is missing or not valid."""
    if form := prompts.words(f"{FORMS}{name}{ENDING}", ReviewForm):
        return form
    names = [each.removeprefix(FORMS).removesuffix(ENDING) for each in prompts.names(FORMS)]
    raise ConfigError(
        f"no such review form {name!r}",
        tried=f"forms: {', '.join(names)}",
        hint=did_you_mean(
            name,
            names,
            f"choose one of these, or write prompts/{FORMS}{name}{ENDING} in your own folder (--path)",
        ),
    )


def form_names(resources: Resources) -> list[str]:
    """All forms, including the user's own."""
    names = resources.names("prompts", ENDING, FORMS)
    return sorted(name.removeprefix(FORMS).removesuffix(ENDING) for name in names)


def check(config: RunConfig, roles: Roles) -> Iterator[str]:
    """Problems of the form, a line each."""
    try:
        form_of(config.settings.form, roles.prompts)
    except ConfigError as error:
        yield f"{config.system}.form: {error.message}" + (f"; {error.tried}" if error.tried else "")
