"""Replies that several systems share: of a team, its guests, its abstract."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from manyheads.asking.replies.base import R, ReplyModel, Score, Text, mixed

Expert: TypeAlias = Literal["clarity", "experiments", "impact"]
"""The experts of a review's leader."""


class Remark(ReplyModel):
    """One contribution to the topic discussion (R_k,i of Eq. 1)."""

    remark: Text
    topic: Text


class Summary(ReplyModel):
    """The leader's summary of one turn (D̄_t)."""

    summary: Text


class Progress(ReplyModel):
    """The leader's decision whether a stage needs another turn (App. D.3.2)."""

    reasoning: Text
    another_turn: bool


class Advice(ReplyModel):
    """A guest's answer; the guest does not join the team."""

    advice: Text


class Abstract(ReplyModel):
    """An abstract in its five sections (VirSci 2025, §3.2, Abstract Generation)."""

    title: Text
    introduction: Text
    objective: Text
    methods: Text
    expected_results: Text
    conclusion: Text

    def spoken(self) -> str:
        return f"{self.title}\n\n{self.as_text()}"

    def as_text(self) -> str:
        """The five sections as one paragraph, for the measures."""
        return " ".join(getattr(self, name) for name in Abstract.model_fields if name != "title")


class Ratings(ReplyModel):
    """The eight criteria on which an abstract is rated, 1–10 (VirSci 2024, Fig. 15 and its example)."""

    clarity: Score
    relevance: Score
    structure: Score
    conciseness: Score
    technical_accuracy: Score
    engagement: Score
    originality: Score
    overall: Score


class Judgement(ReplyModel):
    """A member's opinion of an abstract before rewriting it (Q_judgment)."""

    evaluation: Ratings
    changes: list[Text]


class Seeks(ReplyModel):
    """Mixed into a reply if the model cannot call tools: the request to ask an outside scientist."""

    invite: str | None = None
    question: str | None = None


def seeking(kind: type[R]) -> type[R]:
    """`kind` with the fields of `Seeks` at its end, under the same name."""
    return mixed(kind, Seeks, kind)


class Interests(ReplyModel):
    """An author's research interests, summarised from the keywords of their papers (VirSci 2025, App. C.2.2)."""

    interests: Annotated[list[Text], Field(min_length=1, max_length=8)]


class Doubts(ReplyModel):
    """Before an idea is changed."""

    reflection: Text
