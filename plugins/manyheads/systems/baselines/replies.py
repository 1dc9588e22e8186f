"""Replies of the baselines: a lone agent's self-reflection, and a discussion of fixed roles (VirSci 2025, App. C.3)."""

from pydantic import ConfigDict, Field

from manyheads.asking.replies import Doubts
from manyheads.asking.replies.base import ReplyModel, Text
from manyheads.systems.virsci.replies import Idea


class Reflection(Idea, Doubts):
    """One round of self-reflection: criticism, and the idea again."""

    done: bool


class Analysis(ReplyModel):
    """The analyst's view of the topic."""

    keywords: list[Text] = Field(min_length=1)
    remark: Text


class Reading(ReplyModel):
    """The engineer's review of the literature."""

    model_config = ConfigDict(title="Evidence")

    remark: Text


class Critique(ReplyModel):
    """The critic's judgement of the current idea."""

    remark: Text
    approve: bool


REPLIES = (
    Reflection, Analysis, Reading, Critique,
)  # fmt: skip
"""What tasks may be answered with; the others are parts of these."""
