"""What is asked of a model when an ecosystem is built."""

from typing import Annotated

from pydantic import Field

from manyheads.replies.base import ReplyModel, Text


class Interests(ReplyModel):
    """An author's research interests, condensed from the keywords of their papers (VirSci 2025, App. C.2.2)."""

    interests: Annotated[list[Text], Field(min_length=1, max_length=8)] = Field(
        description="Research interests, each of a few words, the broadest strand of work first."
    )
