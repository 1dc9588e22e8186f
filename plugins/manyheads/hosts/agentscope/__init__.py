"""manyheads on AgentScope: roles as native agents, systems as native pipelines.

    from manyheads.hosts.agentscope import VirSciPipeline, role_agent

Each system is a pipeline class: its name and `Pipeline`. Importing this package is cheap; AgentScope is
imported on first use of a name.
"""

from typing import TYPE_CHECKING

from manyheads.hosts import native_names

if TYPE_CHECKING:
    from manyheads.hosts.agentscope.agent import BankKnowledge, RoleAgent, role_agent
    from manyheads.hosts.agentscope.host import AgentScopeHost, service_tool
    from manyheads.hosts.agentscope.pipeline import SystemPipeline, pipeline_of

    def __getattr__(name: str) -> type[SystemPipeline]: ...

else:
    _HOMES = {
        "host": "AgentHost AgentScopeHost make_host service_tool",
        "agent": "BankKnowledge RoleAgent role_agent",
        "pipeline": "SystemPipeline pipeline_of",
    }
    __getattr__ = native_names(__name__, "agentscope", _HOMES, "Pipeline")

__all__ = [
    "AgentScopeHost",
    "BankKnowledge",
    "RoleAgent",
    "SystemPipeline",
    "pipeline_of",
    "role_agent",
    "service_tool",
]
