"""What the hosts share in asking models: one client an alias, the governed request, what a turn's requests cost."""

import logging
import os
from abc import abstractmethod
from asyncio import AbstractEventLoop
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from manyheads.config import ModelConfig
from manyheads.core import NOTHING, Recall, Usage, recall_nothing
from manyheads.engine.replying import StructuredHost
from manyheads.errors import ConfigError, UserError
from manyheads.models.requests import Governor, completion, form_of, key_variable
from manyheads.pool import Pool
from manyheads.replies import ReplyModel

T = TypeVar("T")
log = logging.getLogger("manyheads")


@dataclass
class Ledger:
    """What the requests of one turn have cost, and how the last one ended."""

    usage: Usage = NOTHING
    model: str = ""
    truncated: bool = False
    failure: UserError | None = None
    """What ends the turn although it happened in a tool: both frameworks would tell it to the model and go on."""
    warn: list[str] | None = None
    """Where notes for the user go; to the log when None."""

    def enter(self, usage: Usage, model: str, *, truncated: bool) -> None:
        """Count one answer."""
        self.usage += usage
        self.model, self.truncated = model, truncated

    def fail(self, error: UserError) -> None:
        """End the turn with an error; the next request raises it."""
        self.failure = error

    def stop_if_failed(self) -> None:
        """Raise a tool's failure, once."""
        if failure := self.failure:
            self.failure = None
            raise failure


async def governed(
    governor: Governor,
    request: Callable[[Mapping[str, Any]], Awaitable[T]],
    ledger: Ledger,
    reply_type: type[ReplyModel] | None = None,
    *,
    tools: bool = False,
) -> T:
    """Send one request to a model, again where that can help.

    Args:
        governor: the model's.
        request: sends it, with the arguments that ask for the reply's schema.
        ledger: where notes for the user go.
        reply_type: the reply that is asked for; None for free text.
        tools: whether the request offers tools.

    Raises:
        ModelError: the server cannot be reached, refuses, or answers nonsense.
    """
    form = form_of(governor.config, reply_type, with_tools=tools)
    notes = list[str]() if ledger.warn is None else ledger.warn
    try:
        return await governor.call(
            lambda sent: completion(request(sent), governor.alias, governor.config), form, notes
        )
    finally:
        for note in notes if ledger.warn is None else ():
            log.warning(note)


def unwalked(completions: Any) -> None:
    """Make a client of OpenAI's SDK send messages and schemas as they are.

    It walks through all arguments that it knows, key by key, which takes longer than the rest of a request. What
    stands in `extra_body` takes the place of the argument of that name, unseen.

    Args:
        completions: the SDK's `chat.completions`, of a client that is ours.
    """
    create = completions.create

    async def lean(**arguments: Any) -> Any:
        large = {
            name: arguments[name] for name in ("messages", "tools", "response_format") if name in arguments
        }
        body = {**(arguments.pop("extra_body", None) or {}), **large}
        rest = {name: value for name, value in arguments.items() if name not in large}
        return await create(messages=[], **rest, extra_body=body)

    completions.create = lean


class Connection(Generic[T]):
    """A framework's own client of a model, with the connections that it keeps open.

    Args:
        config: the model's settings.
        alias: its name in messages to the user.
        make: makes the client.
        pool: of such clients; what its `close` returns is awaited.
        loop: the event loop of a run, which shares the client with all runs of the same settings on it.

    Raises:
        ConfigError: the provider needs a key that the environment does not hold.
    """

    def __init__(
        self,
        config: ModelConfig,
        alias: str,
        make: Callable[[str, ModelConfig], T],
        pool: Pool[T],
        loop: AbstractEventLoop | None = None,
    ) -> None:
        # Ollama's client has room for a hundred requests at once; models in this process remember their run.
        user = loop if config.provider in ("openai", "anthropic") else object()
        key = os.environ.get(key_variable(config) or "")
        self._pool, self._key = pool, (config.model_dump_json(), key, user)
        self.client = pool.take(self._key, lambda: make(alias, config))

    async def close(self) -> None:
        """Close the connections, unless others use them still."""
        closing = self._pool.give_back(self._key)
        if isinstance(closing, Awaitable):
            await closing


class Closable(Protocol):
    async def close(self) -> None: ...


C = TypeVar("C", bound=Closable)


class ClientHost(StructuredHost, Generic[C]):
    """Base of the hosts: one client for each model of the config, made when it is first asked.

    Args:
        models: settings of the models by alias.
        recall: the author knowledge bank behind the retrieval hook.
        attempts: how often a turn may be asked in all.
    """

    def __init__(
        self, models: Mapping[str, ModelConfig], recall: Recall = recall_nothing, attempts: int = 3
    ) -> None:
        super().__init__(attempts)
        self._models, self._recall = models, recall
        self._clients: dict[str, C] = {}

    @abstractmethod
    def make_client(self, alias: str, config: ModelConfig) -> C:
        """The client of a model."""

    def client(self, alias: str) -> C:
        """The client of a model, shared by all turns.

        Raises:
            ConfigError: the config has no such model, or its key is missing.
        """
        if alias not in self._models:
            raise ConfigError(f"models.{alias} is missing", tried=f"models: {', '.join(self._models)}")
        if alias not in self._clients:
            self._clients[alias] = self.make_client(alias, self._models[alias])
        return self._clients[alias]

    async def close(self) -> None:
        """Close the connections of the clients that were made here."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.close()
