"""What Review and Rebuttal asks for (Figs. 5–11)."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, create_model

from manyheads.replies.base import Choice, ReplyModel, Text, label, whole_number
from manyheads.replies.team import Doubts


class FirstIdea(ReplyModel):
    """What the proposer starts from, before anybody has reviewed it (Fig. 8)."""

    thought: Text = Field(description="What the abstracts leave open, and what they suggest together.")
    idea: Text = Field(description="The hypothesis or idea, in one short paragraph.")

    def spoken(self) -> str:
        return self.idea


class Proposal(ReplyModel):
    """An idea in the six-field form of Review and Rebuttal (§3.1, Fig. 9)."""

    verb = "revises"

    title: Text
    problem: Text = Field(description="The problem and why it is open.")
    objective: Text
    hypothesis: Text
    method: Text
    expected_impact: Text

    def spoken(self) -> str:
        return f"Title: {self.title}\n\n{self.body()}"

    def body(self) -> str:
        """What stands below the title, each field under its name."""
        return in_form({name: getattr(self, name) for name in Proposal.model_fields if name != "title"})


class Rethought(Proposal, Doubts):
    """One round of self-reflection of the proposer, who has nobody else (§4.2)."""

    verb = "rethinks"

    improved: bool = Field(
        description="true only if this version is significantly better than the one before."
    )


class Review(ReplyModel):
    """A reviewer's findings on one quality indicator."""

    verb = "reviews"

    strengths: list[Text] = Field(min_length=1)
    weaknesses: list[Text] = Field(min_length=1)
    suggestions: list[Text] = Field(min_length=1, description="Concrete changes, most important first.")

    def spoken(self) -> str:
        """The points, listed under their names."""
        return "\n\n".join(
            f"{label(name)}:\n" + "\n".join(f"- {point}" for point in getattr(self, name))
            for name in Review.model_fields
        )


class Verdict(ReplyModel):
    """An area chair's comparison of an idea with the one before it."""

    verb = "compares"

    reasoning: Text = Field(description="What changed, and whether it matters for the indicator.")
    improved: bool = Field(description="true only if the new idea is significantly better.")


def in_form(fields: Mapping[str, str]) -> str:
    """Fields of a proposal as they are shown, each under its name."""
    return "\n\n".join(f"{label(name)}: {text}" for name, text in fields.items())


# What the judge of the relative quality ranking answers (Review and Rebuttal, Figs. 12 and 13).

ABSENT = "NONE"
"""Stands in a field of which the text says nothing."""
AROUND = " \t\n.,;:!*_`\"'()[]<>-–—"
"""What a model may put around it."""


def is_absent(text: str) -> bool:
    """Whether a field says that there is nothing to say."""
    return text.strip(AROUND).upper() == ABSENT


class Condensed(Proposal):
    """The idea of a text in the form of a proposal; a field that the text does not tell holds `NONE` (Fig. 13)."""

    verb = "condenses"

    def contents(self) -> dict[str, str]:
        """The fields that the text tells."""
        fields = {name: getattr(self, name) for name in Proposal.model_fields}
        return {name: text for name, text in fields.items() if not is_absent(text)}

    def contradictions(self) -> list[str]:
        """The fields that say NONE and go on; none of the title, which may begin with that word."""
        fields = ((name, text.lstrip(AROUND)) for name, text in self.contents().items() if name != "title")
        return [name for name, text in fields if re.match(rf"{ABSENT}\b", text)]


def as_ranked(title: str, text: str, fields: Mapping[str, str], shown: Sequence[str]) -> str:
    """An idea as it is ranked: those of its fields that are shown, or, where it has none, as it was written."""
    if not fields:
        return "\n\n".join(filter(None, (title, text)))
    return in_form({name: fields[name] for name in shown if name in fields})


class Ranked(ReplyModel):
    """One place of a ranking."""

    idea: Choice = Field(description="Number of the idea, as listed.")
    rationale: Text = Field(description="Why it stands here, in a sentence.")


class Ranking(ReplyModel):
    """All ideas in order, the one with the most of the quality first; each of them once (Fig. 12)."""

    ranking: list[Ranked] = Field(min_length=1, description="Every idea exactly once, the best first.")

    def order(self) -> tuple[int, ...]:
        """The ideas' numbers as listed, from 1, the best first."""
        return tuple(each.idea for each in self.ranking)

    def spoken(self) -> str:
        return "\n".join(
            f"{place}. Idea {each.idea}: {each.rationale}" for place, each in enumerate(self.ranking, 1)
        )


@cache
def ranking_of(kind: type[Ranking], count: int) -> type[Ranking]:
    """A ranking of so many ideas: its schema shows how many places there are and how far the numbers go."""
    number = Annotated[
        int,
        Field(ge=1, le=count, description=Ranked.model_fields["idea"].description),
        BeforeValidator(whole_number),
    ]
    place = create_model(Ranked.__name__, __base__=Ranked, idea=(number, ...))
    described = kind.model_fields["ranking"].description
    places: Any = Annotated[list[place], Field(min_length=count, max_length=count, description=described)]
    return create_model(kind.__name__, __base__=kind, ranking=(places, ...))
