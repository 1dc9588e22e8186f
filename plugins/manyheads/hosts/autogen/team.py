"""Each system as an AutoGen team, under its name in component JSON."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Literal, NoReturn, Self

from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.agents._user_proxy_agent import cancellable_input
from autogen_agentchat.base import ChatAgent, TaskResult, Team
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, TextMessage, UserInputRequestedEvent
from autogen_agentchat.teams import BaseGroupChat
from autogen_core import CancellationToken, Component, ComponentModel, RoutedAgent
from autogen_core.models import ChatCompletionClient
from pydantic import Field

from manyheads.config import RunConfig
from manyheads.core.events import AnyEvent, Person, Stage, Waiting
from manyheads.hosts.autogen.client import ComponentConfig, Versioned, as_usage, without_keys
from manyheads.hosts.autogen.host import AutoGenHost
from manyheads.hosts.person import Caller, InputFunction
from manyheads.hosts.runs import AnyRunConfig, RunState, TeamMessage, next_event
from manyheads.hosts.teams import Emit, SystemTeam, event_view, native_class, native_classes

Task = str | BaseChatMessage | Sequence[BaseChatMessage] | None
Item = BaseAgentEvent | BaseChatMessage


def as_message(event: AnyEvent, team: str, emit: Emit = "all") -> TextMessage | None:
    """A run's event as text for a console or AutoGen Studio, see `event_view`; the metadata is for programs."""
    if (part := event_view(event, team, emit)) is None:
        return None
    return TextMessage(
        content=f"**{part.text}**" if isinstance(event, Stage) else part.text,
        source=part.speaker,
        metadata=part.about,
        models_usage=as_usage(part.usage) if part.usage else None,
    )


class ResearchTeamConfig(ComponentConfig):
    """Config of a team component."""

    config: AnyRunConfig
    """The whole run; its keys are those of a config file."""
    model_client: ComponentModel | None = None
    """A model of AutoGen's in place of `config.models.default`."""
    out: str = "runs"
    """Where run folders are made."""
    emit: Emit = "all"
    """What the team says: everything, or only its result, so that a surrounding chat stays short."""
    name: str | None = None
    """The team's name in other teams, an identifier; the class's when left out."""
    listens_to: str | None = None
    """The name of the speaker in a chat whose messages count; those of all when left out."""
    participants: list[ComponentModel] = Field(default=[], max_length=0)
    """Always empty: who takes part is chosen while it runs. Studio's builder reads it of every team."""


class TeamState(RunState):
    """What `save_state` gives: enough to resume a stopped run."""

    type: Literal["ManyheadsTeamState"] = "ManyheadsTeamState"


class InputPerson(Caller):
    """A person behind an `input_func`, which can ask AutoGen for the id of the request."""

    async def answer(self, request: Waiting) -> Mapping[str, Any]:
        with UserProxyAgent.InputRequestContext.populate_context(request.request):
            return await super().answer(request)


class InputReceiver(UserProxyAgent):
    """Receives the `input_func` that AutoGen Studio gives to the user proxies of a team, and passes it to the team."""

    def __init__(self, team: "ResearchTeam") -> None:
        self._team = team
        super().__init__("person")

    @property
    def input_func(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride] - the team's
        return self._team.input_func

    @input_func.setter
    def input_func(self, function: Any) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        if function is not cancellable_input:  # what a user proxy falls back to: the console
            self._team.input_func = function


class ResearchTeam(Versioned, SystemTeam[ChatCompletionClient], BaseGroupChat, Component[ResearchTeamConfig]):
    """A system of manyheads as an AutoGen team; `team_of` makes the subclass of a system.

    The members of a team are chosen while it runs. Each run has its own folder under `out`. A run that was
    cancelled or failed is resumed by the same task, or by none.

        VirSciTeam("virsci", "turns=2", team={"size": 3}, model="openai/gpt-4o-mini")

    The arguments are those of `manyheads.hosts.teams.SystemTeam`; but `input_func` is that of a `UserProxyAgent`, and the stream has a
    `UserInputRequestedEvent` before it is called.

    Raises:
        ConfigError: the config is not valid or of another system, or the model is not one.
    """

    component_config_schema = ResearchTeamConfig
    component_type = "team"
    ending, serves = "Team", AutoGenHost
    _owns_client = False

    def _new_state(self) -> TeamState:
        return TeamState()

    def _person(self, person: Person | None) -> Person | None:
        return InputPerson(person.function) if isinstance(person, Caller) else person

    @property
    def input_func(self) -> InputFunction | None:
        """Answers for a person who plays a role or steers, as that of a `UserProxyAgent`; it can be set."""
        return person.function if isinstance(person := self._runs.person, Caller) else None

    @input_func.setter
    def input_func(self, function: InputFunction | None) -> None:
        self._runs.person = InputPerson(function) if function else None

    def _join(self, name: str) -> None:
        # Its members are unknown before a run. A group chat needs participants. Studio closes them, and gives its users' answers
        # to user proxies among them.
        manager: Any = RoutedAgent
        self._name = name
        members: list[ChatAgent | Team] = [self, InputReceiver(self)]
        BaseGroupChat.__init__(self, name, self.about, members, "none", manager)

    async def run_stream(
        self,
        *,
        task: Task = None,
        cancellation_token: CancellationToken | None = None,
        output_task_messages: bool = True,
    ) -> AsyncGenerator[Item | TaskResult, None]:
        """Run the system; messages as they come, then the `TaskResult`.

        Args:
            task: the topic or the text to review: of several messages the last, with a note. Or abstracts of a
                background, one per message; or the target of a ranking, then ideas, one per message. Never a file name.
                Without a task, the config's counts, or the team discusses a topic. An unfinished run is resumed by its
                own task, or by none.
            cancellation_token: stops the run, which can be resumed.
            output_task_messages: whether the stream and the result begin with the task.

        Raises:
            UserError: a mistake that the user can correct; a subclass for each kind.
            CancelledError: the token was cancelled.
        """
        if self._is_running:
            raise ValueError("the team is running already; wait for it, or make another")
        self._is_running = True
        try:
            said: list[Item] = []
            messages = [TextMessage(content=task, source="user")] if isinstance(task, str) else task
            # A copy: a surrounding chat changes the list that it passes.
            messages = [messages] if isinstance(messages, BaseChatMessage) else list(messages or ())
            for message in messages if output_task_messages else ():
                said.append(message)
                yield message
            given = [TeamMessage(message.source, message.to_model_text()) for message in messages]
            link = cancellation_token.link_future if cancellation_token else None
            if isinstance(self._runs.person, Caller):
                self._runs.person.token = cancellation_token
            async with aclosing(self._runs.begin(given)) as events:
                while event := await next_event(events, link):
                    if isinstance(event, Waiting):
                        yield UserInputRequestedEvent(request_id=event.request, source=self.name)
                    if message := as_message(event, self.name, self._emit):
                        said.append(message)
                        yield message
            yield TaskResult(messages=said, stop_reason=f"{self.system} finished: {self.folder}")
        finally:
            self._is_running = False

    async def reset(self) -> None:
        """Forget an unfinished run."""
        if self._is_running:
            raise RuntimeError("the team is running; it can be reset when it has stopped")
        self._runs.forget()

    async def pause(self) -> None:
        """Finish running turns and begin no others until `resume`."""
        self._runs.pause()

    async def resume(self) -> None:
        """Continue after `pause`."""
        self._runs.resume()

    async def save_state(self) -> Mapping[str, Any]:
        """The last run and whether it is finished; its messages are in its folder."""
        return self._runs.state.model_dump(mode="json")

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Load the run of a saved state: `run()` without a task resumes it if it is unfinished.

        Raises:
            ConfigError: it is not a state of this system's team, or of another version.
            JournalError: the folder of the unfinished run is missing, or holds another system's run.
        """
        self._runs.load(state)

    async def close(self) -> None:
        """Release the connections of a client loaded with the team."""
        if self._owns_client:
            await self._runs.model.close()

    def _create_group_chat_manager_factory(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError("the discussion is led by the system, not by a group chat manager")

    def _to_config(self) -> ResearchTeamConfig:
        return ResearchTeamConfig(
            config=self.config,
            model_client=without_keys(self._runs.model.dump_component()) if self._runs.model else None,
            out=str(self._runs.out),
            emit=self._emit,
            name=None if self.name == type(self).__name__ else self.name,
            listens_to=self._runs.listens_to,
        )

    @classmethod
    def _from_config(cls, config: ResearchTeamConfig) -> Self:
        model = config.model_client
        client = ChatCompletionClient.load_component(model) if model else None
        team = cls(
            config.config, model_client=client, out=config.out, emit=config.emit, name=config.name,
            listens_to=config.listens_to,
        )  # fmt: skip
        team._owns_client = client is not None
        return team


def team_of(system: str) -> type[ResearchTeam]:
    """The team class of a system: `VirSciTeam` of `virsci`; raises `ConfigError` for no system."""
    return native_class(ResearchTeam, system)


__getattr__ = native_classes(ResearchTeam)


def export(config: RunConfig) -> str:
    """A run's config as the JSON of a team component for AutoGen's loader, without keys.

    Raises:
        ConfigError: there is no such system.
    """
    team = team_of(config.system)(config)
    return json.dumps(team.dump_component().model_dump(mode="json"), ensure_ascii=False, indent=2)
