"""The typed replies that a task may ask for. Their JSON Schema is what the model is shown.

Scales and fields follow the papers. Scores are never clipped or filled in: a value out of range is asked for again.
A pack brings its own in its module `replies`; a role card names them `pack.Reply`.
"""

from importlib import import_module

from manyheads.errors import ConfigError
from manyheads.replies.base import Choice, Percent, ReplyModel, Score, Text, label
from manyheads.replies.refinement import (
    Condensed,
    FirstIdea,
    Proposal,
    Ranking,
    Rethought,
    Review,
    Verdict,
    ranking_of,
)
from manyheads.replies.reviews import ConferenceReview, FigureCritique, IdeaRating, NoveltyReport
from manyheads.replies.team import (
    Abstract,
    Advice,
    Analysis,
    Consensus,
    Critique,
    Decision,
    Idea,
    Interest,
    Interests,
    Judgement,
    Overlap,
    Progress,
    Ratings,
    Reading,
    Reflection,
    Remark,
    Revision,
    Seeks,
    SelfReview,
    Summary,
    Topic,
    Vote,
    review_of,
    seeking,
    vote_among,
)
from manyheads.resources import packs

REPLIES: dict[str, type[ReplyModel]] = {
    kind.__name__: kind
    for kind in (
        Decision, Remark, Summary, Progress, Consensus, Topic, Interest, Advice, Idea, Vote, Abstract, Revision,
        SelfReview, ConferenceReview, IdeaRating, Interests, Proposal, Review, Verdict, NoveltyReport, FigureCritique,
        Reflection, Analysis, Reading, Critique, FirstIdea, Rethought, Condensed, Ranking,
    )
}  # fmt: skip
"""Those that ship, by name."""


def reply_type(name: str) -> type[ReplyModel]:
    """The reply type that a role card names: one of ours, or `pack.Reply` of an installed pack.

    Raises:
        ConfigError: there is none of this name.
    """
    if kind := REPLIES.get(name):
        return kind
    pack, dot, inner = name.partition(".")
    if not dot:
        raise ConfigError(
            f"unknown reply type {name!r}", tried=", ".join(REPLIES), hint="those of packs are pack.Reply"
        )
    if pack not in packs():
        raise ConfigError(
            f"unknown reply type {name!r}: no pack {pack!r} is installed",
            tried=f"packs: {', '.join(packs()) or 'none'}",
        )
    theirs = _replies_of(packs()[pack])
    if inner not in theirs:
        raise ConfigError(
            f"unknown reply type {name!r}", tried=f"{pack} brings: {', '.join(theirs) or 'none'}"
        )
    return theirs[inner]


def _replies_of(package: str) -> dict[str, type[ReplyModel]]:
    """The reply types of a pack's module `replies`; none where it has no such module."""
    module = f"{package}.replies"
    try:
        names = vars(import_module(module))
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return {}
    kinds = {
        name: kind for name, kind in names.items() if isinstance(kind, type) and issubclass(kind, ReplyModel)
    }
    return {name: kind for name, kind in kinds.items() if kind is not ReplyModel}


__all__ = [
    "REPLIES",
    "Abstract",
    "Advice",
    "Analysis",
    "Choice",
    "Condensed",
    "ConferenceReview",
    "Consensus",
    "Critique",
    "Decision",
    "FigureCritique",
    "FirstIdea",
    "Idea",
    "IdeaRating",
    "Interest",
    "Interests",
    "Judgement",
    "NoveltyReport",
    "Overlap",
    "Percent",
    "Progress",
    "Proposal",
    "Ranking",
    "Ratings",
    "Reading",
    "Reflection",
    "Remark",
    "ReplyModel",
    "Rethought",
    "Review",
    "Revision",
    "Score",
    "Seeks",
    "SelfReview",
    "Summary",
    "Text",
    "Topic",
    "Verdict",
    "Vote",
    "label",
    "ranking_of",
    "reply_type",
    "review_of",
    "seeking",
    "vote_among",
]
