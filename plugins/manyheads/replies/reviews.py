"""Replies of reviewers and judges of texts and ideas: conference form, ratings, comparisons."""

from functools import cache
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from manyheads.replies.base import Choice, ReplyModel, Score, Text, limited, whole_number

# Reviews of a text: a conference's form, a rating form, MAMORX.


class ConferenceReview(ReplyModel):
    """The truncated NeurIPS form (VirSci 2024, Fig. 17; 2025, Fig. 25)."""

    verb = "reviews"

    summary: Text
    strengths: list[Text] = Field(min_length=1)
    weaknesses: list[Text] = Field(min_length=1)
    questions: list[Text] = Field(min_length=1)
    ethical_concerns: bool
    overall: Score

    def spoken(self) -> str:
        return f"{self.overall} of 10. {self.summary}"


class IdeaRating(ReplyModel):
    """Novelty, feasibility and effectiveness of an idea, each with its reason first (VirSci 2025, App. C.4 and E)."""

    verb = "rates"

    novelty_reason: Text
    novelty: Score
    feasibility_reason: Text
    feasibility: Score
    effectiveness_reason: Text
    effectiveness: Score

    def spoken(self) -> str:
        given = f"novelty {self.novelty}, feasibility {self.feasibility}, effectiveness {self.effectiveness} of 10"
        return f"{given}. {self.novelty_reason}"


class NoveltyReport(ReplyModel):
    """A novelty reviewer's summary (MAMORX, App. A.4)."""

    reasoning: Text
    conflicts: list[Text]
    verdict: Literal["NOVEL", "NOT NOVEL"]


class SearchPhrase(ReplyModel):
    """Queries for related papers, each with its purpose (MAMORX, App. A.4)."""

    verb = "looks for"

    aim: Text
    phrase: Text

    def spoken(self) -> str:
        return self.phrase


class Relevance(ReplyModel):
    """Whether a retrieved paper is close to the core of another (App. A.4)."""

    verb = "sifts"

    reason: Text
    verdict: Literal["RELEVANT", "IRRELEVANT"]

    def spoken(self) -> str:
        return f"{self.verdict}. {self.reason}"


class NoveltyDecision(ReplyModel):
    """Whether a paper is novel compared with another (App. A.4)."""

    verb = "compares"

    comparison: Text
    justification: Text
    decision: Literal["NOVEL", "NOT NOVEL"]

    def spoken(self) -> str:
        return f"{self.decision}. {self.justification}"


class NoveltySummary(ReplyModel):
    """The decisions in words (App. A.4)."""

    verb = "sums up"

    summary: Text


class Colours(ReplyModel):
    """The colours of three bands of an image, to test that a model sees it."""

    verb = "looks"

    left: Text
    middle: Text
    right: Text


class FigureDescription(ReplyModel):
    """What a figure shows, and its implications (MAMORX, App. A.3)."""

    verb = "describes"

    description: Text
    implications: Text


class CaptionCritique(ReplyModel):
    """A figure critic's findings about a figure, without the image."""

    verb = "criticises"

    inconsistencies: list[Text]
    critique: Text


class FigureCritique(ReplyModel):
    """A figure critic's findings: clarity, consistency, and improvements (MAMORX, App. A.3)."""

    verb = "criticises"

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

    verb = "compares"

    thought: Text
    places: list[Placing] = Field(min_length=1)

    def spoken(self) -> str:
        return f"{self.thought} Overall: " + ", ".join(
            f"idea {each.idea} on rank {each.overall}"
            for each in sorted(self.places, key=lambda each: each.idea)
        )


@cache
def comparison_of(kind: type[Comparison], count: int) -> type[Comparison]:
    """A comparison of a number of ideas."""
    part: type[Placing] = Placing
    for name in Placing.model_fields:
        part = limited(part, name, int, BeforeValidator(whole_number), ge=1, le=count)
    return limited(kind, "places", list[part], min_length=count, max_length=count)


class Closest(ReplyModel):
    """The published idea most similar to a given one (Table 15)."""

    verb = "picks"

    reason: Text
    choice: Choice


@cache
def closest_of(kind: type[Closest], count: int) -> type[Closest]:
    """A choice among a number of ideas."""
    return limited(kind, "choice", int, BeforeValidator(whole_number), ge=1, le=count)


class IdeaLikeness(ReplyModel):
    """How similar two ideas are, 0 to 5 (Table 16)."""

    verb = "compares"

    reason: Text
    similarity: Annotated[int, Field(ge=0, le=5), BeforeValidator(whole_number)]

    def spoken(self) -> str:
        return f"similarity {self.similarity} of 5. {self.reason}"


class FaultFound(ReplyModel):
    """The points of a review that identify a known fault of a paper."""

    verb = "looks for a fault"

    reason: Text
    points: list[Choice]

    def spoken(self) -> str:
        named = ", ".join(map(str, self.points))
        return f"{f'named by {named}' if named else 'not named'}. {self.reason}"


class NoveltyRound(ReplyModel):
    """One round of a search for similar work: the idea's novelty so far, and the next query (Table 17)."""

    verb = "searches"

    thought: Text
    novelty: Annotated[int, Field(ge=0, le=10), BeforeValidator(whole_number)]
    query: Text

    def spoken(self) -> str:
        return f"novelty {self.novelty} of 10. {self.thought} Looks for: {self.query}"
