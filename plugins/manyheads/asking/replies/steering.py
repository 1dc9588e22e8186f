"""What a person decides between two stages, and what they write in place of the team."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import BeforeValidator, Field, create_model

from manyheads.asking.replies.base import Choice, R, ReplyModel, mixed, whole_number

Action = Literal["accept", "edit", "pick", "add", "back"]


class Steering(ReplyModel):
    """How a stage goes on: accepted, edited, some of it picked, something added, or sent back."""

    asked_with: ClassVar[Mapping[str, Mapping[str, Sequence[str]]]] = {"picks": {"action": ["pick"]}}
    """Fields that people are asked for only with certain values of others: `{field: {other: values}}`."""

    action: Action
    picks: list[Choice] = Field(default_factory=list[Choice])
    remark: str = ""


class OwnText(ReplyModel):
    """Mixed into a stage's own reply that a person edits or adds."""


def steering_among(actions: Sequence[Action], items: int = 0, most: int = 0) -> type[Steering]:
    """`Steering` with these actions, and up to `most` numbers of `items`."""
    number = Annotated[int, Field(ge=1, le=max(items, 1)), BeforeValidator(whole_number)]
    picks: Any = Annotated[list[number], Field(max_length=most)]
    if not most:  # nothing can be picked, whatever a model says
        picks = Annotated[list[number], Field(max_length=0), BeforeValidator(lambda value: [])]
    fields: dict[str, Any] = {"action": (Literal[tuple(actions)], ...), "picks": (picks, [])}
    return create_model("Steering", __base__=Steering, __module__=Steering.__module__, **fields)


def prefilled(value: R) -> type[R]:
    """The type of a reply with its values as defaults, for a person who edits it."""
    kind, fields = type(value), dict[str, Any]()
    for name, field in kind.model_fields.items():
        field = copy(field)
        field.default, field.validate_default = getattr(value, name), True
        fields[name] = (field.annotation, field)
    made = create_model(kind.__name__, __base__=(kind, OwnText), __module__=kind.__module__, **fields)
    return cast(type[R], made)


def own(kind: type[R]) -> type[R]:
    """A stage's reply, for a person who adds one."""
    return mixed(kind, kind, OwnText)
