"""manyheads on AutoGen (`autogen-agentchat`): agents, teams, memory and model clients as native components.

Importing this package is cheap; AutoGen itself is imported when one of the names below is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from manyheads.hosts import need_framework

if TYPE_CHECKING:
    from manyheads.hosts.autogen.agent import RoleAgent, role_agent
    from manyheads.hosts.autogen.client import ModelClient
    from manyheads.hosts.autogen.host import AutoGenHost, make_host
    from manyheads.hosts.autogen.memory import KnowledgeMemory
    from manyheads.hosts.autogen.team import (
        TEAMS,
        ConferenceReviewTeam,
        DiscussionTeam,
        RankingTeam,
        RebuttalTeam,
        ResearchTeam,
        SelfReflectionTeam,
        SingleTeam,
        VirSciTeam,
        export,
    )

__all__ = [
    "TEAMS",
    "AutoGenHost",
    "ConferenceReviewTeam",
    "DiscussionTeam",
    "KnowledgeMemory",
    "ModelClient",
    "RankingTeam",
    "RebuttalTeam",
    "ResearchTeam",
    "RoleAgent",
    "SelfReflectionTeam",
    "SingleTeam",
    "VirSciTeam",
    "export",
    "make_host",
    "role_agent",
]

_HOMES = {
    "TEAMS": "team",
    "AutoGenHost": "host",
    "ConferenceReviewTeam": "team",
    "RankingTeam": "team",
    "RebuttalTeam": "team",
    "DiscussionTeam": "team",
    "KnowledgeMemory": "memory",
    "ModelClient": "client",
    "ResearchTeam": "team",
    "RoleAgent": "agent",
    "SelfReflectionTeam": "team",
    "SingleTeam": "team",
    "VirSciTeam": "team",
    "export": "team",
    "make_host": "host",
    "role_agent": "agent",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    need_framework("autogen")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
