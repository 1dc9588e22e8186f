"""Basis of all replies: the base class, its fields, and narrowed types."""

import re
from collections.abc import Iterator
from functools import cache, partial
from typing import Annotated, Any, ClassVar, TypeVar, cast

from annotated_types import Ge, Le
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, create_model

R = TypeVar("R", bound="ReplyModel")


def whole_number(value: object, *, most: int = 0) -> object:
    """Accept only whole numbers, and `8/10` where a scale ends at `most`: not `true`, which Python takes for 1, nor `1_0`."""
    text = isinstance(value, str)
    if text and most:
        value = re.sub(rf" ?(?:/|of|out of) ?{most}\s*\Z", "", str(value))
    if isinstance(value, bool) or (text and not re.fullmatch(r"\s*-?(0|[1-9][0-9]{0,8})\s*", str(value))):
        raise ValueError("should be one whole number")
    return value


def of(most: int) -> BeforeValidator:
    """A whole number on a scale that ends at `most`."""
    return BeforeValidator(partial(whole_number, most=most))


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
# The limits come before the validator: after one, pydantic omits them from the JSON Schema.
Score = Annotated[int, Field(ge=1, le=10), of(10)]
Choice = Annotated[int, Field(ge=1), BeforeValidator(whole_number)]
Percent = Annotated[int, Field(ge=0, le=100), of(100)]


def label(field: str) -> str:
    """A readable field name: `expected_impact` as `Expected impact`."""
    return field.replace("_", " ").capitalize()


class ReplyModel(BaseModel):
    """Base of all replies: extra keys of a model are dropped, missing ones are errors.

    Example:
        class Ruling(ReplyModel):
            verdict: Literal["holds", "fails"]
            reason: str
    """

    model_config = ConfigDict(extra="ignore")

    sent_as: ClassVar["type[ReplyModel] | None"] = None
    """The type whose schema is sent with a request in place of this one's, see `open_ended`."""

    def spoken(self) -> str:
        """The reply as shown to others without a template in `prompts/spoken/`; by default its first text."""
        return next((value for value in self.model_dump().values() if isinstance(value, str)), "")


class PlainText(ReplyModel):
    """A model's whole text, without a form: a role card says `reply: text`."""

    text: Text


@cache
def limited(kind: type[R], field: str, of: Any, *checks: Any, **limits: Any) -> type[R]:
    """`kind` with a field of type `of`, whose limits appear in its schema."""
    fields: dict[str, Any] = {field: (Annotated[of, Field(**limits), *checks], ...)}
    return create_model(kind.__name__, __base__=kind, __module__=kind.__module__, **fields)


def numbered(kind: type[R], field: str, most: int, least: int = 1) -> type[R]:
    """`kind` with the number of one of `most` things."""
    return limited(kind, field, int, BeforeValidator(whole_number), ge=least, le=most)


def open_ended(narrow: type[R], wide: type[ReplyModel]) -> type[R]:
    """`narrow`, sent with the schema of `wide`: limits that change within a run stand in the form and are checked in the reply.

    Providers compile each new schema, and cache nothing behind one that differs.
    """
    narrow.sent_as = wide
    return narrow


def sent(kind: type[Any]) -> type[Any]:
    """The type whose schema is sent for a reply; of another class itself."""
    return getattr(kind, "sent_as", None) or kind


@cache
def mixed(kind: type[R], *bases: type[ReplyModel]) -> type[R]:
    """`kind`, under its own name, with mix-ins."""
    made = create_model(kind.__name__, __base__=bases, __module__=kind.__module__, __doc__=kind.__doc__)
    if any(base.sent_as for base in bases):
        made.sent_as = mixed(sent(kind), *map(sent, bases))
    return cast(type[R], made)


def uniform_score(reply: ReplyModel) -> int | None:
    """The score of all fields, if there are three or more and all have the same end of the scale."""
    [one, *others] = [*_scores(reply)] or [(0, 1, 1)]
    return one[0] if len(others) > 1 and {*others} == {one} and one[0] in one[1:] else None


def _scores(reply: BaseModel) -> Iterator[tuple[int, int, int]]:
    for name, field in type(reply).model_fields.items():
        limits = {type(each): each for each in field.metadata}
        match getattr(reply, name):
            case BaseModel() as inner:
                yield from _scores(inner)
            case int() as score if Ge in limits and Le in limits:
                yield score, limits[Ge].ge, limits[Le].le
            case _:
                pass
