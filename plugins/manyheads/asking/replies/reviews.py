"""Replies of reviewers and judges of texts and ideas: conference form, ratings, comparisons."""

from typing import Annotated, Literal

from pydantic import Field

from manyheads.asking.replies.base import Choice, ReplyModel, Score, Text, limited, numbered, of

# Reviews of a text: a conference's form, a rating form, MAMORX.


class ConferenceReview(ReplyModel):
    """The truncated NeurIPS form (VirSci 2024, Fig. 17; 2025, Fig. 25)."""

    summary: Text
    strengths: list[Text] = Field(min_length=1)
    weaknesses: list[Text] = Field(min_length=1)
    questions: list[Text] = Field(min_length=1)
    ethical_concerns: bool
    overall: Score


class IdeaRating(ReplyModel):
    """Novelty, feasibility and effectiveness of an idea, each with its reason first (VirSci 2025, App. C.4 and E)."""

    novelty_reason: Text
    novelty: Score
    feasibility_reason: Text
    feasibility: Score
    effectiveness_reason: Text
    effectiveness: Score


class NoveltyReport(ReplyModel):
    """A novelty reviewer's summary (MAMORX, App. A.4)."""

    reasoning: Text
    conflicts: list[Text]
    verdict: Literal["NOVEL", "NOT NOVEL"]


class SearchPhrase(ReplyModel):
    """Queries for related papers, each with its purpose (MAMORX, App. A.4)."""

    aim: Text
    phrase: Text


class Relevance(ReplyModel):
    """Whether a retrieved paper is close to the core of another (App. A.4)."""

    reason: Text
    verdict: Literal["RELEVANT", "IRRELEVANT"]


class NoveltyDecision(ReplyModel):
    """Whether a paper is novel compared with another (App. A.4)."""

    comparison: Text
    justification: Text
    decision: Literal["NOVEL", "NOT NOVEL"]


class NoveltySummary(ReplyModel):
    """The decisions in words (App. A.4)."""

    summary: Text


class Colours(ReplyModel):
    """The colours of three bands of an image, to test that a model sees it."""

    left: Text
    middle: Text
    right: Text


class FigureDescription(ReplyModel):
    """What a figure shows, and its implications (MAMORX, App. A.3)."""

    description: Text
    implications: Text


class CaptionCritique(ReplyModel):
    """A figure critic's findings about a figure, without the image."""

    inconsistencies: list[Text]
    critique: Text


class FigureCritique(ReplyModel):
    """A figure critic's findings: clarity, consistency, and improvements (MAMORX, App. A.3)."""

    clarity: Text
    inconsistencies: list[Text]
    critique: Text


# Judges of ideas (SciPIP, §4.2, §4.3, App. A.1).


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


def comparison_of(kind: type[Comparison], count: int) -> type[Comparison]:
    """A comparison of a number of ideas."""
    part: type[Placing] = Placing
    for name in Placing.model_fields:
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
