"""manyheads on AutoGen (`autogen-agentchat`): agents, teams, memory and model clients as native components.

    from manyheads.hosts.autogen import VirSciTeam, role_agent

Each system is a team class: its name and `Team`. Importing this package is cheap; AutoGen is imported on first use
of a name.
"""

from typing import TYPE_CHECKING

from manyheads.hosts import native_names

if TYPE_CHECKING:
    from manyheads.hosts.autogen.agent import RoleAgent, role_agent
    from manyheads.hosts.autogen.client import ModelClient
    from manyheads.hosts.autogen.host import AutoGenHost, service_tool
    from manyheads.hosts.autogen.memory import KnowledgeMemory
    from manyheads.hosts.autogen.team import ResearchTeam, export, team_of

    def __getattr__(name: str) -> type[ResearchTeam]: ...

else:
    _HOMES = {
        "host": "AgentHost AutoGenHost make_host service_tool",
        "memory": "KnowledgeMemory",
        "client": "ModelClient",
        "team": "ResearchTeam export team_of",
        "agent": "RoleAgent role_agent",
    }
    __getattr__ = native_names(__name__, "autogen", _HOMES, "Team")

__all__ = [
    "AutoGenHost",
    "KnowledgeMemory",
    "ModelClient",
    "ResearchTeam",
    "RoleAgent",
    "export",
    "role_agent",
    "service_tool",
    "team_of",
]
