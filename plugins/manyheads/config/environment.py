"""What a config may take from the environment, and to whom it may go; the hosts that are installed.

A config file, a run folder or a component may be somebody else's. A key goes to its own service, to this machine, and to
hosts that the owner allowed: typed on the command line, named in the environment, or confirmed once on a terminal.
"""

import os
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import EntryPoint, PackageNotFoundError, version
from importlib.util import find_spec
from ipaddress import ip_address
from typing import cast
from urllib.parse import quote, urlsplit

from manyheads.base.entry_points import package_of, point, points
from manyheads.base.errors import CacheError, ConfigError, NotAllowedError, did_you_mean, install_command
from manyheads.base.files import cache_folder, read_text
from manyheads.config.keys import value_of

VARIABLE = re.compile(r"\$\{(\w+)\}", re.ASCII)
"""An environment variable in an address."""
HOMES = {
    "OPENAI_API_KEY": "api.openai.com",
    "ANTHROPIC_API_KEY": "api.anthropic.com",
    "ANTHROPIC_AUTH_TOKEN": "api.anthropic.com",
    "ANTHROPIC_CUSTOM_HEADERS": "api.anthropic.com",
    "OLLAMA_API_KEY": "ollama.com",
    "SEMANTIC_SCHOLAR_API_KEY": "api.semanticscholar.org",
    "OPENALEX_API_KEY": "api.openalex.org",
    "OPENALEX_MAILTO": "api.openalex.org",
    "CROSSREF_MAILTO": "api.crossref.org",
    "NCBI_API_KEY": "eutils.ncbi.nlm.nih.gov",
    "QDRANT_API_KEY": "",
}
"""The variables that every config may name, with the host of their service."""
ALLOW = "MANYHEADS_ALLOW"
"""Further hosts, variables and programs, with commas between them."""
ADDRESSES = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OLLAMA_HOST")
"""Variables with the address of a server, which is allowed."""
NO_KEY = "none"
"""Sent to a server that needs no key; the SDKs do not accept an empty key."""
_OURS = re.compile(r"MANYHEADS_\w+", re.ASCII)
_OUR_HOST = re.compile(r"\$\{manyheads_\w+\}")
"""A host that stands in the environment."""
_FILE = "allowed.txt"
_typed = set[str]()
_lent = set[str]()


def variable_of(name: str) -> str:
    """The variable with the key of a service, by the service's name or the variable's own.

    Raises:
        ConfigError: neither is known.

    Example:
        >>> variable_of("openai")
        'OPENAI_API_KEY'
    """
    upper = name.strip().upper().replace("-", "_")
    for variable in (upper, f"{upper}_API_KEY", f"{upper}_MAILTO"):
        if variable in HOMES or _OURS.fullmatch(variable):
            return variable
    names = [re.sub("_(API_KEY|MAILTO|AUTH_TOKEN|CUSTOM_HEADERS)$", "", each).lower() for each in HOMES]
    tried = f"services: {', '.join(dict.fromkeys(names))}; variables that begin with MANYHEADS_"
    hint = did_you_mean(name, names, "name one of these")
    raise ConfigError(f"no service {name!r} takes a key", tried=tried, hint=hint)


def with_environment(address: str) -> str:
    """An address with `${NAME}` expanded; raises `ConfigError` if a variable is not set, or may not go to the host."""
    for name in VARIABLE.findall(address):
        if not os.environ.get(name):
            raise ConfigError(f"{address}: ${{{name}}} is not set", hint=f"export {name}=…")
        need_allowed(name, address, address)
    return _expanded(address)


def secret(variable: str, address: str, where: str) -> str | None:
    """The value of a variable that is to be sent to an address; None if it is not set.

    Raises `NotAllowedError`, see `need_allowed`, and `ConfigError` for a value that no header can hold.

    Args:
        address: with `${NAME}` as written.
        where: its place in the config, for messages.
    """
    need_allowed(variable, address, where)
    value = value_of(variable)
    if not (value.isascii() and value.isprintable()):
        hint = f"put the key itself in place of …, on one line: export {variable}=…"
        raise ConfigError(f"{where}: the key in {variable} contains invalid characters", hint=hint)
    return value or None


def need_allowed(variable: str, address: str, where: str) -> None:
    """Raises `NotAllowedError` if a variable is set and may not go to an address; see `secret`."""
    value, host = value_of(variable), host_of(address)
    if value in ("", NO_KEY):
        return
    known = variable in HOMES or _OURS.fullmatch(variable)
    words = [*([] if known else [variable]), *([] if _is_home(variable, address) else [host])]
    if words := [word for word in words if not _is_allowed(word)]:
        every = ",".join(filter(None, (os.environ.get(ALLOW), *words)))
        raise NotAllowedError(
            f"{where}: would send {variable} to {host}, and you have not allowed {' and '.join(words)}",
            words,
            hint=f"if you trust it: export {ALLOW}={every}; a command on a terminal asks",
        )


def located(words: Sequence[str]) -> list[str]:
    """A command line with its program's full path, so that no other of its name is meant; empty if it is not there."""
    program = shutil.which(words[0]) if words else None
    return [os.path.abspath(program), *words[1:]] if program else []


def need_allowed_program(words: Sequence[str], where: str) -> None:
    """Raises `NotAllowedError` if a `located` command line of a config may not be started; see `typed`.

    Args:
        where: its place in the config, for messages.
    """
    word = _program_word(words)
    if not _is_allowed(word):
        every = ",".join(filter(None, (os.environ.get(ALLOW), word)))
        raise NotAllowedError(
            f"{where}: would start a program on this machine, and you have not allowed it: {shlex.join(words)}",
            [word],
            hint=f"if you trust it: export {ALLOW}={every}; a command on a terminal asks",
        )


def _program_word(words: Sequence[str]) -> str:
    """A command line as one word of `MANYHEADS_ALLOW`."""
    return f"command:{quote(shlex.join(words), safe='/-=')}"


def typed(value: object, key: str = "") -> None:
    """Allow the hosts, variables and programs of settings that were typed on the command line."""
    if isinstance(value, Mapping):
        for name, each in cast(Mapping[str, object], value).items():
            typed(each, f"{key}.{name}")
    elif key.endswith("key_env"):
        _typed.add(str(value))
    elif key.startswith(".models.") and key.endswith(".name"):
        with suppress(ValueError):  # an open quote is said where the program is started
            _typed.add(_program_word(located(shlex.split(str(value)))))
    elif key.endswith(".base_url") or ".endpoints." in key:
        _typed.update((host_of(str(value)), *VARIABLE.findall(str(value))))


def allow(words: Iterable[str]) -> None:
    """Allow hosts, variables and programs from now on, for this user."""
    _typed.update(words := [*words])
    with suppress(CacheError, OSError), (cache_folder() / _FILE).open("a", encoding="utf-8") as file:
        file.writelines(f"{word}\n" for word in words)


def host_of(address: str) -> str:
    """The host of an address, in lower case; letters beyond ASCII, which may look like others, are escaped."""
    try:
        host = urlsplit(address if "//" in address else f"//{address}").hostname or ""
    except ValueError:
        return ""
    return host.rstrip(".").encode("ascii", "backslashreplace").decode()


def _expanded(address: str) -> str:
    return VARIABLE.sub(lambda named: os.environ.get(named[1], ""), address)


def _is_home(variable: str, address: str) -> bool:
    """Whether an address is of this machine, or of the variable's own service; of any for other variables."""
    whole = _expanded(address)
    host = host_of(whole)
    with suppress(ValueError):
        return (ip := ip_address(host)).is_loopback or ip.is_unspecified
    homes = {HOMES[variable]} if variable in HOMES else {*HOMES.values()} - {""}
    return host == "localhost" or (host in homes and whole.startswith("https:"))


def allowed_words() -> set[str]:
    """All that the user has allowed: named in the environment, confirmed, or typed; for a worker, see `lend`."""
    return {*_named(), *_typed, *_lent}


def lend(words: Iterable[str]) -> None:
    """Allow what the user has allowed elsewhere, in this process alone."""
    _lent.update(words)


def _named() -> list[str]:
    named = re.split(r"[,\s]+", os.environ.get(ALLOW, ""))
    with suppress(CacheError, OSError, UnicodeDecodeError):
        named += read_text(cache_folder() / _FILE).split()
    return named


def _is_allowed(word: str) -> bool:
    named = [*_named(), *_lent]
    addresses = (os.environ.get(each, "") for each in ADDRESSES)
    if word in (*named, *map(host_of, (*named, *addresses))) or _OUR_HOST.fullmatch(word):
        return bool(word)
    if word in _typed:
        allow([word])
    return word in _typed


# Hosts by name: those of manyheads, and those of other packages. None is imported here.

GROUP = "manyheads.hosts"
"""The group of entry points by which other packages bring hosts; each names a module."""


@dataclass(frozen=True)
class HostEntry:
    """Where a host is, and what it needs."""

    name: str
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
    return HostEntry(entry.name, entry.module, entry.module.partition(".")[0], package_of(entry))


def hosts() -> Mapping[str, HostEntry]:
    """Every host by name: those of manyheads, installed or not, then those of other packages."""
    brought = {name: _brought(entries[0]) for name, entries in points(GROUP).items() if name not in BUILT_IN}
    return {**BUILT_IN, **brought}


def host_entry(name: str) -> HostEntry:
    """A host by name, or `ConfigError`; `agent-framework` is taken for `agent_framework`."""
    spelling = name.replace("-", "_")
    for each in (name, spelling):
        if each in BUILT_IN:
            return BUILT_IN[each]
        if each in points(GROUP):
            return _brought(point(GROUP, each, "host"))
    described = (f"{host.name}{' (not installed)' * (not host.installed)}" for host in hosts().values())
    hint = did_you_mean(spelling, hosts(), "pip install the package that brings it")
    raise ConfigError(f"unknown host {name!r}", tried=f"hosts: {', '.join(described)}", hint=hint)


def default_host() -> str:
    """The first host whose framework is installed; `autogen` where none is."""
    for each in BUILT_IN.values():
        if each.installed:
            return each.name
    return next((each.name for each in hosts().values() if each.installed), "autogen")
