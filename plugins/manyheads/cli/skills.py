"""`manyheads skills export`: skills for agents that read them."""

from pathlib import Path
from typing import Annotated

import typer

from manyheads.cli.options import Options, Paths
from manyheads.cli.printing import say

app = typer.Typer(no_args_is_help=True)


class ExportingSkills(Options):
    folder: Annotated[Path, typer.Argument(metavar="DIR")]
    """The agent's folder of skills, such as .claude/skills."""
    name: Annotated[tuple[str, ...], typer.Option("--name", metavar="NAME")] = ()
    """Export this skill only: review-paper, ideas-from-background, check-novelty or measure-novelty."""
    force: bool = False
    """Replace files that say something else."""
    path: Paths = None


@app.callback()
def group() -> None:
    """A group, though it has one command."""


@app.command()
def export(options: ExportingSkills) -> None:
    """Write skills for agents: a folder each, with a SKILL.md whose steps call this command line."""
    from manyheads.base.resources import Resources
    from manyheads.mcp.skills import export_skills

    resources, written = Resources.of(options.path or ()), 0
    for file in export_skills(options.folder, options.name, resources, force=options.force):
        say(file)
        written += 1
    say(f"{options.folder}: {written} skills written" if written else f"{options.folder}: up to date")
