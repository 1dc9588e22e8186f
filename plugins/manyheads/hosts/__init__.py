"""The agent frameworks. Each is imported only when it is asked for."""

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from manyheads.config import FRAMEWORKS
from manyheads.engine.system import system_of
from manyheads.errors import ConfigError

if TYPE_CHECKING:
    from manyheads.config import RunConfig
    from manyheads.core import ManagedHost
    from manyheads.engine.session import HostFactory


def native_names(package: str, host: str, homes: Mapping[str, str], ending: str) -> Callable[[str], object]:
    """The `__getattr__` of a host's package, which imports the framework when one of its names is first used.

    Args:
        package: the package's name.
        homes: the module of each name that the package writes itself.
        ending: how the names of the classes end that are made of the systems, and the module that makes them.
    """

    def find(name: str) -> object:
        home = homes.get(name) or (ending.lower() if name.endswith(ending) else None)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        need_framework(host)
        return getattr(import_module(f"{package}.{home}"), name)

    return find


def host_factory(name: str) -> "HostFactory":
    """The factory of a host's runs; the framework is imported when it is called.

    Raises:
        ConfigError: no such host, or its framework is not installed.
    """
    need_framework(name)

    def make_host(*given: Any) -> "ManagedHost":
        return import_module(f"manyheads.hosts.{name}.host").make_host(*given)

    return make_host


def need_framework(name: str) -> None:
    """Raises `ConfigError` with the command that installs a host's framework, where it is missing."""
    if name not in FRAMEWORKS:
        raise ConfigError(f"unknown host {name!r}", tried=f"hosts: {', '.join(FRAMEWORKS)}")
    if find_spec(FRAMEWORKS[name]) is None:
        raise ConfigError(
            f"host {name!r} needs {FRAMEWORKS[name]}, which is not installed",
            hint=f"pip install 'manyheads[{name}]'",
        )


def role_agent(role: str, model: Any, *, host: str = "autogen", **settings: Any) -> Any:
    """A native agent of a host that plays a role; see `role_agent` of `manyheads.hosts.autogen` and `.agentscope`.

    Raises:
        ConfigError: no such host or role, or the host's framework is not installed.
    """
    need_framework(host)
    return import_module(f"manyheads.hosts.{host}").role_agent(role, model, **settings)


def component(config: "RunConfig") -> str:
    """A config as the component JSON of its host.

    Raises:
        ConfigError: the host loads no components, or is not installed.
    """
    if config.host != "autogen":
        raise ConfigError(
            f"host {config.host!r} loads no component files; only autogen does",
            hint=f"in code: manyheads.hosts.agentscope.{system_of(config).prefix}Pipeline(config)",
        )
    need_framework(config.host)
    return import_module("manyheads.hosts.autogen.team").export(config)
