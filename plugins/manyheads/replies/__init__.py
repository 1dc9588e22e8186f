"""The typed replies that a task may ask for. Their JSON Schema is what the model is shown.

Scales and fields follow the papers. Scores are never clipped or filled in: a value out of range is asked for again.
"""

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
from manyheads.replies.reviewing import ConferenceReview, FigureCritique, IdeaRating, NoveltyReport
from manyheads.replies.team import (
    Abstract,
    Advice,
    Analysis,
    Consensus,
    Critique,
    Decision,
    Evidence,
    Idea,
    Interest,
    Interests,
    Judgement,
    Overlap,
    Progress,
    Ratings,
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

REPLIES: dict[str, type[ReplyModel]] = {
    kind.__name__: kind
    for kind in (
        Decision, Remark, Summary, Progress, Consensus, Topic, Interest, Advice, Idea, Vote, Abstract, Revision,
        SelfReview, ConferenceReview, IdeaRating, Interests, Proposal, Review, Verdict, NoveltyReport, FigureCritique,
        Reflection, Analysis, Evidence, Critique, FirstIdea, Rethought, Condensed, Ranking,
    )
}  # fmt: skip

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
    "Evidence",
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
    "review_of",
    "seeking",
    "vote_among",
]
