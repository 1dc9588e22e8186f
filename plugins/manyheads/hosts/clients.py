"""Requests to models, for all hosts: clients shared by turns, behind their governors, and the cost of a turn."""

import asyncio
import json
import logging
import ssl
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, cast
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies
from uuid import uuid4

from pydantic import BaseModel, ValidationError

from manyheads.asking.replies import ReplyModel
from manyheads.base.errors import ConfigError, ModelError, UserError, scrubbed
from manyheads.base.files import Pool
from manyheads.config import COMMAND, HUMAN, ModelConfig
from manyheads.config.keys import value_of
from manyheads.core import (
    NOTHING,
    Charge,
    Message,
    Raw,
    Recall,
    Reply,
    Tool,
    ToolCall,
    Turn,
    Usage,
    recall_nothing,
)
from manyheads.engine.person import nobody_there
from manyheads.engine.replay import ReplayModel
from manyheads.engine.replying import METER, StructuredHost, asked_at
from manyheads.engine.tracing import chat_span
from manyheads.models.abilities import forms_for, keeps_tools, openai_settings, remember
from manyheads.models.answers import HEARD, Cache, SoundTransport, count_of, plain
from manyheads.models.batches import BatchTransport
from manyheads.models.caching import steering
from manyheads.models.command import CommandModel
from manyheads.models.governor import CLOCK, Clock, Governor, TooLongError, ToolsRefusedError
from manyheads.models.offline import LocalModel, OfflineModel
from manyheads.models.requests import (
    ROOM,
    charge_of,
    failed_usage,
    fitted,
    key_of,
    key_variable,
    ollama_settings,
    refuse_unfit,
    server_address,
    size_of,
    usage_of,
)
from manyheads.team.team import Invitations

C = TypeVar("C")
R = TypeVar("R", bound=ReplyModel)
M = TypeVar("M")
T = TypeVar("T")
Close = Callable[[], Awaitable[None]]
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
    invitations: Invitations | None = None
    """Of a role's agent: whom it may ask."""
    ids: set[str] = field(default_factory=set[str])
    """Of the tool calls so far."""
    spans: bool = True
    """Whether requests are spans of ours: the framework makes none."""
    may_call: bool = True
    """Whether the model may call tools."""

    def begin(self) -> None:
        """Begin a turn of a role's agent, with no guest asked so far."""
        if self.invitations:
            self.invitations.calls = 0

    def enter(self, usage: Usage, model: str, truncated: bool) -> None:
        """Count one answer."""
        self.pay(usage)
        self.model, self.truncated = model, truncated

    def pay(self, usage: Usage) -> None:
        """Count one request, which the current charge is for."""
        self.usage += usage
        if charge := CHARGE.get():
            charge.usage += usage

    def own_id(self, given: str | None) -> str:
        """The id of a tool call, another one if it is used already: frameworks match results with calls by id, and some servers
        give all calls the same. Mistral's servers take ids of nine letters and digits only."""
        chosen = given if given and given not in self.ids else uuid4().hex[:9]
        self.ids.add(chosen)
        return chosen

    def stop_if_failed(self) -> None:
        """Raise a failure, once."""
        failure, self.failure = self.failure, None
        if failure:
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


async def run_tool(tool: Tool, ledger: Ledger, arguments: Mapping[str, Any] | BaseModel) -> str:
    """The answer of a tool function of the core for an agent of a framework.

    As usual in the frameworks, the model's mistakes (`ValueError`, with a line for the model) and a tool's refusals go back to
    the model. A user's mistake, a spent budget or a full disk end the turn instead.
    """
    try:
        return await tool.run(tool.arguments.model_validate(arguments))
    except ValidationError as error:
        raise ValueError(tool.explain(error)) from error
    except UserError as error:
        ledger.failure = error
        raise


def sdk_settings(config: ModelConfig) -> tuple[dict[str, Any], Close]:
    """The arguments of a provider's SDK besides address and key, and what closes its connections.

    Without retries, as only the governor retries; and the SDK reads only what `SoundTransport` finds sound.
    """
    settings: dict[str, Any] = {"timeout": config.timeout}
    known: dict[str, Any] = {}
    if urlsplit(server_address(config)).scheme == "http" and not getproxies():
        # Nothing is encrypted: reading all authorities' certificates takes longer than a request. This one trusts nobody.
        known["verify"] = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    match config.provider:
        case "ollama":
            import httpx

            transport = SoundTransport(httpx.AsyncClient(**known), config.provider)
            login = urlsplit(config.address or "")
            if login.username:  # which Ollama's client leaves out of the address
                settings["auth"] = (unquote(login.username), unquote(login.password or ""))
            return {**settings, "transport": transport}, transport.aclose
        case "anthropic":
            from anthropic import DefaultAsyncHttpxClient as HttpClient
        case _:
            from openai import DefaultAsyncHttpxClient as HttpClient
    transport = (
        BatchTransport(HttpClient(**known), config.provider)
        if config.batch
        else SoundTransport(HttpClient(**known), config.provider, steering(config))
    )
    client = HttpClient(transport=cast(Any, transport))
    return {**settings, "max_retries": 0, "http_client": client}, client.aclose


class ServedModel(ABC, Generic[C]):
    """A model of the config: a framework's own client, shared by all turns, behind its governor.

    Args:
        ready: a user's client to use instead of one made from the settings; not closed here.
        loop: the event loop of a run; runs with the same settings on one loop share a client.

    Attributes:
        client: the framework's.
        local: the model itself instead of a client, if it answers in this process.
        ours: whether it was made from the settings.
        window: its context, in our estimated tokens; reduced when the server reports a smaller one.
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
        key = value_of(key_variable(config) or "")
        self._key = (type(self), config.model_dump_json(), server_address(config), key, loop)
        if isinstance(ours := getattr(ready, "served", None), ServedModel):
            self.client, self.local, self.ours = ours.client, ours.local, ours.ours
        elif ready is not None:
            self.client = self.borrow(ready)
        elif config.provider == HUMAN:  # runs ask a person themselves
            raise nobody_there(f"models.{alias} is a person")
        elif config.provider == COMMAND:
            self.local = CommandModel(config, alias)
        elif config.provider in ("offline", "replay"):
            offline = config.provider == "offline"
            self.local = OfflineModel(config) if offline else ReplayModel.from_run(config.name)
        else:
            # Ollama's client has room for a hundred requests at once: each run has its own.
            shared = loop and config.provider in ("openai", "anthropic")
            self._pool = CLIENTS if shared else Pool(_shut)
            self.client, _ = self._pool.take(self._key, self._opened)

    def _opened(self) -> tuple[C, Close]:
        try:
            sdk, close = sdk_settings(self.config)
            return self.open(key_of(self.config, self.alias), sdk), close
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0].replace("_", "-")
            what = f"models.{self.alias}: provider {self.config.provider!r} needs {package}, which is not installed"
            other = "take the provider's OpenAI-compatible address: provider openai, base_url"
            raise ConfigError(what, hint=f"pip install {package}, or {other}") from error

    @abstractmethod
    def open(self, key: str, sdk: dict[str, Any]) -> C:
        """A client made with the arguments of `sdk_settings`."""

    @staticmethod
    @abstractmethod
    def describe(client: C, base: ModelConfig) -> ModelConfig:
        """The settings that govern and record a user's client: `base` with the client's own values."""

    @staticmethod
    def described(base: ModelConfig, name: str, address: object, **settings: Any) -> ModelConfig:
        """`base` with the name, the address without its login, and further settings of a user's client."""
        url = scrubbed(str(address)) if address else None
        return base.model_copy(update={"name": name, "base_url": url, **settings})

    def borrow(self, ready: C) -> C:
        """A user's client, prepared for requests."""
        return ready

    @staticmethod
    @abstractmethod
    def as_message(message: Any) -> Message | None:
        """A framework's question or answer; None for system messages, tool calls and tool results."""

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

        Raises:
            ConfigError: the messages do not fit the model's context.
            BudgetError: the budget does not allow a request.
            ModelError: the server cannot be reached, refuses, or answers nonsense; `ToolsRefusedError` once it took no tools.
        """
        ledger.stop_if_failed()
        pairs = enumerate(messages if reply_type else ())
        texts = {at: text for at, each in pairs if (text := self.as_message(each))}

        async def put(shorter: Sequence[Message]) -> T:
            fitting, size = list(messages), tokens
            if list(shorter) != thread:
                for at, message in zip(texts, shorter, strict=True):
                    fitting[at] = self.with_text(messages[at], message.text)
                size = await count(fitting)
            refuse_unfit(f"models.{self.alias}", self.config.name, size, self.config.window)
            return await self._ask(partial(send, fitting, size), ledger, size, reply_type, tools)

        thread, tokens, window = list(texts.values()), await count(messages), self.window
        shorter = self._fitted(thread, tokens, window, ledger)
        try:
            return await put(shorter)
        except TooLongError as error:
            # The server counts differently, or its context is smaller than assumed: once more, shorter.
            sent = max(tokens - size_of(thread) + size_of(shorter), 1)
            counted = max((error.asked or sent) / sent, 1)
            self.window = min(self.window, round((error.window or window // 2) / counted))
            shortest = self._fitted(thread, tokens, self.window, ledger)
            if shortest == shorter:
                raise
            return await put(shortest)

    async def answer_here(
        self, system: str, thread: Sequence[Message], answered: int, ledger: Ledger
    ) -> tuple[Raw, list[tuple[str, str, str]]]:
        """The answer of a model in this process, with the id, name and JSON arguments of its tool calls.

        `answered` tool results are counted, not read.
        """
        assert self.local
        raw = await self.local.complete(system, thread, answered)
        ledger.enter(raw.usage, raw.model, raw.truncated)
        calls = () if raw.text else raw.tool_calls
        return raw, [
            (f"call_{answered + n}", each.name, json.dumps(each.arguments)) for n, each in enumerate(calls)
        ]

    async def counted(
        self,
        call: Awaitable[T],
        ledger: Ledger,
        tokens: int,
        spent: Callable[[T], tuple[Any, Any, Any, bool, Cache]],
    ) -> T:
        """The result of a client's call, entered in the ledger.

        Args:
            tokens: an estimate of the tokens sent, if the server does not count them.
            spent: the answer's own report: tokens read and written, its content, whether it was cut off, the cache.

        Raises `RefusedError` if the server answers with an error, `GarbledError` if the answer is not valid.
        """
        heard = list[tuple[str, bool, Cache]]()
        token = HEARD.set(heard)
        try:
            answer = await call
        except Exception as error:  # every SDK has its own tree
            if failure := plain(error):
                raise failure from None
            raise
        finally:
            HEARD.reset(token)
        read, written, content, cut, own = spent(answer)
        cached, stored = (count_of(each) or 0 for each in own)
        if self.config.provider == "anthropic" and not heard and type(read) is int:
            read += cached + stored  # which a user's client counts apart, as Anthropic does
        model, truncated, cache = heard[-1] if heard else ("", False, (cached, stored))
        usage = usage_of(self.config, read, written, tokens, content, cache)
        ledger.enter(usage, model or self.config.name, cut or truncated)
        return answer

    def settings(self, tokens: int) -> dict[str, Any]:
        """The provider's arguments for a request of about `tokens` tokens."""
        match self.config.provider:
            case "openai":
                return openai_settings(self.config)
            case "ollama":
                return ollama_settings(self.config, tokens)
            case _:
                # Newer SDKs of Anthropic take no temperature; it is put into the body.
                set_here = self.config.temperature is not None
                return {"extra_body": {"temperature": self.config.temperature}} if set_here else {}

    async def _ask(
        self,
        request: Callable[[Mapping[str, Any]], Awaitable[T]],
        ledger: Ledger,
        tokens: int,
        reply_type: type[ReplyModel] | None,
        tools: bool,
    ) -> T:
        """Send one request of about `tokens` tokens, with retries; the meter of the turn counts each of them."""
        if tools and reply_type and self._refused:
            raise ToolsRefusedError(self._refused.message, hint=self._refused.hint)

        @asynccontextmanager
        async def charged(form: Mapping[str, Any]) -> AsyncGenerator[None]:
            charge = charge_of(self.config, tokens, form)
            async with METER.get()(charge):
                current = CHARGE.set(charge)
                try:
                    with chat_span(self.config, lambda: charge.usage) if ledger.spans else nullcontext():
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

    def _fitted(
        self, thread: Sequence[Message], tokens: int, window: int, ledger: Ledger
    ) -> tuple[Message, ...]:
        """The thread, shortened to make room for an answer, with one note per turn."""
        over = tokens - window + min(self.config.max_tokens or ROOM, window // 4)
        shorter, left_out = fitted(thread, over) if over > 0 else (tuple(thread), "")
        if left_out and ledger.warn is not None:
            note = (
                f"{asked_at.get()}: about {tokens:,} tokens and the answer do not fit models.{self.alias}, "
                f"whose context is {window:,}: left out {left_out}"
            )
            ledger.warn[:] = [*(line for line in ledger.warn if line != ledger.left_out), note]
            ledger.left_out = note
        return shorter

    async def close(self) -> None:
        """Close the connections of a client made here, unless others still use them."""
        pool, self._pool = self._pool, None
        closing = pool.give_back(self._key) if pool else None
        if isinstance(closing, Awaitable):
            await closing


def _shut(opened: tuple[Any, Close]) -> Awaitable[None]:
    return opened[1]()


CLIENTS = Pool(_shut)
"""Clients shared by the runs of this process, each with what closes it."""


class ClientHost(StructuredHost, Generic[C]):
    """Base of the hosts: one client for each model of the config, made when it is first asked.

    Args:
        models: settings of the models by alias.
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
        """A model with its client, shared by all turns; raises `ConfigError` if the config has none, or its key is missing."""
        if alias not in self._models:
            raise ConfigError(f"models.{alias} is missing", tried=f"models: {', '.join(self._models)}")
        if alias not in self._served:
            ready, loop = self._ready.get(alias), asyncio.get_running_loop()
            self._served[alias] = self.serves(self._models[alias], alias, ready, loop)
        return self._served[alias]

    def keeps_tools(self, turn: Turn[Any]) -> bool:
        return keeps_tools(self.model(turn.speaker.model).config)

    def open(self, *models: str) -> None:
        """See `ManagedHost.open`; raises as `model`."""
        for alias in models:
            self.model(alias)

    async def ask(self, turn: Turn[R]) -> Reply[R]:
        """See `Host.ask`; raises `ModelError` at the time limit, whatever a framework, a tool or a server does."""
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
            what = f"{turn.place}: no reply from {config.provider}/{config.name} within {seconds:g} s"
            raise ModelError(
                f"{what}, all requests and tool calls of the turn together",
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

    Raises `ConfigError` if `model` is neither `provider/name`, a `ModelConfig` nor a client; `what` is what takes it.
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


def described(
    what: str, host: type[ClientHost[Any]], model: Any, base: ModelConfig
) -> tuple[ModelConfig, dict[str, Any] | None]:
    """The settings of the default model, `base` if `model` is None, and the client for a host, if it is one; see `model_of`."""
    settings, client = model_of(what, host, model)
    if client is None:
        return settings or base, None
    return host.serves.describe(client, base), {"default": client}


class AgentAnswer(NamedTuple):
    """What an agent of an app has said, by its own account."""

    text: str
    calls: tuple[ToolCall, ...]
    read: int
    """Tokens; 0 if its model counts none."""
    written: int
    requests: int = 1


class OneAgent(StructuredHost, ABC):
    """Asks one agent of an app, which remembers the chat: it gets only the last message of a thread.

    Args:
        config: the settings of its model, as far as they are known.
        ledger: of its model, if that is one of ours; else usage is as the agent reports it, or estimated.
    """

    remembers = True

    def __init__(self, agent: Any, attempts: int, config: ModelConfig, ledger: Ledger | None) -> None:
        super().__init__(attempts)
        self.agent, self.config, self._ledger, self.metered = agent, config, ledger, ledger is not None

    @abstractmethod
    async def say(self, message: Message) -> AgentAnswer:
        """Ask the agent."""

    async def native(self, turn: Turn[Any], thread: Sequence[Message], warn: list[str]) -> Raw:
        ledger = self._ledger or Ledger(model=self.config.name)
        before = ledger.usage
        answer = await self.say(thread[-1])
        if self._ledger:
            usage = ledger.usage - before
        elif answer.read or answer.written:
            usage = Usage(input_tokens=answer.read, output_tokens=answer.written, calls=answer.requests)
        else:
            usage = usage_of(self.config, None, None, size_of(thread[-1:]), answer.text)
        return Raw(answer.text, ledger.model, usage, answer.calls, ledger.truncated)
