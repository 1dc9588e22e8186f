"""Options that several commands share, those that a system brings, and how they become settings."""

import json
import re
from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from manyheads.cli.printing import safe_console, say
from manyheads.errors import ConfigError, UserError

if TYPE_CHECKING:
    from manyheads.bank.building import Progress
    from manyheads.config import RunConfig
    from manyheads.core.events import Searched
    from manyheads.engine.system import System

Configs = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME|FILE…",
        help="Systems or other shipped configs by name, or config files, merged in order.",
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key, such as team.size=8. Repeatable."),
]
Paths = Annotated[
    list[Path] | None, typer.Option("--path", help="Folder with your own roles/ and prompts/. Repeatable.")
]
HostName = Annotated[
    str | None, typer.Option("--host", help="autogen or agentscope; autogen, where the config names none.")
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="PROVIDER/NAME", help="Such as openai/gpt-4o-mini or ollama/llama3."),
]
Budget = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="What all runs together may cost: calls, tokens, money, or minutes of this start. Repeatable.",
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of the run's one random generator.")]


def settings(
    sets: Iterable[str] | None = None,
    host: str | None = None,
    model: str | None = None,
    seed: int | None = None,
) -> tuple[str, ...]:
    """The flags as `key=value` settings; a flag not given says nothing. `--set` comes last and wins.

    Raises:
        ConfigError: a model that is none.
    """
    named = {"host": host, "seed": None if seed is None else str(seed)}
    flags = [f"{key}={value}" for key, value in named.items() if value is not None]
    if model is not None:
        from manyheads.config import ModelConfig

        parsed = ModelConfig.parse(model)
        flags += section_settings("models.default", {"provider": parsed.provider, "name": parsed.name})
    return (*flags, *(sets or ()))


def section_settings(section: str, values: Mapping[str, object]) -> list[str]:
    """Options of a section as settings, each a JSON value, which YAML reads as it is; one not given says nothing."""
    return [
        f"{section}.{key}={json.dumps(value, ensure_ascii=False)}"
        for key, value in values.items()
        if value is not None
    ]


def configured(
    names: list[str],
    sets: tuple[str, ...],
    paths: list[Path] | None,
    *,
    system: str | None = None,
    strict: bool = True,
) -> "RunConfig":
    """The run's config, its user folders those of `--path` first; see `systems.loading.load`."""
    from manyheads.resources import Resources
    from manyheads.systems.loading import load

    resources = Resources.of(paths or ())
    return with_folders(load(names, sets, resources=resources, system=system, strict=strict), paths)


def with_folders(config: "RunConfig", paths: list[Path] | None) -> "RunConfig":
    """The config with the user folders of `--path` before its own."""
    folders = (*(str(path.resolve()) for path in paths or ()), *config.paths)
    return config.model_copy(update={"paths": tuple(dict.fromkeys(folders))})


# What commands that may build a corpus share: bars of progress, and hints that name their option.


@contextmanager
def naming_the_option() -> Generator[None]:
    """Hints name the embedding model as a config's key; here it is an option."""
    try:
        yield
    except UserError as error:
        error.hint = error.hint and error.hint.replace("--set embedding=", "--embedding ")
        raise


@contextmanager
def going_on_later(*, kept: bool = True) -> Generator[None]:
    """An interrupt says how to go on, and exits with 130.

    Args:
        kept: whether anything of what was done serves the next time.
    """
    try:
        yield
    except KeyboardInterrupt:
        what = "what is done is kept" if kept else "nothing is kept"
        say(f"manyheads: stopped; {what}: run the same command again", err=True)
        raise typer.Exit(130) from None


@contextmanager
def showing_progress() -> "Generator[Progress]":
    """A bar on standard error, one line a step; nothing where that is no terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = safe_console(stderr=True)
    columns = (TextColumn("{task.description:<20}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    tasks: dict[str, Any] = {}
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:

        def tell(step: str, done: int, total: int | None) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total)
            bars.update(tasks[step], completed=done, total=total)

        yield tell


# The search ledger on standard error: what each source was asked, and how it answered.


def show_look_up(entry: "Searched") -> None:
    """A line on one look-up; a service's own words in it are made safe to print."""
    from manyheads.escaping import plain

    asked = f" as {entry.asked!r}" if entry.asked != entry.query else ""
    disk = " (from disk)" if entry.cached else ""
    reason = f": {entry.reason}" if entry.reason else ""
    bounds = f", {entry.window}" if entry.window else ""
    came = f"{entry.outcome}, {entry.hits} in {entry.seconds:.1f} s{disk}{reason}"
    say(plain(f"{entry.source}{asked}{bounds}: {came}"), err=True)


def show_silent(sources: Collection[str]) -> None:
    """The sources that could not be asked, if there are any."""
    if sources:
        say(f"not everything was asked: {', '.join(sources)}; there may be more papers", err=True)


INPUTS = "manyheads.inputs"
"""Where the context keeps the settings that the options of a system come to."""


TYPE = re.compile(r" <(?:list\[)?(\w+)(?: range)?\]?>")
TYPES = {"int": "NUMBER", "float": "NUMBER", "path": "PATH", "Path": "PATH"}


class Command(TyperCommand):
    """A command whose help says in a user's word, not by a type of Python, what an option takes."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        def write_rows(rows: Iterable[tuple[str, str]]) -> None:
            write([(TYPE.sub(word if name.startswith("-") else "", name), text) for name, text in rows])

        def word(type_: re.Match[str]) -> str:
            return f" {TYPES.get(type_[1], 'TEXT')}"

        write, formatter.write_dl = formatter.write_dl, write_rows
        super().format_options(ctx, formatter)
        formatter.write_dl = write


class SystemCommand(Command):
    """A command on a config that takes an option for each input of the config's system."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        split = _Split({name: each for each in self.params for name in getattr(each, "opts", ())})
        split.read(args)
        ctx.meta[INPUTS] = self._own_settings(split, ctx)
        return super().parse_args(ctx, split.common)

    def _own_settings(self, split: "_Split", ctx: Any) -> tuple[str, ...]:
        """The system's options as settings; those of no system are left for the parser to refuse."""
        from pydantic import ValidationError

        from manyheads.resources import Resources
        from manyheads.systems import system_of
        from manyheads.systems.loading import name_of

        try:
            name = name_of(split.names, split.sets, Resources.of(split.paths)) if split.names else None
            ctx.meta[SystemCommand] = system = None if name is None else system_of(name)
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
                value = words[0].partition("=")[2] if "=" in words[0] else "".join(words[1:])
                if not value.strip():
                    raise ConfigError(f"{option}: empty", hint="give it a value, or leave it out")
                given.setdefault(name, []).append(value)
            else:
                _refuse(option, name, system)
                split.common += words
        settings: list[str] = []
        for name, values in given.items():
            value: Any = values
            if len(values) == 1:
                with suppress(ValidationError):  # an input that takes lists alone
                    system.inputs.model_validate({name: values[0]})
                    value = values[0]
            settings.append(f"inputs.{name}={json.dumps(value, ensure_ascii=False)}")
        return tuple(settings)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        super().format_options(ctx, formatter)
        from manyheads.systems import systems

        if (system := ctx.meta.get(SystemCommand)) is None:
            with formatter.section("Systems"):
                formatter.write_text(
                    f"{', '.join(systems())}. Each has options of its own: {ctx.command_path} NAME --help"
                )
        elif system.slots:
            from manyheads.config import documented

            rows: list[tuple[str, str]] = []
            for name, slot in system.slots.items():
                text = f"{documented(system.inputs).get(name, '')}{' Repeatable.' if slot.many else ''}"
                rows.append((f"{_option(name)} {slot.metavar}", " ".join(text.split())))
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
                if option not in self.options:
                    self.unknown.append((option, taken))
                    continue
                self.common += taken
                if option in ("--set", "--path"):
                    (self.sets if option == "--set" else self.paths).append(value if equals else taken[-1])


def _refuse(option: str, name: str, system: "System") -> None:
    """Raises `ConfigError` for an option that other systems take."""
    from manyheads.systems import systems

    if takers := [other for other, each in systems().items() if name in each.slots]:
        own = ", ".join(_option(each) for each in system.slots) or "none"
        raise ConfigError(
            f"{option}: {system.name} takes none; its inputs are {own}",
            hint=f"leave it out, or: {' or '.join(f'manyheads run {other}' for other in takers)}",
        )


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
