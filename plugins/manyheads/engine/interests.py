"""Research interests by a model: an author's keywords condensed (VirSci 2025, App. C.2.2)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from manyheads.bank.building import Progress
from manyheads.config import ModelConfig, RunConfig
from manyheads.core import Host, ManagedHost, Message, Place, Recall, Speaker, Turn, recall_nothing, together
from manyheads.engine.budget import Budgeted, Ledger
from manyheads.engine.journal import request_of
from manyheads.errors import UserError
from manyheads.literature.cache import LookupCache
from manyheads.models.offline import OFFLINE
from manyheads.models.requests import key_of, key_variable
from manyheads.replies import Interests
from manyheads.roles import Roles

ROLE, TASK = "librarian", "interests"
STEP = "condensing interests"
AGAIN = "run the same command again"
_INTERESTS = TypeAdapter(Interests)


@dataclass
class Librarian:
    """A `bank.profiles.Condense`: asks a model about several authors at once, of each only once.

    Args:
        config: models, attempts, budget; `roles.librarian.model` chooses another than the default.
        roles: where the role's prompts are.
        make_host: makes the host whose native agent answers.
        cache: keeps each answer by model and prompt, so that a build that was stopped pays nothing twice.
        tell: told how many authors are done.

    Raises:
        ConfigError: the role's prompt cannot be rendered, or the model's key is missing: said before a dataset is read.
    """

    config: RunConfig
    roles: Roles
    make_host: Callable[[Mapping[str, ModelConfig], Recall, int], ManagedHost]
    cache: LookupCache
    tell: Progress = lambda step, done, total: None
    reused: int = 0
    """Authors whose answer was kept from an earlier build."""
    done: int = 0
    """Authors of whom the interests are known."""
    ledger: Ledger = field(init=False)
    """What this build has spent."""

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.config.budget)
        changes = self.config.roles.get(ROLE)
        alias = changes.model if changes else self.roles.card(ROLE).model
        self._speaker = Speaker(ROLE, ROLE, self.roles.system(ROLE, {}), alias)
        self._model = self.config.models[alias]
        if key_variable(self._model):
            key_of(self._model, alias)

    @property
    def name(self) -> str:
        """The model's name as a corpus shows it."""
        model = self._model
        return (
            "the offline model (no language model)"
            if model.provider == OFFLINE
            else f"{model.provider}/{model.name}"
        )

    def __call__(self, terms: Mapping[str, Sequence[str]]) -> Mapping[str, tuple[str, ...]]:
        """Interests of each author from keywords or titles, the most frequent first. Runs an event loop.

        Raises:
            UserError: the model failed for an author, or the budget is spent; the answers so far are kept.
        """
        try:
            return asyncio.run(self._all(terms))
        except UserError as error:
            kept = f"{self.done:,} of {len(terms):,} authors are done, and kept"
            error.tried = f"{error.tried}; {kept}" if error.tried else kept
            # A hint that is about a run, said of a build.
            hint = (error.hint or AGAIN).replace("manyheads resume RUN --", "the same command and --")
            error.hint = hint.replace("manyheads resume RUN", AGAIN).replace("resume the run", AGAIN)
            raise

    def summary(self) -> str:
        """What was asked and what it cost, in a line."""
        spent, asked = self.ledger.spent, self.done - self.reused
        cost = "" if spent.cost is None else f", cost {spent.cost:g}"
        return (
            f"interests by {self.name}: {asked:,} authors asked, {self.reused:,} known from before; "
            f"{spent.input_tokens:,} tokens read, {spent.output_tokens:,} written{cost}"
        )

    async def _all(self, terms: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
        """After a failure nobody else is asked, but answers under way are waited for: they are paid."""
        self.done, failures = 0, list[UserError]()
        self.tell(STEP, 0, len(terms))
        host = self.make_host(self.config.models, recall_nothing, self.config.attempts)
        few, asked = asyncio.Semaphore(self._model.concurrency), Budgeted(host, self.ledger)

        async def interests_of(author: str, own: Sequence[str]) -> tuple[str, ...]:
            async with few:
                try:
                    return () if failures else await self._one(author, own, asked, len(terms))
                except UserError as error:
                    failures.append(error)
                    return ()

        try:
            interests = await together(*(interests_of(author, own) for author, own in terms.items()))
        finally:
            await host.close()
        if failures:
            raise failures[0]
        return dict(zip(terms, interests, strict=True))

    async def _one(self, author: str, terms: Sequence[str], host: Host, total: int) -> tuple[str, ...]:
        prompt = self.roles.prompt(ROLE, TASK, {"terms": list(terms)})
        turn = Turn(
            Place(STEP, 0, author, TASK), self._speaker, (Message(prompt),), Interests, forms=self.roles.forms
        )
        request = request_of(turn, self._model.identity())
        kept = self.cache.get("local", STEP, request, _INTERESTS)
        interests = kept or (await host.ask(turn)).value
        if not kept:
            self.cache.put("local", STEP, request, _INTERESTS, interests)
        self.reused += bool(kept)
        self.done += 1
        self.tell(STEP, self.done, total)
        phrases: dict[str, str] = {}  # each once, as first written
        for phrase in (" ".join(one.split()) for one in interests.interests):
            phrases.setdefault(phrase.casefold(), phrase)
        return tuple(phrases.values())
