"""A run's limit in tokens: a number, or the tokens of the run whose cost it matches (VirSci 2025, §4.1, App. C.3)."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from manyheads.base.errors import ConfigError, SubjectError
from manyheads.base.files import expanded
from manyheads.config import RunConfig, Section, Slot, Strict
from manyheads.core.results import Part, read_result


class Like(Strict):
    """A run whose cost is matched, with its tokens; `like` becomes this before the run begins."""

    run: str
    """Its folder."""
    tokens: int = Field(gt=0)
    """Input and output tokens of its result."""


class TokenLimit(Section):
    """The settings of a system that may be held to a number of tokens."""

    tokens: int | None = Field(default=None, gt=0)
    """Maximum input and output tokens of the whole run; None for no limit."""
    like: Annotated[str | Like | None, Slot(file=True, metavar="RUN")] = None
    """A finished run's folder, in place of `tokens`: use as many tokens as that run."""

    @field_validator("like")
    @classmethod
    def _wherever_it_is_resumed(cls, value: str | Like | None) -> str | Like | None:
        return str(expanded(value).resolve()) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_of_both(self) -> "TokenLimit":
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
    settings: TokenLimit = config.settings
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
