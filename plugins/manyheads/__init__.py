"""manyheads: research teams and review committees as plugins for AgentScope and AutoGen.

What stands in `__all__` is public, with `manyheads.replies`, `manyheads.hosts.autogen` and `manyheads.hosts.agentscope`;
everything else may change from one version to the next. A name is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from manyheads.bank.embedding import load_embedder
    from manyheads.bank.knowledge import KnowledgeBank
    from manyheads.config import Inputs, LiteratureConfig, RunConfig, Section, Slot
    from manyheads.core.events import Event, Person, Stage, Waiting
    from manyheads.core.results import Evidence, Part, RunResult
    from manyheads.discussion.run import Question, Run
    from manyheads.engine.reading import parse as parse_reply
    from manyheads.engine.system import Judge, Service, System
    from manyheads.errors import ConfigError, UserError
    from manyheads.forms import form as reply_form
    from manyheads.hosts import role_agent
    from manyheads.hosts.asking import ask, ask_sync
    from manyheads.hosts.run import run
    from manyheads.literature.library import Library
    from manyheads.papers import Paper
    from manyheads.replies import ReplyModel, reply_type
    from manyheads.systems.loading import load as load_config
    from manyheads.systems.results import load
    from manyheads.texts import FileOrText, subject_of

__version__ = "0.1.0"
__all__ = [
    "ConfigError",
    "Event",
    "Evidence",
    "FileOrText",
    "Inputs",
    "Judge",
    "KnowledgeBank",
    "Library",
    "LiteratureConfig",
    "Paper",
    "Part",
    "Person",
    "Question",
    "ReplyModel",
    "Run",
    "RunConfig",
    "RunResult",
    "Section",
    "Service",
    "Slot",
    "Stage",
    "System",
    "UserError",
    "Waiting",
    "ask",
    "ask_sync",
    "load",
    "load_config",
    "load_embedder",
    "parse_reply",
    "reply_form",
    "reply_type",
    "role_agent",
    "run",
    "subject_of",
]

_HOMES = {
    "ConfigError": "errors",
    "Event": "core.events",
    "Evidence": "core.results",
    "FileOrText": "texts",
    "Inputs": "config",
    "Judge": "engine.system",
    "KnowledgeBank": "bank.knowledge",
    "Library": "literature.library",
    "LiteratureConfig": "config",
    "Paper": "papers",
    "Part": "core.results",
    "Person": "core.events",
    "Question": "discussion.run",
    "ReplyModel": "replies",
    "Run": "discussion.run",
    "RunConfig": "config",
    "RunResult": "core.results",
    "Section": "config",
    "Service": "engine.system",
    "Slot": "config",
    "Stage": "core.events",
    "System": "engine.system",
    "UserError": "errors",
    "Waiting": "core.events",
    "ask": "hosts.asking",
    "ask_sync": "hosts.asking",
    "load": "systems.results",
    "load_config": "systems.loading:load",
    "load_embedder": "bank.embedding",
    "parse_reply": "engine.replying:parse",
    "reply_form": "forms:form",
    "reply_type": "replies",
    "role_agent": "hosts",
    "run": "hosts.run",
    "subject_of": "texts",
}
"""Where each public name lives, with the name that it has there where that is another."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, own = _HOMES[name].partition(":")
    return getattr(import_module(f"{__name__}.{module}"), own or name)
