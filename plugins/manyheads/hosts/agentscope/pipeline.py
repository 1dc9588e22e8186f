"""Each system as a pipeline of AgentScope of its own: one run is one reply."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
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

from manyheads.config import ModelConfig
from manyheads.core import NOTHING, Usage
from manyheads.core.events import AnyEvent, Result, Said, Stage
from manyheads.errors import ConfigError, UserError
from manyheads.hosts.agentscope.host import AgentScopeHost
from manyheads.hosts.bridge import (
    AnyConfig,
    Runs,
    RunState,
    native_class,
    next_event,
    one_model,
    sentence,
    system_called,
)
from manyheads.models.offline import LABEL
from manyheads.systems.results import ABSTRACT, details, essence, typed

PARTS = {"leader": " (leader)", "guest": " (invited)", "candidate": " (candidate)", "member": ""}
Inputs = Msg | list[Msg] | UserConfirmResultEvent | UserInterruptEvent | ExternalExecutionResultEvent | None


@dataclass
class Story:
    """A run's events as one reply of AgentScope's, with a text block for each thing that a reader wants to see."""

    session_id: str
    reply_id: str = field(default_factory=lambda: uuid4().hex)
    counted: Usage = NOTHING

    def tell(self, event: AnyEvent) -> Iterator[AgentEvent]:
        """What a reader sees of an event, and what it cost."""
        text = sentence(event)
        match event:
            case Stage():
                text = f"\n## {text}"
            case Said():
                when = f"{event.stage}, turn {event.turn}" if event.turn else event.stage
                text = f"{event.speaker}{PARTS[event.part]}, {when}:\n{text}"
            case _:
                pass
        if text:
            yield from self.say(text)
        if isinstance(event, Said):
            yield self.count(event.usage)
        if isinstance(event, Result):
            # What the run cost beyond what was said, so that the reply's usage is the run's.
            rest = Usage.model_validate(event.data.get("usage", {})).beyond(self.counted)
            if rest.tokens:
                yield self.count(rest)
            for paragraph in closing(event.data):
                yield from self.say(paragraph)

    def say(self, text: str) -> Iterator[AgentEvent]:
        """A text block of its own."""
        reply, block = self.reply_id, uuid4().hex
        yield TextBlockStartEvent(reply_id=reply, block_id=block)
        yield TextBlockDeltaEvent(reply_id=reply, block_id=block, delta=text)
        yield TextBlockEndEvent(reply_id=reply, block_id=block)

    def count(self, usage: Usage) -> AgentEvent:
        self.counted += usage
        return ModelCallEndEvent(
            reply_id=self.reply_id, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens
        )

    def end(self, reason: ReplyFinishedReason, error: str | None = None) -> AgentEvent:
        return ReplyEndEvent(
            session_id=self.session_id,
            reply_id=self.reply_id,
            finished_reason=reason,
            error=ErrorInfo(message=error) if error else None,
        )


def closing(data: Mapping[str, Any]) -> Iterator[str]:
    """The last paragraphs of a run's reply: its reviews in full, its essence, an abstract at the end."""
    run = typed(data)
    if run.offline:
        yield LABEL
    yield from details(run)
    told = essence(run)
    yield from (f"{name}: {text}" for name, text in told if name != ABSTRACT)
    yield from (f"{name}\n\n{text}" for name, text in told if name == ABSTRACT)


class PipelineState(RunState):
    """What a pipeline remembers between replies."""

    session_id: str


class SystemPipeline:
    """Base of the pipelines; `pipeline_of` makes the subclass of a system. Satisfies AgentScope's `PipelineProtocol`.

    A message's text is the fixed topic of a run, or the text that it reviews, never the name of a file; of several
    messages the last one counts, but where each is a text of its own: an abstract of a background, the target of a
    ranking and its ideas. An empty one leaves the topic to the config or the team. Each run is one reply: its text
    is what was said, with what came of it at the end, its usage that of all model calls. A run that was interrupted
    goes on when the same is asked again, or nothing.

        VirSciPipeline("virsci", "turns=2", team={"size": 3}, model="openai/gpt-4o-mini")

    Args:
        config: a config, its data, its file, or the name of one that ships; the system's own when left out.
        sets: settings laid on it, each `a.b=c` as the command line takes them.
        model: in place of the config's default model: `provider/name`, a `ModelConfig`, or a model of AgentScope's.
        model_client: the same, by AutoGen's word.
        out: folder that gets a run folder for each run.
        changes: keys of the config, laid on it last.

    Raises:
        ConfigError: the config is not valid or is another system's.
    """

    system: ClassVar[str]

    def __init__(
        self,
        config: AnyConfig = None,
        *sets: str,
        model: ChatModelBase | ModelConfig | str | None = None,
        model_client: ChatModelBase | ModelConfig | str | None = None,
        out: str | Path = "runs",
        **changes: Any,
    ) -> None:
        chosen = one_model(type(self).__name__, model, model_client)
        state = PipelineState(session_id=uuid4().hex)
        self._runs = Runs(self, config, sets, changes, AgentScopeHost, chosen, out, state)
        self.config = self._runs.config
        self.name = self.config.name or self.system
        self._running = self._interrupted = False
        self._step: asyncio.Future[Any] | None = None

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
            self._interrupted = True
            if self._step:
                self._step.cancel()
        if isinstance(inputs, UserInterruptEvent | UserConfirmResultEvent | ExternalExecutionResultEvent):
            return  # nothing of ours ever waits for a confirmation or an outside result
        if self._running:
            raise ConfigError(f"{self.name} is running", hint="make another pipeline for another run")
        messages = inputs if isinstance(inputs, list) else [inputs] if inputs else []
        texts = (each.get_text_content() or "" for each in messages if each.role == "user")
        run = self._runs.begin(texts, joined=False)
        story = Story(self.state.session_id)
        self._running, self._interrupted = True, False
        try:
            yield ReplyStartEvent(session_id=story.session_id, reply_id=story.reply_id, name=self.name)
            async with aclosing(run) as events:
                while event := await next_event(events, self._link):
                    for part in story.tell(event):
                        yield part
            yield story.end(ReplyFinishedReason.COMPLETED)
        except asyncio.CancelledError:
            yield story.end(ReplyFinishedReason.INTERRUPTED)
            consumer = asyncio.current_task()
            if consumer and consumer.cancelling():  # it is not only the run that is cancelled
                raise
        except UserError as problem:
            for part in story.say(str(problem)):
                yield part
            yield story.end(ReplyFinishedReason.ERROR, problem.message)
            raise
        finally:
            self._running, self._step = False, None

    def _link(self, step: asyncio.Future[Any]) -> None:
        self._step = step
        if self._interrupted:
            step.cancel()

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


@cache
def pipeline_of(system: str) -> type[SystemPipeline]:
    """The pipeline class of a system: `VirSciPipeline` of `virsci`.

    Raises:
        ConfigError: there is no such system.
    """
    return native_class(SystemPipeline, system, "Pipeline")


def __getattr__(name: str) -> type[SystemPipeline]:
    return pipeline_of(system_called(name, "Pipeline"))
