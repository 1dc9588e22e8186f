"""`manyheads check`."""

import typer

from manyheads.cli.options import Configs, HostName, Model, Paths, Sets, configured, settings


def check(
    configs: Configs, host: HostName = None, model: Model = None, sets: Sets = None, path: Paths = None
) -> None:
    """Validate a config, its roles and prompts, its model and its corpus; say what is missing and how to get it."""
    from manyheads.checks import findings

    found = findings(configured(configs, settings(sets, host, model), path))
    for finding in found:
        typer.echo(f"{'ok   ' if finding.ok else 'WRONG'}  {finding.subject}: {finding.message}")
    if not all(finding.ok for finding in found):
        raise typer.Exit(2)
