"""The command line: Typer commands, one file each, without logic of their own."""

import sys
from typing import Annotated

import typer

from manyheads import __version__
from manyheads.cli import corpus, evaluate, forms, inspect, measure, review, run
from manyheads.cli.options import Command, SystemCommand
from manyheads.errors import UserError


def main() -> None:
    """Run `manyheads`; a user's mistake ends with a message and exit code 2, Ctrl-C with 130."""
    try:
        app(standalone_mode=True)
    except UserError as error:
        from manyheads.cli.progress import printable

        print(printable(f"manyheads: {error}"), file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("manyheads: stopped", file=sys.stderr)
        sys.exit(130)


# The commands of `manyheads`, put together.


app = typer.Typer(
    name="manyheads",
    help="Research teams and review committees for AgentScope and AutoGen.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run", cls=SystemCommand)(run.run)
app.command("resume")(run.resume)
app.command("review")(review.review)
app.command("report")(run.report)
app.command("measure")(measure.measure)
app.command("search")(inspect.search)
app.command("eval")(evaluate.evaluate)
app.command("check", cls=SystemCommand)(inspect.check)
app.command("roles")(inspect.roles)
app.command("export", cls=SystemCommand)(inspect.export)
app.add_typer(inspect.app, name="prompts")
app.add_typer(corpus.app, name="corpus")
app.add_typer(forms.ratings, name="rating")
forms.rankings.command("judge")(review.judge)
app.add_typer(forms.rankings, name="ranking")
for part in (app, inspect.app, corpus.app, forms.ratings, forms.rankings):
    for each in part.registered_commands:
        each.cls = SystemCommand if each.cls is SystemCommand else Command


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"manyheads {__version__}")
        raise typer.Exit


@app.callback()
def top(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Research teams and review committees for AgentScope and AutoGen."""
