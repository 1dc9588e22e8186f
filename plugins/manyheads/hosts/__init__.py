"""The agent frameworks. Each is imported only when it is asked for."""

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TypeAlias

from manyheads.config import ModelConfig
from manyheads.core import ManagedHost, Recall
from manyheads.errors import ConfigError

HostFactory: TypeAlias = Callable[[Mapping[str, ModelConfig], Recall, int], ManagedHost]
"""Makes a host of the models by alias, what its retrieval hook recalls, and the attempts at a reply."""

FRAMEWORKS = {"agentscope": "agentscope", "autogen": "autogen_agentchat"}
"""The import package that each host needs."""


def host_factory(name: str) -> HostFactory:
    """The factory of a host's runs; imports the framework.

    Raises:
        ConfigError: no such host, or its framework is not installed.
    """
    need_framework(name)
    return import_module(f"manyheads.hosts.{name}.host").make_host


def need_framework(name: str) -> None:
    """Raises `ConfigError` with the command that installs a host's framework, where it is missing."""
    if name not in FRAMEWORKS:
        raise ConfigError(f"unknown host {name!r}", tried=f"hosts: {', '.join(FRAMEWORKS)}")
    if find_spec(FRAMEWORKS[name]) is None:
        raise ConfigError(
            f"host {name!r} needs {FRAMEWORKS[name]}, which is not installed",
            hint=f"pip install 'manyheads[{name}]'",
        )
