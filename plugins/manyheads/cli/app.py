"""The commands of `manyheads`, put together."""

from typing import Annotated

import typer

from manyheads import __version__
from manyheads.cli import (
    check,
    corpus,
    evaluate,
    export,
    measure,
    prompts,
    ranking,
    rating,
    report,
    review,
    roles,
    run,
    search,
)

app = typer.Typer(
    name="manyheads",
    help="Research teams and review committees for AgentScope and AutoGen.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run")(run.run)
app.command("resume")(run.resume)
app.command("review")(review.review)
app.command("report")(report.report)
app.command("measure")(measure.measure)
app.command("search")(search.search)
app.command("eval")(evaluate.evaluate)
app.command("check")(check.check)
app.command("roles")(roles.roles)
app.command("export")(export.export)
app.add_typer(prompts.app, name="prompts")
app.add_typer(corpus.app, name="corpus")
app.add_typer(rating.app, name="rating")
app.add_typer(ranking.app, name="ranking")


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
