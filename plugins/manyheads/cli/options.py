"""Options that several commands share, and how they become settings."""

import json
import math
import time
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyheads.base.errors import ConfigError, ExitCode, UserError
from manyheads.cli import completion
from manyheads.cli.printing import safe_console, say

if TYPE_CHECKING:
    from manyheads.config import LiteratureConfig, RunConfig
    from manyheads.core.events import Searched
    from manyheads.corpus.building import Progress
    from manyheads.literature.library import Library


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each dataclass parameter of a command by its fields, one option each, after its own options."""
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
        help="A system or shipped config by name, or a config file of your own; several are merged in this order.",
        autocompletion=completion.configs,
    ),
]
Paths = Annotated[
    list[Path] | None,
    typer.Option("--path", metavar="FOLDER", help="Use the roles/ and prompts/ in this folder. Repeatable."),
]


def _typed(sets: list[str] | None) -> list[str] | None:
    """The settings; the hosts and variables that they name are allowed, as the owner typed them."""
    if sets:
        from manyheads.config.environment import typed
        from manyheads.config.files import parse_set

        for each in sets:
            typed(parse_set(each))
    return sets


Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", "-s", metavar="KEY=VALUE", help="Set a key of the config, such as team.size=8. Repeatable.",
        callback=_typed,
    ),
]  # fmt: skip
Limits = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LIMIT=NUMBER",
        help="Stop at this many calls, tokens or minutes, or this much money. Repeatable.",
        autocompletion=completion.limits,
    ),
]
Estimated = Annotated[
    bool,
    typer.Option(
        "--estimate",
        help="Print the expected calls, tokens and cost of each stage, and stop. No model is asked.",
    ),
]
Corpus = Annotated[
    str,
    typer.Argument(
        metavar="CORPUS",
        help="A shipped corpus or one in corpora/ by name, or a corpus folder.",
        autocompletion=completion.corpora,
    ),
]
Embedding = Annotated[
    str,
    typer.Option(
        metavar="MODEL", autocompletion=completion.one_of("auto", "minilm-int8", "lexical"),
        help="Embedding model: auto, minilm-int8 (2 times faster), lexical (word "
        "counts, no model), a fastembed model, or a model folder.",
    ),
]  # fmt: skip
Seed = Annotated[int | None, typer.Option("--seed", metavar="NUMBER", help="Random seed.")]
BootstrapSeed = Annotated[
    int, typer.Option("--seed", metavar="NUMBER", min=0, help="Random seed of the bootstrap intervals.")
]
Services = Annotated[
    str,
    typer.Option(
        "--config",
        metavar="NAME|FILE",
        autocompletion=completion.configs,
        help="Config whose `literature` section to use.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="File to write. [default: standard output]",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True)
class Changes:
    """Options of all commands that take a config."""

    host: Annotated[
        str | None,
        typer.Option(
            "--host",
            metavar="HOST",
            help="Agent framework: autogen, agentscope, agent_framework. [default: the config's, else the first installed]",
            show_default=False,
            autocompletion=completion.hosts,
        ),
    ] = None
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            metavar="PROVIDER/NAME",
            help="Language model, such as openai/gpt-4o-mini or ollama/llama3.1. [default: the config's, else offline]",
            show_default=False,
            autocompletion=completion.models,
        ),
    ] = None
    sets: Sets = None
    path: Paths = None

    def settings(self, seed: int | None = None) -> tuple[str, ...]:
        """`key=value` settings; `--set` comes last and wins. Raises `ConfigError` for an invalid model."""
        flags: dict[str, object] = {"host": self.host, "seed": seed}
        if self.model is not None:
            from manyheads.config import ModelConfig

            model = ModelConfig.parse(self.model)
            flags |= {"models.default.provider": model.provider, "models.default.name": model.name}
        return (*settings(flags), *(self.sets or ()))

    def config(
        self, names: Sequence[str] | None, flags: Iterable[str] = (), seed: int | None = None
    ) -> "RunConfig":
        """The run's config, with the settings of the command's own options."""
        if names is None:  # for `-- --`
            raise ConfigError(
                "no config is named", hint="name a shipped config, or a config file of your own"
            )
        return configured(names, (*flags, *self.settings(seed)), self.path)


def without_index(named: list[Any]) -> list[Any]:
    """Leave out the index page of runs, which `runs/*` matches too."""
    left = list[Any]()
    for each in named:
        if str(each).endswith("index.html"):
            from manyheads.report.index import INDEX, is_ours

            if len(named) > 1 and (path := Path(each)).name == INDEX and is_ours(path.parent):
                continue
        left.append(each)
    return left


def settings(values: Mapping[str, object], section: str = "") -> list[str]:
    """Options as `key=JSON` settings, which YAML reads; None is left out."""
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
    """The run's config, with the folders of `--path` first; see `systems.loading.load`."""
    from manyheads.base.resources import Resources
    from manyheads.systems.loading import load

    config = load(names, sets, resources=Resources.of(paths or ()), system=system, strict=strict)
    return with_folders(config, paths)


def with_folders(config: "RunConfig", paths: Sequence[Path] | None) -> "RunConfig":
    """The config with the folders of `--path` before its own."""
    folders = (*(str(path.resolve()) for path in paths or ()), *config.paths)
    return config.model_copy(update={"paths": tuple(dict.fromkeys(folders))})


# Progress and hints of commands that may build a corpus.


@contextmanager
def resumable(*, kept: bool = True) -> Generator[None]:
    """After Ctrl-C, says how to resume and whether finished work is kept, and exits with 130."""
    try:
        yield
    except KeyboardInterrupt:
        what = (
            "finished work is kept; run the same command again to resume" if kept else "nothing was written"
        )
        say(f"manyheads: stopped; {what}", err=True)
        raise typer.Exit(ExitCode.STOPPED) from None


LINE_EVERY = 60
"""Seconds between progress lines without a terminal."""


@contextmanager
def building() -> "Generator[Progress]":
    """Show a progress bar for each step on standard error; without a terminal, a line a minute.

    Hints name the config key of the embedding model; here it is an option.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = safe_console(stderr=True)
    columns = (TextColumn("{task.description:<20}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    tasks: dict[str, Any] = {}
    started: dict[str, tuple[float, int]] = {}
    last = time.monotonic()
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:

        def progress(step: str, done: int, total: int | None) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total)
            bars.update(tasks[step], completed=done, total=total)
            nonlocal last
            now = time.monotonic()
            began, before = started.setdefault(step, (now, done))
            if not console.is_terminal and now - last >= LINE_EVERY:
                last = now
                left = (now - began) / max(done - before, 1) * ((total or done) - done)
                rest = f" of {total:,}, about {math.ceil(left / 60)} min left" if total else ""
                say(f"{step}: {done:,}{rest}", err=True)

        try:
            yield progress
        except UserError as error:
            error.hint = error.hint and error.hint.replace("--set embedding=", "--embedding ")
            raise


# The search ledger on standard error.


def library(config: "LiteratureConfig", **bank: Any) -> "Library":
    """A library that prints its look-ups and caches the answers."""
    from manyheads.base.files import cache_folder
    from manyheads.literature.library import Library
    from manyheads.literature.lookup import CACHE

    return Library(config, note=show_look_up, cache=cache_folder() / CACHE, **bank)


def show_look_up(entry: "Searched") -> None:
    """Print one look-up, made safe for the terminal."""
    from manyheads.base.escaping import plain

    asked = f" as {entry.asked!r}" if entry.asked != entry.query else ""
    disk = " (from disk)" if entry.cached else ""
    reason = f": {entry.reason}" if entry.reason else ""
    bounds = f", {entry.window}" if entry.window else ""
    came = f"{entry.outcome}, {entry.hits} in {entry.seconds:.1f} s{disk}{reason}"
    say(plain(f"{entry.source}{asked}{bounds}: {came}"), err=True)


def show_silent(sources: Collection[str]) -> None:
    """Print the sources that could not be searched, if any."""
    if sources:
        say(f"not searched: {', '.join(sources)}; there may be more papers", err=True)
