"""`manyheads show` prints a run's result in other formats; `manyheads open` opens its report in the browser."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from manyheads.base.errors import SubjectError
from manyheads.cli import completion
from manyheads.cli.options import Output
from manyheads.cli.printing import say, write_or_print


def show(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="The run folder.", autocompletion=completion.runs)
    ],
    form: Annotated[
        Literal["md", "tex", "bib", "json", "csv"],
        typer.Option(
            "--format",
            help="md, tex: a document with title, abstract, idea and references, or the review. bib: the references. csv: all "
            "ideas with their scores. json: the whole result.",
        ),
    ] = "md",
    out: Output = None,
) -> None:
    """Print the result of a run, for your notes, Overleaf, Zotero or a spreadsheet."""
    from manyheads.systems.results import written

    write_or_print(written(run, form), out, as_json=form == "json")
    if out:
        say(out)


def open_report(
    run: Annotated[
        Path | None,
        typer.Argument(
            metavar="RUN",
            help="A run folder, or a folder of runs. [default: runs]",
            show_default=False,
            autocompletion=completion.runs,
        ),
    ] = None,
) -> None:
    """Open a run's report in the browser, or the list of all runs."""
    from manyheads.base.folders import CONFIG
    from manyheads.report.index import RUNS
    from manyheads.systems.results import write_report

    folder = run or Path(RUNS)
    if run and not run.is_dir():
        raise SubjectError(f"{run}: no such folder", hint="manyheads list runs")
    if (folder / CONFIG).is_file():
        page = folder / "report.html"
        page = page if page.is_file() else write_report(folder)
        say(page)
        browse(page)
        return
    from manyheads.report.index import INDEX, entries, write_index

    try:
        if not folder.is_dir() or not entries(folder):
            raise SubjectError(f"{folder}: no runs in it", hint="name a run folder; manyheads list runs")
        page = write_index(folder)
    except OSError as error:
        raise SubjectError(f"{folder}: {error.strerror}", hint="name the folder of a run") from error
    if page is None:
        raise SubjectError(f"{folder / INDEX}: not a page of manyheads", hint="rename it")
    say(page)
    browse(page)


def browse(page: Path) -> None:
    """Open a page in the browser; without one, print its path."""
    import webbrowser

    try:
        shown = webbrowser.open(page.absolute().as_uri())
    except webbrowser.Error:
        shown = False
    if not shown:
        say(f"No browser was found. Open {page} in one.", err=True)
