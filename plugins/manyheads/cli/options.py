"""Options that several commands share, those that a system brings, and how they become settings."""

import json
import re
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from manyheads.cli.printing import safe_console, say
from manyheads.errors import ConfigError, UserError

if TYPE_CHECKING:
    from manyheads.bank.building import Progress
    from manyheads.config import LiteratureConfig, RunConfig
    from manyheads.core.events import Searched
    from manyheads.engine.system import System
    from manyheads.literature.library import Library


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command, where a parameter that is a dataclass stands for an option each of its fields, after its own."""
    parameters = signature(command, eval_str=True).parameters
    groups: dict[str, Any] = {
        name: each.annotation for name, each in parameters.items() if is_dataclass(each.annotation)
    }

    @wraps(command)
    def call(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    own = [each for name, each in parameters.items() if name not in groups]
    options = chain(own, *(signature(group).parameters.values() for group in groups.values()))
    shape = Signature([each.replace(kind=Parameter.KEYWORD_ONLY) for each in options])
    setattr(call, "__signature__", shape)  # noqa: B010
    return call


Configs = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME|FILE…",
        help="Systems or other shipped configs by name, or config files, merged in order.",
    ),
]
Paths = Annotated[
    list[Path] | None, typer.Option("--path", help="Folder with your own roles/ and prompts/. Repeatable.")
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key, such as team.size=8. Repeatable."),
]
Budget = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="What it may cost in all: calls, tokens, money, or minutes of this start. Repeatable.",
    ),
]
Estimated = Annotated[
    bool,
    typer.Option(
        "--estimate",
        help="Only print what it would come to: calls and tokens by stage, cost where prices are set. Nobody is asked.",
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of the run's one random generator.")]
Json = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]


@dataclass(frozen=True)
class Changes:
    """What changes a config: the options of all commands that take one."""

    host: Annotated[
        str | None,
        typer.Option("--host", help="autogen or agentscope; autogen, where the config names none."),
    ] = None
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="PROVIDER/NAME", help="Such as openai/gpt-4o-mini or ollama/llama3."),
    ] = None
    sets: Sets = None
    path: Paths = None

    def settings(self, seed: int | None = None) -> tuple[str, ...]:
        """As `key=value` settings; `--set` comes last and wins. Raises `ConfigError` for a model that is none."""
        flags: dict[str, object] = {"host": self.host, "seed": seed}
        if self.model is not None:
            from manyheads.config import ModelConfig

            model = ModelConfig.parse(self.model)
            flags |= {"models.default.provider": model.provider, "models.default.name": model.name}
        return (*settings(flags), *(self.sets or ()))

    def config(
        self, names: Sequence[str] | None, flags: Iterable[str] = (), seed: int | None = None
    ) -> "RunConfig":
        """The run's config, with settings that the command's own options come to."""
        if names is None:  # of `-- --` the command line makes None
            raise ConfigError("no config is named", hint="name a config that ships, or a file of yours")
        return configured(names, (*flags, *self.settings(seed)), self.path)


def settings(values: Mapping[str, object], section: str = "") -> list[str]:
    """Options as settings, each a JSON value, which YAML reads as it is; one not given says nothing."""
    return [
        f"{section}{'.' if section else ''}{key}={json.dumps(value, ensure_ascii=False)}"
        for key, value in values.items()
        if value is not None
    ]


def configured(
    names: Sequence[str],
    sets: tuple[str, ...],
    paths: Sequence[Path] | None = None,
    *,
    system: str | None = None,
    strict: bool = True,
) -> "RunConfig":
    """The run's config, its user folders those of `--path` first; see `systems.loading.load`."""
    from manyheads.resources import Resources
    from manyheads.systems.loading import load

    config = load(names, sets, resources=Resources.of(paths or ()), system=system, strict=strict)
    return with_folders(config, paths)


def with_folders(config: "RunConfig", paths: Sequence[Path] | None) -> "RunConfig":
    """The config with the user folders of `--path` before its own."""
    folders = (*(str(path.resolve()) for path in paths or ()), *config.paths)
    return config.model_copy(update={"paths": tuple(dict.fromkeys(folders))})


# What commands that may build a corpus share: bars of progress, and hints that name their option.


@contextmanager
def going_on_later(*, kept: bool = True) -> Generator[None]:
    """An interrupt says how to go on, and whether what was done serves the next time, and exits with 130."""
    try:
        yield
    except KeyboardInterrupt:
        what = "what is done is kept" if kept else "nothing is kept"
        say(f"manyheads: stopped; {what}: run the same command again", err=True)
        raise typer.Exit(130) from None


@contextmanager
def building() -> "Generator[Progress]":
    """Shows a bar on standard error, one line a step, where that is a terminal.

    Hints name the embedding model as a config's key; here it is an option.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = safe_console(stderr=True)
    columns = (TextColumn("{task.description:<20}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    tasks: dict[str, Any] = {}
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:

        def tell(step: str, done: int, total: int | None) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total)
            bars.update(tasks[step], completed=done, total=total)

        try:
            yield tell
        except UserError as error:
            error.hint = error.hint and error.hint.replace("--set embedding=", "--embedding ")
            raise


# The search ledger on standard error: what each source was asked, and how it answered.


def library(config: "LiteratureConfig", **bank: Any) -> "Library":
    """A library that shows its look-ups, and keeps answers in the user's cache."""
    from manyheads.disk import cache_folder
    from manyheads.literature.cache import CACHE
    from manyheads.literature.library import Library

    return Library(config, note=show_look_up, cache=cache_folder() / CACHE, **bank)


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
        ctx.ignore_unknown_options = True
        values: dict[str, Any] = self.make_parser(ctx).parse_args(args=[*args])[0]
        names, unknown = list[str](), list[tuple[str, str]]()
        words: Iterator[str] = iter(values["configs"] or [])
        for word in words:
            option, equals, value = word.partition("=")
            if not word.startswith("-"):
                names.append(word)
            else:  # an option of a system always has a value
                unknown.append((option, value if equals else next(words, "")))
        own = self._own_settings(ctx, names, unknown, values)
        left = super().parse_args(ctx, args)
        ctx.params |= {"configs": names, "sets": [*own, *(ctx.params["sets"] or ())]}
        return left

    def _own_settings(
        self, ctx: Any, names: list[str], unknown: list[tuple[str, str]], values: Mapping[str, Any]
    ) -> list[str]:
        """The system's options as settings; those of no system are refused by the parser."""
        from pydantic import ValidationError

        from manyheads.resources import Resources
        from manyheads.systems import system_of
        from manyheads.systems.loading import name_of

        system = None
        try:
            if names:
                resources = Resources.of(values.get("path") or ())
                system = system_of(name_of(names, values.get("sets") or (), resources))
        except UserError:
            if unknown:
                raise  # else said when the config is read
        ctx.meta[SystemCommand] = system
        inputs: dict[str, list[str]] = {}
        for option, value in unknown:
            name = option.removeprefix("--").replace("-", "_")
            if system is None or name not in system.slots:
                if system:
                    _refuse(option, name, system)
                ctx.ignore_unknown_options = False
                self.make_parser(ctx).parse_args(args=[option])
            elif not value.strip():
                raise ConfigError(f"{option}: empty", hint="give it a value, or leave it out")
            inputs.setdefault(name, []).append(value)
        told: dict[str, str | list[str]] = {**inputs}
        for name, texts in inputs.items():
            if system and len(texts) == 1:
                with suppress(ValidationError):  # an input that takes lists alone
                    system.inputs.model_validate({name: texts[0]})
                    told[name] = texts[0]
        return settings(told, "inputs")

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
