"""Requests to models, for all hosts: clients shared by turns, behind their governors, and the cost of a turn."""

import asyncio
import json
import logging
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar, cast
from urllib.parse import unquote, urlsplit

from manyheads.asking.replies import ReplyModel
from manyheads.base.errors import ConfigError, ModelError
from manyheads.base.files import Pool
from manyheads.config import HUMAN, ModelConfig
from manyheads.core import NOTHING, Charge, Message, Recall, Reply, ToolCall, Turn, Usage, recall_nothing
from manyheads.engine.person import nobody_there
from manyheads.engine.replay import ReplayModel
from manyheads.engine.replying import METER, StructuredHost, asked_at
from manyheads.models.abilities import forms_for, openai_settings, remember
from manyheads.models.answers import make_sound, plain
from manyheads.models.faults import TooLongError, ToolsRefusedError
from manyheads.models.fitting import fitted, size_of
from manyheads.models.governor import CLOCK, Clock, Governor
from manyheads.models.offline import LocalModel, OfflineModel
from manyheads.models.requests import (
    ROOM,
    charge_of,
    failed_usage,
    key_variable,
    ollama_settings,
    options,
    refuse_unfit,
    server_address,
    usage_of,
)

C = TypeVar("C")
R = TypeVar("R", bound=ReplyModel)
M = TypeVar("M")
T = TypeVar("T")
log = logging.getLogger("manyheads")


@dataclass
class Ledger:
    """What the requests of one turn cost, and how the last one ended."""

    usage: Usage = NOTHING
    model: str = ""
    truncated: bool = False
    failure: Exception | None = None
    """A failure in a tool or a look-up that ends the turn; the frameworks would continue."""
    warn: list[str] | None = None
    """The list for notes to the user; the log when None."""
    left_out: str = ""
    """The note on what was left out of the turn's last long request."""
    guests: int = 0
    """Number of guests that a role's agent has asked in this turn."""

    def enter(self, usage: Usage, model: str, truncated: bool) -> None:
        """Count one answer."""
        self.pay(usage)
        self.model, self.truncated = model, truncated

    def pay(self, usage: Usage) -> None:
        """Count one request, which the current charge is for."""
        self.usage += usage
        if charge := CHARGE.get():
            charge.usage += usage

    def fail(self, error: Exception) -> None:
        """End the turn with an error; the next request raises it."""
        self.failure = error

    def stop_if_failed(self) -> None:
        """Raise a failure, once."""
        if failure := self.failure:
            self.failure = None
            raise failure


CHARGE: ContextVar[Charge | None] = ContextVar("charge", default=None)
"""Of the current request."""


def tool_call(name: str, arguments: object, result: str, *, failed: bool) -> ToolCall:
    """A tool call for the record; arguments that are no JSON object stand in it as `unreadable`."""
    if isinstance(arguments, str):
        with suppress(ValueError):
            arguments = json.loads(arguments or "{}")
    given = cast(dict[str, Any], arguments) if isinstance(arguments, dict) else {"unreadable": str(arguments)}
    return ToolCall(name=name, arguments=given, result=result, failed=failed)


# What the frameworks' clients drop: which model answered, and whether it stopped at its length limit.

RESPONSES: ContextVar[list[Any]] = ContextVar("responses")
"""The SDK's responses to the current request."""


def tap(sdk: Any, config: ModelConfig) -> None:
    """Make the SDK of one of our clients reject invalid answers, and add valid ones to `RESPONSES`.

    OpenAI's SDK also gets messages and schemas through `extra_body`, which replaces the arguments of the same names.
    The SDK would walk through the arguments key by key, which takes longer than the rest of a request.
    """
    match config.provider:
        case "openai":
            api, method, large = sdk.chat.completions, "create", ("messages", "tools", "response_format")
        case "anthropic":
            # Newer SDKs have no temperature, and AutoGen's client sends one that is not set.
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


def usage_of_agent(
    config: ModelConfig, read: int, written: int, calls: int, thread: Sequence[Message], answer: str
) -> Usage:
    """What a reply of a user's agent cost by its own count; estimated if its model counts nothing."""
    if read or written:
        return Usage(input_tokens=read, output_tokens=written, calls=calls)
    return usage_of(config, None, None, size_of(thread), answer)


class ServedModel(ABC, Generic[C]):
    """A model of the config: a framework's own client, shared by all turns, behind its governor.

    Args:
        config: its settings.
        alias: its name in the config, and in messages to the user.
        ready: a user's client to use instead of one made from the settings; not closed here.
        loop: the event loop of a run; runs with the same settings on one loop share a client.

    Attributes:
        client: the framework's.
        local: the model itself instead of a client, if it answers in this process.
        ours: whether it was made from the settings.
        window: its context, in our estimated tokens; reduced when the server reports a smaller one.

    Raises:
        ConfigError: the provider needs a key that the environment does not hold.
    """

    client_type: ClassVar[type]
    """The base class of the framework's clients."""

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
        self._refused: ToolsRefusedError | None = None
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
        elif config.provider == HUMAN:  # runs ask a person themselves
            raise nobody_there(f"models.{alias} is a person")
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
        """A client with the provider's retries off: only the governor retries."""

    @staticmethod
    @abstractmethod
    async def shut(client: C) -> None:
        """Close a client's connections."""

    @staticmethod
    @abstractmethod
    def describe(client: C, base: ModelConfig) -> ModelConfig:
        """The settings that govern and record a user's client: `base` with the client's own values."""

    def borrow(self, ready: C) -> C:
        """A user's client, prepared for requests."""
        return ready

    @staticmethod
    @abstractmethod
    def as_message(message: Any) -> Message | None:
        """A framework's question or answer, which may be shortened or left out.

        None for system messages, tool calls and tool results.
        """

    @staticmethod
    @abstractmethod
    def with_text(message: Any, text: str) -> Any:
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
        """One governed request of a framework's agent: fitted to the context, or refused; retried where useful.

        Args:
            messages: of the framework; if too long, our turns' messages are shortened, those of other agents are not.
            count: estimates the tokens of messages, with tools and pictures.
            send: sends messages; takes their tokens and the arguments for the reply's schema.
            ledger: a failure in it, a user's error in a tool, ends the turn here.
            tools: whether the request offers tools.

        Raises:
            ConfigError: the messages do not fit the model's context.
            ModelError: as `ask`.
        """
        ledger.stop_if_failed()
        texts = {
            at: text for at, each in enumerate(messages) if reply_type and (text := self.as_message(each))
        }

        async def put(shorter: Sequence[Message]) -> T:
            new = dict(zip(texts, (message.text for message in shorter), strict=True))
            fitting = [
                self.with_text(each, new[at]) if at in new else each for at, each in enumerate(messages)
            ]
            tokens = await count(fitting)
            refuse_unfit(f"models.{self.alias}", self.config.name, tokens, self.config.window)
            return await self.ask(partial(send, fitting, tokens), ledger, tokens, reply_type, tools=tools)

        return await self.ask_fitting(put, list(texts.values()), await count(messages), ledger)

    async def counted(
        self,
        call: Awaitable[T],
        ledger: Ledger,
        tokens: int,
        spent: Callable[[T], tuple[Any, Any, Any, bool]],
    ) -> T:
        """The result of a client's call, entered in the ledger.

        Args:
            tokens: an estimate of the tokens sent, if the server does not count them.
            spent: the answer's own report: tokens read and written, its content, whether it was cut off.

        Raises:
            RefusedError: the server answers with an error.
            GarbledError: the answer is not valid.
        """
        responses, model, reasons = list[Any](), self.config.name, set[object]()
        token = RESPONSES.set(responses)
        try:
            answer = await call
        except Exception as error:  # every SDK has its own tree
            if failure := plain(error):
                raise failure from None
            raise
        finally:
            RESPONSES.reset(token)
        for response in responses[-1:]:
            # Without choices, as in an error sent with status 200, AgentScope would see an empty answer.
            part = response.choices[0] if self.config.provider == "openai" else response
            reasons = {getattr(part, name, None) for name in ("finish_reason", "stop_reason", "done_reason")}
            model = response.model or model
        read, written, content, cut = spent(answer)
        truncated = cut or bool(reasons & {"length", "max_tokens"})
        ledger.enter(usage_of(self.config, read, written, tokens, content), model, truncated)
        return answer

    def settings(self, tokens: int) -> dict[str, Any]:
        """The provider's arguments for a request of about `tokens` tokens."""
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
        tokens: int,
        reply_type: type[ReplyModel] | None = None,
        *,
        tools: bool = False,
    ) -> T:
        """Send one request, with retries where useful; the meter of the turn counts each of them.

        Args:
            request: sends it with the arguments for the reply's schema, and enters it in the ledger.
            ledger: collects notes for the user.
            tokens: an estimate of the tokens sent.
            reply_type: the type of reply; None for free text.
            tools: whether the request offers tools.

        Raises:
            BudgetError: the budget does not allow a request.
            ModelError: the server cannot be reached, refuses, or answers nonsense; `ToolsRefusedError` once it took no tools.
        """
        if tools and reply_type and self._refused:
            raise ToolsRefusedError(self._refused.message, hint=self._refused.hint)

        @asynccontextmanager
        async def charged(form: Mapping[str, Any]) -> AsyncGenerator[None]:
            charge = charge_of(self.config, tokens, form)
            async with METER.get()(charge):
                current = CHARGE.set(charge)
                try:
                    yield
                finally:
                    if (error := sys.exception()) and not charge.usage.calls:
                        ledger.pay(failed_usage(self.config, tokens, error))
                    CHARGE.reset(current)

        forms = forms_for(self.config, reply_type, with_tools=tools)
        notes = list[str]() if ledger.warn is None else ledger.warn
        try:
            return await self._governor.call(request, forms, notes, charged, tools=tools)
        except ToolsRefusedError as error:
            self._refused = error
            remember(self.config, tools=False)
            raise
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
        """Send one request shortened to the model's context; once more, shorter, if the server finds it too long.

        Args:
            send: sends it with these messages in place of `thread`.
            thread: the messages of the request that may be shortened.
            tokens: an estimate for the whole request.

        Raises:
            ModelError: as `ask`; `TooLongError` if nothing more can be left out.
        """
        window = self.window
        shorter = self._fitted(thread, tokens, window, ledger)
        try:
            return await send(shorter)
        except TooLongError as error:
            # The server counts differently, or its context is smaller than assumed.
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
        """The thread, shortened to make room for an answer, with one note per turn."""
        over = tokens - window + min(self.config.max_tokens or ROOM, window // 4)
        shorter, left_out = fitted(thread, over) if over > 0 else (tuple(thread), "")
        if left_out and ledger.warn is not None:
            problem = (
                f"{asked_at.get()}: about {tokens:,} tokens and the answer do not fit models.{self.alias}"
            )
            note = f"{problem}, whose context is {window:,}: left out {left_out}"
            ledger.warn[:] = [*(line for line in ledger.warn if line != ledger.left_out), note]
            ledger.left_out = note
        return shorter

    async def close(self) -> None:
        """Close the connections of a client made here, unless others still use them."""
        pool, self._pool = self._pool, None
        closing = pool.give_back(self._key) if pool else None
        if isinstance(closing, Awaitable):
            await closing


def _shut(opened: tuple[Any, Callable[[Any], Awaitable[None]]]) -> Awaitable[None]:
    client, shut = opened
    return shut(client)


CLIENTS = Pool(_shut)
"""Clients shared by the runs of this process, each with its closing function."""


class ClientHost(StructuredHost, Generic[C]):
    """Base of the hosts: one client for each model of the config, made when it is first asked.

    Args:
        models: settings of the models by alias.
        recall: the author knowledge bank behind the retrieval hook.
        attempts: maximum attempts of a turn.
        ready: clients of the framework by alias, instead of those of `models`; their owner closes them.
    """

    metered = True
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
        """See `Host.ask`; within the time limit, whatever a framework, a tool or a server does.

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
        """Close the connections of clients made here."""
        served, self._served = self._served, {}
        for model in served.values():
            await model.close()


def model_of(what: str, host: type[ClientHost[Any]], model: Any) -> tuple[ModelConfig | None, Any]:
    """Settings of a model, or a client of the host; one of them is None, both if `model` is.

    Args:
        what: the name of what takes the model, for messages.
        model: `provider/name`, a `ModelConfig`, or a client.

    Raises:
        ConfigError: it is none of these.
    """
    match model:
        case None | ModelConfig():
            return model, None
        case str():
            return ModelConfig.parse(model), None
        case _ if isinstance(model, host.serves.client_type):
            return None, model
        case _:
            raise ConfigError(
                f"{what}: {type(model).__module__}.{type(model).__name__} is not a model of {host.framework}",
                hint=f"give 'openai/gpt-4o-mini', a ModelConfig, or a client of {host.framework} ({host.serves.client_type.__name__})",
            )
