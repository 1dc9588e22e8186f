"""Options that several commands share, and how they become settings."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manyheads.errors import ConfigError

if TYPE_CHECKING:
    from manyheads.config import RunConfig

Configs = Annotated[
    list[str], typer.Argument(help="Config files or shipped names such as virsci, merged in order.")
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
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of the run's one random generator.")]
Topic = Annotated[str | None, typer.Option("--topic", help="A fixed topic; skips the topic discussion.")]


def settings(
    sets: Iterable[str] | None = None,
    host: str | None = None,
    model: str | None = None,
    seed: int | None = None,
    topic: str | None = None,
) -> tuple[str, ...]:
    """The flags as `key=value` settings; a flag not given says nothing. `--set` comes last and wins.

    Raises:
        ConfigError: a topic of nothing but blanks, or a model that is none.
    """
    if topic is not None and not topic.strip():
        raise ConfigError("--topic: empty", hint="name a topic, or leave --topic out and the team finds one")
    named = {"host": host, "seed": None if seed is None else str(seed)}
    flags = [f"{key}={value}" for key, value in named.items() if value is not None]
    flags += [f"topic={_quoted(topic)}"] if topic is not None else []
    return (*flags, *_model(model), *(sets or ()))


def beginning(background: str | None, idea: str | None) -> tuple[str, ...]:
    """What a run begins with, as settings.

    Raises:
        ConfigError: one of them is nothing but blanks.
    """
    given = {"background": background, "rebuttal.idea": idea}
    for key, text in given.items():
        if text is not None and not text.strip():
            raise ConfigError(f"--{key.removeprefix('rebuttal.')}: empty", hint="name a file, or give a text")
    return tuple(f"{key}={_quoted(text)}" for key, text in given.items() if text is not None)


def _quoted(text: str) -> str:
    """A text as a YAML scalar that stays one, whatever it holds."""
    return json.dumps(text, ensure_ascii=False)


def _model(model: str | None) -> list[str]:
    if model is None:
        return []
    from manyheads.config import ModelConfig

    named = ModelConfig.parse(model)
    return [f"models.default.provider={named.provider}", f"models.default.name={_quoted(named.name)}"]


def configured(names: list[str], sets: tuple[str, ...], paths: list[Path] | None) -> "RunConfig":
    """The run's config, its user folders those of `--path` first."""
    from manyheads.config import load
    from manyheads.resources import Resources

    resources = Resources.of(paths or ())
    return led_by(load(names, sets, resources=resources), paths)


def led_by(config: "RunConfig", paths: list[Path] | None) -> "RunConfig":
    """The config with the user folders of `--path` before its own."""
    folders = (*(str(path.resolve()) for path in paths or ()), *config.paths)
    return config.model_copy(update={"paths": tuple(dict.fromkeys(folders))})
