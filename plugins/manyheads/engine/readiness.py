"""Whether a config can run: what it needs, looked at one by one; a run, a suite and `manyheads check` go by it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from urllib.parse import urlsplit

from manyheads.bank.corpora import resolve_corpus
from manyheads.bank.ecosystem import Ecosystem
from manyheads.config import ModelConfig, RunConfig
from manyheads.config.run import FRAMEWORKS
from manyheads.discussion.run import DiscussionSettings
from manyheads.discussion.team import need_members
from manyheads.engine.replay import ReplayModel
from manyheads.engine.system import system_of
from manyheads.errors import ConfigError, UserError
from manyheads.models.requests import key_of, key_variable
from manyheads.report.record import count
from manyheads.resources import Resources
from manyheads.roles import Roles
from manyheads.tools import TOOLS


@dataclass(frozen=True)
class Finding:
    """One thing looked at, and the error that a run would end with where it is not well."""

    subject: str
    message: str
    error: UserError | None = None

    @property
    def ok(self) -> bool:
        return self.error is None


def _wrong(subject: str, error: UserError | str) -> Finding:
    error = ConfigError(error) if isinstance(error, str) else error
    return Finding(subject, str(error).removeprefix(f"{subject}: "), error)


def _host(config: RunConfig) -> Iterator[Finding]:
    if find_spec(FRAMEWORKS[config.host]) is None:
        wrong = f"{config.host} is not installed: pip install 'manyheads[{config.host}]'"
        yield Finding("host", wrong, ConfigError(wrong))
    else:
        yield Finding("host", config.host)


def _roles(config: RunConfig) -> Iterator[Finding]:
    try:
        roles = Roles(Resources.of(config.paths))
        problems = misfits(config, roles)
    except UserError as error:
        yield _wrong("roles", error)
        return
    yield from (_wrong("roles", problem) for problem in problems)
    if not problems:
        yield Finding("roles", f"{len(roles.cards)} cards, every prompt reads only what its task gives")


def _models(config: RunConfig) -> Iterator[Finding]:
    for alias, model in config.models.items():
        subject = f"models.{alias}"
        try:
            _need_model(model, alias)
            yield Finding(subject, f"{model.provider}/{model.name}")
        except UserError as error:
            yield _wrong(subject, error)


def _need_model(model: ModelConfig, alias: str) -> None:
    """Raises `UserError` where a model has no key, no record, or nothing listens at its address."""
    if model.provider == "replay":
        ReplayModel.from_run(model.name)
        return
    if key_variable(model):
        key_of(model, alias)
    if model.provider in ("openai", "ollama", "anthropic") and (problem := _unreachable(model, alias)):
        raise ConfigError(problem)


def _unreachable(model: ModelConfig, alias: str) -> str | None:
    """Whether anything listens at the model's address; no request is paid for."""
    import socket

    usual = {"openai": "https://api.openai.com", "anthropic": "https://api.anthropic.com"}
    url = urlsplit(model.address or usual.get(model.provider, "http://localhost:11434"))
    address = (url.hostname or "localhost", url.port or (443 if url.scheme == "https" else 80))
    try:
        socket.create_connection(address, timeout=3).close()
    except OSError as error:
        where = f"{address[0]}:{address[1]} cannot be reached ({error.strerror or error})"
        return f"{where}; start the server, or set models.{alias}.base_url"
    return None


def _corpus(config: RunConfig) -> Iterator[Finding]:
    """The corpus of a system that opens one, and the sources of look-ups beside it."""
    if not system_of(config).corpus(config):
        yield from _sources(config)
        return
    try:
        with Ecosystem.open(resolve_corpus(config.corpus, embedding=config.embedding)) as ecosystem:
            if isinstance(config.settings, DiscussionSettings):
                need_members(config.settings.team, ecosystem)
            yield Finding("corpus", f"{config.corpus}: {count(len(ecosystem.scientists), 'scientist')}")
            yield from _sources(config, ecosystem)
    except UserError as error:
        yield _wrong("corpus", error)


def _sources(config: RunConfig, corpus: Ecosystem | None = None) -> Iterator[Finding]:
    """Where papers are looked up, for a run that may; nobody is asked."""
    from manyheads.literature.library import Library

    try:
        if not system_of(config).searches(config, Roles(Resources.of(config.paths))):
            return
    except UserError:  # of the cards, with which it is told
        return
    try:
        Library(config.literature, bank=corpus and corpus.papers).open()
        yield Finding("literature", ", ".join(config.literature.cascade))
    except UserError as error:
        yield _wrong("literature", error)


def _inputs(config: RunConfig) -> Iterator[Finding]:
    """What the system itself asks of a config, such as a topic."""
    system = system_of(config)
    try:
        system.ready(system.settle(config))
    except UserError as error:
        yield _wrong(config.system, error)


def _texts(config: RunConfig) -> Iterator[Finding]:
    """What the system reads of its inputs; nothing where these lack something."""
    system = system_of(config)
    if any(_inputs(config)):
        return
    try:
        if (given := system.read(config)) is not None:
            yield Finding("inputs", system.summary(given))
    except UserError as error:
        yield _wrong("inputs", error)


PARTS: Mapping[str, Callable[[RunConfig], Iterator[Finding]]] = {
    "host": _host,
    "roles": _roles,
    "models": _models,
    "corpus": _corpus,
    "inputs": _inputs,
    "texts": _texts,
}
"""What is looked at, in order."""


def findings(config: RunConfig, *parts: str) -> Iterator[Finding]:
    """What a config needs before it can run, one by one: of some parts, or of all."""
    for part in parts or PARTS:
        yield from PARTS[part](config)


def need(config: RunConfig, *parts: str) -> None:
    """Raises the first `UserError` of the findings."""
    for finding in findings(config, *parts):
        if finding.error:
            raise finding.error


def roles_of(config: RunConfig) -> Roles:
    """The role cards and prompts of a run.

    Raises:
        ConfigError: they do not fit the config.
    """
    roles = Roles(Resources.of(config.paths))
    if problems := misfits(config, roles):
        others = f" and the other {len(problems) - 1}, which manyheads check lists" if problems[1:] else ""
        raise ConfigError(problems[0], hint=f"mend this{others}")
    return roles


def misfits(config: RunConfig, roles: Roles) -> list[str]:
    """What stands between a config and its run in the role cards and prompts, a line each.

    Raises:
        ConfigError: a card cannot be read, or the config names a role that is not there.
    """
    system = system_of(config)
    needed = {role for role, _ in system.needs(config)} | set(config.roles)
    return [
        *roles.problems(),
        *(line for role in sorted(needed) for line in _of_card(config, roles, role)),
        *_of_tasks(config, roles),
        *system.check(config, roles),
    ]


def _of_card(config: RunConfig, roles: Roles, role: str) -> Iterator[str]:
    card = roles.card(role)
    changes = config.roles.get(role)
    alias = changes.model if changes else card.model
    if alias not in config.models:
        yield f"role {role}: its model is {alias!r}, but the config has models {', '.join(config.models)}"
    for tool in sorted(set(card.tools) - TOOLS):
        yield f"role {role}: there is no tool {tool!r}, only {', '.join(sorted(TOOLS))}"


def _of_tasks(config: RunConfig, roles: Roles) -> Iterator[str]:
    for (role, task), kind in system_of(config).needs(config).items():
        tasks = roles.card(role).tasks
        if task not in tasks:
            yield f"role {role}: {config.system} needs its task {task!r}, which the card does not have"
        elif not issubclass(roles.reply(role, task), kind):
            yield f"role {role}: task {task!r} must reply with {kind.__name__}, not {tasks[task].reply}"
