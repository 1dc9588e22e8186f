"""Each system as a pipeline of AgentScope of its own: one run is one reply."""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

from agentscope.agent import Agent
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
from agentscope.message import Msg, UserMsg
from agentscope.message import Usage as Spent
from agentscope.middleware import MiddlewareBase
from agentscope.model import ChatModelBase
from agentscope.state import AgentState
from agentscope.types import ErrorInfo, ReplyFinishedReason
from pydantic import BaseModel, ValidationError

from manyheads.config import ModelConfig
from manyheads.core import NOTHING, Usage
from manyheads.core.events import AnyEvent, Result, Said, Stage
from manyheads.errors import ConfigError, ModelError, UserError
from manyheads.hosts.agentscope.client import GovernedModel
from manyheads.hosts.agentscope.host import NO_CLOCK, REACT, AgentScopeHost
from manyheads.hosts.bridge import (
    AnyConfig,
    Given,
    Runs,
    RunState,
    about,
    native_class,
    next_event,
    one_model,
    sentence,
    system_called,
)
from manyheads.hosts.clients import Ledger
from manyheads.models.offline import LABEL
from manyheads.systems.results import ABSTRACT, details, essence, in_full, typed

PARTS = {"leader": " (leader)", "guest": " (invited)", "candidate": " (candidate)", "member": ""}
OF_AGENTS = frozenset(
    {"toolkit", "offloader", "model_config", "context_config", "react_config", "injection_config"}
)
"""What agents are made with, and pipelines have no use for."""
Inputs = Msg | list[Msg] | UserConfirmResultEvent | UserInterruptEvent | ExternalExecutionResultEvent | None


@dataclass
class Story:
    """A run's events as one reply of AgentScope's, with a text block for each thing that a reader wants to see."""

    session_id: str
    reply_id: str = field(default_factory=lambda: uuid4().hex)
    counted: Usage = NOTHING

    def tell(self, event: AnyEvent) -> Iterator[AgentEvent]:
        """What a reader sees of an event, and what it cost; metadata says the same to programs, see `about`."""
        for part in self._parts(event):
            part.metadata = about(event)
            yield part

    def _parts(self, event: AnyEvent) -> Iterator[AgentEvent]:
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


REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
"""What AgentScope's compositions say to an agent of theirs beside the task."""
KEPT = "manyheads"
"""Under which the state of AgentScope's keeps that of the run."""


class SystemPipeline(Agent):
    """Base of the pipelines; `pipeline_of` makes the subclass of a system. An agent of AgentScope's, and a pipeline.

    A message's text is the fixed topic of a run, or the text that it reviews, never the name of a file; of several
    messages, whoever says them, the last one counts, which is told, but where each is a text of its own: an abstract
    of a background, the target of a ranking and its ideas. An empty one leaves the topic to the config or the team.
    Each run is one reply: its text is what was said, with what came of it at the end, its usage that of all model
    calls. A run that was interrupted goes on when the same is asked again, or nothing.

        VirSciPipeline("virsci", "turns=2", team={"size": 3}, model="openai/gpt-4o-mini")

    It goes where AgentScope takes an agent: as a `TeamMember`, in a `GoalPipeline` or `SOP`, as a service's
    `custom_agent_cls`. It has its own models, tools and limits: those that a service makes its agents with are left
    alone.

    Args:
        config: a config, its data, its file, or the name of one that ships; the system's own when left out.
        sets: settings laid on it, each `a.b=c` as the command line takes them.
        model: in place of the config's default model: `provider/name`, a `ModelConfig`, or a model of AgentScope's.
        model_client: the same, by AutoGen's word.
        out: folder that gets a run folder for each run.
        listens_to: the name of the speaker whose messages count; those of all when left out.
        middlewares: of the agents that speak, shared by all of them, such as `TracingMiddleware()`.
        state: of a session, which keeps the run that goes on.
        system_prompt: what others read about it; its system's own words when left out.
        ignored: what a service makes its agents with: `toolkit`, `offloader` and the configs of an agent.
        changes: keys of the config, laid on it last.

    Raises:
        ConfigError: the config is not valid or is another system's, or the state is of another system's run.
        JournalError: the folder of the unfinished run is gone.
    """

    system: ClassVar[str]
    about: ClassVar[str]
    """What others read about the pipeline."""

    def __init__(
        self,
        config: AnyConfig = None,
        *sets: str,
        model: ChatModelBase | ModelConfig | str | None = None,
        model_client: ChatModelBase | ModelConfig | str | None = None,
        out: str | Path = "runs",
        listens_to: str | None = None,
        middlewares: Sequence[MiddlewareBase] | None = None,
        state: AgentState | None = None,
        system_prompt: str | None = None,
        **changes: Any,
    ) -> None:
        for word in OF_AGENTS & changes.keys():
            del changes[word]
        chosen, state = one_model(type(self).__name__, model, model_client), state or AgentState()
        remembered = PipelineState(session_id=state.session_id)
        settings = {"middlewares": tuple(middlewares or ())}
        self._runs = Runs(
            self, config, sets, changes, AgentScopeHost, chosen, out, remembered, listens_to, settings
        )
        self.config = self._runs.config
        none: Any = None  # it answers with no model of its own
        super().__init__(
            self.config.name or self.system,
            self.about if system_prompt is None else system_prompt,
            none if self._runs.model is None else self._runs.model,
            state=state,
            injection_config=NO_CLOCK,
        )
        if kept := state.middle_context.get(KEPT):
            self.load_state({**kept, "session_id": state.session_id})
        self._running = self._interrupted = False
        self._step: asyncio.Future[Any] | None = None

    @property
    def folder(self) -> Path | None:
        """Folder of the last run."""
        return self._runs.folder

    async def observe(self, msgs: Msg | list[Msg] | None = None) -> None:
        """Keep messages for the next reply."""
        self.state.context.extend(msgs if isinstance(msgs, list) else [msgs] if msgs else [])

    async def reply(self, inputs: Inputs = None, structured_schema: type[BaseModel] | None = None) -> Msg:
        """One run as one message; see `reply_stream`."""
        reply = Msg(name=self.name, role="assistant", content=[])
        async for part in self.reply_stream(inputs, structured_schema, yield_final_msg=True):
            if isinstance(part, Msg):
                reply = part
        return reply

    async def reply_stream(
        self,
        inputs: Inputs = None,
        structured_schema: type[BaseModel] | None = None,
        yield_final_msg: bool = False,
    ) -> AsyncGenerator[AgentEvent | Msg, None]:
        """One run as one reply.

        A `UserInterruptEvent` ends the run that is under way. When this generator's consumer is cancelled, the
        reply ends as interrupted and the cancellation surfaces. Either way nothing that was said is lost.

        Args:
            inputs: messages; those that were observed since the last reply come before them.
            structured_schema: what the reply comes to in data: fields of the run's result, one text for all of it, or
                else what the run's default model fills in by AgentScope's own means.
            yield_final_msg: whether the whole message comes last.

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
        run = self._runs.begin(_given([*self.state.context, *messages]))
        self.state.context.clear()
        story = Story(self.state.session_id)
        self.state.reply_id = story.reply_id
        whole = Msg(id=story.reply_id, name=self.name, role="assistant", content=[])
        self._running, self._interrupted = True, False
        result: Mapping[str, Any] = {}

        def told(part: AgentEvent) -> AgentEvent:
            whole.append_event(part)
            return part

        try:
            yield ReplyStartEvent(session_id=story.session_id, reply_id=story.reply_id, name=self.name)
            async with aclosing(run) as events:
                while event := await next_event(events, self._link):
                    for part in story.tell(event):
                        yield told(part)
                    result = event.data if isinstance(event, Result) else result
            if structured_schema:
                whole.structured_output, spent = await self._filled(structured_schema, result)
                if spent:
                    yield told(
                        story.count(Usage(input_tokens=spent.input_tokens, output_tokens=spent.output_tokens))
                    )
            yield told(story.end(ReplyFinishedReason.COMPLETED))
            if yield_final_msg:
                yield whole
        except asyncio.CancelledError:
            yield told(story.end(ReplyFinishedReason.INTERRUPTED))
            consumer = asyncio.current_task()
            if consumer and consumer.cancelling():  # it is not only the run that is cancelled
                raise
            if yield_final_msg:
                yield whole
        except UserError as problem:
            for part in story.say(str(problem)):
                yield told(part)
            yield told(story.end(ReplyFinishedReason.ERROR, problem.message))
            raise
        finally:
            self._running, self._step = False, None
            self.state.middle_context[KEPT] = self._runs.state.model_dump(mode="json")

    async def _filled(
        self, schema: type[BaseModel], result: Mapping[str, Any]
    ) -> tuple[dict[str, Any], Spent | None]:
        """A run's result in the form that a composition of AgentScope's asks for, and what it cost to fill it in."""
        fields, work = schema.model_fields, "\n\n".join(in_full(typed(result)))
        needed = [name for name, each in fields.items() if each.is_required()] or list(fields)
        values: Mapping[str, Any] = {name: result[name] for name in fields if name in result}
        if len(needed) == 1 and needed[0] not in result:
            values = {needed[0]: work}
        with suppress(ValidationError):
            if values:
                return schema.model_validate(values).model_dump(mode="json"), None
        async with self._runs.served() as served:
            model = GovernedModel(served, Ledger()) if served.ours else served.client
            agent = Agent(
                self.name, self._system_prompt, model, react_config=REACT, injection_config=NO_CLOCK
            )
            reply = await agent.reply(UserMsg("user", work), structured_schema=schema)
        if reply.structured_output is None:
            raise ModelError(
                f"{self.name}: the model has not filled in {schema.__name__}",
                hint="try another model, or a form with a single text",
            )
        return dict(reply.structured_output), reply.usage

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
        return self._runs.state.model_dump(mode="json")

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over another pipeline's run; the next reply goes on with it if it is not finished.

        Raises:
            ConfigError: it is no state of this system's pipeline, or of another version.
            JournalError: the folder of the unfinished run is gone, or holds another system's run.
        """
        self._runs.load(state)
        self.state.session_id = self._runs.state.session_id
        self.state.middle_context[KEPT] = self.save_state()


def _given(messages: Sequence[Msg]) -> list[Given]:
    """What messages say, whoever says it; what AgentScope reminds of beside it is left out, where there is something."""
    given = [Given(each.name, each.get_text_content() or "") for each in messages]
    bare = [Given(name, REMINDER.sub("", text).strip()) for name, text in given]
    return bare if any(text for _, text in bare) else given


@cache
def pipeline_of(system: str) -> type[SystemPipeline]:
    """The pipeline class of a system: `VirSciPipeline` of `virsci`.

    Raises:
        ConfigError: there is no such system.
    """
    return native_class(SystemPipeline, system, "Pipeline")


def __getattr__(name: str) -> type[SystemPipeline]:
    return pipeline_of(system_called(name, "Pipeline"))
