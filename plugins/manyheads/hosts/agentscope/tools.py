"""Our tools as AgentScope's, and the record of what was called."""

from collections.abc import Iterator, Sequence
from typing import Any

import json_repair
from agentscope.message import Msg, TextBlock, ToolCallBlock, ToolResultBlock, ToolResultState
from agentscope.permission import PermissionBehavior, PermissionDecision
from agentscope.tool import FunctionTool, ToolChunk, Toolkit
from pydantic import ValidationError

from manyheads.core import Tool, ToolCall
from manyheads.errors import UserError
from manyheads.hosts.agentscope.models import Ledger
from manyheads.roles import describe

# Without it a tool waits for a person's permission, and the sentence that says so looks like the reply.
ALLOWED = PermissionDecision(behavior=PermissionBehavior.ALLOW, message="a tool of manyheads")


def toolkit(tools: Sequence[Tool], ledger: Ledger) -> Toolkit:
    """A toolkit of its own for each agent: agents that share one write into each other's."""
    return Toolkit(tools=[_function_tool(tool, ledger) for tool in tools])


def _function_tool(tool: Tool, ledger: Ledger) -> FunctionTool:
    async def run(**arguments: Any) -> ToolChunk:
        try:
            text = await tool.run(tool.arguments.model_validate(arguments))
        except ValidationError as error:
            raise ValueError(describe(error)) from error
        except UserError as error:
            ledger.failure = error
            raise
        return ToolChunk(content=[TextBlock(text=text)])

    return FunctionTool(
        run, name=tool.name, description=tool.description, input_schema=tool.arguments, permission=ALLOWED
    )


def order_results(context: Sequence[Msg]) -> None:
    """Put tool results into the order of their calls; tools run at once, and results come as each is done."""
    for msg in context:
        calls = [block.id for block in msg.content if isinstance(block, ToolCallBlock)]
        order = {call: calls.index(call) for call in calls}
        places = [i for i, block in enumerate(msg.content) if isinstance(block, ToolResultBlock)]
        results = sorted((msg.content[i] for i in places), key=lambda block: order.get(block.id, len(calls)))
        for place, result in zip(places, results, strict=True):
            msg.content[place] = result


def calls_in(context: Sequence[Msg], reply_id: str) -> tuple[ToolCall, ...]:
    """The tool calls of a reply, in the model's order, also those that never reached a tool."""
    blocks = [block for msg in context if msg.id == reply_id for block in msg.content]
    results = {block.id: block for block in blocks if isinstance(block, ToolResultBlock)}
    return tuple(_calls(blocks, results))


def _calls(blocks: Sequence[Any], results: dict[str, ToolResultBlock]) -> Iterator[ToolCall]:
    for block in blocks:
        if isinstance(block, ToolCallBlock):
            result = results.get(block.id)
            yield ToolCall(
                name=block.name,
                arguments=_arguments(block.input),
                result=_text(result) if result else "",
                failed=result is None or result.state != ToolResultState.SUCCESS,
            )


def _arguments(written: str) -> dict[str, Any]:
    value = json_repair.loads(written)
    return value if isinstance(value, dict) else {"unreadable": written}


def _text(result: ToolResultBlock) -> str:
    if isinstance(result.output, str):
        return result.output
    return "\n".join(block.text for block in result.output if isinstance(block, TextBlock))
