"""Measures that other packages bring: a function of a text."""

import math
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

from pydantic import BeforeValidator

from manyheads.base import entry_points
from manyheads.base.errors import ConfigError, MeasureError
from manyheads.base.papers import Paper
from manyheads.core.texts import Subject

GROUP = "manyheads.measures"
"""The group of entry points by which other packages bring measures; each names a function, its own name is the measure's."""
MEASURES = ("hd", "cd", "ci", "on", "rnd")
"""Ours, in the order of tables."""
BARE_ON = BeforeValidator(lambda value: "on" if value is True else value)
"""YAML reads a bare `on` as true."""


def measure_named(name: str, *, compares: bool = False) -> Callable[..., float | bool | None]:
    """A measure of another package, by a text and perhaps papers; None if the text has none. The `source` of a run's text is its
    folder.

    Args:
        compares: whether it must take the papers to compare the text with, as its second argument.

    Raises:
        ConfigError: there is none of this name, it is no such function, or we have one.
    """
    if name in MEASURES:
        hint = "rename the entry point of the package's measure"
        raise ConfigError(f"{name}: a measure of manyheads has this name", hint=hint)
    found: Any = entry_points.load(GROUP, name, "measure")
    if not callable(found):
        raise entry_points.misfit(GROUP, name, "a function of a text")
    if compares and len(signature(found).parameters) < 2:
        raise entry_points.misfit(GROUP, name, "a function of a text and of the papers to compare it with")

    def measure(text: Subject, *papers: Sequence[Paper]) -> float | bool | None:
        try:
            value: object = found(text, *papers)
        except Exception as error:  # other packages may raise anything
            told = f"{text.source}: the measure {name!r} failed: {type(error).__name__}: {error}"
            package = entry_points.package_of(entry_points.point(GROUP, name, "measure"))
            raise MeasureError(told, hint=f"it is of the package {package}") from error
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float) and math.isfinite(value):
            return float(value)
        raise MeasureError(f"{text.source}: the measure {name!r} gave {str(value)[:60]!r}, not a number")

    return measure


def values_of(names: Sequence[str], texts: Sequence[Subject]) -> list[Mapping[str, float | None]]:
    """The values of these measures, for each text by name. Raises `ConfigError`, `MeasureError`."""
    measures = {name: measure_named(name) for name in names}
    values = ({name: measure(text) for name, measure in measures.items()} for text in texts)
    return [{name: None if v is None else float(v) for name, v in each.items()} for each in values]
