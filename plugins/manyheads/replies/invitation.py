"""The wish to hear an outside scientist, as fields of a reply."""

from functools import cache
from typing import TypeVar, cast

from pydantic import Field, create_model

from manyheads.replies.base import ReplyModel

R = TypeVar("R", bound=ReplyModel)


class Seeks(ReplyModel):
    """Mixed into a reply where the model cannot call tools: the wish to hear an outside scientist."""

    invite: str | None = Field(
        default=None,
        description="Name of ONE listed scientist outside the team whose advice you need now, or null.",
    )
    question: str | None = Field(default=None, description="Your question to that scientist, or null.")


def seeking(kind: type[R]) -> type[R]:
    """`kind` with the fields of `Seeks` added, under the same name."""
    return cast(type[R], _seeking(kind))


@cache
def _seeking(kind: type[ReplyModel]) -> type[ReplyModel]:
    return create_model(kind.__name__, __base__=(kind, Seeks), __doc__=kind.__doc__)
