"""Replies based on papers: extracted content, and ideas (SciPIP)."""

from functools import cache
from typing import Annotated, Any

from pydantic import Field

from manyheads.replies.base import Choice, R, ReplyModel, Score, Text, limited

# Content extracted from a paper (SciPIP, §3.1, Tables 7–9).


def _asked_for(least: int, most: int) -> Any:
    """Requested number of items; a text with fewer gives fewer, none is made up."""
    return Field(json_schema_extra={"minItems": least, "maxItems": most})


class Extract(ReplyModel):
    """A paper's entities, summary, background and main ideas (Tables 7 and 8)."""

    entities: Annotated[list[Text], _asked_for(1, 5)]
    summary: Text
    background: Annotated[list[Text], _asked_for(1, 2)]
    main_ideas: Annotated[list[Text], _asked_for(0, 3)]

    def spoken(self) -> str:
        return self.summary


class DetailedIdea(ReplyModel):
    """One contribution of a paper in detail."""

    idea: Text
    details: Text


class DetailedIdeas(ReplyModel):
    """A paper's contributions in detail, from its method section (Table 9)."""

    detailed_ideas: Annotated[list[DetailedIdea], _asked_for(2, 4)]


class FullExtract(DetailedIdeas, Extract):
    """Both, if a paper's text fits in one prompt."""


# SciPIP (§3.3, App. A.1): from a research background to a few ideas.


class Entities(ReplyModel):
    """A text's key terms, most important first (SciPIP, Table 7)."""

    verb = "names"

    entities: list[Text]

    def spoken(self) -> str:
        return "; ".join(self.entities) or "–"


class OtherNames(ReplyModel):
    """Synonyms of a term."""

    term: Text
    names: list[Text]


class Synonyms(ReplyModel):
    """Synonyms of terms (SciPIP, §3.2.1)."""

    verb = "names"

    terms: list[OtherNames]

    def spoken(self) -> str:
        return "; ".join(f"{each.term}: {', '.join(each.names) or '–'}" for each in self.terms)


class RoughIdea(ReplyModel):
    """A possible direction for a problem of a background."""

    aim: Text
    title: Text
    idea: Text


class Brainstorm(ReplyModel):
    """Directions from a background alone (SciPIP, Table 14)."""

    verb = "brainstorms"

    ideas: list[RoughIdea] = Field(min_length=1)


class Problem(ReplyModel):
    """A research problem, and why it is worth solving (SciPIP, Table 10)."""

    verb = "states"

    rationale: Text
    problem: Text

    def spoken(self) -> str:
        return self.problem


class InspiredIdea(ReplyModel):
    """An idea with the numbers of the papers that it builds on; none for an original idea."""

    papers: list[Choice]
    inspiration: Text
    title: Text
    idea: Text


class InspiredIdeas(ReplyModel):
    """Ideas from a problem and related papers (SciPIP, Table 11)."""

    verb = "proposes"

    ideas: list[InspiredIdea] = Field(min_length=1)


class Screening(ReplyModel):
    """A judgement of one idea: first how well it solves the problem (SciPIP, Table 12)."""

    verb = "screens"

    fit_reason: Text
    fit: Score
    novelty_reason: Text
    novelty: Score
    feasibility_reason: Text
    feasibility: Score

    def spoken(self) -> str:
        scores = f"fit {self.fit}, novelty {self.novelty}, feasibility {self.feasibility} of 10"
        return f"{scores}. {self.fit_reason}"


class RefinedIdea(ReplyModel):
    """A final idea, with the numbers of its source ideas."""

    sources: list[Choice] = Field(min_length=1)
    title: Text
    idea: Text
    details: Text


class Refinement(ReplyModel):
    """A few ideas that complement each other (SciPIP, Table 13)."""

    verb = "refines"

    coherence: Text
    ideas: list[RefinedIdea] = Field(min_length=1)


@cache
def ideas_of(kind: type[R], part: type[ReplyModel], least: int, most: int) -> type[R]:
    """A reply with a number of ideas, which its schema shows."""
    return limited(kind, "ideas", list[part], min_length=least, max_length=most)
