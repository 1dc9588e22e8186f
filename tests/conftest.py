"""What every test gets: no way out of this machine, no user settings, no memory of the test before."""

import gc
import ipaddress
import os
import signal
import socket
import sqlite3
import ssl
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import typer.main
import typer.testing
from hypothesis import HealthCheck, settings

from manyheads.base.files import Pool, cache_folder
from manyheads.base.http import Pace
from manyheads.config import environment
from manyheads.corpus import corpora
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.literature.semantic_scholar import SemanticScholar
from manyheads.models import abilities
from support.costs import Costs
from support.llm import LLM

OURS = (
    "MANYHEADS_PATH",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "OLLAMA_HOST",
    "SEMANTIC_SCHOLAR_API_KEY",
    "OPENALEX_API_KEY",
    "OPENALEX_MAILTO",
    "CROSSREF_MAILTO",
    "NCBI_API_KEY",
    "MANYHEADS_ALLOW",
)

# The workers and each process that a test starts would compile all anew, which takes longer than most tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The frameworks and 5,500 tests stay until the end: a collector of garbage that walks through them again and again takes
# a tenth of the time.
gc.disable()

# How long an example takes says more of who else uses the machine. On top of what Hypothesis takes up by itself: in CI,
# examples that are the same in every run. `make test-slow` tries fifty of each.
settings.register_profile(
    "thorough", settings(), deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("quick", settings.get_profile("thorough"), max_examples=15)
settings.load_profile("quick")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Costs(), "costs")


def pytest_collection_finish() -> None:
    """From here on, only what tests make is looked through."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def heard_interrupts() -> Iterator[None]:
    """Processes that tests start hear Ctrl-C: a shell's background job ignores it, and so would all that it starts."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One cache for all tests, not the user's; `MANYHEADS_CACHE` keeps one between sessions."""
    patch, base = pytest.MonkeyPatch(), tmp_path_factory.getbasetemp()
    patch.setenv("XDG_CONFIG_HOME", str(base / "settings"))
    if not os.environ.get("MANYHEADS_CACHE"):
        shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
        patch.setenv("MANYHEADS_CACHE", str(shared / "manyheads-cache"))
    yield
    patch.undo()


@pytest.fixture(scope="session", autouse=True)
def no_certificates() -> Iterator[None]:
    """No test speaks TLS, and each client of a model server would read the system's certificates for 25 ms."""
    patch = pytest.MonkeyPatch()
    for name in ("load_verify_locations", "load_default_certs"):
        patch.setattr(ssl.SSLContext, name, Mock())
    yield
    patch.undo()


@pytest.fixture(scope="session", autouse=True)
def commands_put_together_once() -> Iterator[None]:
    """A process has one command as a rule; here each of hundreds would read all signatures again."""
    patch, once = pytest.MonkeyPatch(), cache(typer.main.get_command)
    patch.setattr(typer.main, "get_command", once)
    patch.setattr(typer.testing, "_get_command", once)
    yield
    patch.undo()


class Kept(Pool[Ecosystem]):
    """Closes no corpus that ships before the end, unless it lies in a cache of a test's own."""

    def __init__(self, cache: Path) -> None:
        super().__init__(Ecosystem.close)
        self._cache, self._kept = cache, set[Any]()

    def take(self, key: Any, make: Callable[[], Ecosystem]) -> Ecosystem:
        corpus = super().take(key, make)
        name, _, cache = key
        if name in corpora.SHIPPED and cache == self._cache and key not in self._kept:
            self._kept.add(key)
            super().take(key, make)
        return corpus

    def close(self) -> None:
        for key in self._kept:
            self.give_back(key)


@pytest.fixture(scope="session", autouse=True)
def shipped_corpora_opened_once(shared_cache: None) -> Iterator[None]:
    """Each of hundreds of runs would open the sample again for 50 ms."""
    patch, kept = pytest.MonkeyPatch(), Kept(cache_folder())
    patch.setattr(corpora, "_open", kept)
    yield
    patch.undo()
    kept.close()


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of this test alone."""
    monkeypatch.setenv("MANYHEADS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def unpaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pause between two requests of this process to Semantic Scholar."""
    monkeypatch.setattr(SemanticScholar, "paces", (Pace(0.0), Pace(0.0)))


class Unsynced(sqlite3.Connection):
    """Leaves it to the system when a file is on the disk: that matters where a machine dies, not a process."""

    def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
        return super().execute("PRAGMA synchronous=OFF" if "synchronous" in sql else sql, *given)


@pytest.fixture(scope="session", autouse=True)
def journals_wait_for_no_disk() -> Iterator[None]:
    """A run waits for the disk after each of its turns; in the processes that tests start, it still does."""
    patch = pytest.MonkeyPatch()
    patch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Unsynced))
    yield
    patch.undo()


@pytest.fixture(autouse=True)
def clean_slate(monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of the user's shell, no server remembered as refusing or allowed, no proxy between us and 127.0.0.1."""
    for name in [name for name in os.environ if name in OURS or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    abilities.forget()
    environment._typed.clear()


@pytest.fixture(scope="session", autouse=True)
def no_way_out() -> Iterator[None]:
    """A connection to anything but this machine fails the test."""
    patch, connect, connect_ex = pytest.MonkeyPatch(), socket.socket.connect, socket.socket.connect_ex

    def guarded(self: socket.socket, address: Any) -> None:
        _only_here(self, address)
        connect(self, address)

    def guarded_ex(self: socket.socket, address: Any) -> int:
        _only_here(self, address)
        return connect_ex(self, address)

    patch.setattr(socket.socket, "connect", guarded)
    patch.setattr(socket.socket, "connect_ex", guarded_ex)
    yield
    patch.undo()


def _only_here(connecting: socket.socket, address: Any) -> None:
    if connecting.family not in (socket.AF_INET, socket.AF_INET6):
        return
    host = str(address[0])
    if host != "localhost" and not _is_loopback(host):
        raise AssertionError(f"a test tried to reach {host}:{address[1]}")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@pytest.fixture
def llm() -> Iterator[LLM]:
    """A model server that answers by the schema; set `answers`, `faults`, `delay` as the test goes."""
    with LLM() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder of the user's, with `roles/`, `prompts/` and `configs/` in it."""
    for kind in ("roles", "prompts", "configs"):
        (tmp_path / kind).mkdir()
    return tmp_path
