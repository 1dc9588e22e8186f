"""What a config needs before it can run, looked at one by one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from manyheads.bank.ecosystem import Ecosystem
from manyheads.bank.named import resolve_corpus
from manyheads.config import ModelConfig, RunConfig
from manyheads.config.run import FRAMEWORKS
from manyheads.discussion import need_members
from manyheads.engine.replay import ReplayModel
from manyheads.errors import UserError
from manyheads.literature.ideas import read_background, read_contest
from manyheads.models.requests import key_of, key_variable
from manyheads.report.record import count
from manyheads.resources import Resources
from manyheads.roles import Roles
from manyheads.systems import SYSTEMS, looks_up, misfits, needs_corpus
from manyheads.texts import Subject, read_subject


@dataclass(frozen=True)
class Finding:
    """One thing looked at: whether it is well, and what to do if not."""

    ok: bool
    subject: str
    message: str


def findings(config: RunConfig) -> list[Finding]:
    """Look at the host, the roles and prompts, each model, the corpus, and the sources of look-ups."""
    corpus = _corpus(config) if needs_corpus(config) else _sources(config)
    subject = [_subject(config)] if SYSTEMS[config.system].subject else []
    begins = SYSTEMS[config.system].background and (config.background or config.rebuttal.idea)
    background = [_read("background", lambda: _background(config))] if begins else []
    ranks = SYSTEMS[config.system].contest and config.ranking.target and config.ranking.ideas
    contest = [_read("ranking", lambda: _contest(config))] if ranks else []
    return [
        _host(config), *_ready(config), *_roles(config), *_models(config), *corpus, *subject, *background, *contest
    ]  # fmt: skip


def _ready(config: RunConfig) -> Iterator[Finding]:
    """What the system itself asks of a config, such as a topic; said only where it is missing."""
    try:
        SYSTEMS[config.system].ready(config)
    except UserError as error:
        yield Finding(False, config.system, str(error).removeprefix(f"{config.system}: "))


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


def _subject(config: RunConfig) -> Finding:
    if config.subject is None:
        return Finding(False, "subject", "none is named: --set subject=FILE, or a run folder")
    subject = Path(config.subject)
    return _read("subject", lambda: _words(read_subject(subject)))


def _words(subject: Subject) -> str:
    return f"{subject.name}: {_length(subject)}"


def _length(subject: Subject) -> str:
    return count(len(subject.text.split()), "word")


def _read(name: str, told: Callable[[], str]) -> Finding:
    """What is told of something that is given, once it is read; or why it cannot be."""
    try:
        return Finding(True, name, told())
    except UserError as error:
        return Finding(False, name, str(error))


def _background(config: RunConfig) -> str:
    found = read_background(config)
    ideas = "an idea to begin with, and " if found.idea else ""
    return f"{ideas}{count(len(found.works), 'abstract')}"


def _contest(config: RunConfig) -> str:
    found = read_contest(config)
    return f"{count(len(found.ideas), 'idea')}, and a target of {_length(found.target)}"


def _corpus(config: RunConfig) -> list[Finding]:
    """The corpus, and the sources of look-ups beside it."""
    try:
        with Ecosystem.open(resolve_corpus(config.corpus, embedding=config.embedding)) as ecosystem:
            if SYSTEMS[config.system].ecosystem:
                need_members(config.team, ecosystem)
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
        return looks_up(config, Roles(Resources.of(config.paths)))
    except UserError:  # of the cards, with which it is told
        return False
