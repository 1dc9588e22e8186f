"""The stages: their names, what each is for, and what they ask of which role."""

from manyheads.config import STAGES, RunConfig
from manyheads.core.events import Stage
from manyheads.replies import (
    Abstract,
    Advice,
    Consensus,
    Decision,
    Idea,
    Interest,
    Progress,
    Remark,
    ReplyModel,
    Revision,
    SelfReview,
    Summary,
    Topic,
    Vote,
)

_NEEDS: dict[tuple[str, str], type[ReplyModel]] = {
    ("scientist", "join"): Decision,
    ("scientist", "topic"): Remark,
    ("scientist", "consensus"): Consensus,
    ("scientist", "interest"): Interest,
    ("scientist", "advise"): Advice,
    ("scientist", "idea"): Idea,
    ("scientist", "vote"): Vote,
    ("scientist", "revise"): Revision,
    ("leader", "summary"): Summary,
    ("leader", "progress"): Progress,
    ("leader", "settle"): Topic,
    ("leader", "draft"): Abstract,
}
_SELF_REVIEW_NEEDS: dict[tuple[str, str], type[ReplyModel]] = {
    ("leader", "self_review"): SelfReview,
    ("leader", "rework"): Revision,
}

TITLES = {
    "selection": "Collaborator selection",
    "topic": "Topic discussion",
    "idea": "Idea generation",
    "novelty": "Novelty assessment",
    "abstract": "Abstract generation",
    "review": "Self-review",
}
GOALS = {
    "topic": "one precise research topic that the members share and can support.",
    "idea": "a small set of testable ideas on the topic, at least one of them clearly new.",
    "novelty": "a clear majority for the idea that overlaps least with published work.",
    "abstract": "an abstract that is clear, complete and original.",
}


def needs(config: RunConfig) -> dict[tuple[str, str], type[ReplyModel]]:
    """The reply that each task of a role must give, or a narrower one; of self-review only where it is held."""
    return {**_NEEDS, **(_SELF_REVIEW_NEEDS if config.self_review.enabled else {})}


def stage_event(config: RunConfig, stage: str, title: str | None = None) -> Stage:
    """A stage begins, or begins anew under another title; the self-review counts only where it is held."""
    total = len(STAGES) - (not config.self_review.enabled)
    return Stage(stage=stage, title=title or TITLES[stage], number=STAGES.index(stage) + 1, total=total)
