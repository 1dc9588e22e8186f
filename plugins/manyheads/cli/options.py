"""Options that several commands share, and how they become settings."""

import gc
import json
import os
import re
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import typer
from pydantic import BaseModel, ConfigDict, ValidationError
from typer.models import OptionInfo, ParameterInfo

from manyheads.base.errors import ConfigError, ExitCode, describe
from manyheads.cli import completion
from manyheads.cli.printing import say

if TYPE_CHECKING:
    from manyheads.config import RunConfig


# Options from models.


@dataclass(frozen=True)
class Given:
    """Makes options of a model's fields without their defaults; see `with_models`."""

    model: type[BaseModel]
    without: tuple[str, ...] = ()


def with_models(command: Callable[..., None], *, begins_run: bool = False) -> Callable[..., None]:
    """Replace each parameter of a command whose type is a pydantic model by an option for each field of the model.

        class Sampling(BaseModel):
            count: int = Field(default=10, ge=1)
            '''Number of papers.'''
            source: Annotated[tuple[str, ...], typer.Option(autocompletion=completion.configs)] = ()
            '''Service to ask.'''

        def sample(out: Output, sampling: Sampling) -> None: ...

    The text below a field is its help, `ge` and `le` are its bounds, a `bool` is a flag, a tuple is repeatable. `typer.Option`
    or `typer.Argument` add what a model does not know: other names, a placeholder, completion.

    A parameter `Annotated[dict[str, Any], Given(Model)]` gets only the values that were given, as for models whose defaults
    depend on others, and does not validate them together.

    Args:
        begins_run: it calls `collect_garbage` itself, once the run has begun.
    """
    own, groups = list[Parameter](), dict[str, tuple[type[BaseModel] | None, list[Parameter]]]()
    for name, each in signature(command, eval_str=True).parameters.items():
        given = next((part for part in get_args(each.annotation)[1:] if isinstance(part, Given)), None)
        if given:
            fields = [field for field in given.model.model_fields if field not in given.without]
            groups[name] = None, [_option(given.model, field, given=True) for field in fields]
        elif isinstance(model := each.annotation, type) and issubclass(model, BaseModel):
            groups[name] = model, [_option(model, field) for field in model.model_fields]
        else:
            own.append(each.replace(kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def call(**values: Any) -> None:
        for name, (model, options) in groups.items():
            given = {each.name: values.pop(each.name) for each in options}
            given = {field: value for field, value in given.items() if value not in (None, [])}
            try:
                values[name] = model(**given) if model else given
            except ValidationError as error:
                raise typer.BadParameter(describe(error)) from error
        if not begins_run:
            collect_garbage()
        command(**values)

    shape = [*own, *chain.from_iterable(options for _, options in groups.values())]
    setattr(call, "__signature__", Signature(shape))  # noqa: B010
    return call


def collect_garbage() -> None:
    """Let Python look for garbage if the program has put that off; never among what is there now: modules, which stay.

    It looks less often than by default: what many runs at once have in hand made it go through everything each second.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(2_000)
        gc.enable()


def _option(model: type[BaseModel], name: str, *, given: bool = False) -> Parameter:
    """A field as a parameter that Typer makes an option of."""
    from manyheads.config import documented

    field = model.model_fields[name]
    infos = [each for each in field.metadata if isinstance(each, ParameterInfo)]
    info: ParameterInfo = copy(infos[0]) if infos else typer.Option()
    info.help = info.help or " ".join(documented(model)[name].split())
    for each in field.metadata:
        info.min, info.max = getattr(each, "ge", info.min), getattr(each, "le", info.max)
        info.metavar = info.metavar or getattr(each, "metavar", None)
    kind: Any = field.annotation
    if {int, float} & {kind, *get_args(kind)}:
        info.metavar = info.metavar or "NUMBER"
    if kind is bool and info.default is ...:  # in `Annotated`, the first name of `typer.Option`
        info.default = f"--{name.replace('_', '-')}"  # and no --no-NAME
    if get_origin(kind) is tuple:
        kind = list[get_args(kind)[0]]
        info.help += " Repeatable." * isinstance(info, OptionInfo)
    default = None if given else field.get_default(call_default_factory=True)
    if field.is_required() and not given:
        default = Parameter.empty
    elif default in (None, ()):
        info.show_default, default, kind = False, None, kind | None
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info])


# Options that several commands share.

Configs = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME|FILE…",
        autocompletion=completion.configs,
        help="A system or shipped config by name, or a config file of your own; several are merged in this order.",
    ),
]


def _found(name: Path) -> Path:
    from manyheads.report.index import run_named

    return run_named(name)


RunFolder = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        autocompletion=completion.runs,
        callback=_found,
        help="The run: its folder, or its name anywhere in the project.",
    ),
]
Corpus = Annotated[
    str,
    typer.Argument(
        metavar="CORPUS",
        autocompletion=completion.corpora,
        help="A shipped corpus or one in corpora/ by name, or a corpus folder.",
    ),
]
Paths = Annotated[
    list[Path] | None,
    typer.Option("--path", metavar="FOLDER", help="Use the roles/ and prompts/ in this folder. Repeatable."),
]


def _typed(sets: list[str] | None) -> list[str] | None:
    """The settings; the hosts, variables and programs that they name are allowed, as the owner typed them."""
    if sets:
        from manyheads.config.environment import typed
        from manyheads.config.files import parse_set

        for each in sets:
            typed(parse_set(each))
    return sets


Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        callback=_typed,
        help="Set a key of the config, such as team.size=8. Repeatable.",
    ),
]
Limits = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LIMIT=NUMBER",
        autocompletion=completion.limits,
        help="Stop at this many calls, tokens or minutes, or this much money. Repeatable.",
    ),
]
Embedding = Annotated[
    str,
    typer.Option(
        metavar="MODEL",
        autocompletion=completion.one_of("auto", "minilm-int8", "lexical"),
        help="Embedding model: auto, minilm-int8 (2 times faster), lexical (word counts, no model), a fastembed model, or a model "
        "folder.",
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="NUMBER", help="Random seed.")]
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
        "--out", "-o", metavar="FILE", show_default=False, help="File to write. [default: standard output]"
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class Options(BaseModel):
    """Options of a command; see `with_models`."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Spending(Options):
    """Options of all commands that pay for several requests."""

    budget: Limits = None
    estimate: bool = False
    """Print the expected calls, tokens and cost of each stage, and stop. No model is asked."""
    yes: Annotated[bool, typer.Option("--yes", "-y")] = False
    """Start without asking for confirmation (asked if the estimate exceeds confirm.money)."""


class Changes(Options):
    """Options of all commands that take a config."""

    host: Annotated[str | None, typer.Option(metavar="HOST", autocompletion=completion.hosts)] = None
    """Agent framework: autogen, agentscope, agent_framework. [default: the config's, else the first installed]"""
    model: Annotated[
        str | None, typer.Option("--model", "-m", metavar="PROVIDER/NAME", autocompletion=completion.models)
    ] = None
    """Language model, such as openai/gpt-4o-mini or ollama/llama3.1. [default: the config's, else offline]"""
    batch: bool = False
    """Ask the model in batches (openai, anthropic): half the price, but each step may take a day."""
    sets: Sets = None
    path: Paths = None

    def settings(self, seed: int | None = None) -> tuple[str, ...]:
        """`key=value` settings; `--set` comes last and wins. Raises `ConfigError` for an invalid model."""
        flags: dict[str, object] = {"host": self.host, "seed": seed}
        if self.model is not None:
            from manyheads.config import ModelConfig
            from manyheads.config.environment import typed

            model = ModelConfig.parse(self.model)
            typed({"models": {"default": {"name": model.name}}})
            flags |= {"models.default.provider": model.provider, "models.default.name": model.name}
        flags["models.default.batch"] = self.batch or None
        return (*settings(flags), *(self.sets or ()))

    def config(
        self, names: Sequence[str] | None, flags: Iterable[str] = (), seed: int | None = None
    ) -> "RunConfig":
        """The run's config, with the settings of the command's own options."""
        if names is None:  # for `-- --`
            hint = "name a shipped config, or a config file of your own"
            raise ConfigError("no config is named", hint=hint)
        return configured(names, (*flags, *self.settings(seed)), self.path)


NAME = re.compile(r"([^/#\n\0]{1,200})(#\d+)?")
"""What may be a run's name, with the number of an idea."""


def runs_found(named: list[Any] | None) -> list[Any]:
    """Put the folders of runs in place of their names; leave out the index page of runs, which `runs/*` matches too."""
    from manyheads.report.index import INDEX, is_ours, run_named

    named = named or []
    paths = [Path(str(each)) for each in named]
    ours = [path.name == INDEX and len(named) > 1 and is_ours(path.parent) for path in paths]
    found = [each for each, left_out in zip(named, ours, strict=True) if not left_out]
    for place, each in enumerate(found):
        if (name := NAME.fullmatch(str(each))) and (folder := run_named(Path(name[1]))) != Path(name[1]):
            found[place] = type(each)(f"{folder}{name[2] or ''}")
    return found


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
    folders = (*(str(path.resolve()) for path in paths or ()), *config.paths)
    return config.model_copy(update={"paths": tuple(dict.fromkeys(folders))})


# Progress and hints of commands that may build a corpus.


@contextmanager
def resumable(*, kept: bool = True) -> Generator[None]:
    """After Ctrl-C, says how to resume and whether finished work is kept, and exits with 130."""
    try:
        yield
    except KeyboardInterrupt:
        kept_too = "finished work is kept; run the same command again to resume"
        raise stopped(f"; {kept_too if kept else 'nothing was written'}") from None


def stopped(what: str = "") -> typer.Exit:
    """The end after Ctrl-C, which is said. While the process waits for its threads, another Ctrl-C ends it at once."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(ExitCode.STOPPED))
    say(f"manyheads: stopped{what}", err=True)
    return typer.Exit(ExitCode.STOPPED)
