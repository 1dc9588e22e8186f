"""A role for the agents of any host: its card, its system prompt, its tools, its guests."""

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from manyheads.asking.roles import RoleCard, Roles
from manyheads.base.errors import ConfigError, did_you_mean
from manyheads.base.papers import Literature, Scientist
from manyheads.base.resources import Resources
from manyheads.config import ModelConfig
from manyheads.core import Tool, safe_name
from manyheads.corpus.corpora import resolve_corpus
from manyheads.corpus.ecosystem import Ecosystem, KnowledgeBank
from manyheads.hosts.clients import Ledger
from manyheads.literature.library import Library
from manyheads.models.abilities import settled
from manyheads.team.run import InvitationConfig
from manyheads.team.team import Invitations
from manyheads.team.tools import inspirations_tools, literature_tools

C = TypeVar("C")
Guest: TypeAlias = Callable[[Scientist, str], Awaitable[str]]
"""Asks a scientist as another agent of the host; returns the answer as text."""


@dataclass(frozen=True)
class RoleSpec:
    """What the `role_agent` of every host takes.

    Args:
        role: name of a role card, such as `reviewer`.
        name: the agent's name; the role's when left out.
        tools: of manyheads, of the framework, or functions.
        library: for the literature tools that its card lists; stays open.
        corpus: an open corpus or its name; gives a `scientist` or `leader` the tools to find other scientists and to ask
            one of them per turn, who answers as another agent of the same model. `scientist="Scientist3"` names the one
            who plays. Roles whose card lists `retrieve_inspirations` can search its literature database. A named corpus
            stays open until the process ends.
        knowledge: an open bank, or the folder or URL of one, whose papers are looked up for each question and shown with it.
        native: further arguments of the constructor of the framework's agent, such as `{"description": "…"}`; they replace ours.
        paths: your own folders of roles and prompts, searched first.
        variables: of the role's system prompt; the card has defaults.
    """

    role: str
    name: str | None = None
    tools: Sequence[Any] = ()
    library: Library | None = None
    corpus: Literature | str | None = None
    knowledge: KnowledgeBank | str | Path | None = None
    native: Mapping[str, Any] = field(default_factory=dict[str, Any])
    paths: Sequence[str] = ()
    variables: Mapping[str, Any] = field(default_factory=dict[str, Any])
    agent: type[Any] | None = None
    """The framework's class, for the errors."""

    @classmethod
    def of(
        cls, role: str, settings: Mapping[str, Any], agent: type[Any], filled: Collection[str]
    ) -> "RoleSpec":
        """The arguments of a `role_agent`; what is none of them is a variable.

        Args:
            agent: the framework's class, whose constructor takes `native`.
            filled: the arguments that `role_agent` gives to it.

        Raises:
            ConfigError: an argument in `native` is not the constructor's, or is filled in by the role.
        """
        own = {each.name for each in fields(cls)} - {"role", "variables", "agent"}
        variables = {name: value for name, value in settings.items() if name not in own}
        spec = cls(
            role, variables=variables, agent=agent, **{name: settings[name] for name in own & settings.keys()}
        )
        for name in spec.native:
            if name in filled:
                raise ConfigError(
                    f"role {role!r}: native: {name} is not free, role_agent fills it in",
                    hint="give it as an argument of role_agent itself, if it has one",
                )
            if name not in spec.takes:
                free = [each for each in spec.takes if each not in filled]
                raise ConfigError(
                    f"role {role!r}: native: {agent.__name__} takes no {name}",
                    tried=f"arguments of {agent.__name__}: {', '.join(free)}",
                    hint=did_you_mean(name, free),
                )
        return spec

    @property
    def takes(self) -> tuple[str, ...]:
        """What the constructor of the framework's agent takes."""
        return tuple(inspect.signature(self.agent).parameters) if self.agent else ()

    @property
    def agent_name(self) -> str:
        return safe_name(self.name or self.role)

    @property
    def corpus_name(self) -> str | None:
        """None for an open corpus, which no file can hold."""
        return self.corpus if isinstance(self.corpus, str) else None

    @property
    def scientist(self) -> str:
        """The name of the one who plays the role; empty for none."""
        me = self.variables.get("scientist")
        return me.name if isinstance(me, Scientist) else me or ""

    def cast(self, guest: Guest, ledger: Ledger, roles: Roles | None = None) -> "CastRole":
        """The role with its prompt and the tools of literature and corpus that its card lists.

        Args:
            guest: asks an invited scientist.
            ledger: of the agent's turns; the start of a turn resets the count of guests.

        Raises:
            ConfigError: no such role or variable.
            CorpusError: no such corpus or scientist.
        """
        roles = roles or Roles(Resources.of(self.paths))
        card, variables = roles.card(self.role), dict(self.variables)
        self._refuse_arguments(card)
        if isinstance(me := variables.get("scientist"), str):
            if (corpus := self._open()) is None:
                what = f"role {self.role!r}: scientist {me!r} is of no corpus"
                raise ConfigError(what, hint='add corpus="sample"')
            variables["scientist"] = corpus.scientist(me)
        system = roles.system(self.role, variables)
        own = self.tools_of(card, guest, ledger, roles)
        return CastRole(card, system, own, ledger, roles, tuple(self.tools))

    def _refuse_arguments(self, card: RoleCard) -> None:
        """Raises `ConfigError` for a variable that is no variable, but an argument of the framework's agent."""
        for name in self.takes:
            if name in self.variables and name not in card.variables:
                agent = self.agent.__name__ if self.agent else ""
                raise ConfigError(
                    f"role {self.role!r} has no variable {name}; it is an argument of {agent}",
                    tried=f"variables: {', '.join(card.variables) or 'none'}",
                    hint=f"role_agent({self.role!r}, …, native={{{name!r}: …}}) passes it on",
                )

    def tools_of(self, card: RoleCard, guest: Guest, ledger: Ledger, roles: Roles) -> tuple[Tool, ...]:
        """The tools that a card lists; see `cast`."""
        corpus, invitations = self._open(), tuple[Tool, ...]()
        if corpus:
            me, most = self.scientist or card.name, InvitationConfig().per_turn

            async def ask(name: str, question: str) -> str:
                nothing = dict.fromkeys(
                    ("context", "remark", *roles.task("scientist", "advise").variables), ""
                )
                variables = {**nothing, "asker": me, "question": question}
                return await guest(corpus.scientist(name), roles.prompt("scientist", "advise", variables))

            ledger.invitations = Invitations(corpus, roles.prompts, frozenset({me}), most, ask)
            invitations = ledger.invitations.tools
        return (
            *(tool for tool in invitations if tool.name in card.tools),
            *literature_tools(self.library, card.tools, roles.prompts),
            *inspirations_tools(corpus, card.tools, roles.prompts),
        )

    def _open(self) -> Literature | None:
        return _open_corpus(self.corpus) if isinstance(self.corpus, str) else self.corpus

    def guest_of(
        self, role_agent: Callable[..., Any], client: Any, ask: Callable[[Any, str], Awaitable[str]]
    ) -> Guest:
        """Asks a scientist as another agent of the same client, made by a host's `role_agent`."""

        async def guest(scientist: Scientist, question: str) -> str:
            own = {"name": scientist.name, "paths": self.paths, "scientist": scientist}
            return await ask(role_agent("scientist", client, **own), question)

        return guest


@dataclass(frozen=True)
class CastRole:
    """A role that is cast: what an agent plays."""

    card: RoleCard
    system: str
    tools: tuple[Tool, ...]
    """Those of its card."""
    ledger: Ledger
    roles: Roles
    given: tuple[Any, ...] = ()
    """The user's."""

    def native(
        self, wrap: Callable[[Tool, Ledger], Any], *others: object, calls_tools: bool = True
    ) -> list[Any]:
        """All its tools, ours as the framework's.

        Args:
            others: what its model must call besides, such as hand-offs.

        Raises:
            ConfigError: it has any, and its model cannot call tools.
        """
        tools = (*self.given, *self.tools)
        if (tools or others) and not calls_tools:
            what = f"role {self.card.name!r}: its model cannot call tools"
            raise ConfigError(what, hint="set its `tools: true` if it can")
        return [wrap(tool, self.ledger) if isinstance(tool, Tool) else tool for tool in tools]


class Plays:
    """What the hosts' agents of roles have in common."""

    role = ""
    roles: Roles | None = None
    """The cards that its role is one of."""
    ledger: Ledger | None = None
    """Of its turns and tools."""

    def play(self, part: CastRole) -> None:
        self.role, self.roles, self.ledger = part.card.name, part.roles, part.ledger


def model_for(model: C | ModelConfig | str) -> C | ModelConfig:
    """The model of a `role_agent`: settings, completed with its known abilities, or a client of the framework."""
    named = ModelConfig.parse(model) if isinstance(model, str) else model
    return settled(named) if isinstance(named, ModelConfig) else named


@cache
def _open_corpus(name: str) -> Literature:
    return Ecosystem.open(resolve_corpus(name))
