"""Each system as an agent of Agent Framework, for workflows: one run of the system is one run of the agent."""

from collections.abc import AsyncGenerator
from typing import Any, ClassVar
from uuid import uuid4

from agent_framework import (
    AgentResponse,
    AgentResponseUpdate,
    AgentSession,
    BaseAgent,
    Content,
    ResponseStream,
)
from agent_framework._types import normalize_messages

from manyheads.base.errors import ConfigError
from manyheads.core import Usage, safe_name
from manyheads.core.events import AnyEvent, Result, Said, Waiting
from manyheads.hosts.agent_framework.client import Client
from manyheads.hosts.agent_framework.host import AgentFrameworkHost
from manyheads.hosts.events import about, outcome, sentence
from manyheads.hosts.person import question
from manyheads.hosts.runs import TeamMessage, next_event
from manyheads.hosts.teams import SyncTeam, native_class, native_classes


class SystemAgent(SyncTeam[Client], BaseAgent):
    """A system of manyheads as an agent of Agent Framework; `agent_of` makes the subclass of a system.

    It works wherever the framework takes an agent: `WorkflowBuilder`, sequential and group-chat workflows, `as_tool`.
    Each run has its own folder under `out`. A run that was cancelled or failed is resumed by the same messages, or by
    none, also in a saved session: `session.to_dict()` contains its state.

        VirSciAgent("virsci", "turns=2", team={"size": 3}, model="openai/gpt-4o-mini")

    Args:
        config: a config, its data, its file, or the name of a shipped one; the system's own when left out.
        sets: settings that override it, each `a.b=c` as on the command line.
        model: in place of `models.default`: `provider/name`, a `ModelConfig`, or a client of Agent Framework, which
            you close and which keeps its own retries.
        model_client: the same, under AutoGen's name.
        out: parent of the run folders.
        emit: `all` messages, or only the `final` one, so that a surrounding chat stays short.
        name: of the agent in workflows; the class's when left out.
        listens_to: the speaker whose messages count; all speakers when left out.
        person: plays the roles of models with the provider `human`, and steers: a `Person`, or a function of a text. By
            default the app answers, see `run`.
        input_func: the same, under AutoGen's name.
        changes: keys of the config, applied last.

    Raises:
        ConfigError: the config is not valid or of another system, or the model is not one.
    """

    ending, serves = "Agent", AgentFrameworkHost
    INJECTABLE: ClassVar[set[str]] = {"model_client"}
    _running = False

    def _join(self, name: str) -> None:
        BaseAgent.__init__(self, name=name, description=self.about)

    def run(
        self,
        messages: Any = None,
        *,
        stream: bool = False,
        session: AgentSession | None = None,
        **more: Any,
    ) -> Any:
        """Run the system; an `AgentResponse`, or with `stream` the updates as they come.

        Args:
            messages: the last one, of any speaker, is the topic or the text to review; an event notes it. Some systems
                take several: abstracts of a background, or the target of a ranking and its ideas. Never a file name.
            session: stores the state of the run, so that a later session can resume it.

        Where a person plays a role or steers, and no `person` was given, the response has a function call `answer` in its
        `user_input_requests`, with the question and the form (JSON Schema); the run continues with a message that has
        `Content.from_function_result(call_id, result=…)`: data of the form as JSON, or text.

        Raises:
            UserError: a mistake that the user can correct; a subclass for each kind.
        """
        updates: ResponseStream[AgentResponseUpdate, AgentResponse[Any]] = ResponseStream(
            self._updates(messages, session), finalizer=AgentResponse.from_updates
        )
        return updates if stream else updates.get_final_response()

    async def _updates(
        self, messages: Any, session: AgentSession | None
    ) -> AsyncGenerator[AgentResponseUpdate, None]:
        if self._running:
            raise ConfigError(f"{self.name} is running", hint="make another agent for another run")
        state = session.state.get(self._key) if session else None
        if state and (not self._parked or state.get("folder") != self._runs.state.folder):
            self.load_state(state)
        native = normalize_messages(messages)
        results = [each for message in native for each in message.contents if each.type == "function_result"]
        answers = {each.call_id: each.result for each in results if each.call_id}
        given = [TeamMessage(each.author_name or each.role, each.text) for each in native]
        run, self._running = await self._run_of(given, answers), True
        try:
            while event := await next_event(run, None):
                if isinstance(event, Waiting) and self._park(run, event):
                    yield self._request_of(event)
                    return
                if update := self._update(event):
                    yield update
        finally:
            self._running = False
            await self._leave(run)
            if session:
                session.state[self._key] = self.save_state()

    def to_dict(self, *, exclude: set[str] | None = None, exclude_none: bool = True) -> dict[str, Any]:
        """The arguments that it was made with, as JSON data without keys; `from_dict` and `from_json` make it again.

        A client that you passed is a dependency: `from_dict(data, dependencies={"vir_sci_agent": {"model_client": …}})`.
        """
        data = {
            "type": self._get_type_identifier(),
            "config": self.config.model_dump(mode="json", exclude_unset=True),
            "out": str(self._runs.out),
            "emit": self._emit,
            "name": self.name,
            "listens_to": self._runs.listens_to,
        }
        return {
            name: value
            for name, value in data.items()
            if name not in (exclude or ()) and not (exclude_none and value is None)
        }

    @property
    def _key(self) -> str:
        return f"manyheads.{self.name}"

    def _request_of(self, event: Waiting) -> AgentResponseUpdate:
        """A request to a person as a call of the app's own function `answer`, as the framework asks its user."""
        call = Content.from_function_call(
            event.request,
            "answer",
            id=event.request,
            arguments={"question": question(event), "form": event.form},
        )
        call.user_input_request = True
        return AgentResponseUpdate(
            contents=[call],
            role="assistant",
            author_name=safe_name(event.speaker),
            message_id=uuid4().hex,
            additional_properties=dict(about(event)),
        )

    def _update(self, event: AnyEvent) -> AgentResponseUpdate | None:
        """An event as a separate message; None if there is nothing to show.

        Its properties are for programs, see `about`. The usage of a reply is on its message.
        """
        last = isinstance(event, Result)
        text = outcome(event) if last else sentence(event)
        if self._emit == "final" and not last:
            return None
        contents, usage, metadata = [Content.from_text(text)] if text else [], None, about(event)
        if isinstance(event, Said):
            usage = event.usage
        elif last and self._emit == "final":
            usage = Usage.model_validate(event.data.get("usage", {}))
        if usage and usage.tokens:
            contents.append(
                Content.from_usage(
                    {
                        "input_token_count": usage.input_tokens,
                        "output_token_count": usage.output_tokens,
                        "total_token_count": usage.tokens,
                    }
                )
            )
        if not contents:
            return None
        speaker = metadata["speaker"]
        return AgentResponseUpdate(
            contents=contents,
            role="assistant",
            author_name=safe_name(speaker) if speaker else self.name,
            message_id=uuid4().hex,
            additional_properties=dict(metadata),
        )


def agent_of(system: str) -> type[SystemAgent]:
    """The agent class of a system: `VirSciAgent` of `virsci`.

    Raises:
        ConfigError: there is no such system.
    """
    return native_class(SystemAgent, system)


__getattr__ = native_classes(SystemAgent)
