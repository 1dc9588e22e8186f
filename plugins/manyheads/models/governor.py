"""Guards the requests to one model: concurrency, retries, the form of a schema that the server accepts; its failures in words."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    contextmanager,
    nullcontext,
    suppress,
)
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from manyheads.base.errors import ModelError, scrubbed
from manyheads.base.files import FEWER
from manyheads.base.http import (
    GarbledError,
    Limiter,
    Pace,
    RefusedError,
    Retry,
    SlowError,
    SpentError,
    in_short,
    is_failure,
    is_garbled,
    is_unreachable,
    status_of,
)
from manyheads.config import COMMAND, ModelConfig
from manyheads.models.abilities import Form, key_of_server, limit_of, other_limit, remember
from manyheads.models.requests import key_variable

Matter = Literal["context", "tools", "images", "limit", "form"]
_MATTERS: dict[Matter, re.Pattern[str]] = {
    "context": re.compile(
        r"context.?(length|window|size|limit)|maximum context|prompt is too long|too many (input )?tokens"
        r"|reduce the length of the (messages|prompt|input)",
        re.I,
    ),
    "tools": re.compile(
        r"(not|n't) support\w* (tool|function)|(tool|function)s?( use| calling)? (is|are) not supported"
        r"|tool.choice|tool-call-parser|tools?\W+param|no endpoints? found that support\w* (tool|function)|schema for (tool|function)\b",
        re.I,
    ),
    "images": re.compile(
        r"(not|n't) support\w* (image|vision|multimodal)|image.?(url|input)s?\b.*not (support|allow)|no vision"
        r"|not a multimodal|mmproj|no endpoints? found that support\w* (image|vision)",
        re.I,
    ),
    "limit": re.compile(
        r"(un(supported|recogni[sz]ed|known|expected)|(not|n't) (support|permit|allow)|extra|invalid (arg|param))[^.]{0,80}"
        r"max_(completion_)?tokens|max_(completion_)?tokens\W[^.]{0,80}(un(supported|recogni[sz]ed|known|expected)"
        r"|(not|n't) (be )?(support|permit|allow)|extra.(input|field|forbid))",
        re.I | re.S,
    ),
    "form": re.compile(
        r"response_?format|json_?schema|json_?object|structured.?output|grammar|\bschema\b|ChatRequest\.format",
        re.I,
    ),
}
_WINDOWS = (
    re.compile(r"(?:maximum context length|context (?:window|size|length))\D{0,25}?(\d[\d,]*)", re.I),
    re.compile(r"> (\d[\d,]*) maximum", re.I),
)
_SUM = re.compile(r"context limit: (\d[\d,]*) \+ (\d[\d,]*) > (\d[\d,]*)", re.I)
"""In Anthropic's messages: the prompt, the maximum answer, the window."""
_ASKED = re.compile(r"(?:requested|resulted in|request|prompt)\b\D{0,40}?(\d[\d,]*)", re.I)


class TooLongError(ModelError):
    """A prompt is longer than the server's `window`; it has `asked` tokens by the server's count. None if unknown."""

    def __init__(self, message: str, *, window: int | None, asked: int | None, **more: str | None) -> None:
        self.window, self.asked = window, asked
        super().__init__(message, **more)


class DownError(ModelError):
    """A server that answers no request of this model: unreachable, overloaded, without the model, or the key is refused."""


class ToolsRefusedError(ModelError):
    """A server refuses requests with tools; a run then asks without them, at the same place."""


def matter_of(error: BaseException) -> Matter | None:
    """The subject of a refusal, from its words; None if unclear."""
    text = error.text if isinstance(error, RefusedError) else str(error)
    return next((matter for matter, words in _MATTERS.items() if words.search(text)), None)


def in_words(error: Exception, alias: str, config: ModelConfig, count: int) -> ModelError:
    """The user's error: which model, what happened, number of tries, next step."""
    usual = "this machine" if config.provider == COMMAND else f"the {config.provider} service"
    where = config.base_url or usual
    model = f"models.{alias} ({config.provider}/{config.name} at {where})"
    status = status_of(error)
    if status in (401, 403) and not isinstance(error, SpentError):
        variable = key_variable(config)
        export = f"export {variable}=…" if variable else "check the server's access rules"
        hint = f"{export}; or that key's account may not use {config.name}" if status == 403 else export
        return DownError(f"{model}: the key is refused ({status})", hint=hint)
    # a gateway also says so of a model that it has, if the server rejects the request
    unable = matter_of(error) in ("tools", "images") and re.search(r"\bsupport", str(error), re.I)
    if status == 404 and not unable:
        return DownError(f"{model}: no such model or address (404)", hint=_not_found(error, alias, config))
    garbled = isinstance(error, GarbledError)
    what = "" if garbled else "cannot be reached: " if is_unreachable(error) else "failed: "
    message = f"{model}: {what}{_root(error)}"
    tried = f"{count} times" if count > 1 else "once"
    hint = f"{_step(error, status, alias, config)}, then: manyheads resume RUN"
    if matter_of(error) == "context" and status is not None:
        text = str(error)
        window = next((_number(n[1]) for each in _WINDOWS if (n := each.search(text))), None)
        asked = _number(n[1]) if (n := _ASKED.search(text)) else None
        if n := _SUM.search(text):
            window, asked = _number(n[3]), _number(n[1]) + _number(n[2])
        asked = asked if asked and asked > (window or 0) else None
        return TooLongError(message, window=window, asked=asked, tried=tried, hint=hint)
    if matter_of(error) == "tools" and status is not None:
        return ToolsRefusedError(message, tried=tried, hint=hint)
    refused = is_garbled(error) or status in (400, 413, 415, 422, 500) or matter_of(error) == "images"
    kind = ModelError if refused else DownError
    return kind(message, tried=tried, hint=hint)


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _not_found(error: Exception, alias: str, config: ModelConfig) -> str:
    if config.provider == "ollama":
        return f"ollama pull {config.name}; models.{alias}.base_url is the server's root, without /v1"
    if re.search(r"model", str(error), re.I):
        address = config.base_url
        listing = f"curl {address.rstrip('/')}/models" if address else "see your account's models"
        return f"set models.{alias}.name to a model that the server has: {listing}"
    return f"check models.{alias}.name and .base_url (most end in /v1)"


def _step(error: Exception, status: int | None, alias: str, config: ModelConfig) -> str:
    """The next step, in the imperative."""
    if config.provider == COMMAND:
        if isinstance(error, TimeoutError):
            return f"raise models.{alias}.timeout"
        return f"try it on a terminal: echo Hello | {config.name}"
    if isinstance(error, GarbledError):
        if "it says:" in str(error):
            return "wait for the server, or fix what it reports"
        return f"check models.{alias}.base_url (most end in /v1), or fix the server"
    if status is None:
        return _way(error, alias, config)
    account = f"the account of the key in {key_variable(config)}" if key_variable(config) else "the account"
    matters: dict[Matter | None, str] = {
        "context": f"set models.{alias}.context to the server's window, or start the server with a larger one",
        "tools": f"set models.{alias}.tools=false: fields of the reply then replace tools"
        " (vLLM calls tools with --enable-auto-tool-choice)",
        "images": f"set models.{alias}.vision=false, or give the role a model with vision: roles.<role>.model",
        "limit": f"remove models.{alias}.max_tokens",
        "form": f"set models.{alias}.response_format=none: the prompt contains the form anyway"
        if config.response_format is True
        else f"set models.{alias}.response_format=true: the strictest form that the server accepts is then used",
    }
    match status:
        case _ if status < 400:
            return f"check models.{alias}.base_url"
        case _ if isinstance(error, SpentError):
            return f"add credit or raise the quota of {account}, or use another model"
        case _ if 400 <= status < 501 and (step := matters.get(matter_of(error))):
            return step
        case 429:
            return f"wait, raise the limit of {account}, or lower models.{alias}.concurrency"
        case 502 | 503 | 504:
            return "check whether the model behind the server's gateway is up, or wait until it is loaded"
        case 529:
            return f"wait some minutes: the service is overloaded; or lower models.{alias}.concurrency"
        case 500:
            return "see the server's log"
        case _:
            return "fix what the server reports"


def _way(error: Exception, alias: str, config: ModelConfig) -> str:
    """The next step if no answer came."""
    text = " ".join(str(each) for each in _chain(error))
    address = f"models.{alias}.base_url"
    slow = f"raise models.{alias}.timeout (now {config.timeout:g} s), or lower models.{alias}.concurrency"
    ways = {
        r"getaddrinfo|name or service not known|nodename nor servname|name resolution|no address associated":
            f"check the host's name in {address}, and this machine's network and DNS",
        r"certificate": "trust the server's certificate (SSL_CERT_FILE=FILE.pem), or fix its date or name",
        r"\bssl\b|\btls\b|wrong version number": f"write http:// in {address} if the server does not use TLS",
        r"no answer within|timed? ?out": slow,
        r"too many open files": FEWER,
    }  # fmt: skip
    if way := next((step for words, step in ways.items() if re.search(words, text, re.I)), None):
        return way
    if isinstance(error, SlowError):
        return slow
    if config.provider == "ollama":
        return f"start the server (ollama serve) or fix {address}"
    return f"start the server or fix {address}" if config.base_url else "check this machine's network"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and its causes."""
    for _ in range(8):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _root(error: Exception) -> str:
    """An exception's message, with that of its cause if it says little itself."""
    text = in_short(error)
    if status_of(error) is None and not isinstance(error, GarbledError):
        last = scrubbed(" ".join(str(list(_chain(error))[-1]).split()))
        if last and last not in text and len(text) < 60:
            return f"{text.rstrip('.')} ({last[:150]})"
    return text


T = TypeVar("T")

REFUSALS = frozenset({400, 422, 500})
"""Statuses of a server that may not support `response_format`."""


class Clock:
    """The time left for a turn; it is stopped while waiting for others, or for a nested turn."""

    def __init__(self, limit: asyncio.Timeout | None) -> None:
        self._limit, self._left, self._stops = limit, 0.0, 0

    @contextmanager
    def stopped(self, by: int = 1) -> Generator[None]:
        """Stop the clock for a block."""
        self._change(by)
        try:
            yield
        finally:
            self._change(-by)

    def going(self) -> AbstractContextManager[None]:
        """Run the clock for a block within `stopped`."""
        return self.stopped(-1)

    def _change(self, by: int) -> None:
        stood, self._stops = self._stops > 0, self._stops + by
        if self._limit and stood != (self._stops > 0):
            now = asyncio.get_running_loop().time()
            when = self._limit.when()
            with suppress(RuntimeError):  # the turn has ended meanwhile
                if stood:
                    self._limit.reschedule(now + self._left)
                elif when is not None:
                    self._left = when - now
                    self._limit.reschedule(None)


CLOCK: ContextVar[Clock] = ContextVar("clock", default=Clock(None))  # noqa: B039 - it never goes
"""Of the current turn."""


class Governor:
    """Guards the requests to the model `alias` of a config."""

    def __init__(self, alias: str, config: ModelConfig) -> None:
        self.alias, self.config = alias, config
        self.limiter = Limiter(
            Pace(at_once=None if config.batch else config.concurrency), ("model", key_of_server(config))
        )

    async def call(
        self,
        request: Callable[[Form], Awaitable[T]],
        forms: Mapping[str, Form],
        warn: list[str],
        charged: Callable[[Form], AbstractAsyncContextManager[object]] = nullcontext,
        tools: bool = False,
    ) -> T:
        """Send one request with retries.

        Args:
            request: sends the request with a form.
            forms: arguments for a reply's schema by name, strictest first; the last is empty.
            warn: collects warnings.
            charged: wraps each request that is sent, with its form.
            tools: whether the request offers tools; if the server refuses them, it is not sent again.

        Raises:
            ModelError: the server cannot be reached, refuses, or fails permanently; `ToolsRefusedError` if it takes no tools.
        """
        tries, wait = _Tries(self, request, forms, warn, charged, tools), self.config.max_wait
        retry = Retry(
            self.limiter, self.config.retries, backoff=0.5, longest=wait, longest_asked=wait, together=False,
            repair=tries.repair, patient=_unexplained, before_wait=tries.note,
        )  # fmt: skip
        try:
            with CLOCK.get().stopped():
                answer = await retry.send(tries.send)
        except Exception as error:  # every SDK has its own exceptions; others are raised again
            if not is_failure(error):
                raise
            raise in_words(error, self.alias, self.config, retry.tries) from error
        tries.settle()
        return answer


@dataclass
class _Tries(Generic[T]):
    """The tries of one request, and what changes between them; see `Governor.call`."""

    governor: Governor
    request: Callable[[Form], Awaitable[T]]
    forms: Mapping[str, Form]
    warn: list[str]
    charged: Callable[[Form], AbstractAsyncContextManager[object]]
    tools: bool
    number: int = 0
    """Of this try."""
    place: int = 0
    """Which form is sent."""
    named: bool = False
    """Whether the server's message named a form."""
    unexplained: int = 0
    limits: set[str] = field(default_factory=set[str])
    """The names under which the length limit was sent."""

    def __post_init__(self) -> None:
        self.alias, self.config, self.names = self.governor.alias, self.governor.config, list(self.forms)

    async def send(self) -> T:
        """One try with a timeout: the SDKs' timeouts restart with each byte, this one covers the whole request."""
        self.number += 1
        self.limits.add(limit_of(self.config))
        form = self.forms[self.names[self.place]]
        async with self.charged(form):
            if self.config.batch:  # its answer may take a day
                return await self.request(form)
            try:
                with CLOCK.get().going():
                    async with asyncio.timeout(self.config.timeout):
                        return await self.request(form)
            except TimeoutError as error:
                raise TimeoutError(f"no answer within {self.config.timeout:g} s") from error

    def repair(self, error: BaseException) -> bool:
        """Change the request after a refusal; False if nothing helps. Raises `ToolsRefusedError` where tools are refused.

        The length limit gets its other name, from now on. A form, which is `response_format` on most servers, is replaced by
        the next weaker one if the server's message names it, or if there is no reason: at once for a refusal, at the second
        time for a 500, which may pass. What concerns neither is not repaired.
        """
        status, matter = status_of(error), matter_of(error)
        if matter == "tools" and self.tools and status and isinstance(error, Exception):
            raise in_words(error, self.alias, self.config, self.number) from error
        if matter == "limit" and status in REFUSALS and self.config.max_tokens and len(self.limits) == 1:
            if limit_of(self.config) in self.limits:  # else another request was first
                other_limit(self.config)
            return True
        if self.place == len(self.names) - 1 or status not in REFUSALS or matter not in ("form", None):
            return False
        self.unexplained += matter is None
        if _unexplained(error) and self.unexplained == 1:
            return False
        self.named = self.named or matter == "form"
        self.place += 1
        return True

    def settle(self) -> None:
        """After an answer: later requests skip the forms that the server's message named.

        A failure without a reason changes this request alone: an outage proves nothing.
        """
        if not self.place:
            return
        form = self.names[self.place]
        where = "is sent as json_object" if form == "object" else "stays in the prompt"
        if self.named:
            remember(self.config, form=form)
            why = f"the server refused response_format; the schema {where}"
        else:
            why = f"the server failed without a reason; the schema {where} for this request"
            why += f" (if it continues, set models.{self.alias}.response_format={form})"
        self.warn.append(f"models.{self.alias}: {why}")

    def note(self, error: BaseException, repaired: bool) -> None:
        if not repaired or _unexplained(error):
            self.warn.append(f"models.{self.alias}: {in_short(error)}; tried again")


def _unexplained(error: BaseException) -> bool:
    return status_of(error) == 500 and matter_of(error) is None
