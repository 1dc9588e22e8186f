"""A person at a run: turns of models with the provider `human`.

The turns go to a `Person` instead of the host's agents, so that all hosts do the same. They stand behind the journal:
an answer is recorded and never asked for again. They cost nothing.
"""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from manyheads.asking.forms import LONGEST_TEXT
from manyheads.asking.json_text import printable as encodable
from manyheads.asking.prompts import for_reading
from manyheads.asking.replies import PlainText, ReplyModel, read_as
from manyheads.asking.roles import Roles
from manyheads.base.errors import ConfigError, ReplyError, describe
from manyheads.base.text import printable
from manyheads.config import HUMAN, PERSON, ModelConfig
from manyheads.core import Host, Recall, Reply, Turn
from manyheads.core.events import Emit, Person, Waiting
from manyheads.engine.brake import Brake
from manyheads.models.governor import CLOCK

R = TypeVar("R", bound=ReplyModel)
TASK = "\n## Your task\n"
"""The heading in the prompts of who steers from which on only models read."""
MOST_TRIES = 20
"""Maximum refused answers to one question."""


@dataclass
class SteeringSwitch:
    """Steering that is switched on while the run goes on. A fact of the journal, so that a resumed run asks at the same places.

    Attributes:
        first: the first pass of each stage after which the person is asked.
    """

    first: dict[str, int] = field(default_factory=dict[str, int])
    keep: Callable[[Mapping[str, int]], None] = lambda first: None
    _passed: Counter[str] = field(default_factory=Counter[str])

    def on(self, stages: Iterable[str]) -> None:
        """Ask from the next pass of these stages on."""
        for stage in stages:
            self.first.setdefault(stage, self._passed[stage] + 1)
        if self.first:
            self.keep(self.first)

    def __call__(self, stage: str) -> bool:
        """Whether the person is asked after this pass of a stage."""
        self._passed[stage] += 1
        return self._passed[stage] >= self.first.get(stage, inf)


@dataclass
class Attended:
    """A host whose turns of human models go to a person.

    Args:
        host: for all other turns.
        models: by alias.
        person: None if nobody is there.
        roles: have the words of the questions.
        recall: the passage of scientists that a person may invite.
        rested: receives the seconds that were waited for a person.
    """

    host: Host
    models: Mapping[str, ModelConfig]
    person: Person | None
    brake: Brake
    roles: Roles
    recall: Recall
    rested: Callable[[float], None] = lambda seconds: None
    emit: Emit = lambda event: None

    async def gate(self) -> None:
        await self.host.gate()
        await self.brake.gate()

    async def ask(self, turn: Turn[R]) -> Reply[R]:
        """See `Host.ask`.

        Raises:
            StoppedError: the run was stopped while it waited.
            ReplyError: no answer in `MOST_TRIES` tries was valid.
        """
        model = self.models[turn.speaker.model]
        if model.provider != HUMAN:
            return await self.host.ask(turn)
        if self.person is None:
            raise nobody_there(f"models.{turn.speaker.model} is a person")
        began, problems = time.monotonic(), list[str]()
        role, _, task = (turn.task or f"{turn.speaker.role}.{turn.place.task}").partition(".")
        request = Waiting(
            request="", stage=turn.place.stage, turn=turn.place.turn, speaker=turn.speaker.name, task=turn.place.task,
            title=self.roles.task(role, task).description, text=await self._text(turn),
            form=self.roles.forms.for_people(turn.reply_type),
        )  # fmt: skip
        mark = hashlib.sha256(str(turn.place).encode()).hexdigest()[:12]
        with CLOCK.get().stopped():  # of the turn whose tool asks
            while len(problems) < MOST_TRIES:
                number = len(problems) + 1
                update = {"request": f"{mark}-{number}", "problem": problems[-1] if problems else ""}
                waiting = request.model_copy(update=update)
                self.emit(waiting)
                data = await self.brake.unless_stopped(self.person.answer(waiting))
                try:
                    value = read_answer(data, turn, request.form)
                except ValueError as error:
                    problems.append(str(error))
                    continue
                seconds = time.monotonic() - began
                self.rested(seconds)
                text = value.text if isinstance(value, PlainText) else value.model_dump_json()
                return Reply(text, value, f"{HUMAN}/{model.name}", attempts=number, seconds=seconds)
        raise ReplyError(
            f"{turn.place}: no valid answer from {model.name} in {MOST_TRIES} tries; last problem: {problems[-1]}",
            raw="",
            hint="to be asked again: manyheads resume RUN",
        )

    async def _text(self, turn: Turn[Any]) -> str:
        """The prompt as a person reads it, without the form for models."""
        passage = await self.recall(turn) if turn.recall else ""
        pictures = sum(len(message.images) for message in turn.thread)
        note = f"({pictures} pictures cannot be shown here.)" if pictures else ""
        texts = (turn.speaker.system, *(message.text for message in turn.thread))
        if turn.speaker.role == PERSON:  # the form says what they may do
            texts = (turn.thread[0].text.partition(TASK)[0],)
        parts = (*texts, passage, note)
        return encodable(for_reading("\n\n".join(part.strip() for part in parts if part.strip())))


def read_answer(data: object, turn: Turn[R], form: Mapping[str, Any]) -> R:
    """A person's answer as the reply of a turn; raises `ValueError` with the reason in words if it does not fit.

    Control characters and changes of writing direction are left out. Nothing is filled in.
    """
    if not isinstance(data, Mapping):
        raise ValueError("the answer must have the fields of the form")
    try:
        answer = _clean(dict(cast(Mapping[str, Any], data)), form)
    except RecursionError:
        raise ValueError("the answer is nested too deeply") from None
    try:
        value = read_as(turn.reply_type, answer)
    except ValidationError as error:
        raise ValueError(describe(error)) from error
    if turn.check and (problem := turn.check(value)):
        raise ValueError(problem)
    return value


def _clean(value: Any, part: Mapping[str, Any], path: str = "") -> Any:
    """The value with printable texts; raises `ValueError` for a text that is empty or too long."""
    match value:
        case str():
            text = printable(encodable("\n".join(value.splitlines()))).strip()
            most = part.get("maxLength", LONGEST_TEXT)
            if len(text) > most:
                raise ValueError(f"{path}: {len(text):,} characters; the limit is {most:,}")
            if not text and part.get("minLength"):
                raise ValueError(f"{path}: empty; a text is needed")
            return text
        case list():
            items = cast(list[Any], value)
            return [_clean(each, part.get("items", {}), f"{path}.{at}") for at, each in enumerate(items, 1)]
        case dict():
            fields = part.get("properties", {})
            return {
                name: _clean(each, fields.get(name, {}), f"{path}.{name}".lstrip("."))
                for name, each in cast(dict[str, Any], value).items()
            }
        case _:
            return value


def nobody_there(what: str) -> ConfigError:
    return ConfigError(
        f"{what}, but nobody can answer here",
        hint="run it on a terminal or with --control, or in Python with person=…; without a person: --set steer=[], or "
        "give the role another model",
    )
