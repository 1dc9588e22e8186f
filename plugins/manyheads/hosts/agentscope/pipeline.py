"""Each system as a pipeline of AgentScope of its own."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

from agentscope.event import (
    AgentEvent,
    ExternalExecutionResultEvent,
    ModelCallEndEvent,
    ReplyEndEvent,
    ReplyStartEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    UserConfirmResultEvent,
    UserInterruptEvent,
)
from agentscope.message import Msg
from agentscope.model import ChatModelBase
from agentscope.types import ErrorInfo, ReplyFinishedReason

from manyheads.config import ModelConfig, RunConfig
from manyheads.core import NOTHING, Recall, Usage
from manyheads.core.events import AnyEvent, Event, Result, Said, Stage
from manyheads.engine.session import HostFactory, Session
from manyheads.engine.system import system_of
from manyheads.errors import ConfigError, UserError
from manyheads.hosts.agentscope.client import describe
from manyheads.hosts.agentscope.host import AgentScopeHost
from manyheads.hosts.bridge import Runs, RunState, Takes, native_class, sentence, system_called, takes
from manyheads.models.offline import LABEL
from manyheads.systems.loading import load, validate
from manyheads.systems.results import ABSTRACT, details, essence, typed

# A run's events as AgentScope's: one reply with a text block for each thing that a reader wants to see.


PARTS = {"leader": " (leader)", "guest": " (invited)", "candidate": " (candidate)", "member": ""}


@dataclass
class Story:
    """One reply of a pipeline.

    Args:
        name: the pipeline's, which consoles show.
        session_id: the pipeline's session.
    """

    name: str
    session_id: str
    reply_id: str = field(default_factory=lambda: uuid4().hex)
    counted: Usage = NOTHING

    def start(self) -> AgentEvent:
        return ReplyStartEvent(session_id=self.session_id, reply_id=self.reply_id, name=self.name)

    def tell(self, event: AnyEvent) -> Iterator[AgentEvent]:
        """What a reader sees of an event, and what it cost."""
        if text := _text(event):
            yield from self.say(text)
        if isinstance(event, Said):
            yield self._count(event.usage)

    def say(self, text: str) -> Iterator[AgentEvent]:
        """A text block of its own."""
        reply, block = self.reply_id, uuid4().hex
        yield TextBlockStartEvent(reply_id=reply, block_id=block)
        yield TextBlockDeltaEvent(reply_id=reply, block_id=block, delta=text)
        yield TextBlockEndEvent(reply_id=reply, block_id=block)

    def settle(self, usage: Usage) -> Iterator[AgentEvent]:
        """Count what the run cost beyond what was said, so that the reply's usage is the run's."""
        if (rest := usage.beyond(self.counted)).tokens:
            yield self._count(rest)

    def _count(self, usage: Usage) -> AgentEvent:
        self.counted += usage
        return ModelCallEndEvent(
            reply_id=self.reply_id, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens
        )

    def end(
        self, reason: ReplyFinishedReason = ReplyFinishedReason.COMPLETED, error: str | None = None
    ) -> AgentEvent:
        return ReplyEndEvent(
            session_id=self.session_id,
            reply_id=self.reply_id,
            finished_reason=reason,
            error=ErrorInfo(message=error) if error else None,
        )


def _text(event: AnyEvent) -> str:
    match event:
        case Stage():
            return f"\n## {sentence(event)}"
        case Said():
            return f"{event.speaker}{PARTS[event.part]}, {_when(event)}:\n{sentence(event)}"
        case _:
            return sentence(event)


def _when(event: Event) -> str:
    return f"{event.stage}, turn {event.turn}" if event.turn else event.stage


def closing(data: Mapping[str, Any]) -> Iterator[str]:
    """The last paragraphs of a run's reply: its reviews in full, its essence, an abstract at the end."""
    run = typed(data)
    if not run.written_by_language_model:
        yield LABEL
    yield from details(run)
    told = essence(run)
    yield from (f"{name}: {text}" for name, text in told if name != ABSTRACT)
    yield from (f"{name}\n\n{text}" for name, text in told if name == ABSTRACT)


# A system as a pipeline of AgentScope: it goes where an agent goes, into a console or a service.

Inputs = Msg | list[Msg] | UserConfirmResultEvent | UserInterruptEvent | ExternalExecutionResultEvent | None


class PipelineState(RunState):
    """What a pipeline remembers between replies."""

    session_id: str


class SystemPipeline:
    """Base of the pipelines; `pipeline_of` makes the subclass of a system. Satisfies AgentScope's `PipelineProtocol`.

    A message's text is the fixed topic of a run, or the text that it reviews, never the name of a file; of several
    messages the last one counts, but where each is a text of its own: an abstract of a background, the target of a
    ranking and its ideas. An empty one leaves the topic to the config or the team. Each run is one reply: its text is what was said, with what came of
    it at the end, its usage that of all model calls. A run that was interrupted goes on when the same is asked
    again, or nothing.

    Args:
        config: a config, its data, its file, or the name of one that ships; the system's own when left out.
        model: takes the place of the config's default model.
        out: folder that gets a run folder for each run.

    Raises:
        ConfigError: the config is not valid or is another system's.
    """

    system: ClassVar[str]

    def __init__(
        self,
        config: RunConfig | Mapping[str, Any] | str | Path | None = None,
        *,
        model: ChatModelBase | None = None,
        out: str | Path = "runs",
    ) -> None:
        self.config = _read(self.system if config is None else config)
        if self.config.system != self.system:
            raise ConfigError(
                f"{type(self).__name__} runs {self.system}, the config says {self.config.system}"
            )
        self.name = self.config.name or self.system
        config = self.config.model_copy(update={"host": "agentscope"})
        self._runs = Runs(config, out, PipelineState(session_id=uuid4().hex))
        self._model = model
        self._running: _Running | None = None

    @property
    def state(self) -> PipelineState:
        """What is remembered of the last run."""
        return self._runs.state

    async def reply_stream(self, inputs: Inputs = None) -> AsyncGenerator[AgentEvent | Msg, None]:
        """One run as one reply.

        A `UserInterruptEvent` ends the run that is under way. When this generator's consumer is cancelled, the
        reply ends as interrupted and the cancellation surfaces. Either way nothing that was said is lost.

        Raises:
            UserError: something is wrong that the user can mend; the reply ends with it.
        """
        if isinstance(inputs, UserInterruptEvent):
            self._interrupt()
        if isinstance(inputs, UserInterruptEvent | UserConfirmResultEvent | ExternalExecutionResultEvent):
            return  # nothing of ours ever waits for a confirmation or an outside result
        if self._running:
            raise ConfigError(f"{self.name} is running", hint="make another pipeline for another run")
        story = Story(self.name, self.state.session_id)
        self._running = _Running(
            self._session(_texts(inputs, takes(system_of(self.config)))), self._make_host
        )
        try:
            yield story.start()
            async for event in self._running.events():
                for told in self._tell(story, event):
                    yield told
            yield story.end()
        except asyncio.CancelledError:
            yield story.end(ReplyFinishedReason.INTERRUPTED)
            if _being_cancelled():
                raise
        except UserError as problem:
            for told in story.say(str(problem)):
                yield told
            yield story.end(ReplyFinishedReason.ERROR, problem.message)
            raise
        finally:
            running, self._running = self._running, None
            await running.stop()

    def pause(self) -> None:
        """Let turns under way finish and begin no other, until `resume`."""
        self._runs.pause()

    def resume(self) -> None:
        """Go on after `pause`."""
        self._runs.resume()

    def save_state(self) -> dict[str, Any]:
        """What a new pipeline needs to go on with this one's run, as JSON data."""
        return self.state.model_dump(mode="json")

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over another pipeline's run; the next reply goes on with it if it is not finished."""
        self._runs.state = PipelineState.model_validate(state)

    def _interrupt(self) -> None:
        if self._running:
            self._running.task.cancel()

    def _session(self, asked: tuple[str, ...]) -> Session:
        return self._runs.session(
            asked, describe(self._model, self.config.models["default"]) if self._model else None
        )

    def _make_host(self, models: Mapping[str, ModelConfig], recall: Recall, attempts: int) -> AgentScopeHost:
        ready = {"default": self._model} if self._model else {}
        return self._runs.hold(AgentScopeHost(models, recall, attempts, ready))

    def _tell(self, story: Story, event: AnyEvent) -> Iterator[AgentEvent]:
        yield from story.tell(event)
        if isinstance(event, Result):
            self.state.finished = True
            yield from story.settle(Usage.model_validate(event.data.get("usage", {})))
            for paragraph in closing(event.data):
                yield from story.say(paragraph)


class _Running:
    """A session in a task of its own, so that an interrupt from elsewhere can end it."""

    def __init__(self, session: Session, make_host: HostFactory) -> None:
        self._queue: asyncio.Queue[AnyEvent | None] = asyncio.Queue()
        self.task = asyncio.create_task(self._drive(session, make_host))

    async def _drive(self, session: Session, make_host: HostFactory) -> None:
        try:
            async with aclosing(session.events(make_host)) as events:
                async for event in events:
                    self._queue.put_nowait(event)
        finally:
            self._queue.put_nowait(None)

    async def events(self) -> AsyncIterator[AnyEvent]:
        """What happens, as it happens; then what ended the session is raised, if it did not end well."""
        while (event := await self._queue.get()) is not None:
            yield event
        await self.task

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def _being_cancelled() -> bool:
    """Whether it is the consumer that is cancelled, and not only the run."""
    consumer = asyncio.current_task()
    return consumer is not None and consumer.cancelling() > 0


def _read(config: RunConfig | Mapping[str, Any] | str | Path) -> RunConfig:
    if isinstance(config, RunConfig):
        return config
    return validate(config, "config") if isinstance(config, Mapping) else load([str(config)])


def _texts(inputs: Msg | list[Msg] | None, takes: Takes) -> tuple[str, ...]:
    """The text of each message of a user, or of the last one; nothing where they are blank."""
    messages = inputs if isinstance(inputs, list) else [inputs] if inputs else []
    texts = [(each.get_text_content() or "").strip() for each in messages if each.role == "user"]
    return tuple(text for text in (texts if takes == "each" else texts[-1:]) if text)


@cache
def pipeline_of(system: str) -> type[SystemPipeline]:
    """The pipeline class of a system: `VirSciPipeline` of `virsci`.

    Raises:
        ConfigError: there is no such system.
    """
    return native_class(SystemPipeline, system, "Pipeline")


def __getattr__(name: str) -> type[SystemPipeline]:
    return pipeline_of(system_called(name, "Pipeline"))
