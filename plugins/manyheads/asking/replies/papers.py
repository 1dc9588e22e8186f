"""What is extracted from a paper (SciPIP, §3.1, Tables 7–9)."""

from typing import Annotated, Any

from pydantic import Field

from manyheads.asking.replies.base import ReplyModel, Text


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
