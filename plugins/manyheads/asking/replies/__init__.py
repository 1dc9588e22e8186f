"""The typed replies of tasks; `prompts/replies/` describes their fields.

Scales and the order of fields (reasons before decisions) follow the papers. Scores are never clipped or filled in: a
value out of range is asked for again. A pack has its own replies in its module `replies`; a role card names them
`pack.Reply`.
"""

# ruff: noqa: F401, I001
# pyright: reportUnusedImport=false

from importlib import import_module
from typing import Any

from manyheads.base.errors import ConfigError, did_you_mean
from manyheads.asking.replies.own import OwnReply, from_schema, imported, read_as
from manyheads.asking.replies.base import (
    Choice, Percent, PlainText, R, ReplyModel, Score, Text, label, limited, mixed, numbered, of, uniform_score,
    whole_number,
)  # fmt: skip
from manyheads.asking.replies.literature import (
    Brainstorm, DetailedIdea, DetailedIdeas, Entities, Extract, FullExtract, InspiredIdea, InspiredIdeas,
    OtherNames, Problem, RefinedIdea, Refinement, RoughIdea, Screening, Synonyms, ideas_of,
)  # fmt: skip
from manyheads.asking.replies.papers import (
    Assessment, Doubted, Expert, ExpertAnswer, Finding, Inquiries, Inquiry, CorrectedPoint, Correction, Plan, PlanStep, Point,
    SectionChoice, Support, Weighed, WrittenReview, correction_of, written_on,
)  # fmt: skip
from manyheads.asking.replies.proposals import (
    ABSENT, AROUND, Answer, Answers, Condensed, FirstIdea, Note, Proposal, Ranked, Ranking, Rethought,
    Review, RevisedProposal, TraitVerdict, Verdict, ranking_of, review_on,
)  # fmt: skip
from manyheads.asking.replies.reviews import (
    CRITERIA, CaptionCritique, Closest, Colours, Comparison, ConferenceReview, FaultFound, FigureCritique,
    FigureDescription, IdeaLikeness, IdeaRating, NoveltyDecision, NoveltyReport, NoveltyRound, NoveltySummary, Placing,
    Relevance, SearchPhrase, comparison_of,
)  # fmt: skip
from manyheads.asking.replies.steering import Action, OwnText, Steering, own, prefilled, steering_among
from manyheads.asking.replies.team import (
    Abstract, Advice, Analysis, Consensus, Critique, Decision, Doubts, Idea, IdeaNote, IdeaNotes, Interest,
    Interests, Judgement, Lineage, Overlap, Progress, Ratings, Reading, Reflection, Remark, Revision, Seeks,
    SelfReview, Summary, Topic, Vote, idea_after, review_of, seeking, vote_among,
)  # fmt: skip
from manyheads.base.resources import packs

REPLIES: dict[str, type[ReplyModel]] = {
    kind.__name__: kind
    for kind in (
        Decision, Remark, Summary, Progress, Consensus, Topic, Interest, Advice, Idea, Vote, Abstract, Revision,
        SelfReview, ConferenceReview, IdeaRating, Interests, Proposal, Review, Verdict, NoveltyReport,
        Colours, FigureDescription, FigureCritique, CaptionCritique,
        Reflection, Analysis, Reading, Critique, FirstIdea, RevisedProposal, Rethought, Condensed, Ranking,
        Extract, DetailedIdeas, FullExtract,
        Entities, Synonyms, Brainstorm, Problem, InspiredIdeas, Screening, Refinement,
        Comparison, Closest, IdeaLikeness, NoveltyRound, FaultFound,
        Plan, Assessment, Inquiries, SectionChoice, ExpertAnswer, WrittenReview, Correction,
        SearchPhrase, Relevance, NoveltyDecision, NoveltySummary,
        Steering, OwnText,
    )
}  # fmt: skip
"""The shipped replies, by name."""
TEXT = "text"
"""Name of a plain-text reply in a role card."""


def reply_type(name: str) -> type[ReplyModel]:
    """The reply type that a role card names.

    One of ours, `text` for plain text, `pack.Reply` of an installed pack, or `package.module:Class` for a pydantic class,
    whose module is imported.

    Raises:
        ConfigError: no such type.
    """
    if ":" in name:
        return imported(name)
    pack, dot, _ = name.partition(".")
    if dot and pack not in packs():
        raise ConfigError(
            f"no such reply type {name!r}: no pack {pack!r} is installed",
            tried=f"packs: {', '.join(packs()) or 'none'}",
            hint=did_you_mean(pack, packs()),
        )
    kinds = _of_pack(pack) if dot else {TEXT: PlainText, **REPLIES}
    if name not in kinds:
        otherwise = None if dot else "write pack.Reply for a pack's type, package.module:Class for your own"
        tried, hint = ", ".join(kinds) or "none", did_you_mean(name, kinds, otherwise)
        raise ConfigError(f"no such reply type {name!r}", tried=tried, hint=hint)
    return kinds[name]


def _of_pack(pack: str) -> dict[str, type[ReplyModel]]:
    module, theirs = f"{packs()[pack]}.replies", dict[str, Any]()
    try:
        theirs = vars(import_module(module))
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
    kinds = {
        name: kind for name, kind in theirs.items() if isinstance(kind, type) and issubclass(kind, ReplyModel)
    }
    return {f"{pack}.{name}": kind for name, kind in kinds.items() if kind is not ReplyModel}
