"""Replies from a research background to a few ideas (SciPIP, §3.3, App. A.1), and of what is read in papers (§3.1)."""

from typing import Annotated, Any

from pydantic import Field

from manyheads.asking.replies.base import Choice, R, ReplyModel, Score, Text, limited


class Entities(ReplyModel):
    """A text's key terms, most important first (SciPIP, Table 7)."""

    entities: list[Text]


class OtherNames(ReplyModel):
    """Synonyms of a term."""

    term: Text
    names: list[Text]


class Synonyms(ReplyModel):
    """Synonyms of terms (SciPIP, §3.2.1)."""

    terms: list[OtherNames]


class RoughIdea(ReplyModel):
    """A possible direction for a problem of a background."""

    aim: Text
    title: Text
    idea: Text


class Brainstorm(ReplyModel):
    """Directions from a background alone (SciPIP, Table 14)."""

    ideas: list[RoughIdea] = Field(min_length=1)


class Problem(ReplyModel):
    """A research problem, and why it is worth solving (SciPIP, Table 10)."""

    rationale: Text
    problem: Text


class InspiredIdea(ReplyModel):
    """An idea with the numbers of the papers that it builds on; none for an original idea."""

    papers: list[Choice]
    inspiration: Text
    title: Text
    idea: Text


class InspiredIdeas(ReplyModel):
    """Ideas from a problem and related papers (SciPIP, Table 11)."""

    ideas: list[InspiredIdea] = Field(min_length=1)


class Screening(ReplyModel):
    """A judgement of one idea: first how well it solves the problem (SciPIP, Table 12)."""

    fit_reason: Text
    fit: Score
    novelty_reason: Text
    novelty: Score
    feasibility_reason: Text
    feasibility: Score


class RefinedIdea(ReplyModel):
    """A final idea, with the numbers of its source ideas."""

    sources: list[Choice] = Field(min_length=1)
    title: Text
    idea: Text
    details: Text


class Refinement(ReplyModel):
    """A few ideas that complement each other (SciPIP, Table 13)."""

    coherence: Text
    ideas: list[RefinedIdea] = Field(min_length=1)


def ideas_of(kind: type[R], part: type[ReplyModel], least: int, most: int) -> type[R]:
    """A reply with a number of ideas, which its schema shows."""
    return limited(kind, "ideas", list[part], min_length=least, max_length=most)


def _asked_for(least: int, most: int) -> Any:
    """Requested number of items; a text with fewer gives fewer, none is made up."""
    return Field(json_schema_extra={"minItems": least, "maxItems": most})


class Extract(ReplyModel):
    """A paper's entities, summary, background and main ideas (Tables 7 and 8)."""

    entities: Annotated[list[Text], _asked_for(1, 5)]
    summary: Text
    background: Annotated[list[Text], _asked_for(1, 2)]
    main_ideas: Annotated[list[Text], _asked_for(0, 3)]


class DetailedIdea(ReplyModel):
    """One contribution of a paper in detail."""

    idea: Text
    details: Text


class DetailedIdeas(ReplyModel):
    """A paper's contributions in detail, from its method section (Table 9)."""

    detailed_ideas: Annotated[list[DetailedIdea], _asked_for(2, 4)]


class FullExtract(DetailedIdeas, Extract):
    """Both, if a paper's text fits in one prompt."""


REPLIES = (
    Entities, Synonyms, Brainstorm, Problem, InspiredIdeas, Screening, Refinement, Extract, DetailedIdeas,
    FullExtract,
)  # fmt: skip
"""What tasks may be answered with; the others are parts of these."""
