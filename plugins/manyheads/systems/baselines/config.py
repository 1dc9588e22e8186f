"""What steers a baseline, what it needs, and whose cost it is held to (VirSci 2025, §4.1, App. C.3)."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from manyheads.config import RunConfig, Section, Slot, Strict
from manyheads.core.results import Part, read_result
from manyheads.disk import expanded
from manyheads.errors import ConfigError, SubjectError
from manyheads.systems.virsci.config import IdeaConfig, NoveltyConfig, TextOrNone, TopicInput


class Like(Strict):
    """A run to be like in cost, with what it has used: what a run makes of `like` before it begins."""

    run: str
    """Its folder."""
    tokens: int = Field(gt=0)
    """Input and output tokens of its result."""


class BaselineInputs(TopicInput):
    """The topic: a baseline finds none of its own."""

    topic: Annotated[TextOrNone, Slot("all", required=True, hint='name one: --topic "…"')] = None
    """What the idea is about."""


class BaselineConfig(Section):
    """How long a baseline goes on; a limit in tokens makes rounds and turns its caps."""

    in_full = frozenset({"turns"})

    rounds: int = Field(default=50, ge=1)
    """Rounds of self-reflection of the lone agent, at most."""
    turns: int = Field(default=12, ge=1)
    """Turns of the discussion without an ecosystem, at most; in a turn everybody speaks once."""
    tokens: int | None = Field(default=None, gt=0)
    """Input and output tokens that a baseline may use, its abstract counted; what the plain agent goes by."""
    like: Annotated[str | Like | None, Slot(file=True, metavar="RUN")] = None
    """A finished run's folder, in place of `tokens`: the baseline may use as many as that run has used."""
    until_done: bool = False
    """Stop as soon as the agent, or the critic, calls the idea finished; equal cost needs all rounds instead."""

    ideas: IdeaConfig = IdeaConfig()
    novelty: NoveltyConfig = NoveltyConfig()

    @field_validator("like")
    @classmethod
    def _wherever_it_is_resumed(cls, value: str | Like | None) -> str | Like | None:
        return str(expanded(value).resolve()) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_of_both(self) -> "BaselineConfig":
        if self.tokens is not None and self.like is not None:
            raise ValueError("give tokens or like, not both; --set like=null takes one away")
        return self

    @property
    def allowed(self) -> int | None:
        """Tokens that may be used; None for no limit. A run settles what `like` comes to before it begins."""
        if isinstance(self.like, str):
            raise ValueError(f"like: the tokens of {self.like} were not read")
        return self.like.tokens if self.like else self.tokens


def resolve(config: RunConfig) -> RunConfig:
    """The config with what `like` comes to; one that is settled already is left alone.

    A run folder keeps the settled config: resumed, it goes by the same number, whatever became of the other run.

    Raises:
        ConfigError: the other run cannot be read, has not come to its end, or counted no tokens.
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
        raise ConfigError(f"{key}: {run}: its models counted no tokens", hint="give a number: --set tokens=N")
    return config.model_copy(
        update={"settings": settings.model_copy(update={"like": Like(run=run, tokens=tokens)})}
    )


def held_to_tokens(config: RunConfig) -> RunConfig:
    """`resolve`; raises `ConfigError` too where there are no tokens to go by."""
    config = resolve(config)
    if config.settings.allowed is None:
        raise ConfigError(
            f"{config.system}: needs the number of tokens that it may use",
            hint=f"--set {config.system}.like=RUN, a finished run to be like in cost, or --set {config.system}.tokens=N",
        )
    return config
