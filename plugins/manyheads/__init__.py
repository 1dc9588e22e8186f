"""manyheads: research teams and review committees as plugins for AgentScope and AutoGen."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from manyheads.systems.results import load

__version__ = "0.1.0"
__all__ = ["load"]

_HOMES = {"load": "manyheads.systems.results"}
"""Where what is public lives; it is imported when it is first used."""


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
