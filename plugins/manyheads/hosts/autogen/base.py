"""What our AutoGen model clients share: everything of the interface that follows from `create`."""

from abc import abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack

from autogen_core import CancellationToken
from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelInfo,
    RequestUsage,
    UserMessage,
)
from autogen_core.tools import Tool, ToolSchema
from pydantic import BaseModel

from manyheads.config import ModelConfig
from manyheads.core import Usage
from manyheads.hosts.autogen.info import model_info


class Answered(CreateResult):
    """An answer with what AutoGen's result has no place for."""

    model: str
    """Which model answered, in the server's words."""
    cut: bool = False
    """Whether the model stopped at its length limit."""
    spent: Usage


Tools = Sequence[Tool | ToolSchema]
ToolChoice = Tool | Literal["auto", "required", "none"]


class Options(TypedDict, total=False):
    """The keyword arguments of `ChatCompletionClient.create`."""

    tools: Tools
    tool_choice: ToolChoice
    json_output: bool | type[BaseModel] | None
    extra_create_args: Mapping[str, Any]
    cancellation_token: CancellationToken | None


class BaseClient(ChatCompletionClient):
    """A model client of ours.

    Args:
        config: the model's settings.
    """

    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        self._total = RequestUsage(prompt_tokens=0, completion_tokens=0)

    @abstractmethod
    async def answer(self, messages: Sequence[LLMMessage], options: Options) -> Answered:
        """One answer to the messages."""

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Tools = (),
        tool_choice: ToolChoice = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        """See `ChatCompletionClient.create`."""
        options = Options(
            tools=tools,
            tool_choice=tool_choice,
            json_output=json_output,
            extra_create_args=extra_create_args or {},
            cancellation_token=cancellation_token,
        )
        result = await self.answer(messages, options)
        self._total.prompt_tokens += result.usage.prompt_tokens
        self._total.completion_tokens += result.usage.completion_tokens
        return result

    async def create_stream(
        self, messages: Sequence[LLMMessage], **options: Unpack[Options]
    ) -> AsyncGenerator[str | CreateResult, None]:
        """The answer as one chunk, then the result: words already shown could not be taken back by a retry."""
        result = await self.create(messages, **options)
        if isinstance(result.content, str) and result.content:
            yield result.content
        yield result

    def actual_usage(self) -> RequestUsage:
        return self._total

    def total_usage(self) -> RequestUsage:
        return self._total

    def count_tokens(self, messages: Sequence[LLMMessage], *, tools: Tools = ()) -> int:
        """An estimate, a token for four bytes of text: exact counts would need a download of the tokenizer."""
        return (sum(len(_words(message).encode()) for message in messages) + len(str(tools))) // 4

    def remaining_tokens(self, messages: Sequence[LLMMessage], *, tools: Tools = ()) -> int:
        return self.config.context - self.count_tokens(messages, tools=tools)

    @property
    def model_info(self) -> ModelInfo:
        return model_info(self.config)

    @property
    def capabilities(self) -> ModelInfo:  # pyright: ignore[reportIncompatibleVariableOverride] - deprecated twin
        return self.model_info


def _words(message: LLMMessage) -> str:
    content = message.content
    if isinstance(content, str):
        return content
    if isinstance(message, UserMessage):
        return " ".join(part for part in content if isinstance(part, str))
    return " ".join(str(part) for part in content)
