"""`manyheads more`, `merge`, `ask` and `branch`: runs that go on from another one."""

from typing import Annotated

import typer

from manyheads.cli.engine import Running
from manyheads.cli.options import Changes, RunFolder, settings
from manyheads.cli.person import errors_as_lines
from manyheads.cli.run import ShowOrControl, Start, begin

Numbers = Annotated[
    list[int], typer.Argument(metavar="NUMBER…", min=0, help="Numbers of its ideas, as in its report.")
]
Idea = Annotated[
    int | None, typer.Option(metavar="NUMBER", min=0, help="One of its ideas. [default: the idea of the run]")
]
Name = Annotated[str, typer.Argument(metavar="SCIENTIST", help="Masked name of a scientist of its team.")]
Text = Annotated[str, typer.Argument(metavar="QUESTION", help="The question, in quotes.")]

Epoch = Annotated[
    int | None,
    typer.Option(
        "--from",
        metavar="EPOCH",
        min=1,
        help="The last epoch that is shared. [default: all that are finished]",
    ),
]


def more(run: RunFolder, ideas: Numbers, changes: Changes, show: ShowOrControl, start: Start) -> None:
    """Start a team from ideas of a finished run: it looks for more like one, or merges several.

    The new run has the topic, the models and the corpus of the finished one, and its report links to it.
    """
    from manyheads.systems.follow_up import TEAM, follow_up

    with errors_as_lines(show.control):
        begin(changes.config([TEAM], follow_up(run, TEAM, ideas), start.seed), start, show)


def ask(
    run: RunFolder, scientist: Name, question: Text, changes: Changes, show: ShowOrControl, start: Start,
    idea: Idea = None,
) -> None:  # fmt: skip
    """Ask a scientist about an idea of a finished run."""
    from manyheads.systems.follow_up import INTERVIEW, follow_up

    with errors_as_lines(show.control):
        asked = settings({"scientist": scientist, "question": question}, "inputs")
        given = [*follow_up(run, INTERVIEW, [] if idea is None else [idea]), *asked]
        begin(changes.config([INTERVIEW], given, start.seed), start, show)


def branch(
    run: RunFolder,
    changes: Changes,
    show: ShowOrControl,
    start: Start,
    where: Running,
    epoch: Epoch = None,
) -> None:
    """Go on from an epoch of a society, with other settings: a run of its own, which shares the past of the first."""
    from manyheads.systems.follow_up import SOCIETY
    from manyheads.systems.follow_up import branch as shared

    with errors_as_lines(show.control):
        begin(changes.config([SOCIETY], shared(run, epoch), start.seed), start, show, where)
