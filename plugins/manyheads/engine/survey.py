"""Many questions to one role outside a run: concurrent, within a budget; each answer is cached and never paid twice.

Surveys stand with their systems: `systems/virsci/interests.py`, `systems/scipip/extraction.py`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeVar

from pydantic import TypeAdapter

from manyheads.asking.replies import ReplyModel
from manyheads.asking.roles import Roles
from manyheads.base.errors import ReplyError, UserError
from manyheads.base.files import cache_folder
from manyheads.base.resources import Resources
from manyheads.config import ModelConfig, RunConfig
from manyheads.core import (
    Host,
    ManagedHost,
    Message,
    Meter,
    Place,
    Recall,
    Speaker,
    Turn,
    recall_nothing,
    together,
)
from manyheads.corpus.building import Progress
from manyheads.engine.budget import Budget, Budgeted
from manyheads.engine.replay import request_of
from manyheads.literature.lookup import LookupCache
from manyheads.models.abilities import settled
from manyheads.models.batches import until_kept
from manyheads.models.offline import OFFLINE
from manyheads.models.requests import key_of, key_variable

AGAIN = "run the same command again"
PATIENCE = 3
"""Number of consecutive items without a valid reply that ends a survey which otherwise skips them."""
R = TypeVar("R", bound=ReplyModel)
T = TypeVar("T")
MakeHost = Callable[[Mapping[str, ModelConfig], Recall, int], ManagedHost]


@dataclass
class Survey:
    """Asks a role's model about many items, such as authors or papers. Each kind of survey is a class of its own.

    Args:
        config: models, attempts, budget; `roles.<role>.model` overrides the role's model.
        roles: the role's prompts.
        make_host: makes the host of the native agent.
        cache: stores each answer by model and prompt, so that a restarted survey pays nothing twice.
        tell: receives the number of finished items.
        limits: the command's limits, in addition to the config's budget.

    Raises:
        ConfigError: the role's prompt cannot be rendered, or the model's key is missing; raised before any input is read.
    """

    role: ClassVar[str]
    """The role to ask."""
    step: ClassVar[str]
    """Its name in progress bars, and of the cache."""
    things: ClassVar[str]
    """Its items, in the plural."""
    gives: ClassVar[str]
    """Its results."""
    memory: ClassVar[str]
    """The file of its answers in the user's cache folder."""
    passes_over: ClassVar[bool] = False
    """Whether an item without a valid reply is skipped instead of ending the survey."""

    config: RunConfig
    roles: Roles
    make_host: MakeHost
    cache: LookupCache
    tell: Progress = lambda step, done, total: None
    limits: Sequence[Meter] = ()
    reused: int = 0
    """Number of items answered from the cache."""
    done: int = 0
    """Number of answered items."""
    passed_over: dict[str, ReplyError] = field(default_factory=dict[str, ReplyError])
    """Items without a valid reply, with the last problem."""
    ledger: Budget = field(init=False)
    """Usage of this survey."""

    def __post_init__(self) -> None:
        self.ledger = Budget(self.config.budget)
        alias = self.config.alias_of(self.role, self.roles.card(self.role).model)
        self.speaker = Speaker(self.role, self.role, self.roles.system(self.role, {}), alias)
        self.model = settled(self.config.models[alias])
        if key_variable(self.model):
            key_of(self.model, alias)

    @classmethod
    def of(cls, config: RunConfig, make_host: MakeHost, tell: Progress, limits: Sequence[Meter] = ()) -> Self:
        """The survey of a command, with the user's cache: close it at the end."""
        cache, roles = LookupCache(cache_folder() / cls.memory), Roles(Resources.of(config.paths))
        return cls(config, roles, make_host, cache, tell, limits)

    @property
    def name(self) -> str:
        own = self.model.provider == OFFLINE
        return "the offline model (no language model)" if own else f"{self.model.provider}/{self.model.name}"

    def ask_all(
        self, things: Iterable[tuple[str, T]], total: int, about: Callable[["SurveyItem", T], Awaitable[None]]
    ) -> None:
        """Ask `about` each item as the model becomes free. Runs an event loop.

        Raises:
            UserError: the model failed, or the budget is spent: no further requests; earlier answers are kept.
        """
        try:
            asyncio.run(self._all(things, total, about))
        except UserError as error:
            kept = f"{self.done:,} of {total:,} {self.things} are finished and kept"
            error.tried = f"{error.tried}; {kept}" if error.tried else kept
            # Reword a hint about a run for a survey.
            hint = (error.hint or AGAIN).replace("manyheads resume RUN --", "the same command and --")
            error.hint = hint.replace("manyheads resume RUN", AGAIN).replace("resume the run", AGAIN)
            raise

    def summary(self) -> str:
        spent, asked = self.ledger.spent, self.done - self.reused
        cost = "" if spent.cost is None else f", cost {spent.cost:g}"
        return (
            f"{self.gives} by {self.name}: {asked:,} {self.things} asked, {self.reused:,} cached; "
            f"{spent.input_tokens:,} input tokens, {spent.output_tokens:,} output tokens{cost}"
        )

    async def _all(
        self, things: Iterable[tuple[str, T]], total: int, about: Callable[["SurveyItem", T], Awaitable[None]]
    ) -> None:
        """After a failure no further requests are sent, but pending answers are awaited: they are paid."""
        self.done, self.reused, in_a_row, failures = 0, 0, 0, list[UserError]()
        self.tell(self.step, 0, total)
        host = self.make_host(self.config.models, recall_nothing, self.config.attempts)
        asked, following = Budgeted(host, self.ledger.asking, *self.limits), iter(things)

        async def work() -> None:
            nonlocal in_a_row
            for name, thing in following:
                item = SurveyItem(self, asked, name)
                try:
                    await about(item, thing)
                except UserError as error:
                    in_a_row += 1
                    if isinstance(error, ReplyError) and self.passes_over and in_a_row < PATIENCE:
                        self.passed_over[name] = error
                        continue
                    failures.append(error)
                else:
                    in_a_row = 0
                    self.done += 1
                    self.reused += not item.asked
                    self.tell(self.step, self.done, total)
                if failures:
                    return

        try:
            await together(*(work() for _ in range(total if self.model.batch else self.model.concurrency)))
        finally:
            await host.close()
        if failures:
            raise failures[0]


@dataclass
class SurveyItem:
    survey: Survey
    host: Host
    name: str
    asked: bool = False
    """Whether the model was asked at all, instead of only the cache."""

    def turn(
        self,
        task: str,
        variables: Mapping[str, object],
        kind: type[R],
        check: Callable[[R], str | None] | None = None,
    ) -> Turn[R]:
        """The question as it will be sent; raises `ConfigError` if its prompt cannot be rendered."""
        survey = self.survey
        prompt = survey.roles.prompt(survey.role, task, variables)
        place = Place(survey.step, 0, self.name, task)
        return Turn(place, survey.speaker, (Message(prompt),), kind, check=check, forms=survey.roles.forms)

    async def ask(self, turn: Turn[R]) -> R:
        """The answer, cached or new.

        Raises:
            UserError: as for `Host.ask`.
        """
        survey, shape = self.survey, TypeAdapter[Any](turn.reply_type)
        request = request_of(turn, survey.model.identity())
        answer = survey.cache.get("local", survey.step, request, shape)
        if answer is None:
            self.asked = True
            with until_kept():
                answer = (await self.host.ask(turn)).value
                survey.cache.keep_answer("local", survey.step, request, shape, answer)
        return answer
