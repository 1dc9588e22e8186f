"""A run's limit in tokens: a number, or the tokens of the run whose cost it matches (VirSci 2025, §4.1, App. C.3)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from manyheads.base.errors import BudgetError, ConfigError, SubjectError
from manyheads.base.files import expanded
from manyheads.config import RunConfig, Section, Slot, Strict
from manyheads.core import Usage
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


@dataclass
class Allowance:
    """Tokens of a whole run, input and output, and the replies paid from them by task; `limit` is None for no limit.

    No question is asked once they are spent: a run exceeds them by less than its last reply.
    """

    limit: int | None = None
    paid: dict[str, list[Usage]] = field(default_factory=dict[str, list[Usage]])

    @property
    def used(self) -> int:
        return sum(usage.tokens for usage in self._of(self.paid))

    def need(self, what: str) -> None:
        """Raises `BudgetError` if the allowance is spent and `what` cannot be asked."""
        if self.limit is not None and self.used >= self.limit:
            raise BudgetError(
                f"the {self.limit} tokens of the run are spent ({self.used} used): none are left for {what}",
                hint="allow more: manyheads resume RUN --accept-changes --set like=null --set tokens=<larger>",
            )

    def pay(self, task: str, usage: Usage) -> None:
        """Count a reply; raises `BudgetError` if there is a limit but the model counts no tokens."""
        if self.limit is not None and usage.tokens == 0:
            raise BudgetError(
                "the model reports no token usage, so a limit in tokens cannot be kept",
                hint="use a server that reports usage, or a system or maker that runs without tokens and like",
            )
        self.paid.setdefault(task, []).append(usage)

    def leaves(self, *costs: int) -> bool:
        """Whether this many tokens are left."""
        return self.limit is None or self.used + sum(costs) <= self.limit

    def expected(self, task: str) -> int:
        """Expected tokens of another reply to a task: the maximum so far.

        A task without replies is taken to read the longest prompt so far and one more reply, and to write as much.
        """
        if task in self.paid:
            return max(usage.tokens for usage in self.paid[task])
        replies = self._of(self.paid)
        return max((each.input_tokens for each in replies), default=0) + 2 * longest(replies)

    def reading(self, tasks: Collection[str], shown: int = 1) -> int:
        """Expected tokens of a reply that is shown `shown` replies to these tasks.

        The rest of its prompt is taken to be as long as theirs, once for each reply shown.
        """
        replies = self._of(tasks)
        read = min((each.input_tokens for each in replies), default=0)
        return shown * read + (shown + 1) * longest(replies)

    def _of(self, tasks: Collection[str]) -> list[Usage]:
        return [usage for task in tasks for usage in self.paid.get(task, ())]


def longest(replies: Sequence[Usage]) -> int:
    """The most tokens written for a reply."""
    return max((each.output_tokens for each in replies), default=0)
