"""One governor a model: concurrency cap, back-off, Retry-After, and whether its server takes `response_format`.

Both hosts send every model request through here, so that there is one layer of retries and one cap.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from json import JSONDecodeError
from typing import Any, TypeVar

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    wait_random_exponential,
)

from manyheads.config import ModelConfig
from manyheads.errors import ModelError
from manyheads.http import PASSING, asked_to_wait, in_short
from manyheads.models.requests import key_variable

T = TypeVar("T")
Form = Mapping[str, Any]
"""The arguments of a request that ask a provider for a reply's schema."""

REFUSALS = frozenset({400, 422, 500})
UNREACHABLE = ("APIConnectionError", "ConnectError", "ReadError", "RemoteProtocolError", "WriteError")
TIMED_OUT = ("APITimeoutError", "ReadTimeout", "ConnectTimeout", "PoolTimeout", "WriteTimeout")

_refusing: set[tuple[str, str]] = set()
"""Servers, by base URL and model, that have refused `response_format`; remembered for the process."""


def status_of(error: BaseException | None) -> int | None:
    """The HTTP status that a provider's exception carries (OpenAI's, Anthropic's and Ollama's SDKs)."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and status > 0 else None


def retry_after(error: BaseException | None) -> float | None:
    """Seconds that the server asked to wait, from its Retry-After header: a number, or a date (RFC 9110, §10.2.3)."""
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    value = headers.get("retry-after") if headers is not None else None
    return asked_to_wait(value)


def is_transport(error: BaseException) -> bool:
    """Whether an exception means that no answer came: refused, dropped, timed out."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, ConnectionError | TimeoutError) or bool(names & {*UNREACHABLE, *TIMED_OUT})


def is_garbled(error: BaseException) -> bool:
    """Whether an exception means that the answer was no JSON: the SDKs let that of the parser through."""
    return isinstance(error, JSONDecodeError)


def is_model_failure(error: BaseException) -> bool:
    return status_of(error) is not None or is_transport(error) or is_garbled(error)


@dataclass
class Governor:
    """Guards the requests to one model.

    Args:
        alias: the model's name in the config.
        config: its settings.
    """

    alias: str
    config: ModelConfig
    _gate: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._gate = asyncio.Semaphore(self.config.concurrency)

    async def call(self, request: Callable[[Form], Awaitable[T]], form: Form, warn: list[str]) -> T:
        """Send one request, again where that can help.

        Args:
            request: sends it with the form that it is given.
            form: what asks the provider for a reply's schema; empty where nothing does. It is left out of what
                is sent where the config or the server does not want it.
            warn: where notes for the user go.

        Raises:
            ModelError: the server cannot be reached, refuses, or fails for good.
        """
        wanted = self.config.response_format and self._server not in _refusing
        tries = _Tries(self, form if wanted else {})
        retrying = AsyncRetrying(
            stop=tries.are_spent,
            wait=tries.pause,
            retry=retry_if_exception(tries.goes_on),
            before_sleep=lambda state: warn.append(tries.note(state)),
            reraise=True,
        )
        try:
            answer = await retrying(self._once, lambda: request(tries.form))
        except Exception as error:  # every SDK has its own tree; what is not theirs is raised again
            if not is_model_failure(error):
                raise
            raise self._in_words(error, tries.count) from error
        if tries.refused:
            _refusing.add(self._server)
        return answer

    async def _once(self, request: Callable[[], Awaitable[T]]) -> T:
        async with self._gate:
            return await request()

    def worth_another(self, error: BaseException) -> bool:
        asked = retry_after(error)
        if asked is not None and asked > self.config.max_wait:
            return False
        return status_of(error) in PASSING or is_transport(error) or is_garbled(error)

    @property
    def _server(self) -> tuple[str, str]:
        return (self.config.base_url or self.config.provider, self.config.name)

    def _in_words(self, error: Exception, count: int) -> ModelError:
        where = self.config.base_url or f"the {self.config.provider} service"
        named = f"models.{self.alias} ({self.config.provider}/{self.config.name} at {where})"
        status = status_of(error)
        if status in (401, 403):
            return ModelError(f"{named}: the key is refused ({status})", hint=_key_hint(self.config))
        if status == 404:
            return ModelError(
                f"{named}: no such model or address (404)",
                hint=f"check models.{self.alias}.name and .base_url (most end in /v1)",
            )
        tried = f"{count} times" if count > 1 else "once"
        what = "cannot be reached" if is_transport(error) else "failed"
        what = "answers with broken JSON" if is_garbled(error) else what
        hint = f"{self._mending(status)}, then: manyheads resume RUN"
        return ModelError(f"{named}: {what}: {in_short(error)}", tried=tried, hint=hint)

    def _mending(self, status: int | None) -> str:
        if status == 429:
            return f"wait, raise the account's limit or quota, or lower models.{self.alias}.concurrency"
        if status is None:
            return "start the server or mend the address"
        return "fix what the server reports"


@dataclass
class _Tries:
    """The tries at one request: drops `response_format` once when the server seems to refuse it."""

    governor: Governor
    form: Form
    refused: bool = False
    just_dropped: bool = False
    count: int = 0

    def are_spent(self, state: RetryCallState) -> bool:
        """The try that found out that the server refuses the schema does not count as one of the retries."""
        return state.attempt_number >= self.governor.config.retries + 1 + self.refused

    def goes_on(self, error: BaseException) -> bool:
        self.count += 1
        self.just_dropped = bool(self.form) and status_of(error) in REFUSALS
        if self.just_dropped:
            self.form, self.refused = {}, True
            return True
        return self.governor.worth_another(error)

    def pause(self, state: RetryCallState) -> float:
        """Seconds to wait: none before the schema is dropped, what Retry-After says, or a growing, random time."""
        error = state.outcome.exception() if state.outcome else None
        if self.just_dropped:
            return 0.0
        asked = retry_after(error)
        return asked if asked is not None else self._backoff(state)

    def _backoff(self, state: RetryCallState) -> float:
        return wait_random_exponential(multiplier=0.5, max=self.governor.config.max_wait)(state)

    def note(self, state: RetryCallState) -> str:
        error = state.outcome.exception() if state.outcome else None
        name = f"models.{self.governor.alias}"
        if self.just_dropped:
            return f"{name}: the server refused response_format; the schema stays in the prompt"
        return f"{name}: {in_short(error)}; tried again"


def _key_hint(config: ModelConfig) -> str:
    variable = key_variable(config)
    return f"export {variable}=…" if variable else "check the server's access rules"
