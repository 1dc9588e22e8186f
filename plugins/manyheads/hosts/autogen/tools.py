"""A tool of the core as an AutoGen tool, and what an agent's messages tell about its tool calls."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from autogen_agentchat.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from autogen_core import CancellationToken, FunctionCall
from autogen_core.tools import BaseTool, ToolSchema
from pydantic import BaseModel, ValidationError

from manyheads.core import Tool, ToolCall
from manyheads.errors import UserError
from manyheads.roles import describe

_schemas: dict[tuple[type[BaseModel], str, str], ToolSchema] = {}
"""Of each kind of tool: AutoGen asks a tool for its schema with every request."""


class Answer(BaseModel):
    """What a tool gives back: the text that the model sees."""

    text: str


class CoreTool(BaseTool[BaseModel, Answer]):
    """A tool function of the core for AutoGen's agents.

    What the model did wrong, and what a tool refuses, goes back to the model as AutoGen does it. AutoGen would
    do the same with a user's mistake, a spent budget or a full disk: these end the turn.

    Args:
        tool: the tool.
        on_failure: told of an error that must end the turn; it has to see to that.
    """

    def __init__(self, tool: Tool, on_failure: Callable[[UserError], None]) -> None:
        super().__init__(tool.arguments, Answer, tool.name, tool.description)
        self._tool, self._on_failure = tool, on_failure

    @property
    def schema(self) -> ToolSchema:
        kind = (self._args_type, self._name, self._description)
        if kind not in _schemas:
            _schemas[kind] = super().schema
        return _schemas[kind]

    async def run_json(
        self, args: Mapping[str, Any], cancellation_token: CancellationToken, call_id: str | None = None
    ) -> Any:
        """See `BaseTool.run_json`.

        Raises:
            ValueError: the arguments do not fit, in a line for the model.
        """
        try:
            self._tool.arguments.model_validate(args)
        except ValidationError as error:
            raise ValueError(describe(error)) from error
        return await super().run_json(args, cancellation_token, call_id)

    async def run(self, args: BaseModel, cancellation_token: CancellationToken) -> Answer:
        """Run the tool; see `Tool.run`."""
        try:
            return Answer(text=await self._tool.run(args))
        except UserError as error:
            self._on_failure(error)
            raise

    def return_value_as_string(self, value: Any) -> str:
        return cast(Answer, value).text


def calls_made(messages: Sequence[BaseAgentEvent | BaseChatMessage]) -> Iterator[ToolCall]:
    """Every tool call in an agent's messages with its result, in the order they were asked for.

    Calls and results are matched by place, as some servers give all calls the same id.
    """
    asked: list[FunctionCall] = []
    for message in messages:
        if isinstance(message, ToolCallRequestEvent):
            asked = message.content
        elif isinstance(message, ToolCallExecutionEvent):
            for call, result in zip(asked, message.content, strict=True):
                yield ToolCall(
                    name=call.name,
                    arguments=_arguments(call.arguments),
                    result=result.content,
                    failed=bool(result.is_error),
                )


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        value = text
    return cast(dict[str, Any], value) if isinstance(value, dict) else {"unreadable": text}
