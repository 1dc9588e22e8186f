"""Settings and result of a baseline, the replies it needs, and the run whose cost it matches (VirSci 2025, §4.1, App. C.3)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from manyheads.base.errors import ConfigError, SubjectError
from manyheads.base.files import expanded
from manyheads.base.text import count
from manyheads.config import RunConfig, Section, Slot, Strict
from manyheads.core.results import Part, read_result
from manyheads.systems import results
from manyheads.systems.virsci.config import IdeaConfig, NoveltyConfig, TextOrNone, TopicInput
from manyheads.systems.virsci.result import TeamResult
from manyheads.team.run import Run


class Like(Strict):
    """A run whose cost is matched, with its tokens; `like` becomes this before the run begins."""

    run: str
    """Its folder."""
    tokens: int = Field(gt=0)
    """Input and output tokens of its result."""


class BaselineInputs(TopicInput):
    """The topic; baselines do not find their own."""

    topic: Annotated[TextOrNone, Slot("all", required=True, hint='name one: --topic "…"')] = None
    """Topic of the idea."""


class BaselineConfig(Section):
    """Length of a baseline; with a limit in tokens, rounds and turns are maximum numbers."""

    in_full = frozenset({"turns"})

    rounds: int = Field(default=50, ge=1)
    """Maximum rounds of self-reflection."""
    turns: int = Field(default=12, ge=1)
    """Maximum turns of the discussion; in a turn everybody speaks once."""
    tokens: int | None = Field(default=None, gt=0)
    """Maximum input and output tokens, including the abstract; the plain agent needs it."""
    like: Annotated[str | Like | None, Slot(file=True, metavar="RUN")] = None
    """A finished run's folder, in place of `tokens`: use as many tokens as that run."""
    until_done: bool = False
    """Stop as soon as the agent, or the critic, calls the idea finished. Equal cost needs all rounds instead."""

    ideas: IdeaConfig = IdeaConfig()
    novelty: NoveltyConfig = NoveltyConfig()

    @field_validator("like")
    @classmethod
    def _wherever_it_is_resumed(cls, value: str | Like | None) -> str | Like | None:
        return str(expanded(value).resolve()) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_of_both(self) -> "BaselineConfig":
        if self.tokens is not None and self.like is not None:
            raise ValueError("give tokens or like, not both; --set like=null removes like")
        return self

    @property
    def allowed(self) -> int | None:
        """Maximum tokens; None for no limit. `like` is resolved before the run begins."""
        if isinstance(self.like, str):
            raise ValueError(f"like: the tokens of {self.like} were not read")
        return self.like.tokens if self.like else self.tokens


def resolve(config: RunConfig) -> RunConfig:
    """The config with `like` resolved to tokens.

    The run folder stores the resolved config, so a resumed run keeps its limit even if the other run changes.

    Raises:
        ConfigError: the other run cannot be read, is not finished, or counted no tokens.
    """
    settings: BaselineConfig = config.settings
    if not isinstance(run := settings.like, str):
        return config
    key = f"{config.system}.like"
    try:
        tokens = read_result(Path(run), Part).tokens
    except SubjectError as error:
        raise ConfigError(f"{key}: {error.message}", hint=error.hint) from error
    if tokens <= 0:
        hint = f"name another run, or set a number: --set {key}=null --set {config.system}.tokens=N"
        raise ConfigError(f"{key}: {run} counted no tokens", hint=hint)
    like = Like(run=run, tokens=tokens)
    return config.model_copy(update={"settings": settings.model_copy(update={"like": like})})


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
