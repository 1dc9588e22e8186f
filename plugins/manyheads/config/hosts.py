"""The hosts by name: those of manyheads, and those of other packages. None is imported here."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from importlib.util import find_spec

from manyheads.base.errors import ConfigError, did_you_mean, install_command

GROUP = "manyheads.hosts"
"""The group of entry points by which other packages bring hosts; each names a module."""


@dataclass(frozen=True)
class HostEntry:
    """Where a host is, and what it needs."""

    name: str
    """What configs call it."""
    module: str
    """Has its `make_host`; one of manyheads also `AgentHost`, `role_agent` and `service_tool`."""
    framework: str
    """The import package that must be installed."""
    distribution: str
    """The package of which a run notes the version."""
    extra: str = ""
    """The extra of manyheads that brings it; empty for a host of another package."""
    ending: str = ""
    """How its classes of systems end: VirSci`Team`."""

    @property
    def installed(self) -> bool:
        """Whether its framework is."""
        return find_spec(self.framework) is not None

    @property
    def install(self) -> str:
        """The command that installs it."""
        return install_command(self.extra) if self.extra else f"pip install {self.distribution}"

    @property
    def version(self) -> str | None:
        """The version of its framework, or of the package that brings it; None where that is not known."""
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return None


def _own(name: str, framework: str, distribution: str, ending: str) -> HostEntry:
    extra = name.replace("_", "-")
    return HostEntry(name, f"manyheads.hosts.{name}", framework, distribution, extra, ending)


BUILT_IN = {
    host.name: host
    for host in (
        _own("autogen", "autogen_agentchat", "autogen-agentchat", "Team"),
        _own("agentscope", "agentscope", "agentscope", "Pipeline"),
        _own("agent_framework", "agent_framework", "agent-framework-core", "Agent"),
    )
}
"""In the order in which one is chosen where none is named."""


def _brought(entry: EntryPoint) -> HostEntry:
    package = entry.dist.name if entry.dist else entry.value
    return HostEntry(entry.name, entry.module, entry.module.partition(".")[0], package)


@cache
def hosts() -> Mapping[str, HostEntry]:
    """Every host by name: those of manyheads, installed or not, then those of other packages."""
    brought = (_brought(entry) for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name))
    return {**BUILT_IN, **{host.name: host for host in brought if host.name not in BUILT_IN}}


def host_entry(name: str) -> HostEntry:
    """A host by name; `agent-framework` is taken for `agent_framework`.

    Raises:
        ConfigError: there is none of this name.
    """
    spelling = name.replace("-", "_")
    for each in (name, spelling):
        if entry := BUILT_IN.get(each) or hosts().get(each):
            return entry
    described = (f"{host.name}{' (not installed)' * (not host.installed)}" for host in hosts().values())
    raise ConfigError(
        f"unknown host {name!r}",
        tried=f"hosts: {', '.join(described)}",
        hint=did_you_mean(spelling, hosts(), "pip install the package that brings it"),
    )


def default_host() -> str:
    """The first host whose framework is installed; `autogen` where none is."""
    for each in BUILT_IN.values():
        if each.installed:
            return each.name
    return next((each.name for each in hosts().values() if each.installed), "autogen")
