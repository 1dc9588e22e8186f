"""What both hosts send to a provider and make of its answer: what it cost, what is sent again, which key opens it."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

from manyheads.config import ModelConfig
from manyheads.core import Usage
from manyheads.errors import ConfigError, ModelError
from manyheads.forms import schema_of
from manyheads.models.answers import count_of
from manyheads.replies import ReplyModel
from manyheads.retry import (
    GarbledError,
    Limiter,
    Pace,
    Retry,
    in_short,
    is_failure,
    is_unreachable,
    status_of,
)

T = TypeVar("T")


def usage_of(
    config: ModelConfig, read: object, written: object, asked: object = "", said: object = ""
) -> Usage:
    """What one request cost, from the tokens that the server says it read and wrote.

    Args:
        asked: what was sent, and `said` what came: where the server says nothing that can be, their tokens are estimated,
            one for four bytes, so that no budget is open to servers that do not count.
    """
    reads, writes = count_of(read, 1), count_of(written)
    estimated = 0
    if reads is None or writes is None:
        estimated = 1
        reads, writes = (1 + len(str(text).encode("utf-8", "replace")) // 4 for text in (asked, said))
    price = config.price
    cost = (reads * price.input + writes * price.output) / 1_000_000 if price else None
    return Usage(input_tokens=reads, output_tokens=writes, calls=1, cost=cost, estimated=estimated)


# What both hosts send to a provider beside the messages, in its own words, and what they refuse to send.


def options(**settings: Any) -> dict[str, Any]:
    """The settings that have a value; what a config leaves out is not sent."""
    return {name: value for name, value in settings.items() if value is not None}


def form_of(config: ModelConfig, reply_type: type[ReplyModel] | None, *, with_tools: bool) -> dict[str, Any]:
    """Arguments that ask a provider for a reply's schema; empty for free text, and where it takes none."""
    if reply_type is None:
        return {}
    schema = schema_of(reply_type)
    if config.provider == "openai":
        named = {"name": reply_type.__name__, "schema": schema, "strict": False}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    # Ollama writes nothing but the schema, so never a tool call, once it is given one.
    return {"format": schema} if config.provider == "ollama" and not with_tools else {}


def openai_settings(config: ModelConfig) -> dict[str, Any]:
    """Arguments of an OpenAI-compatible server."""
    # OpenAI's own models want the new name, many other servers know only the old one.
    limit = "max_tokens" if config.base_url else "max_completion_tokens"
    return options(temperature=config.temperature, seed=config.seed, **{limit: config.max_tokens})


def ollama_settings(config: ModelConfig, tokens: int) -> dict[str, Any]:
    """Ollama's arguments for a prompt of about so many tokens.

    It cuts longer prompts silently, and its default window is a few thousand tokens. Asked for is a power of two, so that
    the server seldom has to load the model anew, and never more than the model's own.
    """
    window, need = 8192, tokens + (config.max_tokens or 2048)
    while window < need:
        window *= 2
    sampling = options(temperature=config.temperature, seed=config.seed, num_predict=config.max_tokens)
    return {"options": {**sampling, "num_ctx": min(window, config.context)}}


def refuse_unfit(who: str, model: str, tokens: int, context: int) -> None:
    """Raises `ConfigError` when a prompt is longer than a model's context window, both in tokens.

    `who` is the model in the config, such as `models.default`, or the agent where there is no config.
    """
    if tokens > context:
        raise ConfigError(
            f"{who}: a prompt of about {tokens:,} tokens does not fit {model}, whose context is {context:,}",
            hint="take a larger model, set its `context` if it takes more, or shorten the discussion (turns)",
        )


def refuse_unseen(alias: str, config: ModelConfig, *, images: bool) -> None:
    """Raises `ConfigError` when images are shown to a model that cannot see them."""
    if images and not config.vision:
        raise ConfigError(
            f"models.{alias}: {config.name} cannot see images (vision: false)",
            hint="give this role a model that can, roles.<role>.model, or set its vision to true",
        )


# Keys of model servers; they come from the environment and from nowhere else.


USUAL = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
NO_KEY = "none"
"""Sent to a server of one's own that wants no key; the SDKs refuse to send nothing."""


def key_variable(config: ModelConfig) -> str | None:
    """The environment variable that holds a model's key, None for providers without one."""
    return config.api_key_env or USUAL.get(config.provider)


def key_of(config: ModelConfig, alias: str = "default") -> str:
    """The key from the environment; a server of one's own may do without.

    Raises:
        ConfigError: the variable is not set.
    """
    variable = key_variable(config) or ""
    if key := os.environ.get(variable, "").strip():
        if key.isascii() and key.isprintable():
            return key
        raise ConfigError(
            f"models.{alias}: the key in {variable} has letters that no key has",
            hint=f"export {variable}=… anew, on one line",
        )
    if config.base_url and not config.api_key_env:
        return NO_KEY
    raise ConfigError(
        f"models.{alias}: no key for {config.provider}/{config.name}",
        tried=f"the environment variable {variable}",
        hint=f"export {variable}=…, or name a server of your own in models.{alias}.base_url",
    )


Form = Mapping[str, Any]
"""The arguments of a request that ask a provider for a reply's schema."""

REFUSALS = frozenset({400, 422, 500})
"""Statuses of a server that may know no `response_format`."""

_refusing: set[tuple[str, str]] = set()
"""Servers, by base URL and model, that have refused `response_format`; remembered for the process."""


class Clock:
    """The time that is left to a turn; it stands still while others are waited for, or a turn within this one.

    Args:
        limit: what ends the turn.
    """

    def __init__(self, limit: asyncio.Timeout | None) -> None:
        self._limit, self._left, self._stops = limit, 0.0, 0

    @contextmanager
    def stopped(self, by: int = 1) -> Generator[None]:
        """Stand still for the length of a block."""
        self._change(by)
        try:
            yield
        finally:
            self._change(-by)

    def going(self) -> AbstractContextManager[None]:
        """Go on for the length of a block within one of `stopped`."""
        return self.stopped(-1)

    def _change(self, by: int) -> None:
        stood, self._stops = self._stops > 0, self._stops + by
        if self._limit and stood != (self._stops > 0):
            now = asyncio.get_running_loop().time()
            when = self._limit.when()
            with suppress(RuntimeError):  # of a turn that has ended meanwhile
                if stood:
                    self._limit.reschedule(now + self._left)
                elif when is not None:
                    self._left = when - now
                    self._limit.reschedule(None)


CLOCK: ContextVar[Clock] = ContextVar("clock", default=Clock(None))  # noqa: B039 - it never goes
"""Of the turn under way."""


class Governor:
    """Guards the requests to one model, which a config names by its `alias`."""

    def __init__(self, alias: str, config: ModelConfig) -> None:
        self.alias, self.config = alias, config
        self._limiter = Limiter(Pace(at_once=config.concurrency))

    async def call(self, request: Callable[[Form], Awaitable[T]], form: Form, warn: list[str]) -> T:
        """Send one request, again where that can help.

        Args:
            request: sends it with the form that it is given.
            form: what asks the provider for a reply's schema; empty where nothing does. It is left out where the config or
                the server does not want it.
            warn: where notes for the user go.

        Raises:
            ModelError: the server cannot be reached, refuses, or fails for good.
        """
        server = (self.config.base_url or self.config.provider, self.config.name)
        if not self.config.response_format or server in _refusing:
            form = {}
        sent = form

        def drop_form(error: BaseException) -> bool:
            nonlocal sent
            if not sent or status_of(error) not in REFUSALS:
                return False
            sent = {}
            return True

        def note(error: BaseException, mended: bool) -> None:
            refusal = "the server refused response_format; the schema stays in the prompt"
            warn.append(f"models.{self.alias}: {refusal if mended else f'{in_short(error)}; tried again'}")

        retry = Retry(
            self._limiter,
            self.config.retries,
            backoff=0.5,
            longest=self.config.max_wait,
            longest_asked=self.config.max_wait,
            together=False,
            mend=drop_form,
            before_wait=note,
        )
        try:
            with CLOCK.get().stopped():
                answer = await retry.send(lambda: self._answer(request(sent)))
        except Exception as error:  # every SDK has its own tree; what is not theirs is raised again
            if not is_failure(error):
                raise
            raise self._in_words(error, retry.tries) from error
        if form and not sent:
            _refusing.add(server)
        return answer

    async def _answer(self, call: Awaitable[T]) -> T:
        """One try, in time: the SDKs' time-outs start anew with each byte, this one holds for the whole request."""
        try:
            with CLOCK.get().going():
                async with asyncio.timeout(self.config.timeout):
                    return await call
        except TimeoutError as error:
            raise TimeoutError(f"no answer within {self.config.timeout:g} s") from error

    def _in_words(self, error: Exception, count: int) -> ModelError:
        where = self.config.base_url or f"the {self.config.provider} service"
        model = f"models.{self.alias} ({self.config.provider}/{self.config.name} at {where})"
        status = status_of(error)
        if status in (401, 403):
            variable = key_variable(self.config)
            hint = f"export {variable}=…" if variable else "check the server's access rules"
            return ModelError(f"{model}: the key is refused ({status})", hint=hint)
        if status == 404:
            return ModelError(
                f"{model}: no such model or address (404)",
                hint=f"check models.{self.alias}.name and .base_url (most end in /v1)",
            )
        what = "cannot be reached: " if is_unreachable(error) else "failed: "
        step = "fix what the server reports"
        if status == 429:
            step = f"wait, raise the account's limit or quota, or lower models.{self.alias}.concurrency"
        elif isinstance(error, GarbledError):
            what = ""
            step = f"check models.{self.alias}.base_url (most end in /v1), or mend the server"
        elif status is None:
            step = "start the server or mend the address"
        return ModelError(
            f"{model}: {what}{in_short(error)}",
            tried=f"{count} times" if count > 1 else "once",
            hint=f"{step}, then: manyheads resume RUN",
        )
