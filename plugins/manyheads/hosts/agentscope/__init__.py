"""AgentScope: roles as native agents, systems as native pipelines.

    from manyheads.hosts.agentscope import VirSciPipeline, role_agent

Names are loaded when they are used, so that importing this package is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from manyheads.hosts import need_framework

if TYPE_CHECKING:
    from manyheads.hosts.agentscope.agent import role_agent
    from manyheads.hosts.agentscope.host import AgentScopeHost, make_host
    from manyheads.hosts.agentscope.pipeline import (
        PIPELINES,
        ConferenceReviewPipeline,
        DiscussionPipeline,
        RankingPipeline,
        RebuttalPipeline,
        SelfReflectionPipeline,
        SinglePipeline,
        SystemPipeline,
        VirSciPipeline,
    )

__all__ = [
    "PIPELINES",
    "AgentScopeHost",
    "ConferenceReviewPipeline",
    "DiscussionPipeline",
    "RankingPipeline",
    "RebuttalPipeline",
    "SelfReflectionPipeline",
    "SinglePipeline",
    "SystemPipeline",
    "VirSciPipeline",
    "make_host",
    "role_agent",
]

_HOMES = {
    "PIPELINES": "pipeline",
    "AgentScopeHost": "host",
    "ConferenceReviewPipeline": "pipeline",
    "RankingPipeline": "pipeline",
    "RebuttalPipeline": "pipeline",
    "DiscussionPipeline": "pipeline",
    "SelfReflectionPipeline": "pipeline",
    "SinglePipeline": "pipeline",
    "SystemPipeline": "pipeline",
    "VirSciPipeline": "pipeline",
    "make_host": "host",
    "role_agent": "agent",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    need_framework("agentscope")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
