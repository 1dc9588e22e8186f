"""The typed replies that a task may ask for. Their JSON Schema is what the model is shown.

Scales and fields follow the papers. Scores are never clipped or filled in: a value out of range is asked for again.
"""

from manyheads.replies.base import Choice, Percent, ReplyModel, Score, Text, label
from manyheads.replies.baselines import Analysis, Critique, Evidence, Reflection
from manyheads.replies.conference import ConferenceReview
from manyheads.replies.invitation import Seeks, seeking
from manyheads.replies.mamorx import FigureCritique, NoveltyReport
from manyheads.replies.profiles import Interests
from manyheads.replies.ranking import Condensed, Ranking, ranking_of
from manyheads.replies.rating import IdeaRating
from manyheads.replies.rebuttal import FirstIdea, Proposal, Rethought, Review, Verdict
from manyheads.replies.virsci import (
    Abstract,
    Advice,
    Consensus,
    Decision,
    Idea,
    Interest,
    Judgement,
    Overlap,
    Progress,
    Ratings,
    Remark,
    Revision,
    SelfReview,
    Summary,
    Topic,
    Vote,
    review_of,
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
