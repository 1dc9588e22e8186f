"""What the baselines ask for: a lone agent's self-reflection, and a discussion of fixed roles (VirSci 2025, App. C.3)."""

from pydantic import Field

from manyheads.replies.base import ReplyModel, Text
from manyheads.replies.virsci import Idea


class Doubts(ReplyModel):
    """What comes before an idea is changed."""

    reflection: Text = Field(
        description="What is weak about the idea as it stands, and what you do about it."
    )


class Reflection(Idea, Doubts):
    """One round of self-reflection: the idea thought over, and given anew."""

    done: bool = Field(description="true if the idea as you give it here gains nothing from a further round.")


class Analysis(ReplyModel):
    """The analyst's reading of the topic."""

    keywords: list[Text] = Field(min_length=1, description="The terms on which the topic turns.")
    remark: Text = Field(description="What they suggest: tensions, open questions, where to look.")

    def spoken(self) -> str:
        return f"{self.remark}\n\nKeywords: {', '.join(self.keywords)}"


class Evidence(ReplyModel):
    """The engineer's account of the literature."""

    remark: Text = Field(description="What the papers have, what they lack, and what follows for the idea.")


class Critique(ReplyModel):
    """The critic's judgement of the idea on the table."""

    remark: Text = Field(description="Strengths, faults, and what each of the others should do about them.")
    approve: bool = Field(description="true if the idea can be written up as it stands.")
