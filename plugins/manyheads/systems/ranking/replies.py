"""Replies of the judge of the relative quality ranking (Review and Rebuttal, Fig. 12)."""

from pydantic import Field

from manyheads.asking.replies.base import Choice, ReplyModel, Text, limited, numbered


class Ranked(ReplyModel):
    """One rank of a ranking."""

    rationale: Text
    idea: Choice


class Note(ReplyModel):
    """A judge's note on one idea, before ranking."""

    idea: Choice
    note: Text


class Ranking(ReplyModel):
    """A note on each idea, then all ideas in order, best first (Fig. 12)."""

    notes: list[Note] = Field(min_length=1)
    ranking: list[Ranked] = Field(min_length=1)

    def order(self) -> tuple[int, ...]:
        """The ideas' numbers as listed, from 1, best first."""
        return tuple(each.idea for each in self.ranking)


def ranking_of(kind: type[Ranking], count: int) -> type[Ranking]:
    """A ranking of a number of ideas: its schema shows the number of notes and ranks, and the range of numbers."""
    for name, part in (("notes", Note), ("ranking", Ranked)):
        one = numbered(part, "idea", count)
        kind = limited(kind, name, list[one], min_length=count, max_length=count)
    return kind


REPLIES = (
    Ranking,
)  # fmt: skip
"""What tasks may be answered with; the others are parts of these."""
