"""Each system as a pipeline of AgentScope: one run is one reply."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from agentscope.agent import Agent
from agentscope.event import (
    AgentEvent,
    ExternalExecutionResultEvent,
    ModelCallEndEvent,
    ReplyEndEvent,
    ReplyStartEvent,
    RequireExternalExecutionEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    UserConfirmResultEvent,
    UserInterruptEvent,
)
from agentscope.message import Msg, TextBlock, ToolCallBlock, UserMsg
from agentscope.message import Usage as Spent
from agentscope.middleware import MiddlewareBase
from agentscope.model import ChatModelBase
from agentscope.state import AgentState
from agentscope.tool import AskUser, AskUserMetadata, AskUserParams
from agentscope.types import ErrorInfo, ReplyFinishedReason
from pydantic import BaseModel, ValidationError

from manyheads.base.errors import ConfigError, ModelError, UserError
from manyheads.core import NOTHING, Usage
from manyheads.core.events import AnyEvent, Result, Said, Stage, Waiting
from manyheads.hosts.agentscope.host import NO_CLOCK, REACT, AgentScopeHost, GovernedModel
from manyheads.hosts.clients import Ledger
from manyheads.hosts.person import question
from manyheads.hosts.runs import RunState, TeamMessage, next_event
from manyheads.hosts.teams import (
    Emit,
    LiveRun,
    SyncTeam,
    about,
    native_class,
    native_classes,
    outcome,
    sentence,
)
from manyheads.systems.loading import AnyConfig
from manyheads.systems.results import in_full, typed

PARTS = {"leader": " (leader)", "guest": " (invited)", "candidate": " (candidate)"}
OF_AGENTS = frozenset(
    ("toolkit", "offloader", "model_config", "context_config", "react_config", "injection_config")
)
"""Arguments of agents that pipelines do not use."""
Inputs = Msg | list[Msg] | UserConfirmResultEvent | UserInterruptEvent | ExternalExecutionResultEvent | None


@dataclass
class Story:
    """A run's events as one reply of AgentScope, with a text block for each event worth reading."""

    name: str
    session_id: str
    schema: type[BaseModel] | None
    emit: Emit = "all"
    reply_id: str = field(default_factory=lambda: uuid4().hex)
    counted: Usage = NOTHING

    def __post_init__(self) -> None:
        self.whole = Msg(id=self.reply_id, name=self.name, role="assistant", content=[])

    def enter(self, *parts: AgentEvent, about: Mapping[str, str] | None = None) -> Iterator[AgentEvent]:
        """Parts of the reply, entered in its message; the metadata is for programs."""
        for part in parts:
            part.metadata = dict(about) if about else part.metadata
            self.whole.append_event(part)
            yield part

    def tell(self, event: AnyEvent) -> Iterator[AgentEvent]:
        """An event as text, and its usage."""
        return self.enter(*self._parts(event), about=about(event))

    def _parts(self, event: AnyEvent) -> Iterator[AgentEvent]:
        text = sentence(event) if self.emit == "all" else ""
        match event:
            case _ if not text:
                pass
            case Stage():
                text = f"\n## {text}"
            case Said():
                when = f"{event.stage}, turn {event.turn}" if event.turn else event.stage
                text = f"{event.speaker}{PARTS.get(event.part, '')}, {when}:\n{text}"
            case _:
                pass
        if text:
            yield from self.say(text)
        if isinstance(event, Said):
            yield self.count(event.usage)
        if isinstance(event, Result):
            # The run's usage that no message has, so that the reply's usage is the run's.
            rest = Usage.model_validate(event.data.get("usage", {})).beyond(self.counted)
            if rest.tokens:
                yield self.count(rest)
            yield from self.say(outcome(event))

    def say(self, text: str) -> Iterator[AgentEvent]:
        """A separate text block."""
        reply, block = self.reply_id, uuid4().hex
        yield TextBlockStartEvent(reply_id=reply, block_id=block)
        yield TextBlockDeltaEvent(reply_id=reply, block_id=block, delta=text)
        yield TextBlockEndEvent(reply_id=reply, block_id=block)

    def count(self, usage: Usage | Spent) -> AgentEvent:
        read, written = usage.input_tokens, usage.output_tokens
        cached = usage.cached_tokens if isinstance(usage, Usage) else usage.cache_input_tokens
        self.counted += Usage(input_tokens=read, output_tokens=written, cached_tokens=cached)
        return ModelCallEndEvent(
            reply_id=self.reply_id, input_tokens=read, output_tokens=written, cache_input_tokens=cached
        )

    def ask(self, request: Waiting) -> Iterator[AgentEvent]:
        """A request to a person, who answers outside, as AgentScope asks its user.

        A choice is a call of its tool `AskUser`; other forms are calls of `Answer`, with the question and the form.
        """
        name, arguments = tool_call_of(request)
        call = ToolCallBlock(id=request.request, name=name, input=json.dumps(arguments, ensure_ascii=False))
        reply = self.reply_id
        return self.enter(
            ToolCallStartEvent(reply_id=reply, tool_call_id=call.id, tool_call_name=name),
            ToolCallDeltaEvent(reply_id=reply, tool_call_id=call.id, delta=call.input),
            ToolCallEndEvent(reply_id=reply, tool_call_id=call.id),
            RequireExternalExecutionEvent(reply_id=reply, tool_calls=[call]),
            about=about(request),
        )

    def end(self, reason: ReplyFinishedReason, error: str | None = None) -> Iterator[AgentEvent]:
        event = ReplyEndEvent(session_id=self.session_id, reply_id=self.reply_id, finished_reason=reason)
        event.error = ErrorInfo(message=error) if error else None
        return self.enter(event)


def tool_call_of(request: Waiting) -> tuple[str, dict[str, Any]]:
    """The tool by which a person is asked, and its arguments."""
    form = request.form
    [name] = form["required"] if len(form.get("required", ())) == 1 else [""]
    part: Mapping[str, Any] = form["properties"].get(name, {})
    choices: list[str] = part.get("enum", [])
    if not 2 <= len(choices) <= 4:
        return "Answer", {"question": question(request), "form": form}
    texts = zip(choices, part.get("x-texts", choices), strict=True)
    options = [{"label": choice, "description": text} for choice, text in texts]
    asked = {"question": request.title, "header": name[:12], "context": question(request), "options": options}
    return AskUser.name, AskUserParams.model_validate({"questions": [asked]}).model_dump(mode="json")


def answers_in(event: ExternalExecutionResultEvent) -> dict[str, object]:
    """The answers of a person, by request: what they chose or typed for `AskUser`, or else the output."""
    answers: dict[str, object] = {}
    for result in event.execution_results:
        output = result.output
        if not isinstance(output, str):
            output = "\n".join(part.text for part in output if isinstance(part, TextBlock))
        asked = "answers" in result.metadata
        chosen = AskUserMetadata.model_validate(result.metadata).answers if asked else ()
        answers[result.id] = "\n".join(each.other or ", ".join(each.selected) for each in chosen) or output
    return answers


class PipelineState(RunState):
    """What a pipeline remembers between replies."""

    session_id: str


REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
"""What AgentScope's compositions add to the task for their agents."""
KEPT = "manyheads"
"""The key of the run's state in AgentScope's state."""


class SystemPipeline(SyncTeam[ChatModelBase], Agent):
    """Base of the pipelines, which are AgentScope agents; `pipeline_of` makes the subclass of a system.

    A message is the fixed topic of a run, or the text to review, never a file name. Of several messages, of any speaker,
    only the last one counts, with a note. Some systems take several: abstracts of a background, or the target of a
    ranking and its ideas. An empty message leaves the topic to the config or the team. Each run is one reply: its text
    is the discussion and, at the end, the result; its usage is that of all model calls. An interrupted run is resumed
    by the same message, or by none.

        VirSciPipeline("virsci", "turns=2", team={"size": 3}, model="openai/gpt-4o-mini")

    It works wherever AgentScope takes an agent: as a `TeamMember`, in a `GoalPipeline` or `SOP`, as a service's
    `custom_agent_cls`. It has its own models, tools and limits, and ignores those that a service passes to its agents.

    Without `person` and `input_func` the app answers: a reply that needs a person ends with a `RequireExternalExecutionEvent`, and
    continues with the `ExternalExecutionResultEvent`. A choice is a call of AgentScope's `AskUser`; others are calls of `Answer`,
    with the question and the form (JSON Schema), whose output is text or JSON.

    Args:
        middlewares: of the speakers' agents, shared by all, such as `TracingMiddleware()`.
        state: of a session, with the run to resume.
        system_prompt: its description for others; the system's own when left out.
        settings: see `manyheads.hosts.teams.SystemTeam`. A service's arguments for its agents are ignored: `toolkit`, `offloader`
            and the configs of an agent.

    Raises:
        ConfigError: the config or the state is not valid, or of another system.
        JournalError: the folder of the unfinished run is missing.
    """

    ending, serves = "Pipeline", AgentScopeHost

    def __init__(
        self,
        config: AnyConfig = None,
        *sets: str,
        middlewares: Sequence[MiddlewareBase] | None = None,
        state: AgentState | None = None,
        system_prompt: str | None = None,
        **settings: Any,
    ) -> None:
        self._prompt = self.about if system_prompt is None else system_prompt
        self._given = state or AgentState()
        self._running, self._interrupted = False, False
        self._step: asyncio.Future[Any] | None = None
        self._story: Story | None = None
        own = {name: value for name, value in settings.items() if name not in OF_AGENTS}
        super().__init__(config, *sets, **own)
        self._runs.settings = {"middlewares": tuple(middlewares or ())}
        if kept := self._given.middle_context.get(KEPT):
            self.load_state({**kept, "session_id": self._given.session_id})

    def _new_state(self) -> PipelineState:
        return PipelineState(session_id=self._given.session_id)

    def _default_name(self) -> str:
        return self.config.name or self.system

    def _join(self, name: str) -> None:
        model: Any = self._runs.model  # None: it answers by its runs
        Agent.__init__(self, name, self._prompt, model, state=self._given, injection_config=NO_CLOCK)

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

        A `UserInterruptEvent` ends the current run. If the consumer of this generator is cancelled, the reply ends as
        interrupted and the cancellation is raised. Finished turns are kept in both cases.

        Args:
            inputs: messages; those observed since the last reply come before them.
            structured_schema: the form of the reply as data: fields of the run's result, one text for all of it, or
                else fields that the run's default model fills in, in AgentScope's way.
            yield_final_msg: whether the last item is the whole message.

        Raises:
            UserError: a mistake that the user can correct; it ends the reply.
        """
        if isinstance(inputs, UserInterruptEvent):
            self._interrupted = True
            if self._step:
                self._step.cancel()
            await self.close()
        if isinstance(inputs, UserInterruptEvent | UserConfirmResultEvent):
            return  # a run never waits for a confirmation
        if self._running:
            raise ConfigError(f"{self.name} is running", hint="make another pipeline for another run")
        answers = answers_in(inputs) if isinstance(inputs, ExternalExecutionResultEvent) else {}
        goes_on = self._parked if answers else None
        messages = inputs if isinstance(inputs, list) else [inputs] if isinstance(inputs, Msg) else []
        run = await self._run_of(_given([*self.state.context, *messages]), answers)
        self.state.context.clear()
        if self._story is None or run is not goes_on:
            self._story = Story(self.name, self.state.session_id, structured_schema, self._emit)
        story = self._story
        self.state.reply_id = story.reply_id
        self._running, self._interrupted = True, False
        try:
            if run is not goes_on:
                yield ReplyStartEvent(session_id=story.session_id, reply_id=story.reply_id, name=self.name)
            elif isinstance(inputs, ExternalExecutionResultEvent):
                story.whole.append_event(inputs)
            async with aclosing(self._told(run, story)) as parts:
                async for part in parts:
                    yield part
        finally:
            self._running, self._step = False, None
            await self._leave(run)
            self.state.middle_context[KEPT] = self._runs.state.model_dump(mode="json")
        if yield_final_msg:
            yield story.whole

    async def _told(self, run: LiveRun, story: Story) -> AsyncGenerator[AgentEvent, None]:
        """The events of a run until it ends, or waits for a person."""
        result: Mapping[str, Any] = {}
        try:
            while event := await next_event(run, self._link):
                if isinstance(event, Waiting) and self._park(run, event):
                    for part in story.ask(event):
                        yield part
                    return
                for part in story.tell(event):
                    yield part
                result = event.data if isinstance(event, Result) else result
            if story.schema:
                story.whole.structured_output, spent = await self._filled(story.schema, result)
                for part in story.enter(*([story.count(spent)] if spent else [])):
                    yield part
            for part in story.end(ReplyFinishedReason.COMPLETED):
                yield part
        except asyncio.CancelledError:
            for part in story.end(ReplyFinishedReason.INTERRUPTED):
                yield part
            consumer = asyncio.current_task()
            if consumer and consumer.cancelling():  # the consumer is cancelled too
                raise
        except UserError as problem:
            for part in (
                *story.enter(*story.say(str(problem))),
                *story.end(ReplyFinishedReason.ERROR, problem.message),
            ):
                yield part
            raise

    async def _filled(
        self, schema: type[BaseModel], result: Mapping[str, Any]
    ) -> tuple[dict[str, Any], Spent | None]:
        """A run's result in the form that a composition of AgentScope requires, and the usage for filling it in."""
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
            agent = Agent(self.name, self._prompt, model, react_config=REACT, injection_config=NO_CLOCK)
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

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Load another pipeline's run; the next reply resumes it if it is unfinished.

        Raises:
            ConfigError: it is not a state of this system, or of another version.
            JournalError: the folder of the unfinished run is missing, or holds another system's run.
        """
        super().load_state(state)
        self.state.session_id = self._runs.state.session_id
        self.state.middle_context[KEPT] = self.save_state()


def _given(messages: Sequence[Msg]) -> list[TeamMessage]:
    """The texts of messages of any speaker, without AgentScope's reminders, unless there is nothing else."""
    given = [TeamMessage(each.name, each.get_text_content() or "") for each in messages]
    bare = [TeamMessage(name, REMINDER.sub("", text).strip()) for name, text in given]
    return bare if any(text for _, text in bare) else given


def pipeline_of(system: str) -> type[SystemPipeline]:
    """The pipeline class of a system: `VirSciPipeline` of `virsci`; raises `ConfigError` for no system."""
    return native_class(SystemPipeline, system)


__getattr__ = native_classes(SystemPipeline)
