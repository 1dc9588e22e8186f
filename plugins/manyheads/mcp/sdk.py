"""The official MCP SDK, whose two majors have other names for the same things; only this file knows which is installed."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette

from manyheads import __version__
from manyheads.base.errors import UserError
from manyheads.base.text import printable

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.mcpserver.exceptions import ResourceError, ToolError
    from mcp.server.mcpserver.prompts.base import Prompt, PromptArgument

    NEW = True
else:
    try:
        import mcp.server.mcpserver as home
        from mcp.server.mcpserver import MCPServer
    except ImportError:
        import mcp.server.fastmcp as home
        from mcp.server.fastmcp import FastMCP as MCPServer
    NEW, Context = home.__name__ == "mcp.server.mcpserver", home.Context
    errors, prompts = (import_module(f"{home.__name__}.{name}") for name in ("exceptions", "prompts.base"))
    ResourceError, ToolError = errors.ResourceError, errors.ToolError
    Prompt, PromptArgument = prompts.Prompt, prompts.PromptArgument

__all__ = [
    "Context", "MCPServer", "Prompt", "PromptArgument", "ResourceError", "ToolError", "annotations", "http_app", "make_server",
    "prompt_error", "told_as",
]  # fmt: skip

STATELESS = "2026-07-28"
"""The first protocol version without sessions: the server cannot ask a client, it asks for a second call."""
ASKED = "steer"


def make_server(name: str, instructions: str, host: str) -> MCPServer[Any]:
    """A server without tools. `host` is the address of HTTP; the SDK guards a local one against names of other sites."""
    more: dict[str, Any] = {"version": __version__} if NEW else {"host": host}
    return MCPServer(name, instructions=instructions, log_level="WARNING", **more)


def http_app(server: MCPServer[Any], host: str) -> Starlette:
    """The streamable HTTP application, at `/mcp`."""
    more: dict[str, Any] = {"host": host} if NEW else {}
    return server.streamable_http_app(**more)


def annotations(*, reads: bool, destroys: bool = False, open_world: bool = True) -> Any:
    """What a tool does to the world: a client may run those that only read without asking."""
    hints = {
        "readOnlyHint": reads,
        "destructiveHint": destroys,
        "idempotentHint": reads,
        "openWorldHint": open_world,
    }
    return import_module("mcp_types" if NEW else "mcp.types").ToolAnnotations.model_validate(hints)


def prompt_error(message: str) -> Exception:
    """The error of a prompt whose message reaches the client."""
    return import_module("mcp.shared.exceptions").MCPError(-32602, message) if NEW else ValueError(message)


@contextmanager
def told_as(kind: Callable[[str], Exception]) -> Generator[None]:
    """Users' errors as errors of the SDK, with what to do next."""
    try:
        yield
    except UserError as error:
        raise kind(printable(str(error))) from error


def can_ask(context: Context[Any, Any]) -> bool:
    """Whether the client shows a person a form."""
    known = (
        context.client_capabilities if NEW else getattr(context.session.client_params, "capabilities", None)
    )
    return getattr(known, "elicitation", None) is not None


async def asked(context: Context[Any, Any], message: str, form: dict[str, Any], state: str) -> Any:
    """What a person answered to a form of flat fields, None if they did not; or, without sessions, the result that has the client
    ask, and call again with `state`.
    """
    if NEW and (context.protocol_version or "") >= STATELESS:
        import mcp_types as types

        params = types.ElicitRequestFormParams(message=message, requested_schema=form)
        return types.InputRequiredResult(
            input_requests={ASKED: types.ElicitRequest(params=params)}, request_state=state
        )
    return _content(await context.session.elicit(message, form, context.request_id))


def called_again(context: Context[Any, Any]) -> tuple[str, Mapping[str, Any] | None] | None:
    """The state and the answer of a call that follows a form; None for a first call."""
    if not NEW or context.request_state is None:
        return None
    return context.request_state, _content((context.input_responses or {}).get(ASKED))


def _content(answer: Any) -> Mapping[str, Any] | None:
    return answer.content if getattr(answer, "action", None) == "accept" else None
