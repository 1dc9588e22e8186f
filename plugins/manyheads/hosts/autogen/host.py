"""AutoGen as a host: each turn is a run of a fresh `AssistantAgent` with its tool loop and its memory hook."""

from base64 import b64encode
from collections.abc import Sequence
from functools import cached_property
from io import BytesIO
from typing import Any, Self

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import ChatAgent
from autogen_agentchat.messages import BaseChatMessage, MultiModalMessage, TextMessage
from autogen_core import CancellationToken, Component, ComponentModel, Image
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import AssistantMessage, ChatCompletionClient, LLMMessage
from PIL import Image as Pillow

from manyheads.config import ModelConfig
from manyheads.core import Image as Picture
from manyheads.core import Message, Raw, Turn
from manyheads.engine.replying import TOOL_ROUNDS
from manyheads.hosts.autogen.agent import CoreTool, calls_made
from manyheads.hosts.autogen.client import (
    ComponentConfig,
    GovernedClient,
    NativeModel,
    Versioned,
    without_keys,
)
from manyheads.hosts.autogen.memory import RecallMemory
from manyheads.hosts.clients import AgentAnswer, ClientHost, Ledger, OneAgent, model_of
from manyheads.hosts.runs import AnyRunConfig
from manyheads.hosts.teams import service_of
from manyheads.hosts.teams import service_tool as tool_of_service
from manyheads.systems.loading import AnyConfig, load_for

USER = "user"


class Untouched(Image):
    """A picture sent in its original bytes; AutoGen would convert it to PNG, eight times the size of a JPEG.

    Its pixels are decoded only on access, which blocks other turns.
    """

    def __init__(self, picture: Picture) -> None:
        self._data = picture.data

    @cached_property
    def image(self) -> Pillow.Image:  # pyright: ignore[reportIncompatibleVariableOverride] - read when it is asked for
        return Pillow.open(BytesIO(self._data)).convert("RGB")

    def to_base64(self) -> str:
        return b64encode(self._data).decode("ascii")


def chat_message(message: Message) -> BaseChatMessage:
    """A user's message with its pictures."""
    if not message.images:
        return TextMessage(content=message.text, source=USER)
    return MultiModalMessage(content=[message.text, *map(Untouched, message.images)], source=USER)


def as_context(message: Message, speaker: str) -> LLMMessage:
    """An earlier message for the agent's model context."""
    if message.sender == "assistant":
        return AssistantMessage(content=message.text, source=speaker)
    return chat_message(message).to_model_message()


class AutoGenHost(ClientHost[ChatCompletionClient]):
    """A `core.Host` on AutoGen; see `ClientHost`."""

    framework, serves = "autogen", NativeModel

    async def native(self, turn: Turn[Any], thread: Sequence[Message], warn: list[str]) -> Raw:
        """One run of an `AssistantAgent`."""
        speaker, model = turn.speaker, self.model(turn.speaker.model)
        ledger = Ledger(model=model.config.name, warn=warn, may_call=turn.may_call)
        *earlier, last = thread
        agent = AssistantAgent(
            speaker.name,
            GovernedClient(model, ledger, turn.reply_type),
            description=speaker.role,
            system_message=speaker.system or None,
            tools=[CoreTool(tool, ledger) for tool in turn.tools if model.config.calls_tools] or None,
            model_context=UnboundedChatCompletionContext(
                [as_context(each, speaker.name) for each in earlier]
            ),
            memory=[RecallMemory(self._recall, turn)] if turn.recall is not None else None,
            max_tool_iterations=TOOL_ROUNDS,
            reflect_on_tool_use=True,
        )
        token = CancellationToken()
        try:
            asked = [chat_message(last)]
            result = await agent.run(task=asked, cancellation_token=token, output_task_messages=False)
        finally:
            token.cancel()  # ends tool calls that AutoGen would leave running after a cancelled turn
        answer = result.messages[-1]
        assert isinstance(answer, TextMessage)
        calls = tuple(calls_made(result.messages))
        return Raw(answer.content, ledger.model, ledger.usage, calls, ledger.truncated)


class AgentHost(OneAgent):
    """Asks one agent of AutoGen."""

    def __init__(self, agent: ChatAgent, attempts: int = 3) -> None:
        client, config = vars(agent).get("_model_client"), ModelConfig(name=agent.name)
        if isinstance(client, ChatCompletionClient):
            config = NativeModel.describe(client, ModelConfig())
        super().__init__(agent, attempts, config, getattr(client, "ledger", None))

    async def say(self, message: Message) -> AgentAnswer:
        result = await self.agent.run(task=[chat_message(message)], output_task_messages=False)
        counts = [usage for message in result.messages if (usage := message.models_usage)]
        read, written = sum(u.prompt_tokens for u in counts), sum(u.completion_tokens for u in counts)
        calls = tuple(calls_made(result.messages))
        return AgentAnswer(result.messages[-1].to_text(), calls, read, written, len(counts))


make_host = AutoGenHost


class ServiceToolConfig(ComponentConfig):
    """Config of a service tool's component."""

    service: str
    """Its name, such as `assess_novelty`."""
    config: AnyRunConfig | None = None
    """Of the system that brings it; the system's own when left out."""
    model: ModelConfig | None = None
    """In place of the config's default model."""
    model_client: ComponentModel | None = None
    """The same, as a client of AutoGen."""


class ServiceTool(Versioned, CoreTool, Component[ServiceToolConfig]):
    """Part of a system as a tool of AutoGen; see `service_tool`."""

    component_config_schema = ServiceToolConfig

    def __init__(
        self,
        service: str,
        model: ChatCompletionClient | ModelConfig | str | None = None,
        config: AnyConfig = None,
    ) -> None:
        name = service_of(service)[0].name
        self._config = None if config is None else load_for(f"{service} is done by {name}", name, config)
        self._model, self._client = model_of(service, AutoGenHost, model)
        super().__init__(tool_of_service(service, AutoGenHost, model, self._config), Ledger())

    def _to_config(self) -> ServiceToolConfig:
        """For JSON, without keys."""
        client = without_keys(self._client.dump_component()) if self._client else None
        return ServiceToolConfig(
            service=self.name, config=self._config, model=self._model, model_client=client
        )

    @classmethod
    def _from_config(cls, config: ServiceToolConfig) -> Self:
        client = config.model_client and ChatCompletionClient.load_component(config.model_client)
        return cls(config.service, client or config.model, config.config)


def service_tool(
    name: str, model: ChatCompletionClient | ModelConfig | str | None = None, config: AnyConfig = None
) -> ServiceTool:
    """Part of a system as a tool of AutoGen, for any agent: `service_tool("critique_figure", client)`.

    See `manyheads.hosts.teams.service_tool` for the tool's arguments. A client that you pass stays open. The tool, and an
    agent that has it, can be dumped as JSON.
    """
    return ServiceTool(name, model, config)
