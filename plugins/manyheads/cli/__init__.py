"""The command line: Typer commands, one file each, without logic of their own."""

import os
import sys
from typing import Annotated, cast

import typer

from manyheads import __version__, objects
from manyheads.cli import corpus, evaluate, forms, inspect, measure, project, review, run, show
from manyheads.cli.options import Command, SystemCommand, with_groups
from manyheads.cli.printing import fail, fail_usage, say
from manyheads.errors import ConfigError, UserError

USAGE = cast(
    type[Exception],
    next(each for each in typer.BadParameter.__mro__ if each.__name__ == "ClickException"),
)
"""What the parser refuses; some versions of Typer bring a Click of their own."""


def main() -> None:
    """Run `manyheads`; a user's mistake ends with a message and exit code 2, Ctrl-C with 130."""
    try:
        for number, word in enumerate(sys.argv[1:], 1):
            if "\0" in word or word != objects.printable(word):
                raise ConfigError(
                    f"word {number} of the command line is not UTF-8 text: {word!r}",
                    hint="files and folders need names in UTF-8",
                )
        project.read_keys()
        sys.exit(app(standalone_mode=False))
    except UserError as error:
        fail(error)
    except USAGE as error:
        fail_usage(error)
    except OSError as error:
        if error.filename is None:
            raise
        fail(f"{os.fsdecode(error.filename)}: {error.strerror}")
    except KeyboardInterrupt:
        say("manyheads: stopped", err=True)
        sys.exit(130)
    sys.exit(2)


# The commands of `manyheads`, put together.


app = typer.Typer(
    name="manyheads",
    help="Research teams and review committees for AgentScope and AutoGen.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("init")(project.init)
app.command("run", cls=SystemCommand)(run.run)
app.command("resume")(run.resume)
app.command("review")(review.review)
app.command("report")(run.report)
app.command("show")(show.show)
app.command("open")(show.open_report)
app.command("list")(project.list_all)
app.command("measure")(measure.measure)
app.command("search")(inspect.search)
app.command("eval")(evaluate.evaluate)
app.command("plant")(evaluate.plant)
app.command("check", cls=SystemCommand)(inspect.check)
app.command("roles")(inspect.roles)
app.command("export", cls=SystemCommand)(inspect.export)
app.add_typer(inspect.app, name="prompts")
app.add_typer(corpus.app, name="corpus")
app.add_typer(forms.ratings, name="rating")
app.add_typer(forms.rankings, name="ranking")
for part in (app, inspect.app, corpus.app, forms.ratings, forms.rankings):
    for each in part.registered_commands:
        each.cls = SystemCommand if each.cls is SystemCommand else Command
        each.callback = each.callback and with_groups(each.callback)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"manyheads {__version__}")
        raise typer.Exit


@app.callback()
def top(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Research teams and review committees for AgentScope and AutoGen."""
