"""What Review and Rebuttal asks for (Figs. 5–11)."""

from collections.abc import Mapping

from pydantic import Field

from manyheads.replies.base import ReplyModel, Text, label
from manyheads.replies.baselines import Doubts


class FirstIdea(ReplyModel):
    """What the proposer starts from, before anybody has reviewed it (Fig. 8)."""

    thought: Text = Field(description="What the abstracts leave open, and what they suggest together.")
    idea: Text = Field(description="The hypothesis or idea, in one short paragraph.")

    def spoken(self) -> str:
        return self.idea


class Proposal(ReplyModel):
    """An idea in the six-field form of Review and Rebuttal (§3.1, Fig. 9)."""

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

    improved: bool = Field(
        description="true only if this version is significantly better than the one before."
    )


class Review(ReplyModel):
    """A reviewer's findings on one quality indicator."""

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

    reasoning: Text = Field(description="What changed, and whether it matters for the indicator.")
    improved: bool = Field(description="true only if the new idea is significantly better.")


def in_form(fields: Mapping[str, str]) -> str:
    """Fields of a proposal as they are shown, each under its name."""
    return "\n\n".join(f"{label(name)}: {text}" for name, text in fields.items())
