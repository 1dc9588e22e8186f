"""manyheads: research teams and review committees as plugins for AutoGen, AgentScope and Microsoft Agent Framework.

What stands in `__all__` is public, with `manyheads.replies`, `manyheads.testing` and the packages of the three hosts in
`manyheads.hosts`; everything else may change from one version to the next. A name is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from manyheads.asking.forms import form as reply_form
    from manyheads.asking.replies import ReplyModel, reply_type
    from manyheads.base.errors import ConfigError, UserError
    from manyheads.base.papers import Paper
    from manyheads.config import Inputs, LiteratureConfig, RunConfig, Section, Slot
    from manyheads.core.events import Event, Person, Stage, Waiting
    from manyheads.core.results import Evidence, Part, RunResult
    from manyheads.core.texts import FileOrText, subject_of
    from manyheads.corpus.ecosystem import KnowledgeBank
    from manyheads.corpus.embedding import load_embedder
    from manyheads.engine.replying import parse as parse_reply
    from manyheads.hosts import role_agent
    from manyheads.hosts.asking import ask, ask_sync
    from manyheads.hosts.runs import run, run_sync
    from manyheads.literature.library import Library
    from manyheads.systems.loading import load as load_config
    from manyheads.systems.results import load
    from manyheads.team.run import Question, Run
    from manyheads.team.system import Judge, Service, System

__version__ = "0.1.0"
__all__ = [
    "ConfigError", "Event", "Evidence", "FileOrText", "Inputs", "Judge", "KnowledgeBank", "Library",
    "LiteratureConfig", "Paper", "Part", "Person", "Question", "ReplyModel", "Run", "RunConfig", "RunResult",
    "Section", "Service", "Slot", "Stage", "System", "UserError", "Waiting", "ask", "ask_sync", "load",
    "load_config", "load_embedder", "parse_reply", "reply_form", "reply_type", "role_agent", "run",
    "run_sync", "subject_of",
]  # fmt: skip

_HOMES = {
    "ConfigError": "base.errors",
    "Event": "core.events",
    "Evidence": "core.results",
    "FileOrText": "core.texts",
    "Inputs": "config",
    "Judge": "team.system",
    "KnowledgeBank": "corpus.ecosystem",
    "Library": "literature.library",
    "LiteratureConfig": "config",
    "Paper": "base.papers",
    "Part": "core.results",
    "Person": "core.events",
    "Question": "team.run",
    "ReplyModel": "asking.replies",
    "Run": "team.run",
    "RunConfig": "config",
    "RunResult": "core.results",
    "Section": "config",
    "Service": "team.system",
    "Slot": "config",
    "Stage": "core.events",
    "System": "team.system",
    "UserError": "base.errors",
    "Waiting": "core.events",
    "ask": "hosts.asking",
    "ask_sync": "hosts.asking",
    "load": "systems.results",
    "load_config": "systems.loading:load",
    "load_embedder": "corpus.embedding",
    "parse_reply": "engine.replying:parse",
    "reply_form": "asking.forms:form",
    "reply_type": "asking.replies",
    "role_agent": "hosts",
    "run": "hosts.runs",
    "run_sync": "hosts.runs",
    "subject_of": "core.texts",
}
"""Where each public name lives, with the name that it has there where that is another."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, own = _HOMES[name].partition(":")
    return getattr(import_module(f"{__name__}.{module}"), own or name)
