"""The offline and the replay model as an AutoGen client."""

import json
from base64 import b64decode
from collections.abc import Iterator, Sequence

from autogen_core import Component, FunctionCall, Image
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResultMessage,
    LLMMessage,
    RequestUsage,
    SystemMessage,
    UserMessage,
)

from manyheads.config import ModelConfig
from manyheads.core import Image as Picture
from manyheads.core import Message, Raw
from manyheads.hosts.autogen.base import Answered, BaseClient, Options
from manyheads.models.local import local_model


class LocalClient(BaseClient, Component[ModelConfig]):
    """A model that answers in this process.

    Args:
        config: its settings; provider `offline` or `replay`.
    """

    component_type = "model"
    component_config_schema = ModelConfig

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self._model = local_model(config)

    async def answer(self, messages: Sequence[LLMMessage], options: Options) -> Answered:
        system = "\n".join(message.content for message in messages if isinstance(message, SystemMessage))
        answered = sum(
            len(message.content)
            for message in messages
            if isinstance(message, FunctionExecutionResultMessage)
        )
        return _result(await self._model.complete(system, tuple(_thread(messages)), answered), answered)

    async def close(self) -> None:
        """Nothing to close."""

    def _to_config(self) -> ModelConfig:
        return self.config

    @classmethod
    def _from_config(cls, config: ModelConfig) -> "LocalClient":
        return cls(config)


def _thread(messages: Sequence[LLMMessage]) -> Iterator[Message]:
    """What was said, without tool calls and their results: those are only counted."""
    for message in messages:
        if isinstance(message, UserMessage):
            yield _user(message)
        elif isinstance(message, AssistantMessage) and isinstance(message.content, str):
            yield Message(message.content, sender="assistant")


def _user(message: UserMessage) -> Message:
    if isinstance(message.content, str):
        return Message(message.content)
    text = "\n".join(part for part in message.content if isinstance(part, str))
    pictures = (part for part in message.content if isinstance(part, Image))
    return Message(text, images=tuple(_picture(part) for part in pictures))


def _picture(image: Image) -> Picture:
    head, _, data = image.data_uri.partition(",")
    return Picture(b64decode(data), head.removeprefix("data:").removesuffix(";base64"))


def _result(raw: Raw, answered: int) -> Answered:
    asks = raw.tool_calls and not raw.text
    return Answered(
        finish_reason="function_calls" if asks else "length" if raw.truncated else "stop",
        content=_calls(raw, answered) if asks else raw.text,
        usage=RequestUsage(prompt_tokens=raw.usage.input_tokens, completion_tokens=raw.usage.output_tokens),
        cached=False,
        model=raw.model,
        cut=raw.truncated,
        spent=raw.usage,
    )


def _calls(raw: Raw, answered: int) -> list[FunctionCall]:
    return [
        FunctionCall(id=f"call_{answered + number}", name=call.name, arguments=json.dumps(call.arguments))
        for number, call in enumerate(raw.tool_calls)
    ]
