"""Options that a system brings: `manyheads run NAME` takes those of its inputs, and `--help` shows them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

from manyheads.errors import ConfigError, UserError

if TYPE_CHECKING:
    from manyheads.engine.system import System

INPUTS = "manyheads.inputs"
"""Where the context keeps the settings that the options of a system come to."""


class SystemCommand(TyperCommand):
    """A command on a config that takes an option for each input of the config's system."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        split = _Split({name: each for each in self.params for name in getattr(each, "opts", ())})
        split.read(args)
        ctx.meta[INPUTS] = self._taken(split, ctx)
        return super().parse_args(ctx, split.common)

    def _taken(self, split: "_Split", ctx: Any) -> tuple[str, ...]:
        """The system's options as settings; those of no system are left for the parser to refuse."""
        try:
            ctx.meta[SystemCommand] = system = _system(split)
        except UserError:
            if not split.unknown or not split.names:
                return ()  # said when the config is read
            raise
        if system is None:
            split.common += [word for _, words in split.unknown for word in words]
            return ()
        given: dict[str, list[str]] = {}
        for option, words in split.unknown:
            name = option.removeprefix("--").replace("-", "_")
            if name in system.slots:
                given.setdefault(name, []).append(_value(option, words))
            else:
                _refuse(option, system)
                split.common += words
        return tuple(_setting(system, name, values) for name, values in given.items())

    def format_options(self, ctx: Any, formatter: Any) -> None:
        super().format_options(ctx, formatter)
        from manyheads.systems import systems

        if (system := ctx.meta.get(SystemCommand)) is None:
            with formatter.section("Systems"):
                formatter.write_text(
                    f"{', '.join(systems())}. Each has options of its own: {ctx.command_path} NAME --help"
                )
        elif rows := list(_help(system)):
            with formatter.section(f"Options of {system.name}"):
                formatter.write_dl(rows)


def inputs(ctx: typer.Context) -> tuple[str, ...]:
    """The settings that the options of a system come to."""
    return ctx.meta.get(INPUTS, ())


@dataclass
class _Split:
    """A command line taken apart: what its command knows, and what a system may know; that always has a value."""

    options: Mapping[str, Any]
    common: list[str] = field(default_factory=list[str])
    names: list[str] = field(default_factory=list[str])
    sets: list[str] = field(default_factory=list[str])
    paths: list[str] = field(default_factory=list[str])
    unknown: list[tuple[str, list[str]]] = field(default_factory=list[tuple[str, list[str]]])

    def read(self, args: list[str]) -> None:
        words = iter(args)
        for word in words:
            option, equals, value = word.partition("=")
            if word == "--":
                left = [word, *words]
                self.names += left[1:]
                self.common += left
            elif not word.startswith("-"):
                self.names.append(word)
                self.common.append(word)
            elif option in ("--help", "-h") or getattr(self.options.get(option), "is_flag", False):
                self.common.append(word)
            else:
                taken = [word] if equals or (follows := next(words, None)) is None else [word, follows]
                self._put(option, taken, value if equals else taken[-1])

    def _put(self, option: str, words: list[str], value: str) -> None:
        if option not in self.options:
            self.unknown.append((option, words))
            return
        self.common += words
        if option in ("--set", "--path"):
            (self.sets if option == "--set" else self.paths).append(value)


def _system(split: _Split) -> "System | None":
    from manyheads.resources import Resources
    from manyheads.systems import system_of
    from manyheads.systems.loading import name_of

    return system_of(name_of(split.names, split.sets, Resources.of(split.paths))) if split.names else None


def _value(option: str, words: list[str]) -> str:
    equals = words[0].partition("=")
    value = equals[2] if equals[1] else words[1] if words[1:] else None
    if value is None or not value.strip():
        raise ConfigError(f"{option}: empty", hint="give it a value, or leave it out")
    return value


def _setting(system: "System", name: str, values: list[str]) -> str:
    from pydantic import ValidationError

    given: Any = values if len(values) > 1 else values[0]
    if len(values) == 1:
        try:
            system.inputs.model_validate({name: given})
        except ValidationError:
            given = values
    return f"inputs.{name}={json.dumps(given, ensure_ascii=False)}"


def _refuse(option: str, system: "System") -> None:
    """Raises `ConfigError` for an option that other systems take."""
    from manyheads.systems import systems

    name = option.removeprefix("--").replace("-", "_")
    if takers := [other for other, each in systems().items() if name in each.slots]:
        own = ", ".join(_option(each) for each in system.slots) or "none"
        raise ConfigError(
            f"{option}: {system.name} takes none; its inputs are {own}",
            hint=f"leave it out, or: {' or '.join(f'manyheads run {other}' for other in takers)}",
        )


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _help(system: "System") -> Iterator[tuple[str, str]]:
    from manyheads.config.run import documented

    texts = documented(system.inputs)
    for name, slot in system.slots.items():
        yield f"{_option(name)} {slot.metavar}", " ".join(texts.get(name, "").split())
