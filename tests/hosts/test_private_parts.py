"""What the hosts use of the frameworks' private parts, for want of a public hook: a release that changes one fails here."""

import ast
from collections.abc import Iterator
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient

import manyheads
from manyheads.config import ModelConfig
from manyheads.hosts.autogen.client import model_info

USED = {
    "autogen_ext.models.ollama._ollama_client:BaseOllamaChatCompletionClient": "the exported class takes no transport",
    "autogen_agentchat.agents._assistant_agent:AssistantAgentConfig": "the base of our agents' component files",
    "autogen_agentchat.agents._user_proxy_agent:cancellable_input": "tells the console from Studio's function",
    "agentscope.model:ChatModelBase._call_api": "one request without the base class's retries",
    "agent_framework:BaseChatClient._inner_get_response": "one request without the layers, which ours has",
}
KNOWN = {"_client", "_create_args", "_model_client"}
"""Read of a user's AutoGen client or agent, to name its server and model; left out where they are missing."""
OWN = {"_library", "_owns_client", "_tools", "_model_context", "_model_client"}
"""Of our own subclasses, set where they are made."""
ROOMS = [Path(manyheads.__file__).parent / room for room in ("hosts", "models")]


@pytest.mark.parametrize("name", USED)
def test_it_is_there(name: str) -> None:
    module, _, path = name.partition(":")
    assert attrgetter(path)(import_module(module))


def test_what_is_read_of_a_users_client_is_there() -> None:
    client = OpenAIChatCompletionClient(model="m", api_key="none", model_info=model_info(ModelConfig()))
    agent = AssistantAgent("a", client)
    assert {*vars(client), *vars(agent)} >= KNOWN


def _private(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if "._" in module:
                yield from (f"{module}:{each.name}" for each in names)
            case ast.Attribute(value=ast.Name(id="self" | "cls")) | ast.Attribute(value=ast.Call()):
                pass  # of our own, or of super()
            case ast.Attribute(attr=name) if name.startswith("_") and not name.startswith("__"):
                yield name
            case _:
                pass


def test_nothing_else_is_used() -> None:
    known = {*USED, *(name.rpartition(".")[2] for name in USED), *OWN}
    files = [path for room in ROOMS for path in room.rglob("*.py")]
    used = {name for path in files for name in _private(ast.parse(path.read_text(encoding="utf-8")))}
    assert used <= known
