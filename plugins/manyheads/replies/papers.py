"""Replies of those who review a real paper: a plan, questions to experts, their answers, the review (MAMORX, App. A)."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeAlias, TypeVar, cast

from pydantic import Field, create_model

from manyheads.replies.base import Choice, ReplyModel, Text, limited

Expert: TypeAlias = Literal["clarity", "experiments", "impact"]
"""Whom a review's leader may ask."""
W = TypeVar("W", bound="WrittenReview")


class PlanStep(ReplyModel):
    """What one expert is to look into."""

    task: Text
    expects: Text
    expert: Expert


class Plan(ReplyModel):
    """How a leader goes about a review; drafted once (App. A.1)."""

    verb = "plans"

    thought: Text
    steps: list[PlanStep] = Field(min_length=1, max_length=12)

    def spoken(self) -> str:
        return "\n".join(f"{at}. {one.expert}: {one.task}" for at, one in enumerate(self.steps, 1))


class Assessment(ReplyModel):
    """Where a leader stands after the answers of its experts."""

    verb = "leads"

    step: Text
    assessment: Text
    finished: bool

    def spoken(self) -> str:
        return f"{self.step} {self.assessment}"


class Inquiry(ReplyModel):
    """A question or a task of the leader's, from one who has no tools to put it by."""

    text: Text
    expects: Text
    kind: Literal["ask", "delegate"]
    expert: Expert


class Inquiries(ReplyModel):
    """What the leader asks next; nothing where it has all that it needs."""

    verb = "leads"

    step: Text
    assessment: Text
    inquiries: list[Inquiry]

    def spoken(self) -> str:
        return f"{self.step} {self.assessment}"


@cache
def inquiries_of(kind: type[Inquiries], most: int) -> type[Inquiries]:
    """At most so many questions."""
    return limited(kind, "inquiries", list[Inquiry], max_length=most)


class SectionChoice(ReplyModel):
    """Which sections of a paper somebody wants to read who cannot open them by a tool."""

    verb = "opens"

    thought: Text
    sections: list[Text] = Field(min_length=1, max_length=12)

    def spoken(self) -> str:
        return "; ".join(self.sections)


class Finding(ReplyModel):
    """Something that an expert has found in the paper, with the words that show it."""

    where: Text
    quote: str
    finding: Text


class ExpertAnswer(ReplyModel):
    """An expert's answer to the leader."""

    verb = "answers"

    thought: Text
    findings: list[Finding]
    answer: Text
    questions: list[Text]


# The review.


class Support(ReplyModel):
    """What a point rests on: a passage, a figure, a table, a reference or another paper."""

    where: Text
    quote: str


class Point(ReplyModel):
    """A point of a review, after what it rests on."""

    sources: list[Support]
    text: Text


class WrittenReview(ReplyModel):
    """A review on a form, which `written_on` adds the fields of."""

    verb = "reviews"


class Weighed(ReplyModel):
    """What weighs most, before a review is written."""

    thought: Text


class Doubted(ReplyModel):
    """What an agent finds wanting in its own draft, before it writes the review anew."""

    doubts: list[Text] = Field(min_length=1)


def written_on(kind: type[W], fields: Mapping[str, Any], first: type[ReplyModel] | None = None) -> type[W]:
    """A review with the fields of a form, after those that a model fills in `first`."""
    bases = (kind, first) if first else (kind,)
    made = create_model(kind.__name__, __base__=bases, __module__=kind.__module__, **fields)
    return cast(type[W], made)


class MendedPoint(ReplyModel):
    """A point of a review whose sources were not found, looked at again."""

    number: Choice
    thought: Text
    withdraw: bool
    sources: list[Support]
    text: str


class Mending(ReplyModel):
    """Points with better sources, in better words, or withdrawn."""

    verb = "mends"

    points: list[MendedPoint]

    def spoken(self) -> str:
        kept = (f"{one.number}: {'withdrawn' if one.withdraw else one.text}" for one in self.points)
        return "\n".join(kept)


@cache
def mending_of(kind: type[Mending], last: int, most: int) -> type[Mending]:
    """At most so many points, whose numbers go up to the last one's."""
    numbered = limited(MendedPoint, "number", int, ge=1, le=last)
    return limited(kind, "points", list[numbered], max_length=most)
