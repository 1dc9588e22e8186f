"""The guard of the requests to one model: how many at once, what is sent again, which form of a schema the server takes."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from typing import TypeVar

from manyheads.config import ModelConfig
from manyheads.models.abilities import Form, key_of_server, limit_of, other_limit, remember
from manyheads.models.faults import in_words, matter_of
from manyheads.retry import Limiter, Pace, Retry, in_short, is_failure, status_of

T = TypeVar("T")

REFUSALS = frozenset({400, 422, 500})
"""Statuses of a server that may know no `response_format`."""
MOMENT = 30.0
"""Seconds within which failures that a server does not explain are one: an outage meets all requests under way."""
_doubts: dict[str, float] = {}
"""Of servers that did not say what was wrong: since when, in seconds of `time.monotonic`, failures are gone without a form."""


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

    async def call(
        self, request: Callable[[Form], Awaitable[T]], forms: Mapping[str, Form], warn: list[str]
    ) -> T:
        """Send one request, again where that can help.

        A server that refuses the name of the length limit is asked with the other one, from then on.

        A server that refuses a form is asked in the next one. For later requests that is remembered where the refusal
        names it, or where failures that it does not explain were gone without twice, some time apart, and the strictest form
        was not taken in between: one outage may be anything.

        Args:
            request: sends it with the form that it is given.
            forms: what asks the provider for a reply's schema, by the name of each way, the strictest first; the last is empty.
            warn: where notes for the user go.

        Raises:
            ModelError: the server cannot be reached, refuses, or fails for good.
        """
        names, sent, named, unexplained = list(forms), 0, False, 0
        limits = set[str]()

        def send() -> Awaitable[T]:
            limits.add(limit_of(self.config))
            return self._answer(request(forms[names[sent]]))

        def otherwise(error: BaseException) -> bool:
            nonlocal sent, named, unexplained
            status, matter = status_of(error), matter_of(error)
            if matter == "limit" and status in REFUSALS and self.config.max_tokens and len(limits) == 1:
                if limit_of(self.config) in limits:  # else another request has learnt it meanwhile
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
        except Exception as error:  # every SDK has its own tree; what is not theirs is raised again
            if not is_failure(error):
                raise
            raise in_words(error, self.alias, self.config, retry.tries) from error
        if sent:
            warn.append(self._note_form(names[sent], named=named))
        elif len(names) > 1:
            _doubts.pop(key_of_server(self.config), None)
        return answer

    def _note_form(self, form: str, *, named: bool) -> str:
        """Remember that the server takes no stricter form than this one, if that is sure; the note for the user."""
        where = "is sent as json_object" if form == "object" else "stays in the prompt"
        if named:
            remember(self.config, form=form)
            return f"models.{self.alias}: the server refused response_format; the schema {where}"
        key, now = key_of_server(self.config), time.monotonic()
        if key not in _doubts or now - _doubts[key] < MOMENT:
            _doubts.setdefault(key, now)
            return f"models.{self.alias}: the server failed without a reason; for this request the schema {where}"
        remember(self.config, form=form)
        return f"models.{self.alias}: the server failed again until its response_format was changed; the schema {where}"

    async def _answer(self, call: Awaitable[T]) -> T:
        """One try, in time: the SDKs' time-outs start anew with each byte, this one holds for the whole request."""
        try:
            with CLOCK.get().going():
                async with asyncio.timeout(self.config.timeout):
                    return await call
        except TimeoutError as error:
            raise TimeoutError(f"no answer within {self.config.timeout:g} s") from error
