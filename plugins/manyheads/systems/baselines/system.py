"""Baselines at equal cost, without an ecosystem (VirSci 2025, §4.1, App. C.3)."""

from collections.abc import Awaitable, Callable
from functools import partial

from manyheads.config import RunConfig
from manyheads.systems.baselines import desk
from manyheads.systems.baselines.config import (
    BaselineConfig,
    BaselineInputs,
    BaselineResult,
    BaselineRun,
    essence,
    held_to_tokens,
    resolve,
)
from manyheads.systems.virsci.report import report, work
from manyheads.team.system import Needs, System

__all__ = ["DISCUSSION", "SELF_REFLECTION", "SINGLE"]


def _corpus(config: RunConfig) -> bool:
    """Baselines search the same literature as the team that they are compared with: B_past or services, which may include the corpus
    and its year.
    """
    settings, literature = config.settings, config.literature
    if literature.references != "services":
        return settings.ideas.references + settings.novelty.references > 0
    return "local" in literature.cascade or literature.before == "bound"


def _baseline(
    name: str,
    title: str,
    about: str,
    run: Callable[[BaselineRun], Awaitable[None]],
    needs: Needs,
    prepare: Callable[[RunConfig], RunConfig] = resolve,
    component: tuple[str, ...] = (),
) -> System[BaselineConfig, BaselineInputs, BaselineResult]:
    return System(
        name=name, title=title, about=about, config=BaselineConfig, inputs=BaselineInputs,
        result=BaselineResult, run=run, essence=essence, report=partial(report, alone=True), work=work,
        needs=lambda config: needs, corpus=_corpus,
        searches=lambda config, roles: config.literature.references == "services", prepare=prepare,
        component=component, aliases={"baseline": name},
    )  # fmt: skip


SELF_REFLECTION = _baseline(
    "self-reflection",
    "Self-reflection",
    "A researcher who reflects on one idea about a topic for many rounds and writes its abstract.",
    desk.self_reflection,
    desk.REFLECTION_NEEDS,
)
DISCUSSION = _baseline(
    "discussion",
    "Discussion",
    "A few fixed roles who discuss an idea about a research topic and write its abstract.",
    desk.discussion,
    desk.NEEDS,
)
SINGLE = _baseline(
    "single",
    "Single agent",
    "A researcher who drafts ideas about a topic, picks the most novel one and writes its abstract.",
    desk.single,
    desk.SINGLE_NEEDS,
    held_to_tokens,
    ("tokens=140000",),  # about what a team of VirSci uses as it ships
)
