"""What a config needs before it can run, looked at one by one."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from urllib.parse import urlsplit

from manyheads.bank.corpora import resolve_corpus
from manyheads.bank.ecosystem import Ecosystem
from manyheads.config import ModelConfig, RunConfig
from manyheads.config.run import FRAMEWORKS
from manyheads.discussion import DiscussionSettings, need_members
from manyheads.engine.replay import ReplayModel
from manyheads.engine.system import misfits, system_of
from manyheads.errors import UserError
from manyheads.models.requests import key_of, key_variable
from manyheads.report.record import count
from manyheads.resources import Resources
from manyheads.roles import Roles


@dataclass(frozen=True)
class Finding:
    """One thing looked at: whether it is well, and what to do if not."""

    ok: bool
    subject: str
    message: str


def findings(config: RunConfig) -> list[Finding]:
    """Look at the host, the roles and prompts, each model, the corpus, and the sources of look-ups."""
    corpus = _corpus(config) if system_of(config).corpus(config) else _sources(config)
    return [_host(config), *_roles(config), *_models(config), *corpus, *_inputs(config)]


def _inputs(config: RunConfig) -> Iterator[Finding]:
    """What the system itself asks of a config, such as a topic, and what it reads."""
    system = system_of(config)
    try:
        system.ready(config)
    except UserError as error:
        yield Finding(False, config.system, str(error).removeprefix(f"{config.system}: "))
        return
    try:
        if (given := system.read(config)) is not None:
            yield Finding(True, "inputs", system.summary(given))
    except UserError as error:
        yield Finding(False, "inputs", str(error))


def _host(config: RunConfig) -> Finding:
    if find_spec(FRAMEWORKS[config.host]) is None:
        return Finding(
            False, "host", f"{config.host} is not installed: pip install 'manyheads[{config.host}]'"
        )
    return Finding(True, "host", config.host)


def _roles(config: RunConfig) -> Iterator[Finding]:
    try:
        roles = Roles(Resources.of(config.paths))
        problems = misfits(config, roles)
    except UserError as error:
        yield Finding(False, "roles", str(error))
        return
    yield from (Finding(False, "roles", problem) for problem in problems)
    if not problems:
        yield Finding(True, "roles", f"{len(roles.cards)} cards, every prompt reads only what its task gives")


def _models(config: RunConfig) -> Iterator[Finding]:
    for alias, model in config.models.items():
        problem = _problem_of(model, alias)
        yield Finding(problem is None, f"models.{alias}", problem or f"{model.provider}/{model.name}")


def _problem_of(model: ModelConfig, alias: str) -> str | None:
    if model.provider == "replay":
        return _replayable(model)
    try:
        _ = key_variable(model) and key_of(model, alias)
    except UserError as error:
        return str(error).removeprefix(f"models.{alias}: ")
    return _unreachable(model, alias) if model.provider in ("openai", "ollama", "anthropic") else None


def _replayable(model: ModelConfig) -> str | None:
    try:
        ReplayModel.from_run(model.name)
    except UserError as error:
        return str(error)
    return None


def _unreachable(model: ModelConfig, alias: str) -> str | None:
    """Whether anything listens at the model's address; no request is paid for."""
    import socket

    usual = {"openai": "https://api.openai.com", "anthropic": "https://api.anthropic.com"}
    url = urlsplit(model.base_url or usual.get(model.provider, "http://localhost:11434"))
    address = (url.hostname or "localhost", url.port or (443 if url.scheme == "https" else 80))
    try:
        socket.create_connection(address, timeout=3).close()
    except OSError as error:
        where = f"{address[0]}:{address[1]} cannot be reached ({error.strerror or error})"
        return f"{where}; start the server, or set models.{alias}.base_url"
    return None


def _corpus(config: RunConfig) -> list[Finding]:
    """The corpus, and the sources of look-ups beside it."""
    try:
        with Ecosystem.open(resolve_corpus(config.corpus, embedding=config.embedding)) as ecosystem:
            if isinstance(config.settings, DiscussionSettings):
                need_members(config.settings.team, ecosystem)
            scientists = len(ecosystem.scientists)
            sources = _sources(config, ecosystem)
    except UserError as error:
        return [Finding(False, "corpus", str(error))]
    return [Finding(True, "corpus", f"{config.corpus}: {count(scientists, 'scientist')}"), *sources]


def _sources(config: RunConfig, corpus: Ecosystem | None = None) -> list[Finding]:
    """Where papers are looked up, for a run that may; nobody is asked."""
    from manyheads.literature.library import Library

    if not _looks_up(config):
        return []
    try:
        Library(config.literature, bank=corpus and corpus.papers).open()
    except UserError as error:
        return [Finding(False, "literature", str(error))]
    return [Finding(True, "literature", ", ".join(config.literature.cascade))]


def _looks_up(config: RunConfig) -> bool:
    try:
        return system_of(config).searches(config, Roles(Resources.of(config.paths)))
    except UserError:  # of the cards, with which it is told
        return False
