"""Each system as an AutoGen team of its own, by the names that component JSON calls them."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, NoReturn, Self

from autogen_agentchat.base import TaskResult
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, TextMessage
from autogen_agentchat.teams import BaseGroupChat
from autogen_core import CancellationToken, Component, ComponentModel, RoutedAgent
from autogen_core.models import ChatCompletionClient, RequestUsage
from pydantic import BaseModel, ConfigDict

from manyheads.config import ModelConfig, RunConfig, load
from manyheads.core import Recall, Usage, safe_name
from manyheads.core.events import AnyEvent, Asked, Invited, Recruited, Result, Said, Stage, Voted
from manyheads.errors import ConfigError
from manyheads.hosts.autogen.client import close_native, described, without_keys
from manyheads.hosts.autogen.host import AutoGenHost
from manyheads.hosts.bridge import (
    Runs,
    RunState,
    Takes,
    native_class,
    reviews_in_full,
    sentence,
    system_called,
    takes,
)
from manyheads.models.offline import LABEL
from manyheads.replies import Abstract, label
from manyheads.report import rebuttal
from manyheads.report.closing import essence
from manyheads.report.review import SYSTEM as REVIEW
from manyheads.report.virsci import RANKING

# A result as the message that an AutoGen team ends with, in Markdown: what a chat around it goes on with.


def final_text(data: Mapping[str, Any]) -> str:
    """A result's abstract section by section, or its idea; what was judged; or else all of it as JSON."""
    told = list(_abstract(data.get("abstract") or {})) or list(_idea(data)) or list(_judged(data))
    if not told:
        return f"```json\n{json.dumps(data, ensure_ascii=False, indent=1)}\n```"
    label = [] if data.get("written_by_language_model", True) else [f"> {LABEL}"]
    return "\n\n".join([*label, *told])


def _abstract(abstract: Mapping[str, str]) -> Iterator[str]:
    if "title" not in abstract:
        return
    yield f"# {abstract['title']}"
    for key in Abstract.model_fields:
        if key in abstract and key != "title":
            yield f"**{label(key)}.** {abstract[key]}"


def _idea(data: Mapping[str, Any]) -> Iterator[str]:
    """The idea that was revised, field by field; one that never was is a paragraph."""
    if data.get("system") != rebuttal.SYSTEM:
        return
    for name, text in rebuttal.Version.model_validate(data["idea"]).fields:
        yield {"title": f"# {text}", "idea": text}.get(name, f"**{label(name)}.** {text}")


def _judged(data: Mapping[str, Any]) -> Iterator[str]:
    """Scores and reviews, or a ranking."""
    if data.get("system") in (RANKING, REVIEW):
        yield from (f"**{name}.** {text}" for name, text in essence(data))
        yield from reviews_in_full(data)


# A run's events as AutoGen's messages: text that a console or a Studio shows, metadata that a program reads.


def as_message(event: AnyEvent, team: str) -> TextMessage | None:
    """The message of an event, None where there is nothing to show.

    `team` is the source of what no speaker says. Metadata holds kind, stage, turn and speaker, empty
    where there is none. Usage stands on the message of the reply that cost it, and nowhere else.
    """
    if isinstance(event, Asked):
        return None
    speaker = _speaker(event)
    return TextMessage(
        content=_text(event),
        source=safe_name(speaker) if speaker else team,
        metadata=_metadata(event, speaker),
        models_usage=as_usage(event.usage) if isinstance(event, Said) else None,
    )


def as_usage(usage: Usage) -> RequestUsage:
    return RequestUsage(prompt_tokens=usage.input_tokens, completion_tokens=usage.output_tokens)


def _speaker(event: AnyEvent) -> str:
    match event:
        case Said():
            return event.speaker
        case Recruited():
            return event.candidate
        case Invited():
            return event.by
        case Voted():
            return event.voter
        case _:
            return ""


def _metadata(event: AnyEvent, speaker: str) -> dict[str, str]:
    about = {"kind": event.kind, "stage": event.stage, "turn": str(event.turn), "speaker": speaker}
    if isinstance(event, Said):
        about |= {"task": event.task, "part": event.part, "model": event.model}
    return about


def _text(event: AnyEvent) -> str:
    if isinstance(event, Result):
        return final_text(event.data)
    return f"**{sentence(event)}**" if isinstance(event, Stage) else sentence(event)


# What an AutoGen team is asked: a task as messages, and the texts in them.


Task = str | BaseChatMessage | Sequence[BaseChatMessage] | None


def as_messages(task: Task) -> list[BaseChatMessage]:
    """A task as messages, in a list of our own: a surrounding chat passes the one that it goes on to change."""
    if task is None:
        return []
    if isinstance(task, str):
        return [TextMessage(content=task, source="user")]
    return [task] if isinstance(task, BaseChatMessage) else list(task)


def texts_of(messages: Sequence[BaseChatMessage], takes: Takes) -> tuple[str, ...]:
    """What is asked: each message's text, that of the last alone, or all as one; nothing where they are blank."""
    texts = [message.to_model_text().strip() for message in messages]
    asked = texts if takes == "each" else texts[-1:] if takes == "last" else ["\n".join(texts).strip()]
    return tuple(text for text in asked if text)


# A system as an AutoGen team: it loads from JSON, runs in `Console`, nests in group chats, serves as a tool.

Emit = Literal["all", "final"]
Item = BaseAgentEvent | BaseChatMessage


class ResearchTeamConfig(BaseModel):
    """Config of a team component."""

    model_config = ConfigDict(extra="forbid")

    config: RunConfig
    """The whole run; its keys are those of a config file."""
    model_client: ComponentModel | None = None
    """A model of AutoGen's in place of `config.models.default`."""
    out: str = "runs"
    """Where run folders are made."""
    emit: Emit = "all"
    """What the team says: everything, or only its result, so that a surrounding chat stays short."""
    name: str | None = None
    """The team's name in other teams, an identifier; the class's when left out."""


class TeamState(RunState):
    """What `save_state` gives: enough to go on with a run that was stopped."""

    type: Literal["ManyheadsTeamState"] = "ManyheadsTeamState"


class ResearchTeam(BaseGroupChat, Component[ResearchTeamConfig]):
    """A system of manyheads as an AutoGen team; `team_of` makes the subclass of a system.

    The members of a team are chosen while it runs. Each run has a folder of its own under `out`; a run that was
    cancelled or failed goes on when the same is asked again, or nothing.

    Args:
        config: the run; the shipped config of the system when left out.
        model_client: a client of AutoGen's in place of `models.default`; it stays yours and keeps its own retries.
        out: where run folders are made.
        emit: `all` messages, or only the `final` one.
        name: of the team in other teams; the class's when left out.

    Raises:
        ConfigError: the config is of another system.
    """

    component_config_schema = ResearchTeamConfig
    component_type = "team"
    system: ClassVar[str]
    about: ClassVar[str]
    """What others read about the team, a model that may call it as a tool among them."""

    def __init__(
        self,
        config: RunConfig | None = None,
        *,
        model_client: ChatCompletionClient | None = None,
        out: str | Path = "runs",
        emit: Emit = "all",
        name: str | None = None,
    ) -> None:
        config = config or load([self.system])
        if config.system != self.system:
            raise ConfigError(f"{type(self).__name__}: the config is of system {config.system!r}")
        self.config = config.model_copy(update={"host": "autogen"})
        self._runs = Runs(self.config, out, TeamState())
        self._model_client, self._owns_client = model_client, False
        self._emit: Emit = emit
        # Its members are not known before it runs. A group chat needs participants, and Studio closes them.
        self._name = safe_name(name or type(self).__name__)
        manager: Any = RoutedAgent
        super().__init__(self._name, self.about, [self], "none", manager)

    async def run(
        self,
        *,
        task: Task = None,
        cancellation_token: CancellationToken | None = None,
        output_task_messages: bool = True,
    ) -> TaskResult:
        """See `run_stream`; gives its last item."""
        async with aclosing(
            self.run_stream(
                task=task, cancellation_token=cancellation_token, output_task_messages=output_task_messages
            )
        ) as items:
            async for item in items:
                if isinstance(item, TaskResult):
                    return item
        raise AssertionError("a run ends with its result")

    async def run_stream(
        self,
        *,
        task: Task = None,
        cancellation_token: CancellationToken | None = None,
        output_task_messages: bool = True,
    ) -> AsyncGenerator[Item | TaskResult, None]:
        """Run the system; messages as they come, then the `TaskResult`.

        Args:
            task: the topic; the text to review, which is the last message; abstracts of a background, a message
                each; or the target of a ranking, and after it ideas, a message each. Never the name of a file.
                Without one it is the config's, or a topic is discussed. An unfinished run goes on when it is given
                its own task, or none.
            cancellation_token: ends the run; it can be taken up again.
            output_task_messages: whether the task comes first in the stream and in the result.

        Raises:
            UserError: something is wrong that the user can mend; types are kept.
            CancelledError: the token was cancelled.
        """
        if self._is_running:
            raise ValueError("the team is running already; wait for it, or make another")
        self._is_running = True
        try:
            said: list[Item] = []
            asked = as_messages(task)
            for message in asked if output_task_messages else ():
                said.append(message)
                yield message
            texts = texts_of(asked, takes(self.system))
            async with aclosing(self._events(texts)) as events:
                async for event in _linked(events, cancellation_token):
                    if message := self._say(event):
                        said.append(message)
                        yield message
            yield TaskResult(messages=said, stop_reason=f"{self.system} finished: {self.folder}")
        finally:
            self._is_running = False

    @property
    def folder(self) -> Path | None:
        """Folder of the last run."""
        return self._runs.folder

    async def _events(self, asked: tuple[str, ...]) -> AsyncGenerator[AnyEvent, None]:
        client, state = self._model_client, self._runs.state
        default = described(client, self.config.models["default"]) if client else None

        def make_host(models: Mapping[str, ModelConfig], recall: Recall, attempts: int) -> AutoGenHost:
            return self._runs.hold(
                AutoGenHost(models, recall, attempts, {"default": client} if client else None)
            )

        session = self._runs.session(asked, default)
        async with aclosing(session.events(make_host)) as events:
            async for event in events:
                if isinstance(event, Result):
                    state.finished = True
                yield event

    def _say(self, event: AnyEvent) -> TextMessage | None:
        message = as_message(event, self.name)
        if self._emit == "all" or message is None:
            return message
        if not isinstance(event, Result):
            return None
        spent = Usage.model_validate(event.data.get("usage", {}))
        return message.model_copy(update={"models_usage": as_usage(spent)})

    async def reset(self) -> None:
        """Forget an unfinished run."""
        if self._is_running:
            raise RuntimeError("the team is running; it can be reset when it has stopped")
        self._runs.state = TeamState()

    async def pause(self) -> None:
        """Let turns under way finish and begin no other, until `resume`."""
        self._runs.pause()

    async def resume(self) -> None:
        """Go on after `pause`."""
        self._runs.resume()

    async def save_state(self) -> Mapping[str, Any]:
        """The last run and whether it is finished; what was said is in its folder."""
        return self._runs.state.model_dump()

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Take up the run of a saved state: `run()` without a task goes on with it if it is not finished."""
        self._runs.state = TeamState.model_validate(state)

    async def close(self) -> None:
        """Release the connections of a client that was loaded with the team."""
        if self._owns_client and self._model_client:
            await close_native(self._model_client)

    def _create_group_chat_manager_factory(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError("the discussion is led by the system, not by a group chat manager")

    def _to_config(self) -> ResearchTeamConfig:
        return ResearchTeamConfig(
            config=self.config,
            model_client=without_keys(self._model_client.dump_component()) if self._model_client else None,
            out=str(self._runs.out),
            emit=self._emit,
            name=None if self.name == type(self).__name__ else self.name,
        )

    @classmethod
    def _from_config(cls, config: ResearchTeamConfig) -> Self:
        model = config.model_client
        client = ChatCompletionClient.load_component(model) if model else None
        team = cls(config.config, model_client=client, out=config.out, emit=config.emit, name=config.name)
        team._owns_client = client is not None
        return team


async def _linked(
    events: AsyncGenerator[AnyEvent, None], token: CancellationToken | None
) -> AsyncGenerator[AnyEvent, None]:
    """The events; waiting for the next one ends when the token is cancelled."""
    while True:
        step = asyncio.ensure_future(anext(events))
        if token:
            token.link_future(step)
        try:
            event = await step
        except StopAsyncIteration:
            return
        yield event


@cache
def team_of(system: str) -> type[ResearchTeam]:
    """The team class of a system: `VirSciTeam` of `virsci`.

    Raises:
        ConfigError: there is no such system.
    """
    return native_class(ResearchTeam, system, "Team")


def __getattr__(name: str) -> type[ResearchTeam]:
    return team_of(system_called(name, "Team"))


def export(config: RunConfig) -> str:
    """A run's config as the JSON of a team component, which AutoGen's own loader takes. It holds no keys.

    Raises:
        ConfigError: there is no such system.
    """
    team = team_of(config.system)(config)
    return json.dumps(team.dump_component().model_dump(mode="json"), ensure_ascii=False, indent=2)
