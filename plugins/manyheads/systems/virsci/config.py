"""Settings and inputs of VirSci, its stages, and the tasks required of roles."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from manyheads.asking import replies as shared
from manyheads.asking.roles import Roles
from manyheads.config import Inputs, RunConfig, Slot, Strict
from manyheads.systems.ideas import GivenIdeas, Several, read_idea
from manyheads.systems.virsci import replies
from manyheads.team.run import DiscussionSettings, TurnsConfig
from manyheads.team.tools import LOOK_UPS

TextOrNone = Annotated[str | None, AfterValidator(lambda text: (text or "").strip() or None)]
"""A text; None where it is blank."""
STAGES = {
    "selection": "Collaborator selection",
    "topic": "Topic discussion",
    "idea": "Idea generation",
    "novelty": "Novelty assessment",
    "abstract": "Abstract generation",
    "review": "Self-review",
    "peer_review": "Peer review",
}
"""In their order, with their titles; a run has its self-review, `review`, and its peer review only when they are enabled."""


STEERS = {
    "topic": "accept or edit the topic, or send it back",
    "idea": "accept the ideas, pick those for the vote, add one, or send the stage back",
    "novelty": "accept the vote, or pick another idea",
    "abstract": "accept or edit the abstract, or send it back",
}
"""What a person may do after a stage."""


class StageTurns(TurnsConfig):
    """Turns of each stage. A plain number in a config sets all of them."""

    topic: int | None = Field(default=None, ge=1)
    """For the topic stage; `default` when left out."""
    idea: int | None = Field(default=None, ge=1)
    """For the idea stage; `default` when left out."""
    novelty: int | None = Field(default=None, ge=1)
    """For the novelty stage; `default` when left out."""
    abstract: int | None = Field(default=None, ge=1)
    """For the abstract stage; `default` when left out."""


class TopicConfig(Strict):
    """Topic discussion."""

    start: TextOrNone = None
    """A topic to start the discussion from (App. C.3); `topic` fixes one and skips the discussion."""
    max_restarts: int = Field(default=1, ge=0)
    """How often the discussion starts over without a majority; then the leader decides, with a warning."""
    may_leave: bool = True
    """Whether members who are not interested in the chosen topic leave."""
    hot: int = Field(default=0, ge=0, exclude_if=lambda value: not value)
    """Papers shown that gained most citations in the last year of a society; a corpus as it was published has none."""


class IdeaConfig(Strict):
    """Idea generation."""

    keep: int = Field(default=3, ge=1)
    """Number of ideas of highest confidence in the novelty assessment."""
    novelty_weight: float = Field(default=1.0, ge=0)
    """Weight of novelty in the confidence; 2 as in the authors' code."""
    references: int = Field(default=5, ge=0)
    """Papers of B_past shown with the topic or the previous idea; 0 for none."""
    draw: Literal["nearest", "cited"] = Field(default="nearest", exclude_if=lambda value: value == "nearest")
    """Those nearest to it; or, of twice as many, a draw that favours cited papers (at most 100 count) and recent ones."""
    query: Literal["title+idea", "whole"] = "title+idea"
    """The query for papers, here and for the vote: the title and idea, or the whole with its experiment.
    Texts too long for the embedding model are embedded in parts, whose vectors are averaged."""

    @property
    def queries_whole(self) -> bool:
        return self.query == "whole"


class NoveltyConfig(Strict):
    """Novelty assessment."""

    enabled: bool = True
    """Off: the last idea is taken (App. D.2.2)."""
    references: int = Field(default=5, ge=0)
    """Papers of B_past shown with each idea; 0 for none."""


class SelfReviewConfig(Strict):
    """The leader's check of the finished abstract against the closest of B_past (App. B.1)."""

    enabled: bool = False
    """On: an abstract too close to a paper of B_past is revised once, then discarded with its idea."""
    threshold: int = Field(default=70, ge=0, le=100)
    """Similarity, 0 to 100, from which an abstract is too close."""
    references: int = Field(default=5, ge=1)
    """Closest papers of B_past that the abstract is compared with."""
    max_discards: int = Field(default=1, ge=0)
    """How often the team goes back to idea generation; after that the last abstract is kept, with a warning."""


class PeerReviewConfig(Strict):
    """Review of the finished abstract by scientists outside the team, as in the authors' second code base."""

    enabled: bool = False
    """On: scientists nearest to the abstract mark it from 1 to 10, and the team revises it where the marks are too low."""
    reviewers: int = Field(default=2, ge=1)
    """Scientists who mark it."""
    threshold: float = Field(default=6, ge=1, le=10)
    """Mean mark from which it is accepted."""
    revisions: int = Field(default=1, ge=0)
    """How often the team may revise it and have it marked again."""


class VirSciConfig(DiscussionSettings):
    """VirSci, from its team to its abstract."""

    turns: StageTurns = StageTurns()  # pyright: ignore[reportIncompatibleVariableOverride]
    topics: TopicConfig = TopicConfig()
    ideas: IdeaConfig = IdeaConfig()
    novelty: NoveltyConfig = NoveltyConfig()
    self_review: SelfReviewConfig = SelfReviewConfig()
    peer_review: PeerReviewConfig = Field(
        default=PeerReviewConfig(), exclude_if=lambda value: value == PeerReviewConfig()
    )
    worlds: tuple[str, ...] = Field(default=(), exclude_if=lambda value: not value)
    """Corpora, one for each stage after the team is formed; the run ends before a stage that has none. Set by a society
    whose teams do one stage a year; without any, all stages see the config's corpus."""

    @property
    def corpora(self) -> tuple[str, ...]:
        return self.worlds

    def course(self) -> dict[str, Any]:
        """Without the worlds: a stage that is over has seen its own."""
        return self.model_dump(mode="json", exclude={"worlds"})


class TopicInput(Inputs):
    """A topic, for systems that work on one."""

    topic: Annotated[TextOrNone, Slot("all")] = Field(
        default=None, examples=["How robots plan a grasp from touch alone"]
    )
    """Research topic. If set, the topic discussion is skipped."""


class VirSciInputs(TopicInput):
    """A topic, and ideas to start from."""

    in_full = frozenset({"idea"})

    idea: Annotated[Several, Slot(file=True, metavar="RUN|FILE|TEXT")] = ()
    """An idea to start from: of a run as RUN or RUN#NUMBER, a text file, or a text. The team looks for more like it, and merges
    several. Without a topic, the idea's own is taken."""

    def course(self) -> dict[str, Any]:
        """Without the ideas, which prompts contain."""
        return {"topic": self.topic}


def read(config: RunConfig) -> GivenIdeas | None:
    """The ideas to start from; raises `SubjectError` if one cannot be read."""
    ideas = tuple(map(read_idea, config.inputs.idea))
    return GivenIdeas(ideas) if ideas else None


_NEEDS: dict[tuple[str, str], type[shared.ReplyModel]] = {
    ("scientist", "join"): replies.Decision,
    ("scientist", "topic"): shared.Remark,
    ("scientist", "consensus"): replies.Consensus,
    ("scientist", "interest"): replies.Interest,
    ("scientist", "advise"): shared.Advice,
    ("scientist", "idea"): replies.Idea,
    ("scientist", "vote"): replies.Vote,
    ("scientist", "revise"): replies.Revision,
    ("leader", "summary"): shared.Summary,
    ("leader", "progress"): shared.Progress,
    ("leader", "settle"): replies.Topic,
    ("leader", "draft"): shared.Abstract,
}
_SELF_REVIEW_NEEDS: dict[tuple[str, str], type[shared.ReplyModel]] = {
    ("leader", "self_review"): replies.SelfReview,
    ("leader", "rework"): replies.Revision,
}
_PEER_REVIEW_NEEDS: dict[tuple[str, str], type[shared.ReplyModel]] = {
    ("scientist", "mark"): replies.PeerReview,
    ("leader", "respond"): replies.Revision,
}


def needs(config: RunConfig) -> dict[tuple[str, str], type[shared.ReplyModel]]:
    """The reply that each task of a role must give, or a narrower one; of a review only where it is held."""
    settings = config.settings
    reviewed = _SELF_REVIEW_NEEDS if settings.self_review.enabled else {}
    return _NEEDS | reviewed | (_PEER_REVIEW_NEEDS if settings.peer_review.enabled else {})


def searches(config: RunConfig, roles: Roles) -> bool:
    """Whether the library may be asked: for the references of ideas, or by a tool of the scientists' cards."""
    asked = {role for role, _ in needs(config)}
    return config.literature.references == "services" or any(
        LOOK_UPS & set(roles.card(role).tools) for role in asked
    )


def stages(config: RunConfig) -> dict[str, str]:
    """The stages of a run, in their order, with their titles."""
    settings = config.settings
    off = {"review": not settings.self_review.enabled, "peer_review": not settings.peer_review.enabled}
    return {stage: title for stage, title in STAGES.items() if not off.get(stage)}
