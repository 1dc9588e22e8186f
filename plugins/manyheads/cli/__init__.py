"""The command line: Typer commands, one file each, without logic of their own."""

import os
import sys
from typing import Annotated, cast

import typer

from manyheads import __version__
from manyheads.asking import json_text as objects
from manyheads.base.errors import EXIT_CODES, ConfigError, ExitCode, NotAllowedError, UserError, missing_extra
from manyheads.cli import arena, corpus, evaluate, inspect, measure, project, review, run, serve, show
from manyheads.cli.examples import EXAMPLES
from manyheads.cli.options import with_groups
from manyheads.cli.parsing import Command, Group, SystemCommand
from manyheads.cli.printing import fail, fail_usage, say

USAGE = cast(
    type[Exception],
    next(each for each in typer.BadParameter.__mro__ if each.__name__ == "ClickException"),
)
"""Errors of the parser; some versions of Typer bring a Click of their own."""


def main() -> None:
    """Run `manyheads`; errors for the user end with a message and one of `EXIT_CODES`."""
    code = ExitCode.INPUT
    try:
        for number, word in enumerate(sys.argv[1:], 1):
            if "\0" in word or word != objects.printable(word):
                raise ConfigError(
                    f"word {number} of the command line is not UTF-8 text: {word!r}",
                    hint="files and folders need names in UTF-8",
                )
        project.read_keys()
        while True:
            try:
                sys.exit(app(prog_name="manyheads", standalone_mode=False))
            except NotAllowedError as error:
                if not project.allowed_now(error):
                    raise
    except UserError as error:
        fail(error)
        code = error.exit_code
    except USAGE as error:
        fail_usage(error)
    except ModuleNotFoundError as error:
        if (problem := missing_extra(error)) is None:
            raise
        fail(problem)
    except OSError as error:
        if error.filename is None:
            raise
        fail(f"{os.fsdecode(error.filename)}: {error.strerror}")
    except KeyboardInterrupt:
        say("manyheads: stopped", err=True)
        code = ExitCode.STOPPED
    sys.exit(code)


# The commands of `manyheads`, put together.


HELP = "Research teams and review committees of language-model agents, on AutoGen, AgentScope or Agent Framework."
START = {
    "run virsci": "run a research team: offline, in seconds",
    "run virsci --estimate": "print the calls, tokens and cost to expect",
    "init my-project": "make a folder with a config, papers and prompts of your own",
    "list": "list systems, configs, suites, corpora and runs",
    "--help": "list all commands",
}
"""What `manyheads` without a command suggests."""

app = typer.Typer(
    name="manyheads",
    cls=Group,
    help=HELP,
    epilog="\n".join(f"{code:>3}  {meaning}" for code, meaning in EXIT_CODES.items()),
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("init")(project.init)
app.command("run", cls=SystemCommand)(run.run)
app.command("resume")(run.resume)
app.command("review")(review.review)
app.command("report")(run.report)
app.command("show")(show.show)
app.command("open")(show.open_report)
app.command("serve")(serve.serve)
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
ranking = typer.Typer(help="Rank ideas against a target idea, by a model.", no_args_is_help=True)
ranking.command("judge")(review.judge)
app.add_typer(ranking, name="ranking")
app.add_typer(arena.app, name="arena")
for path, part in {
    "": app, "prompts ": inspect.app, "corpus ": corpus.app, "ranking ": ranking, "arena ": arena.app,
}.items():  # fmt: skip
    for each in part.registered_commands:
        assert each.callback
        words = f"{path}{each.name or each.callback.__name__}"
        each.cls = SystemCommand if each.cls is SystemCommand else Command
        each.epilog = "\n".join(EXAMPLES.get(words, ())) or None
        each.callback = with_groups(each.callback)
    for group in part.registered_groups:
        group.cls = Group


def _version(wanted: bool) -> None:
    if wanted:
        say(f"manyheads {__version__}")
        raise typer.Exit


@app.callback(help=HELP)
def top(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Suggest how to start if no command is named."""
    if context.invoked_subcommand is None:
        width = max(map(len, START))
        lines = (f"  manyheads {words:<{width}}  {what}" for words, what in START.items())
        say("\n".join([HELP, "", "New here?", *lines]))
