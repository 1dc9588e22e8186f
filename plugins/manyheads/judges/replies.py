"""Replies of judges of ideas and of reviews (SciPIP, §4.2, §4.3, App. A.1)."""

from typing import Annotated, get_args

from pydantic import Field

from manyheads.asking.replies.base import Choice, R, ReplyModel, Text, limited, numbered, of


class Placing(ReplyModel):
    """The rank of one idea by each criterion, 1 the best; equal ideas share a rank (Tables 18 and 19)."""

    clarity: Choice
    novelty: Choice
    feasibility: Choice
    generalizability: Choice
    overall: Choice
    idea: Choice


CRITERIA = tuple(name for name in Placing.model_fields if name != "idea")
"""The criteria for comparing ideas."""


class Comparison(ReplyModel):
    """A comparison of several ideas by four criteria and overall (Tables 18 and 19)."""

    thought: Text
    places: list[Placing] = Field(min_length=1)


class ReviewPlacing(ReplyModel):
    """The rank of one review by each criterion, 1 the best; equal reviews share a rank (MAMORX, §5)."""

    technical: Choice
    constructiveness: Choice
    clarity: Choice
    overall: Choice
    review: Choice


REVIEW_CRITERIA = tuple(name for name in ReviewPlacing.model_fields if name != "review")
"""The criteria for comparing reviews."""


class ReviewComparison(ReplyModel):
    """A comparison of several reviews of one paper by three criteria and overall (MAMORX, §5)."""

    thought: Text
    places: list[ReviewPlacing] = Field(min_length=1)


def comparison_of(kind: type[R], count: int) -> type[R]:
    """A comparison of a number of texts."""
    [part] = get_args(kind.model_fields["places"].annotation)
    for name in part.model_fields:
        part = numbered(part, name, count)
    return limited(kind, "places", list[part], min_length=count, max_length=count)


class Closest(ReplyModel):
    """The published idea most similar to a given one (Table 15)."""

    reason: Text
    choice: Choice


class IdeaLikeness(ReplyModel):
    """How similar two ideas are, 0 to 5 (Table 16)."""

    reason: Text
    similarity: Annotated[int, Field(ge=0, le=5), of(5)]


class FaultFound(ReplyModel):
    """The points of a review that identify a known fault of a paper."""

    reason: Text
    points: list[Choice]


class NoveltyRound(ReplyModel):
    """One round of a search for similar work: the idea's novelty so far, and the next query (Table 17)."""

    thought: Text
    novelty: Annotated[int, Field(ge=0, le=10), of(10)]
    query: Text


REPLIES = (Comparison, ReviewComparison, Closest, IdeaLikeness, NoveltyRound, FaultFound)
"""What tasks may be answered with; the others are parts of these."""
