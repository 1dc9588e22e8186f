"""Options that several commands share, and how they become settings."""

import json
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyheads.errors import UserError

if TYPE_CHECKING:
    from manyheads.bank.building import Progress
    from manyheads.config import RunConfig
    from manyheads.core.events import Searched


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
    return (*flags, *_model(model), *(sets or ()))


def _quoted(text: str) -> str:
    """A text as a YAML scalar that stays one, whatever it holds."""
    return json.dumps(text, ensure_ascii=False)


def _model(model: str | None) -> list[str]:
    if model is None:
        return []
    from manyheads.config import ModelConfig

    named = ModelConfig.parse(model)
    return [f"models.default.provider={named.provider}", f"models.default.name={_quoted(named.name)}"]


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
    return led_by(load(names, sets, resources=resources, system=system, strict=strict), paths)


def led_by(config: "RunConfig", paths: list[Path] | None) -> "RunConfig":
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
        typer.echo(f"manyheads: stopped; {what}: run the same command again", err=True)
        raise typer.Exit(130) from None


@contextmanager
def showing_progress() -> "Generator[Progress]":
    """A bar on standard error, one line a step; nothing where that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
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
    from manyheads.cli.progress import plain

    asked = f" as {entry.asked!r}" if entry.asked != entry.query else ""
    disk = " (from disk)" if entry.cached else ""
    reason = f": {entry.reason}" if entry.reason else ""
    bounds = f", {entry.window}" if entry.window else ""
    came = f"{entry.outcome}, {entry.hits} in {entry.seconds:.1f} s{disk}{reason}"
    typer.echo(plain(f"{entry.source}{asked}{bounds}: {came}"), err=True)


def show_silent(sources: Collection[str]) -> None:
    """The sources that could not be asked, if there are any."""
    if sources:
        typer.echo(f"not everything was asked: {', '.join(sources)}; there may be more papers", err=True)
