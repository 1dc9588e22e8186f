"""The hosts: agent frameworks, each imported only when one of its names is used.

Another package adds a host by an entry point of the group `manyheads.hosts`, which names a module with
`make_host(models, recall, attempts)`. `clients.ClientHost` is the base of our hosts; `manyheads.testing.host_conformance`
tests a host.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from manyheads.base.errors import ConfigError
from manyheads.config.environment import HostEntry, default_host, host_entry, hosts
from manyheads.team.system import system_of

if TYPE_CHECKING:
    from manyheads.config import RunConfig
    from manyheads.core import ManagedHost
    from manyheads.engine.session import HostFactory

__all__ = ["component", "default_host", "host_factory", "host_of", "hosts", "need_framework", "role_agent"]


def native_names(package: str, host: str, homes: Mapping[str, str], ending: str) -> Callable[[str], object]:
    """The `__getattr__` of a host's package: it imports the framework on first use of a name.

    Args:
        homes: the names that each module of the package defines, with blanks between them.
        ending: the suffix of the systems' class names; in small letters the module that defines them.
    """
    modules = {name: module for module, names in homes.items() for name in names.split()}

    def find(name: str) -> object:
        home = modules.get(name) or (ending.lower() if name.endswith(ending) else None)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        need_framework(host)
        return getattr(import_module(f"{package}.{home}"), name)

    return find


def host_module(name: str) -> Any:
    """The module of a host; see `HostEntry.module`. Its framework is imported when one of its names is first used.

    Raises:
        ConfigError: no such host, its framework is not installed, or its package is broken.
    """
    entry = need_framework(name)
    try:
        return import_module(entry.module)
    except ImportError as error:
        what = f"host {entry.name!r}: {entry.module} cannot be imported: {error}"
        raise ConfigError(what, hint=entry.install) from error


def host_factory(name: str) -> "HostFactory":
    """The factory of a host's runs; the framework is imported when it is called.

    Raises:
        ConfigError: no such host, or its framework is not installed.
    """
    need_framework(name)

    def make_host(*given: Any) -> "ManagedHost":
        module = host_module(name)
        if (factory := getattr(module, "make_host", None)) is None:
            raise ConfigError(f"host {name!r}: {module.__name__} has no make_host(models, recall, attempts)")
        return factory(*given)

    return make_host


def need_framework(name: str) -> HostEntry:
    """A host whose framework is installed.

    Raises:
        ConfigError: no such host, or its framework is missing; with the install command and the installed hosts.
    """
    entry = host_entry(name)
    if not entry.installed:
        here = [host.name for host in hosts().values() if host.installed]
        others = [host.install for host in hosts().values() if host is not entry]
        raise ConfigError(
            f"host {entry.name!r} needs {entry.framework}, which is not installed",
            tried=f"installed hosts: {', '.join(here) or 'none'}",
            hint=f"{entry.install}, or {f'take --host {here[0]}' if here else ' or '.join(others)}",
        )
    return entry


def host_of(thing: object) -> str | None:
    """The host to whose framework an agent or a client belongs; None if there is none."""
    for root in {kind.__module__.partition(".")[0] for kind in type(thing).__mro__}:
        for host in hosts().values():
            if root in (host.name, host.framework) or root.startswith(f"{host.name}_"):
                return host.name
    return None


def role_agent(role: str, model: Any, *, host: str | None = None, **settings: Any) -> Any:
    """A native agent of a host that plays a role; see `role_agent` of the host's package.

    Example:
        reviewer = role_agent("reviewer", "openai/gpt-4o-mini", host="autogen")

    Args:
        host: its name; when None, the host of the model's client, or the first installed one.

    Raises:
        ConfigError: no such host or role, the host makes no such agents, or its framework is not installed.
    """
    host = host or host_of(model) or default_host()
    make = getattr(host_module(host), "role_agent", None)
    if make is None:
        raise ConfigError(f"host {host!r} makes no role agents: its module has no role_agent")
    return make(role, model, **settings)


def component(config: "RunConfig") -> str:
    """A config as the component JSON of its host.

    Raises:
        ConfigError: the host loads no components, or is not installed.
    """
    if config.host != "autogen":
        entry = host_entry(config.host)
        own = f"in code: {entry.module}.{system_of(config).prefix}{entry.ending}(config)"
        hint = own if entry.ending else "export it with --host autogen"
        raise ConfigError(f"host {config.host!r} loads no component files; only autogen does", hint=hint)
    need_framework(config.host)
    return import_module("manyheads.hosts.autogen.team").export(config)
