"""Settings and result of a baseline (VirSci 2025, §4.1, App. C.3)."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from manyheads.base.errors import ConfigError
from manyheads.base.text import count
from manyheads.config import RunConfig, Slot
from manyheads.core.results import Part
from manyheads.systems import results
from manyheads.systems.equal_cost import TokenLimit, resolve
from manyheads.systems.virsci.config import IdeaConfig, NoveltyConfig, TextOrNone, TopicInput
from manyheads.systems.virsci.result import TeamResult
from manyheads.team.run import Run


class BaselineInputs(TopicInput):
    """The topic; baselines do not find their own."""

    topic: Annotated[TextOrNone, Slot("all", required=True, hint='name one: --topic "…"')] = None
    """Topic of the idea."""


class BaselineConfig(TokenLimit):
    """Length of a baseline; with a limit in tokens, rounds and turns are maximum numbers. The plain agent needs one."""

    in_full = frozenset({"turns"})

    rounds: int = Field(default=50, ge=1)
    """Maximum rounds of self-reflection."""
    turns: int = Field(default=12, ge=1)
    """Maximum turns of the discussion; in a turn everybody speaks once."""
    until_done: bool = False
    """Stop as soon as the agent, or the critic, calls the idea finished. Equal cost needs all rounds instead."""

    ideas: IdeaConfig = IdeaConfig()
    novelty: NoveltyConfig = NoveltyConfig()


def held_to_tokens(config: RunConfig) -> RunConfig:
    """Like `resolve`, but raises `ConfigError` if there is no limit in tokens."""
    config = resolve(config)
    if config.settings.allowed is None:
        like, tokens = (f"--set {config.system}.{key}" for key in ("like=RUN", "tokens=N"))
        hint = f"{like} (a finished run, for the same tokens) or {tokens}"
        raise ConfigError(f"{config.system}: needs a token limit", hint=hint)
    return config


class BaselineCourse(Part):
    """The course of a baseline, and its limit in tokens."""

    ideas: int
    stopped_by: str | None = None
    """`rounds`, `turns`, `tokens` or `done`; None before the idea stage has ended."""
    done_in_turns: list[int] = []
    """Turns in which the agent, or the critic, called the idea finished."""
    tokens_allowed: int | None = None
    """None for no limit."""
    tokens_used: int
    like: str | None = None
    """The run whose tokens were the limit."""


class BaselineResult(TeamResult):
    baseline: BaselineCourse | None = None


BaselineRun = Run[BaselineResult, BaselineConfig]


def essence(result: BaselineResult) -> Iterator[tuple[str, str]]:
    """Topic, idea, abstract, and tokens used of the limit."""
    yield from results.work(result.topic, result.idea, result.abstract)
    if course := result.baseline:
        allowed = course.tokens_allowed
        whole = f"the {allowed} tokens of {course.like}" if course.like else f"{allowed} tokens"
        spent = f" from {course.tokens_used} of {whole}" if allowed else ""
        yield "Baseline", f"{count(course.ideas, 'idea')}{spent}"
