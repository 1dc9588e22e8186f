"""A role for the agents of any host: its card, its system prompt, its tools."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from manyheads.asking.roles import RoleCard, Roles
from manyheads.base.errors import ConfigError
from manyheads.base.papers import Literature, Scientist
from manyheads.core import Tool
from manyheads.corpus.corpora import resolve_corpus
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.hosts.clients import Ledger
from manyheads.literature.library import Library
from manyheads.team.run import InvitationConfig
from manyheads.team.tools import (
    find_scientists_tool,
    inspirations_tools,
    invite_scientist_tool,
    literature_tools,
    refused,
    scientist_named,
)

Guest: TypeAlias = Callable[[Scientist, str], Awaitable[str]]
"""Asks a scientist as another agent of the host; returns the answer as text."""


def guest_of(
    role_agent: Callable[..., Any],
    client: Any,
    paths: Sequence[str],
    ask: Callable[[Any, str], Awaitable[str]],
) -> Guest:
    """Asks a scientist as another agent of the same client, made by a host's `role_agent`."""

    async def guest(scientist: Scientist, question: str) -> str:
        agent = role_agent("scientist", client, name=scientist.name, paths=paths, scientist=scientist)
        return await ask(agent, question)

    return guest


def need_tools(role: str, tools: Iterable[object], *, calls_tools: bool) -> None:
    """Raises `ConfigError` if a role has tools that its model cannot call."""
    if any(True for _ in tools) and not calls_tools:
        raise ConfigError(
            f"role {role!r}: its model cannot call tools", hint="set its `tools: true` if it can"
        )


def cast_role(
    role: str,
    library: Library | None,
    corpus: Literature | str | None,
    guest: Guest,
    ledger: Ledger,
    roles: Roles,
    variables: Mapping[str, Any],
) -> tuple[RoleCard, str, tuple[Tool, ...]]:
    """A role's card, its system prompt, and the literature and corpus tools on its card.

    Args:
        variables: of the system prompt; `scientist` may name one of the corpus.
        library, corpus, guest, ledger: see `role_tools`.

    Raises:
        ConfigError: no such role or variable.
        CorpusError: no such corpus or scientist.
    """
    card = roles.card(role)
    if isinstance(corpus, str):
        corpus = _open_corpus(corpus)
    if isinstance(me := variables.get("scientist"), str):
        if corpus is None:
            raise ConfigError(f"role {role!r}: scientist {me!r} is of no corpus", hint='add corpus="sample"')
        variables = {**variables, "scientist": (me := corpus.scientist(me))}
    own = me.name if isinstance(me, Scientist) else ""
    system = roles.system(role, variables)
    return card, system, role_tools(card, own, library, corpus, guest, ledger, roles)


def role_tools(
    card: RoleCard,
    me: str,
    library: Library | None,
    corpus: Literature | str | None,
    guest: Guest,
    ledger: Ledger,
    roles: Roles,
) -> tuple[Tool, ...]:
    """The tools of literature and corpus that a role's card lists.

    Args:
        me: the scientist who plays the role, empty for none.
        corpus: of scientists; if named, it stays open until the process ends.
        guest: asks an invited scientist.
        ledger: counts guests; the start of a turn resets the count.
    """
    if isinstance(corpus, str):
        corpus = _open_corpus(corpus)
    guests = _guest_tools(corpus, me or card.name, guest, ledger, roles) if corpus else ()
    return (
        *(tool for tool in guests if tool.name in card.tools),
        *literature_tools(library, card.tools, roles.prompts),
        *inspirations_tools(corpus, card.tools, roles.prompts),
    )


@cache
def _open_corpus(name: str) -> Literature:
    return Ecosystem.open(resolve_corpus(name))


def _guest_tools(corpus: Literature, me: str, guest: Guest, ledger: Ledger, roles: Roles) -> tuple[Tool, ...]:
    most = InvitationConfig().per_turn

    async def invite(name: str, question: str) -> str:
        name = scientist_named(name, corpus.scientists)
        if name == me or name not in {scientist.name for scientist in corpus.scientists}:
            raise refused("member" if name == me else "unknown", roles.prompts)
        if ledger.guests >= most:
            raise refused("enough", roles.prompts)
        ledger.guests += 1
        nothing = dict.fromkeys(("context", "remark", *roles.task("scientist", "advise").variables), "")
        variables = {**nothing, "asker": me, "question": question}
        return await guest(corpus.scientist(name), roles.prompt("scientist", "advise", variables))

    return find_scientists_tool(corpus, {me}, roles.prompts), invite_scientist_tool(invite, roles.prompts)
