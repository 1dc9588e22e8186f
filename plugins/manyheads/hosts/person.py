"""A person at a run of an app: asked by a function, as AutoGen's `UserProxyAgent` does, or by the app's next message."""

import asyncio
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, cast

from manyheads.asking.questions import meaning, value_of
from manyheads.base.errors import ConfigError
from manyheads.config import PERSON
from manyheads.core.events import Person, Waiting

InputFunction: TypeAlias = Callable[..., str | Awaitable[str]]
"""Takes a question as text and returns the answer; a coroutine may take AutoGen's cancellation token too."""


def question(request: Waiting) -> str:
    """A request as text: what to decide, the fields of the form, and how to answer in text."""
    fields: Mapping[str, Any] = request.form.get("properties", {})
    needed: list[str] = request.form.get("required", [])
    lines = [
        f"- {name}{'' if name in needed else ' (optional)'}: {meaning(field)}"
        for name, field in fields.items()
    ]
    alone = f"the {needed[0]} alone, with " if len(needed) == 1 else ""
    how = f"Answer with {alone}a line `name: text` for each field, or with JSON."
    parts = (
        request.title if request.speaker == PERSON else f"{request.speaker}: {request.title}",
        request.text,
        "\n".join(lines),
        how,
        f"The last answer was not accepted: {request.problem}" if request.problem else "",
    )
    return "\n\n".join(part for part in parts if part)


def answer_of(answer: object, form: Mapping[str, Any]) -> Mapping[str, Any]:
    """A person's answer as data for a form: a mapping, JSON, lines `name: text`, or the text of the only needed field.

    Nothing is made up: what does not fit is refused by the run, which asks again.
    """
    if isinstance(answer, Mapping):
        return cast(Mapping[str, Any], answer)
    text, fields = str(answer).strip(), cast(Mapping[str, Any], form.get("properties", {}))
    try:
        data: object = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, Mapping):
        return cast(Mapping[str, Any], data)
    names = "|".join(map(re.escape, fields))
    parts = re.split(rf"^[ \t]*({names})[ \t]*:", text, flags=re.MULTILINE) if names else [text]
    if len(parts) > 1 and not parts[0].strip():
        return {name: _value(each, fields[name]) for name, each in zip(parts[1::2], parts[2::2], strict=True)}
    needed = form.get("required", [])
    [name] = needed if len(needed) == 1 else [*fields][:1] or ["text"]
    return {name: _value(text, fields.get(name, {}))}


def _value(text: str, field: Mapping[str, Any]) -> Any:
    try:
        return value_of(text, field)
    except ValueError:
        return text.strip()


class Caller:
    """A `Person` who is asked by a function of text.

    Args:
        function: takes the question; sync ones run in a thread.

    Attributes:
        token: AutoGen's cancellation token of the run.
    """

    def __init__(self, function: InputFunction) -> None:
        self.function, self.token = function, cast(object, None)
        call: Any = function if inspect.isroutine(function) else type(function).__call__
        self._waits = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
        self._takes_token = self._waits and len(inspect.signature(function).parameters) > 1

    async def answer(self, request: Waiting) -> Mapping[str, Any]:
        given = (question(request), self.token) if self._takes_token else (question(request),)
        if self._waits:
            text = await cast(Awaitable[str], self.function(*given))
        else:
            text = await asyncio.to_thread(cast(Callable[..., str], self.function), *given)
        return answer_of(text, request.form)


class Mailbox:
    """A `Person` whose answers the app sends with a later message, as an answer to the request's id."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[object]] = {}
        self._early: dict[str, object] = {}
        self._ready = set[str]()

    async def answer(self, request: Waiting) -> Mapping[str, Any]:
        if request.request in self._early:  # sent to a run that was begun again since
            return answer_of(self._early.pop(request.request), request.form)
        answer = self._waiting[request.request] = asyncio.get_running_loop().create_future()
        try:
            return answer_of(await answer, request.form)
        finally:
            self._waiting.pop(request.request, None)

    def send(self, request: str, answer: object) -> None:
        """Answer a request, also one that the run puts again after it was stopped."""
        waiting = self._waiting.get(request)
        if waiting and not waiting.done():
            waiting.set_result(answer)
        else:
            self._early[request] = answer
            self._ready.add(request)

    def ready(self, request: str) -> bool:
        """Whether a request that was just put had its answer already."""
        ready = request in self._ready
        self._ready.discard(request)
        return ready


def person_of(
    what: str, person: Person | InputFunction | None, input_func: InputFunction | None
) -> Person | None:
    """The person at the runs of a team.

    Raises:
        ConfigError: both are given, or it is neither a `Person` nor a function.
    """
    if person is not None and input_func is not None:
        raise ConfigError(f"{what}: both person and input_func are given", hint="give one of them")
    match person if input_func is None else input_func:
        case None:
            return None
        case each if hasattr(each, "answer"):
            return cast(Person, each)
        case each if callable(each):
            return Caller(each)
        case each:
            raise ConfigError(
                f"{what}: a {type(each).__name__} cannot answer for a person",
                hint="give a function of a text, or an object with `async def answer(self, request)`",
            )
