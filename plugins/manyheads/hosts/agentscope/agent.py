"""A role as an agent of AgentScope, for any team."""

from collections.abc import Sequence
from typing import Any

from agentscope.agent import Agent
from agentscope.middleware import MiddlewareBase
from agentscope.model import ChatModelBase

from manyheads.bank.knowledge import KnowledgeBank
from manyheads.config import ModelConfig
from manyheads.core import Tool, safe_name
from manyheads.hosts.agentscope.hooks import Whole
from manyheads.hosts.agentscope.host import NO_CLOCK, REACT, UNCUT
from manyheads.hosts.agentscope.models import Alias, Ledger
from manyheads.hosts.agentscope.tools import toolkit
from manyheads.literature.library import Library
from manyheads.resources import Resources
from manyheads.roles import Roles
from manyheads.tools import literature_tools


def role_agent(
    role: str,
    model: ChatModelBase | ModelConfig | str,
    *,
    name: str | None = None,
    tools: Sequence[Tool] = (),
    library: Library | None = None,
    knowledge: KnowledgeBank | None = None,
    paths: Sequence[str] = (),
    **variables: Any,
) -> Agent:
    """A real `agentscope.agent.Agent` that plays a role.

    Its prompts are sent whole or refused, its tools are allowed, no clock is put into its context, and a
    cancelled reply raises instead of looking like an answer.

    Args:
        role: name of a role card, such as `reviewer`.
        model: a model of AgentScope, a config, or `provider/name` such as `openai/gpt-4o-mini`.
        name: the agent's name; the role's when left out.
        tools: what it may call.
        library: gives it those of the literature tools that its card lists; stays open.
        knowledge: papers that are looked up for each question and shown beside it.
        paths: your own folders of roles and prompts, before ours.
        variables: of the role's system prompt; the card has defaults.

    Raises:
        ConfigError: no such role or variable, no such provider, or its key is missing.
    """
    roles = Roles(Resources.of(paths))
    ledger = Ledger()
    tools = (*tools, *literature_tools(library, roles.card(role).tools))
    hooks: list[MiddlewareBase] = [Whole(ledger)]
    if knowledge is not None:
        from manyheads.hosts.agentscope.knowledge import BankHook

        hooks.append(BankHook(knowledge))
    return Agent(
        name=safe_name(name or role),
        system_prompt=roles.system(role, variables),
        model=as_model(model, ledger),
        toolkit=toolkit(tools, ledger),
        middlewares=hooks,
        context_config=UNCUT,
        react_config=REACT,
        injection_config=NO_CLOCK,
    )


def as_model(model: ChatModelBase | ModelConfig | str, ledger: Ledger) -> ChatModelBase:
    """A model of AgentScope from whatever names one.

    Raises:
        ConfigError: not `provider/name`, an unknown provider, or a missing key.
    """
    if isinstance(model, ChatModelBase):
        return model
    config = model if isinstance(model, ModelConfig) else ModelConfig.parse(model)
    return Alias("default", config).model(ledger)
