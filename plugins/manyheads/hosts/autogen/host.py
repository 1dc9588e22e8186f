"""AutoGen as a host: each turn is a run of a fresh `AssistantAgent` with its tool loop and its memory hook."""

import asyncio
from base64 import b64encode
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import BaseChatMessage, MultiModalMessage, TextMessage
from autogen_core import CancellationToken, Image
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import AssistantMessage, ChatCompletionClient, LLMMessage, UserMessage
from PIL import Image as Pillow

from manyheads.config import ModelConfig
from manyheads.core import Image as Picture
from manyheads.core import Message, Raw, Recall, Turn, recall_nothing
from manyheads.engine.replying import TOOL_ROUNDS
from manyheads.hosts.autogen.agent import CoreTool, calls_made
from manyheads.hosts.autogen.client import ModelClient, TurnClient
from manyheads.hosts.autogen.memory import RecallMemory
from manyheads.hosts.clients import ClientHost

# Threads of the core as AutoGen messages, pictures as they are.


USER = "user"


class Untouched(Image):
    """A picture sent as the bytes it came in; AutoGen would make a PNG of it, eight times a JPEG's size."""

    def __init__(self, picture: Picture) -> None:
        super().__init__(Pillow.open(BytesIO(picture.data)))
        self._data = picture.data

    def to_base64(self) -> str:
        return b64encode(self._data).decode("ascii")


def as_context(messages: Sequence[Message], speaker: str) -> list[LLMMessage]:
    """Earlier messages, as the agent's model context holds them."""
    return [
        AssistantMessage(content=message.text, source=speaker)
        if message.sender == "assistant"
        else UserMessage(content=_content(message), source=USER)
        for message in messages
    ]


def as_task(message: Message) -> BaseChatMessage:
    """The message that the agent answers."""
    content = _content(message)
    if isinstance(content, str):
        return TextMessage(content=content, source=USER)
    return MultiModalMessage(content=content, source=USER)


def _content(message: Message) -> str | list[str | Image]:
    if not message.images:
        return message.text
    return [message.text, *(Untouched(picture) for picture in message.images)]


class AutoGenHost(ClientHost[ModelClient]):
    """A `core.Host` on AutoGen.

    Args:
        models: models by alias.
        recall: the author knowledge bank behind the memory hook.
        attempts: how often a speaker is asked for a valid reply.
        ready: native clients by alias, used instead of those that `models` would make.
    """

    def __init__(
        self,
        models: Mapping[str, ModelConfig],
        recall: Recall = recall_nothing,
        attempts: int = 3,
        ready: Mapping[str, ChatCompletionClient] | None = None,
    ) -> None:
        super().__init__(models, recall, attempts)
        self._ready = ready or {}

    def make_client(self, alias: str, config: ModelConfig) -> ModelClient:
        ready = self._ready.get(alias)
        inner = ready.inner if isinstance(ready, ModelClient) else ready
        return ModelClient(config, alias, inner, asyncio.get_running_loop())

    async def native(self, turn: Turn[Any], thread: Sequence[Message], warn: list[str]) -> Raw:
        """One run of an `AssistantAgent`.

        Raises:
            ConfigError: a prompt does not fit its model, or shows images to one that cannot see.
            ModelError: the model cannot be reached or refuses.
        """
        client = TurnClient(self.client(turn.speaker.model), turn.reply_type, warn)
        *earlier, last = thread
        agent = self._agent(turn, client, earlier)
        token = CancellationToken()
        try:
            result = await agent.run(
                task=[as_task(last)], cancellation_token=token, output_task_messages=False
            )
        finally:
            token.cancel()  # ends tool calls that AutoGen would leave running when a turn is cancelled
        said = result.messages[-1]
        assert isinstance(said, TextMessage)
        spent = client.ledger
        return Raw(
            said.content, spent.model, spent.usage, tuple(calls_made(result.messages)), spent.truncated
        )

    def _agent(self, turn: Turn[Any], client: TurnClient, earlier: Sequence[Message]) -> AssistantAgent:
        speaker = turn.speaker
        callable_tools = turn.tools if client.config.calls_tools else ()
        recalled = [] if turn.recall is None else [RecallMemory(self._recall, turn.recall, speaker.name)]
        return AssistantAgent(
            speaker.name,
            client,
            description=speaker.role,
            system_message=speaker.system or None,
            tools=[CoreTool(tool, client.ledger.fail) for tool in callable_tools] or None,
            model_context=UnboundedChatCompletionContext(initial_messages=as_context(earlier, speaker.name)),
            memory=[*recalled],
            max_tool_iterations=TOOL_ROUNDS,
            reflect_on_tool_use=True,
        )


def make_host(
    models: Mapping[str, ModelConfig], recall: Recall = recall_nothing, attempts: int = 3
) -> AutoGenHost:
    """The factory that a session calls."""
    return AutoGenHost(models, recall, attempts)
