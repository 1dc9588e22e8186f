"""One governor a model: how many requests at once, the retries, and whether its server takes `response_format`.

Both hosts send every model request through here, so that there is one layer of retries and one cap.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from manyheads.config import ModelConfig
from manyheads.errors import ModelError
from manyheads.limiter import Limiter, Pace
from manyheads.models.requests import key_variable
from manyheads.retry import Retry, in_short, is_failure, is_garbled, is_unreachable, status_of

T = TypeVar("T")
Form = Mapping[str, Any]
"""The arguments of a request that ask a provider for a reply's schema."""

REFUSALS = frozenset({400, 422, 500})
"""Statuses of a server that may know no `response_format`."""

_refusing: set[tuple[str, str]] = set()
"""Servers, by base URL and model, that have refused `response_format`; remembered for the process."""


@dataclass
class Governor:
    """Guards the requests to one model.

    Args:
        alias: the model's name in the config.
        config: its settings.
    """

    alias: str
    config: ModelConfig
    _limiter: Limiter = field(init=False)

    def __post_init__(self) -> None:
        self._limiter = Limiter(Pace(at_once=self.config.concurrency))

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
            answer = await retry.send(lambda: request(sent))
        except Exception as error:  # every SDK has its own tree; what is not theirs is raised again
            if not is_failure(error):
                raise
            raise self._in_words(error, retry.tries) from error
        if form and not sent:
            _refusing.add(server)
        return answer

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
        what = "cannot be reached" if is_unreachable(error) else "failed"
        what = "answers with broken JSON" if is_garbled(error) else what
        step = "fix what the server reports"
        if status == 429:
            step = f"wait, raise the account's limit or quota, or lower models.{self.alias}.concurrency"
        elif status is None:
            step = "start the server or mend the address"
        return ModelError(
            f"{model}: {what}: {in_short(error)}",
            tried=f"{count} times" if count > 1 else "once",
            hint=f"{step}, then: manyheads resume RUN",
        )
