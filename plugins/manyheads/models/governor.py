"""Guards the requests to one model: concurrency, retries, and the form of a schema that the server accepts."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    contextmanager,
    nullcontext,
    suppress,
)
from contextvars import ContextVar
from typing import TypeVar

from manyheads.base.http import Limiter, Pace, Retry, in_short, is_failure, status_of
from manyheads.config import ModelConfig
from manyheads.models.abilities import Form, key_of_server, limit_of, other_limit, remember
from manyheads.models.faults import in_words, matter_of

T = TypeVar("T")

REFUSALS = frozenset({400, 422, 500})
"""Statuses of a server that may not support `response_format`."""
MOMENT = 30.0
"""Seconds within which unexplained failures count as one: an outage affects all concurrent requests."""
_doubts: dict[str, float] = {}
"""For servers with unexplained failures: when, in seconds of `time.monotonic`, a request without the form succeeded."""


class Clock:
    """The time left for a turn; it is stopped while waiting for others, or for a nested turn.

    Args:
        limit: the timeout of the turn.
    """

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
        self._limiter = Limiter(Pace(at_once=config.concurrency))

    async def call(
        self,
        request: Callable[[Form], Awaitable[T]],
        forms: Mapping[str, Form],
        warn: list[str],
        charged: Callable[[Form], AbstractAsyncContextManager[None]] = lambda form: nullcontext(),
        tools: bool = False,
    ) -> T:
        """Send one request with retries.

        If a server rejects the name of the length limit, the other name is used from then on.

        If a server rejects a form, the next one is tried. Later requests skip the form if the server's message names it, or if
        unexplained failures went away without it twice, some time apart, and the strictest form did not succeed in between: a
        single outage proves nothing.

        Args:
            request: sends the request with a form.
            forms: arguments for a reply's schema by name, strictest first; the last is empty.
            warn: collects warnings.
            charged: wraps each request that is sent, with its form.
            tools: whether the request offers tools; if the server refuses them, it is not sent again.

        Raises:
            ModelError: the server cannot be reached, refuses, or fails permanently; `ToolsRefusedError` if it takes no tools.
        """
        names, sent, named, unexplained = list(forms), 0, False, 0
        limits = set[str]()

        async def send() -> T:
            limits.add(limit_of(self.config))
            form = forms[names[sent]]
            async with charged(form):
                return await self._answer(request(form))

        def otherwise(error: BaseException) -> bool:
            nonlocal sent, named, unexplained
            status, matter = status_of(error), matter_of(error)
            if matter == "tools" and tools and status and isinstance(error, Exception):
                raise in_words(error, self.alias, self.config, retry.tries) from error
            if matter == "limit" and status in REFUSALS and self.config.max_tokens and len(limits) == 1:
                if limit_of(self.config) in limits:  # else another request was first
                    other_limit(self.config)
                return True
            if sent == len(names) - 1 or status not in REFUSALS or matter not in ("form", None):
                return False
            if matter is None:
                unexplained += 1
                if status == 500 and unexplained == 1:
                    return False
            named = named or matter == "form"
            sent += 1
            return True

        def passing(error: BaseException) -> bool:
            return status_of(error) == 500 and matter_of(error) is None

        def note(error: BaseException, repaired: bool) -> None:
            if not repaired or passing(error):
                warn.append(f"models.{self.alias}: {in_short(error)}; tried again")

        retry = Retry(
            self._limiter,
            self.config.retries,
            backoff=0.5,
            longest=self.config.max_wait,
            longest_asked=self.config.max_wait,
            together=False,
            repair=otherwise,
            patient=passing,
            before_wait=note,
        )
        try:
            with CLOCK.get().stopped():
                answer = await retry.send(send)
        except Exception as error:  # every SDK has its own exceptions; others are raised again
            if not is_failure(error):
                raise
            raise in_words(error, self.alias, self.config, retry.tries) from error
        if sent:
            warn.append(self._note_form(names[sent], named=named))
        elif len(names) > 1:
            _doubts.pop(key_of_server(self.config), None)
        return answer

    def _note_form(self, form: str, *, named: bool) -> str:
        """Skip stricter forms than this one from now on, if the evidence is sufficient; returns the warning."""
        where = "is sent as json_object" if form == "object" else "stays in the prompt"
        if named:
            remember(self.config, form=form)
            return f"models.{self.alias}: the server refused response_format; the schema {where}"
        key, now = key_of_server(self.config), time.monotonic()
        if key not in _doubts or now - _doubts[key] < MOMENT:
            _doubts.setdefault(key, now)
            return f"models.{self.alias}: the server failed without a reason; the schema {where} for this request"
        remember(self.config, form=form)
        return f"models.{self.alias}: the server failed again with response_format; the schema {where}"

    async def _answer(self, call: Awaitable[T]) -> T:
        """One try with a timeout: the SDKs' timeouts restart with each byte, this one covers the whole request."""
        try:
            with CLOCK.get().going():
                async with asyncio.timeout(self.config.timeout):
                    return await call
        except TimeoutError as error:
            raise TimeoutError(f"no answer within {self.config.timeout:g} s") from error
