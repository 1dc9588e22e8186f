"""The stages: their names, what each is for, and what they ask of which role."""

from manyheads.config import RunConfig
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
from manyheads.roles import Roles
from manyheads.systems.virsci.config import STAGES, TALKS, settings_of
from manyheads.tools import LOOK_UPS

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
    return {**_NEEDS, **(_SELF_REVIEW_NEEDS if settings_of(config).self_review.enabled else {})}


def turns(config: RunConfig) -> dict[str, int]:
    """The most turns of each stage that is held in turns."""
    return {stage: settings_of(config).turns.of(stage) for stage in TALKS}


def searches(config: RunConfig, roles: Roles) -> bool:
    """Whether the library may be asked: for the references of ideas, or by a tool of the scientists' cards."""
    asked = {role for role, _ in needs(config)}
    return config.literature.references == "services" or any(
        LOOK_UPS & set(roles.card(role).tools) for role in asked
    )


def stage_event(config: RunConfig, stage: str, title: str | None = None) -> Stage:
    """A stage begins, or begins anew under another title; the self-review counts only where it is held."""
    total = len(STAGES) - (not settings_of(config).self_review.enabled)
    return Stage(stage=stage, title=title or TITLES[stage], number=STAGES.index(stage) + 1, total=total)
