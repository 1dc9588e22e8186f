"""What the hosts share in asking models: clients that turns share, behind their governors, and what a turn costs."""

import asyncio
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar, cast
from urllib.parse import unquote, urlsplit

from manyheads.config import ModelConfig
from manyheads.core import NOTHING, Message, Recall, Reply, Turn, Usage, recall_nothing
from manyheads.engine.journal import ReplayModel
from manyheads.engine.replying import StructuredHost, asked_at
from manyheads.errors import ConfigError, ModelError
from manyheads.models.abilities import forms_for, openai_settings
from manyheads.models.answers import make_sound, plain
from manyheads.models.faults import TooLongError
from manyheads.models.fitting import fitted, size_of
from manyheads.models.governor import CLOCK, Clock, Governor
from manyheads.models.offline import LocalModel, OfflineModel
from manyheads.models.requests import (
    ROOM,
    key_variable,
    ollama_settings,
    options,
    refuse_unfit,
    server_address,
    usage_of,
)
from manyheads.pool import Pool
from manyheads.replies import ReplyModel

C = TypeVar("C")
R = TypeVar("R", bound=ReplyModel)
M = TypeVar("M")
T = TypeVar("T")
log = logging.getLogger("manyheads")


@dataclass
class Ledger:
    """What the requests of one turn have cost, and how the last one ended."""

    usage: Usage = NOTHING
    model: str = ""
    truncated: bool = False
    failure: Exception | None = None
    """What ends the turn although it happened in a tool or a look-up, after which both frameworks would go on."""
    warn: list[str] | None = None
    """Where notes for the user go; to the log when None."""
    left_out: str = ""
    """The note of what the turn's last long request went without."""
    guests: int = 0
    """Whom a role's agent has asked in this turn."""

    def enter(self, usage: Usage, model: str, truncated: bool) -> None:
        """Count one answer."""
        self.usage += usage
        self.model, self.truncated = model, truncated

    def fail(self, error: Exception) -> None:
        """End the turn with an error; the next request raises it."""
        self.failure = error

    def stop_if_failed(self) -> None:
        """Raise a failure, once."""
        if failure := self.failure:
            self.failure = None
            raise failure


# What the frameworks' clients leave out: which model answered, and that it stopped at its length limit.

RESPONSES: ContextVar[list[Any]] = ContextVar("responses")
"""Where the SDK's responses to the request that is under way are left."""


def tap(sdk: Any, config: ModelConfig) -> None:
    """Make a provider's SDK, of a client that is ours, read sound answers alone, and leave them in `RESPONSES`.

    OpenAI's also sends messages and schemas as they are: it walks through all arguments that it knows, key by key,
    which takes longer than the rest of a request. What stands in `extra_body` takes the place of the argument of
    that name, unseen.
    """
    match config.provider:
        case "openai":
            api, method, large = sdk.chat.completions, "create", ("messages", "tools", "response_format")
        case "anthropic":
            # Newer SDKs know no temperature, and AutoGen's client sends one that nobody has set.
            api, method, large = sdk.messages, "create", ("temperature",)
        case _:
            api, method, large = sdk, "chat", ()
            login = urlsplit(config.address or "")
            if login.username:  # which Ollama's client leaves out of the address
                sdk._client.auth = (unquote(login.username), unquote(login.password or ""))
    make_sound(sdk._client, config.provider)
    send = getattr(api, method)

    async def tapped(*args: Any, **arguments: Any) -> Any:
        if unseen := {name: arguments.pop(name) for name in large if name in arguments}:
            if config.temperature is None:
                unseen.pop("temperature", None)
            arguments["extra_body"] = {**(arguments.get("extra_body") or {}), **unseen}
            if "messages" in unseen:
                arguments["messages"] = []
        response = await send(*args, **arguments)
        RESPONSES.get([]).append(response)
        return response

    setattr(api, method, tapped)


class ServedModel(ABC, Generic[C]):
    """A model of the config: a framework's own client of it, shared by all turns, behind its governor.

    Args:
        config: its settings.
        alias: its name in the config, and in messages to the user.
        ready: a user's client to use instead of one made from the settings; never closed here.
        loop: the event loop of a run, which shares the client with all runs of the same settings on it.

    Attributes:
        client: the framework's.
        local: the model itself, in its client's place, where it answers in this process.
        ours: whether it was made from the settings.
        window: its context, in tokens as we count them; what its server tells of makes it smaller.

    Raises:
        ConfigError: the provider needs a key that the environment does not hold.
    """

    client_type: ClassVar[type]
    """What the framework's clients have in common."""

    def __init__(
        self,
        config: ModelConfig,
        alias: str = "default",
        ready: C | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.config, self.alias, self.window = config, alias, config.window
        self.client, self.local, self.ours = cast(C, None), cast(LocalModel | None, None), ready is None
        self._governor = Governor(alias, config)
        self._pool: Pool[Any] | None = None
        self._key = (
            type(self),
            config.model_dump_json(),
            server_address(config),
            os.environ.get(key_variable(config) or ""),
            loop,
        )
        if ready is not None:
            self.client = self.borrow(ready)
        elif config.provider in ("offline", "replay"):
            offline = config.provider == "offline"
            self.local = OfflineModel(config) if offline else ReplayModel.from_run(config.name)
        else:
            # Ollama's client has room for a hundred requests at once: each run has its own.
            shared = loop and config.provider in ("openai", "anthropic")
            self._pool = CLIENTS if shared else Pool(_shut)
            self.client, _ = self._pool.take(self._key, lambda: (self.open(), self.shut))

    @abstractmethod
    def open(self) -> C:
        """A client with the provider's retries off: the governor is the one layer of retries."""

    @staticmethod
    @abstractmethod
    async def shut(client: C) -> None:
        """Close a client's connections."""

    @staticmethod
    @abstractmethod
    def describe(client: C, base: ModelConfig) -> ModelConfig:
        """The settings under which a user's client is governed and recorded: `base` with what the client is."""

    def borrow(self, ready: C) -> C:
        """A user's client as requests are sent by it."""
        return ready

    @staticmethod
    @abstractmethod
    def said(message: Any) -> Message | None:
        """What a framework's question or answer says, of which something may be left out.

        None for the system's words, tool calls, and what tools say.
        """

    @staticmethod
    @abstractmethod
    def saying(message: Any, text: str) -> Any:
        """The same message of the framework, with another text."""

    async def request(
        self,
        messages: Sequence[M],
        count: Callable[[Sequence[M]], Awaitable[int]],
        send: Callable[[Sequence[M], int, Mapping[str, Any]], Awaitable[T]],
        ledger: Ledger,
        reply_type: type[ReplyModel] | None = None,
        *,
        tools: bool = False,
    ) -> T:
        """One governed request of a framework's agent: fitted to the context, or refused; sent again where that can help.

        Args:
            messages: of the framework; those of a reply of ours, not of any agent, are shortened where they do not fit.
            count: about how many tokens messages have, with tools and pictures.
            send: sends messages of so many tokens, with the arguments that ask for the reply's schema.
            ledger: whose failure, a user's error in a tool, ends the turn here.
            tools: whether the request offers tools.

        Raises:
            ConfigError: the messages do not fit the model's context.
            ModelError: as `ask`.
        """
        ledger.stop_if_failed()
        said = {at: text for at, each in enumerate(messages) if reply_type and (text := self.said(each))}

        async def put(shorter: Sequence[Message]) -> T:
            texts = dict(zip(said, (message.text for message in shorter), strict=True))
            fitting = [
                self.saying(each, texts[at]) if at in texts else each for at, each in enumerate(messages)
            ]
            tokens = await count(fitting)
            refuse_unfit(f"models.{self.alias}", self.config.name, tokens, self.config.window)
            return await self.ask(partial(send, fitting, tokens), ledger, reply_type, tools=tools)

        return await self.ask_fitting(put, list(said.values()), await count(messages), ledger)

    async def counted(
        self,
        call: Awaitable[T],
        ledger: Ledger,
        tokens: int,
        spent: Callable[[T], tuple[Any, Any, Any, bool]],
    ) -> T:
        """What a client's call gives, entered in the ledger; see `answer`.

        Args:
            tokens: about how many were sent, where the server does not say.
            spent: what the answer itself says: tokens read and written, its content, whether it was cut off.
        """
        answer, model, truncated = await self.answer(call)
        read, written, content, cut = spent(answer)
        ledger.enter(usage_of(self.config, read, written, tokens, content), model, truncated or cut)
        return answer

    def settings(self, tokens: int) -> dict[str, Any]:
        """What a request of about so many tokens is sent with, in the provider's own words."""
        match self.config.provider:
            case "openai":
                return openai_settings(self.config)
            case "ollama":
                return ollama_settings(self.config, tokens)
            case _:
                return options(temperature=self.config.temperature)

    async def ask(
        self,
        request: Callable[[Mapping[str, Any]], Awaitable[T]],
        ledger: Ledger,
        reply_type: type[ReplyModel] | None = None,
        *,
        tools: bool = False,
    ) -> T:
        """Send one request, again where that can help.

        Args:
            request: sends it, with the arguments that ask for the reply's schema, and enters it in the ledger.
            ledger: where notes for the user go.
            reply_type: the reply that is asked for; None for free text.
            tools: whether the request offers tools.

        Raises:
            ModelError: the server cannot be reached, refuses, or answers nonsense.
        """
        forms = forms_for(self.config, reply_type, with_tools=tools)
        notes = list[str]() if ledger.warn is None else ledger.warn
        try:
            return await self._governor.call(request, forms, notes)
        finally:
            for note in notes if ledger.warn is None else ():
                log.warning(note)

    async def ask_fitting(
        self,
        send: Callable[[Sequence[Message]], Awaitable[T]],
        thread: Sequence[Message],
        tokens: int,
        ledger: Ledger,
    ) -> T:
        """Send one request without what the model's context has no room for, and again where that is still too long.

        Args:
            send: sends it with these messages in place of `thread`.
            thread: those of the request of which something may be left out.
            tokens: about how many the whole request has.

        Raises:
            ModelError: as `ask`; `TooLongError` where nothing more can be left out.
        """
        window = self.window
        shorter = self._fitted(thread, tokens, window, ledger)
        try:
            return await send(shorter)
        except TooLongError as error:
            # The server counts otherwise, or has less room than it was thought to have.
            sent = max(tokens - size_of(thread) + size_of(shorter), 1)
            counted = max((error.asked or sent) / sent, 1)
            self.window = min(self.window, round((error.window or window // 2) / counted))
            shortest = self._fitted(thread, tokens, self.window, ledger)
            if shortest == shorter:
                raise
            return await send(shortest)

    def _fitted(
        self, thread: Sequence[Message], tokens: int, window: int, ledger: Ledger
    ) -> tuple[Message, ...]:
        """The thread, with room for an answer if something can be left out for it, which is told once a turn."""
        over = tokens - window + min(self.config.max_tokens or ROOM, window // 4)
        shorter, left_out = fitted(thread, over) if over > 0 else (tuple(thread), "")
        if left_out and ledger.warn is not None:
            said = f"{asked_at.get()}: about {tokens:,} tokens and the answer do not fit models.{self.alias}"
            note = f"{said}, whose context is {window:,}: left out {left_out}"
            ledger.warn[:] = [*(line for line in ledger.warn if line != ledger.left_out), note]
            ledger.left_out = note
        return shorter

    async def answer(self, call: Awaitable[T]) -> tuple[T, str, bool]:
        """What a client's call gives, which model answered, and whether it stopped at its length limit.

        Raises:
            RefusedError: the server answers with an error.
            GarbledError: its answer is none.
        """
        responses: list[Any] = []
        token = RESPONSES.set(responses)
        try:
            answer = await call
        except Exception as error:  # every SDK has its own tree
            if failure := plain(error):
                raise failure from None
            raise
        finally:
            RESPONSES.reset(token)
        if not responses:
            return answer, self.config.name, False
        response = responses[-1]
        # Without choices, as in an error sent with status 200, AgentScope would see an empty answer.
        part = response.choices[0] if self.config.provider == "openai" else response
        reasons = {getattr(part, name, None) for name in ("finish_reason", "stop_reason", "done_reason")}
        return answer, response.model or self.config.name, bool(reasons & {"length", "max_tokens"})

    async def close(self) -> None:
        """Close the connections of a client that was made here, unless others use them still."""
        pool, self._pool = self._pool, None
        closing = pool.give_back(self._key) if pool else None
        if isinstance(closing, Awaitable):
            await closing


def _shut(opened: tuple[Any, Callable[[Any], Awaitable[None]]]) -> Awaitable[None]:
    client, shut = opened
    return shut(client)


CLIENTS = Pool(_shut)
"""Clients that the runs of this process share, each with what closes it."""


class ClientHost(StructuredHost, Generic[C]):
    """Base of the hosts: one client for each model of the config, made when it is first asked.

    Args:
        models: settings of the models by alias.
        recall: the author knowledge bank behind the retrieval hook.
        attempts: how often a turn may be asked in all.
        ready: clients of the framework, by alias, that stand in for those of `models`; who made them closes them.
    """

    framework: ClassVar[str]
    """Its name in configs."""
    serves: ClassVar[type[ServedModel[Any]]]

    def __init__(
        self,
        models: Mapping[str, ModelConfig],
        recall: Recall = recall_nothing,
        attempts: int = 3,
        ready: Mapping[str, C] | None = None,
    ) -> None:
        super().__init__(attempts)
        self._models, self._recall, self._ready = models, recall, ready or {}
        self._served: dict[str, ServedModel[C]] = {}

    def model(self, alias: str) -> ServedModel[C]:
        """A model with its client, shared by all turns.

        Raises:
            ConfigError: the config has no such model, or its key is missing.
        """
        if alias not in self._models:
            raise ConfigError(f"models.{alias} is missing", tried=f"models: {', '.join(self._models)}")
        if alias not in self._served:
            ready, loop = self._ready.get(alias), asyncio.get_running_loop()
            self._served[alias] = self.serves(self._models[alias], alias, ready, loop)
        return self._served[alias]

    def open(self, *models: str) -> None:
        """See `ManagedHost.open`.

        Raises:
            ConfigError: as `model`.
        """
        for alias in models:
            self.model(alias)

    async def ask(self, turn: Turn[R]) -> Reply[R]:
        """See `Host.ask`; ends in time whatever a framework, a tool or a server does.

        Raises:
            ModelError: the turn took too long.
        """
        alias, config = turn.speaker.model, self.model(turn.speaker.model).config
        limit = asyncio.timeout(seconds := config.turn_timeout or 30 * config.timeout)
        outer, token = CLOCK.get(), CLOCK.set(Clock(limit))
        try:
            with outer.stopped():
                async with limit:
                    return await super().ask(turn)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise ModelError(
                f"{turn.place}: no reply from {config.provider}/{config.name} within {seconds:g} s, all requests and "
                "tool calls of the turn together",
                hint=f"fix what is slow, or set models.{alias}.turn_timeout higher, then: manyheads resume RUN",
            ) from error
        finally:
            CLOCK.reset(token)

    async def close(self) -> None:
        """Close the connections of the clients that were made here."""
        served, self._served = self._served, {}
        for model in served.values():
            await model.close()
