"""What the hosts use of the frameworks' private parts, for want of a public hook: a release that changes one fails here."""

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import manyheads

USED = {
    "autogen_ext.models.ollama._ollama_client:BaseOllamaChatCompletionClient": "the exported class takes no transport",
    "autogen_ext.models.openai._openai_client:BaseOpenAIChatCompletionClient._client": "names a user's server",
    "autogen_ext.models.openai._openai_client:BaseOpenAIChatCompletionClient._create_args": "names a user's model",
    "autogen_agentchat.agents._assistant_agent:AssistantAgentConfig": "the base of our agents' component files",
    "autogen_agentchat.agents._assistant_agent:AssistantAgent._model_client": "the client of a user's agent, and of ours",
    "autogen_agentchat.agents._assistant_agent:AssistantAgent._model_context": "sized once the agent has all its tools",
    "autogen_agentchat.agents._assistant_agent:AssistantAgent._memory": "closed with the agent",
    "autogen_agentchat.agents._assistant_agent:AssistantAgent._tools": "those of a card join a loaded agent's",
    "autogen_agentchat.agents._assistant_agent:AssistantAgent._workbench": "the class takes tools or a workbench, not both",
    "autogen_agentchat.agents._user_proxy_agent:cancellable_input": "tells the console from Studio's function",
    "autogen_agentchat.teams:BaseGroupChat._is_running": "whether a team runs, without the base's runtime",
    "autogen_agentchat.teams:BaseGroupChat._name": "read of the team, its own participant, before the base has set it",
    "autogen_core.model_context:ChatCompletionContext._messages": "what every subclass picks from",
    "agentscope.model:ChatModelBase._call_api": "one request without the base class's retries",
    "agent_framework:BaseChatClient._build_response_stream": "how the framework's own clients make a stream",
    "agent_framework:BaseChatClient._inner_get_response": "one request without the layers, which ours has",
    "agent_framework:FunctionTool._prepare_arguments": "the model is told of a wrong argument in our words",
    "agent_framework:RawAgent._get_agent_name": "what `as_mcp_server` names its tool by",
    "agent_framework:BaseAgent._get_type_identifier": "the type that `from_dict` expects in a file",
}
"""Each with the reason; a name after a class is a method, or an attribute that the class sets."""
DOCUMENTED = {"_to_config", "_from_config", "_create_group_chat_manager_factory"}
"""To be overridden, by AutoGen's documents."""
OWN = {"_library", "_owns_client", "_papers", "_own_model"}
"""Of our own subclasses, set where they are made."""
ROOM = Path(manyheads.__file__).parent
NAMES = {*USED, *(part.rpartition(".")[2] for part in USED if "." in part.partition(":")[2])}


@pytest.mark.parametrize("part", USED)
def test_it_is_there(part: str) -> None:
    module, _, path = part.partition(":")
    first, _, name = path.partition(".")
    found = getattr(import_module(module), first)
    assert not name or hasattr(found, name) or _sets(found, name)


def _sets(kind: type[Any], name: str) -> bool:
    return any(f"self.{name}" in inspect.getsource(base) for base in kind.__mro__ if base is not object)


def _modules() -> Iterator[tuple[Any, ast.Module]]:
    for room in ("hosts", "models"):
        for path in (ROOM / room).rglob("*.py"):
            parts = path.relative_to(ROOM.parent).with_suffix("").parts
            yield import_module(".".join(parts)), ast.parse(path.read_text(encoding="utf-8"))


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _of_others(tree: ast.AST) -> Iterator[str]:
    """Private names that are imported, or read of another object."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if "._" in module:
                yield from (f"{module}:{each.name}" for each in names)
            case ast.Attribute(value=ast.Name(id="self" | "cls") | ast.Call()):
                pass  # see `_inherited`
            case ast.Attribute(attr=name) if _is_private(name):
                yield name
            case _:
                pass


@cache
def _words(kind: type[Any]) -> set[str]:
    """The names that a class defines, or that its methods read or set."""
    codes = [each.__code__ for each in vars(kind).values() if inspect.isfunction(each)]
    return {*vars(kind), *(name for code in codes for name in code.co_names)}


def _inherited(module: Any, tree: ast.AST) -> Iterator[str]:
    """Private names that a class of ours overrides, or reads of itself, and that a framework's base has."""
    for node in (each for each in ast.walk(tree) if isinstance(each, ast.ClassDef)):
        bases = getattr(module, node.name).__mro__
        theirs = [
            each for each in bases if each.__module__.startswith(("autogen", "agentscope", "agent_framework"))
        ]
        used = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
        used |= {each.name for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
        words = {word for each in theirs for word in _words(each)}
        yield from (name for name in used if name in words and _is_private(name))


def test_nothing_else_is_used() -> None:
    known = {*NAMES, *DOCUMENTED, *OWN}
    used = {name for module, tree in _modules() for name in (*_of_others(tree), *_inherited(module, tree))}
    assert used <= known
    assert {name for name in known if _is_private(name)} <= used | {
        "_client",
        "_create_args",
        "_get_agent_name",
    }, "no longer used"
