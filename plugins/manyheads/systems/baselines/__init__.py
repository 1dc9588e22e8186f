"""What a team is compared with at equal cost (VirSci 2025, §4.1, App. C.3): none of these has an ecosystem."""

from collections.abc import Mapping
from dataclasses import replace

from manyheads.config import RunConfig
from manyheads.engine.system import Needs, System
from manyheads.roles import Roles
from manyheads.systems.baselines import discussion, ready, reflection, report, single
from manyheads.systems.baselines.config import BaselineConfig, settings_of
from manyheads.systems.baselines.like import settled
from manyheads.systems.baselines.result import BaselineResult
from manyheads.systems.virsci.config import TopicInput
from manyheads.systems.virsci.report import work

__all__ = ["DISCUSSION", "SELF_REFLECTION", "SINGLE"]


def _corpus(config: RunConfig) -> bool:
    """A baseline looks papers up just as the team does that it is compared with: in B_past, or in services, among
    which the corpus may be one, and whose year they may be held to.
    """
    chosen, literature = settings_of(config), config.literature
    if literature.references == "corpus":
        return chosen.ideas.references + chosen.novelty.references > 0
    return "local" in literature.cascade or literature.before == "bound"


def _searches(config: RunConfig, roles: Roles) -> bool:
    """Whether references come from services."""
    return config.literature.references == "services"


def _rounds(config: RunConfig) -> Mapping[str, int]:
    return {"idea": settings_of(config).rounds + 1}


def _turns(config: RunConfig) -> Mapping[str, int]:
    return {"idea": settings_of(config).turns}


def _discussion_needs(config: RunConfig) -> Needs:
    return discussion.NEEDS


def _single_needs(config: RunConfig) -> Needs:
    return single.NEEDS


def _no_turns(config: RunConfig) -> Mapping[str, int]:
    return {}


SELF_REFLECTION = System(
    name="self-reflection",
    title="Self-reflection",
    about="A researcher who reflects on one idea about a topic for many rounds and writes its abstract.",
    config=BaselineConfig,
    inputs=TopicInput,
    result=BaselineResult,
    run=reflection.self_reflection,
    essence=report.essence,
    report=report.report,
    work=work,
    needs=lambda config: reflection.NEEDS,
    corpus=_corpus,
    searches=_searches,
    settle=settled,
    ready=ready.need_topic,
    turns=_rounds,
    retired={"baseline": "self-reflection", "turns": None},
)
DISCUSSION = replace(
    SELF_REFLECTION,
    name="discussion",
    title="Discussion",
    about="A few fixed roles who discuss an idea about a research topic and write its abstract.",
    run=discussion.discussion,
    needs=_discussion_needs,
    turns=_turns,
    retired={"baseline": "discussion", "turns": None},
)
SINGLE = replace(
    SELF_REFLECTION,
    name="single",
    title="Single agent",
    class_name="Single",
    about="A researcher who drafts ideas about a topic, picks the most novel one and writes its abstract.",
    run=single.single,
    needs=_single_needs,
    ready=ready.need_topic_and_tokens,
    turns=_no_turns,
    retired={"baseline": "single", "turns": None},
)
