"""Whether a config can run: the checks of runs, suites and `manyheads check`."""

import asyncio
import socket
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from manyheads.asking.roles import Roles, current_roles
from manyheads.base.errors import ConfigError, ModelError, UserError, closest, need_extra
from manyheads.base.papers import Literature
from manyheads.base.resources import Resources
from manyheads.base.text import count
from manyheads.config import COMMAND, HUMAN, PERSON, ModelConfig, RunConfig
from manyheads.config.environment import host_entry
from manyheads.core import money
from manyheads.corpus.corpora import resolve_corpus
from manyheads.corpus.database import records_in_short
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.embedding import load_embedder
from manyheads.engine.person import nobody_there
from manyheads.engine.replay import ReplayModel
from manyheads.literature.library import Library
from manyheads.models.command import command_of
from manyheads.models.prices import FREE, need_one_currency, need_prices
from manyheads.models.probe import in_short, probe
from manyheads.models.requests import is_own, key_of, server_address
from manyheads.team.steering import NEEDS
from manyheads.team.system import Needs, system_of
from manyheads.team.team import need_members
from manyheads.team.tools import ARGUMENTS, INSPIRE, LOOK_UPS
from manyheads.team.tools import problems as tool_problems


@dataclass(frozen=True)
class CheckResult:
    """One check, with the error that a run would end with."""

    subject: str
    message: str
    error: UserError | None = None

    @property
    def ok(self) -> bool:
        return self.error is None


UNASKED = ": settings only, no request sent"
"""Note on a model or a source when `--ping` is not set."""


def _wrong(subject: str, error: UserError | str) -> CheckResult:
    error = ConfigError(error) if isinstance(error, str) else error
    return CheckResult(subject, str(error).removeprefix(f"{subject}: "), error)


def findings(
    config: RunConfig, *, ask_models: bool | None = None, connect: bool = True
) -> Iterator[CheckResult]:
    """Check what a config needs to run, one by one.

    Args:
        ask_models: whether to test what models can do; by default only at local servers.
        connect: whether to test the connection to a model's address.
    """
    if not (host := host_entry(config.host)).installed:
        yield _wrong("host", f"{config.host} is not installed: {host.install}")
    else:
        yield CheckResult("host", config.host)
    try:
        need_extras(config)
    except ConfigError as error:
        yield _wrong("extras", error)
    roles = None
    try:
        roles = Roles(Resources.of(config.paths), config.language)
        problems = [*roles.problems(), *misfits(config, roles)]
        yield from (_wrong("roles", problem) for problem in problems)
        if not problems:
            yield CheckResult("roles", f"{len(roles.cards)} roles, all prompts are valid")
    except UserError as error:
        yield _wrong("roles", error)
    for alias, model in config.models.items():
        try:
            _need_key(model, alias)
            if connect and model.on_server:
                _need_server(model, alias)
            asked = is_own(model) if ask_models is None else ask_models
            note = UNASKED if connect and model.on_server and not asked else ""
            yield CheckResult(f"models.{alias}", _described(model, alias, asked) + note)
        except UserError as error:
            yield _wrong(f"models.{alias}", error)
    yield from _literature(config, roles, UNASKED if connect else "")
    yield from _inputs(config)


def _described(model: ModelConfig, alias: str, ask: bool) -> str:
    """A model, with its tested abilities; raises `UserError` if it does not answer."""
    name = f"{model.provider}/{model.name}"
    if model.provider == HUMAN:
        return f"{name}: a person answers, on a terminal or with --control; no key, no server, no cost"
    if not (ask and model.on_server):
        return name
    with ThreadPoolExecutor(1) as beside:  # a loop may be running here, as in a notebook
        found, usage = beside.submit(asyncio.run, probe(model, alias)).result()
    cost = "" if usage.cost is None else f", {money(usage.cost, model.price and model.price.currency)}"
    return f"{name}: {in_short(model, found)} (tested with {usage.calls} requests, {usage.tokens:,} tokens{cost})"


def _need_server(model: ModelConfig, alias: str) -> None:
    url = urlsplit(server_address(model))
    host, port = url.hostname or "localhost", url.port or (443 if url.scheme == "https" else 80)
    try:
        socket.create_connection((host, port), timeout=3).close()
    except OSError as error:
        raise ModelError(
            f"models.{alias}: {host}:{port} cannot be reached ({error.strerror or error})",
            hint=f"start the server, check the network, or set models.{alias}.base_url",
        ) from error


def _need_key(model: ModelConfig, alias: str) -> None:
    if model.provider == "replay":
        ReplayModel.from_run(model.name)
    elif model.provider == COMMAND:
        command_of(model, alias)
    elif model.on_server:
        key_of(model, alias)


def need_keys(config: RunConfig, roles: Roles, clients: Collection[str] = ()) -> None:
    """Raises `UserError` if a model of the run has no key, or no journal to replay; sends no request.

    The models of `clients` have a client of the user's, with its own key.
    """
    for alias in models_asked(config, roles):
        if alias not in clients:
            _need_key(config.models[alias], alias)


def models_asked(config: RunConfig, roles: Roles) -> list[str]:
    """The aliases of the models that a run uses, without people."""
    return [alias for alias in _asked(config, roles) if config.models[alias].provider != HUMAN]


def _asked(config: RunConfig, roles: Roles) -> list[str]:
    asked = sorted({role for role, _ in needs_of(config)})
    return list(dict.fromkeys(config.alias_of(role, roles.card(role).model) for role in asked))


def needs_of(config: RunConfig) -> Needs:
    """The required replies, by role and task: the system's, and those of steering."""
    return {**system_of(config).needs(config), **(NEEDS if config.steer else {})}


def need_person(config: RunConfig, roles: Roles) -> None:
    """Raises `ConfigError` if a run asks a person; for runs at which nobody can answer."""
    for alias in _asked(config, roles):
        if config.models[alias].provider == HUMAN:
            steered = f"steer={','.join(config.steer)}: a person steers this run"
            steers = alias == PERSON and config.steer
            raise nobody_there(f"{config.system}: {steered if steers else f'models.{alias} is a person'}")


def _literature(config: RunConfig, roles: Roles | None, note: str) -> Iterator[CheckResult]:
    """The corpus, for a system that opens one, and the literature sources; sends no request."""
    system = system_of(config)
    try:
        if not system.corpus(config):
            yield from _sources(config, roles, note)
            return
        named = None if config.embedding == "auto" else load_embedder(config.embedding)
        with Ecosystem.open(resolve_corpus(config.corpus, embedding=named or "auto"), named) as ecosystem:
            need_team(config, ecosystem)
            parts = [count(ecosystem.papers.count(), "paper"), count(len(ecosystem.scientists), "scientist")]
            if config.literature.references == "inspirations" or config.settings.retrieves:
                parts.append(records_in_short(ecosystem.folder, config.corpus))
            yield CheckResult("corpus", f"{config.corpus}: {', '.join(parts)}")
            yield from _sources(config, roles, note, ecosystem)
    except UserError as error:
        yield _wrong("corpus", error)


def _sources(
    config: RunConfig, roles: Roles | None, note: str, corpus: Ecosystem | None = None
) -> Iterator[CheckResult]:
    try:
        if roles is None or not system_of(config).searches(config, roles):
            return
    except UserError:  # reported with the cards
        return
    try:
        Library(config.literature, bank=corpus and corpus.papers).open()
        yield CheckResult("literature", f"{', '.join(config.literature.cascade)}{note}")
    except UserError as error:
        yield _wrong("literature", error)


def _inputs(config: RunConfig) -> Iterator[CheckResult]:
    """The system's own checks, such as for a topic, then its inputs."""
    try:
        config = prepare(config)
    except UserError as error:
        yield _wrong(config.system, error)
        return
    try:
        for name, paper in system_of(config).papers_elsewhere(config).items():
            yield CheckResult("inputs", f"{name}: {paper}, downloaded or unpacked when a run begins")
        if (material := read_inputs(config)) is not None:
            yield CheckResult("inputs", str(material))
    except UserError as error:
        yield _wrong("inputs", error)


def read_inputs(config: RunConfig) -> Any:
    """What `System.read` gives before a run begins; None if a paper is yet to be downloaded or unpacked."""
    return None if system_of(config).papers_elsewhere(config) else system_of(config).read(config)


def need_team(config: RunConfig, literature: Literature) -> None:
    """Raises `CorpusError` if the corpus cannot fill the team of a system with one."""
    if discussion := system_of(config).team(config):
        need_members(discussion.team, literature)


def prepare(config: RunConfig) -> RunConfig:
    """The config at the start of a run, see `System.prepare`.

    Raises:
        ConfigError: an input, an optional extra or anything else that the system requires is missing.
    """
    system = system_of(config)
    if config.budget.money is not None:
        need_prices(config, "budget.money")
    need_one_currency(config)
    for name, slot in system.slots.items():
        if slot.required and not getattr(config.inputs, name):
            option = f"--{name.replace('_', '-')} {slot.metavar}"
            raise ConfigError(f"{config.system}: needs the input {name}", hint=slot.hint or option)
    prepared = system.prepare(config)
    need_extras(prepared)
    return prepared


def need_extras(config: RunConfig) -> None:
    """Raises `ConfigError` with the command that installs an optional extra, if a run needs one that is missing."""
    system = system_of(config)
    for extra in (*system.extras, *(["corpus"] if system.corpus(config) else [])):
        need_extra(extra, config.system)


def roles_of(config: RunConfig) -> Roles:
    """The role cards and prompts of a run.

    Raises:
        ConfigError: they do not fit the config.
    """
    roles = current_roles(Resources.of(config.paths), config.language)
    if problems := [*roles.problems(), *misfits(config, roles)]:
        more = len(problems) - 1
        others = f" and {more} more problems, which manyheads check lists" if more else ""
        raise ConfigError(problems[0], hint=f"fix this{others}")
    return roles


def switched_off(config: RunConfig, roles: Roles) -> Iterator[str]:
    """Roles that would use tools but cannot, a line each; they invite guests by a field instead."""
    system = system_of(config)
    if not system.searches(config, roles):
        return
    for role in sorted({role for role, _ in system.needs(config)}):
        card = roles.card(role)
        alias = config.alias_of(role, card.model)
        model, own = config.models[alias], set(card.tools) & {*LOOK_UPS, INSPIRE}
        if own and not model.calls_tools and model.provider not in FREE:
            name, tools = f"models.{alias} ({model.provider}/{model.name})", ", ".join(sorted(own))
            yield f"{name} cannot call tools: {role} works without {tools}"


def blind(config: RunConfig, roles: Roles) -> Iterator[str]:
    """Roles that should see pictures, but whose model is set not to, a line each."""
    system = system_of(config)
    for role in sorted({role for role, _ in system.needs(config)} & system.pictures):
        alias = config.alias_of(role, roles.card(role).model)
        if not (model := config.models[alias]).sees:
            yield f"models.{alias} ({model.provider}/{model.name}) cannot see: {role} works without pictures"


def misfits(config: RunConfig, roles: Roles) -> list[str]:
    """Mismatches of config and role cards, a line each.

    Raises:
        ConfigError: a card cannot be read, or the config names an unknown role.
    """
    system, needs, lines = system_of(config), needs_of(config), list[str]()
    asked, tools = {role for role, _ in needs}, sorted({*ARGUMENTS, *system.tools})
    for role in sorted(asked | set(config.roles)):
        card = roles.card(role)
        alias = config.alias_of(role, card.model)
        if alias not in config.models:
            aliases = ", ".join(config.models)
            lines.append(f"role {role}: its model is {alias!r}, but the config only has {aliases}")
        for tool in sorted(set(card.tools) - set(tools)) if role in asked else ():
            near = closest(tool, tools)
            meant = f"; did you mean {near}?" if near else ""
            lines.append(f"role {role}: no such tool {tool!r}, the tools are {', '.join(tools)}{meant}")
    for (role, task), kind in needs.items():
        tasks = roles.card(role).tasks
        if task not in tasks:
            lines.append(f"role {role}: {config.system} needs a task {task!r}, but the card has none")
        elif not issubclass(roles.reply(role, task), kind):
            other = roles.reply(role, task).__name__
            lines.append(f"role {role}: task {task!r} must reply with {kind.__name__}, not {other}")
    own = {**system.tools, **{service.name: service.arguments for service in system.services}}
    return [*lines, *tool_problems(roles.prompts, own), *system.check(config, roles)]
