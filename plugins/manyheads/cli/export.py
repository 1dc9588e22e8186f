"""`manyheads export`."""

from pathlib import Path
from typing import Annotated

import typer

from manyheads.cli.options import Configs, HostName, Model, Paths, Sets, Topic, configured, settings
from manyheads.errors import ConfigError


def export(
    configs: Configs,
    host: HostName = None,
    model: Model = None,
    topic: Topic = None,
    sets: Sets = None,
    path: Paths = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write; standard output if left out.")
    ] = None,
) -> None:
    """Write a config as the component JSON that AutoGen's own loader and Studio take."""
    from manyheads.hosts import component

    text = component(configured(configs, settings(sets, host, model, None, topic), path))
    if out is None:
        typer.echo(text)
        return
    try:
        out.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"{out}: cannot be written: {error.strerror}", hint="choose another --out"
        ) from error
