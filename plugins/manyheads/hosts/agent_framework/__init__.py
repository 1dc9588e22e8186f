"""manyheads on Microsoft Agent Framework (`agent-framework-core`): roles and systems as native agents.

    from manyheads.hosts.agent_framework import VirSciAgent, role_agent

Each system is an agent class: its name and `Agent`. Importing this package is cheap; the framework is imported on first
use of a name.
"""

from typing import TYPE_CHECKING

from manyheads.hosts import native_names

if TYPE_CHECKING:
    from manyheads.hosts.agent_framework.agent import (
        KnowledgeProvider,
        RoleAgent,
        SystemAgent,
        agent_of,
        role_agent,
    )
    from manyheads.hosts.agent_framework.host import AgentFrameworkHost, service_tool

    def __getattr__(name: str) -> type[SystemAgent]: ...

else:
    _HOMES = {
        "host": "AgentFrameworkHost AgentHost make_host service_tool",
        "agent": "KnowledgeProvider RoleAgent SystemAgent agent_of role_agent",
    }
    __getattr__ = native_names(__name__, "agent_framework", _HOMES, "Agent")

__all__ = [
    "AgentFrameworkHost",
    "KnowledgeProvider",
    "RoleAgent",
    "SystemAgent",
    "agent_of",
    "role_agent",
    "service_tool",
]
