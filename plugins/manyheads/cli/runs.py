"""The runs of a project as a table, `manyheads list runs --columns …`, their ideas, and what its owner notes of a run."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
import yaml

from manyheads.base.errors import ConfigError, UserError, did_you_mean
from manyheads.cli.options import Options, RunFolder
from manyheads.cli.printing import safe_console, say

if TYPE_CHECKING:
    from manyheads.report.index import RunEntry

Value = str | float | None
Runs = Sequence[tuple[Path, "RunEntry"]]


def runs_tagged(tag: str | None) -> Runs:
    """The runs of the project, newest first; only those with the tag, if there is one."""
    from manyheads.report.index import runs_here

    return [(folder, run) for folder, run in runs_here() if tag is None or tag in run.notes.tags]


def in_short(folder: Path, run: "RunEntry") -> tuple[str, str]:
    """A run in a line: its folder, and how it ended, what it spent and what it is about."""
    ended = f"{run.state}: {run.reason}" if run.reason else run.state
    spent = "" if run.calls is None else f", {run.calls} calls, {run.tokens:,} tokens"
    cost = "" if run.cost is None else f", cost {run.cost:.4f}"
    tags = "".join(f" #{tag}" for tag in run.notes.tags)
    return str(folder), f"{ended}{spent}{cost}: {run.notes.name or run.title or run.system}{tags}"


def print_runs(runs: Runs, columns: str, *, as_csv: bool) -> None:
    """Print a table of runs, with the named columns, or all usual ones.

    Raises:
        ConfigError: no run has a value of a column.
    """
    known = list(dict.fromkeys(["run", "name", "title", *(name for _, run in runs for name in run.values)]))
    chosen = [name.strip() for name in columns.split(",") if name.strip()] or known
    rows = [
        {"run": str(folder), "name": run.notes.name, "title": run.title, **run.values} for folder, run in runs
    ]
    for name in chosen:
        if name in known:
            continue
        found = [_looked_up(folder, name) for folder, _ in runs]
        if runs and all(value is None for value in found):
            also = f"columns: {', '.join(known)}; or a key of the config or result, such as team.size"
            hint = did_you_mean(name, known, "name one")
            raise ConfigError(f"--columns {name}: no run has it", tried=also, hint=hint)
        for row, value in zip(rows, found, strict=True):
            row[name] = value
    _print(chosen, rows, as_csv)


def _looked_up(folder: Path, path: str) -> Value:
    """A value of a run's config or result by its dotted path."""
    from manyheads.base.files import read_text
    from manyheads.base.folders import CONFIG
    from manyheads.base.resources import parse_yaml
    from manyheads.core.results import RESULT

    for file, read in ((CONFIG, parse_yaml), (RESULT, json.loads)):
        with suppress(OSError, ValueError, RecursionError, yaml.YAMLError):
            data: Any = read(read_text(folder / file))
            starts = (
                (data, data.get("result"), data.get(data.get("system"))) if isinstance(data, dict) else ()
            )
            for value in cast("Sequence[Any]", starts):
                for key in path.split("."):
                    value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
                if isinstance(value, str | int | float):
                    return value
    return None


NO_SCORES = ("number", "turn", "round", "builds_on")


def ideas_in_short(runs: Runs) -> Iterator[tuple[str, str]]:
    """Each idea of the runs in a line: RUN#NUMBER, its title and its scores. Runs without ideas are left out."""
    for folder, _ in runs:
        for row in _ideas(folder):
            scores = ", ".join(
                f"{name} {value:g}"
                for name, value in row.items()
                if isinstance(value, int | float) and not isinstance(value, bool) and name not in NO_SCORES
            )
            yield f"{folder}#{row['number']}", f"{row['title']}{f'  ({scores})' if scores else ''}"


def print_ideas(runs: Runs) -> None:
    """Print a CSV of every idea of the runs, with its texts and scores."""
    rows = [{"run": str(folder), **row} for folder, _ in runs for row in _ideas(folder)]
    _print(list(dict.fromkeys(name for row in rows for name in row)), rows, as_csv=True)


def _ideas(folder: Path) -> Iterator[dict[str, object]]:
    from manyheads.systems.exports import ideas
    from manyheads.systems.results import load

    with suppress(UserError):
        yield from ideas(load(folder))


def _print(columns: Sequence[str], rows: Sequence[Mapping[str, object]], as_csv: bool) -> None:
    from manyheads.base.text import csv_text, plain

    if as_csv:
        say(csv_text([columns, *([row.get(name) for name in columns] for row in rows)]).rstrip("\n"))
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in columns:
        numbers = all(isinstance(row.get(name), int | float | None) for row in rows)
        table.add_column(name, overflow="fold", justify="right" if numbers and rows else "left")
    for row in rows:
        table.add_row(*(plain(_in_words(row.get(name))) for name in columns))
    safe_console().print(table if rows else "none", markup=False)


def _in_words(value: object) -> str:
    return "" if value is None else f"{value:,.4g}" if isinstance(value, float) else str(value)


# `manyheads note`.


class NoteOptions(Options):
    run: RunFolder
    text: Annotated[str | None, typer.Argument(metavar="TEXT")] = None
    """The note; an empty one removes it."""
    name: Annotated[str | None, typer.Option(metavar="NAME")] = None
    """A name for the run, which stands for its folder in commands; an empty one removes it."""
    tag: Annotated[list[str] | None, typer.Option(metavar="TAG")] = None
    """Add a tag. Repeatable."""
    untag: Annotated[list[str] | None, typer.Option(metavar="TAG")] = None
    """Remove a tag. Repeatable."""


def note(options: NoteOptions) -> None:
    """Give a run a name, tags or a note, in notes.yaml in its folder; without them, print what it has."""
    from manyheads.base.errors import SubjectError
    from manyheads.report.index import read_entry
    from manyheads.report.notes import notes_of, read_notes, write_notes

    if not read_entry(options.run).state:
        raise SubjectError(f"{options.run}: no run", hint="manyheads list runs")
    before = read_notes(options.run)
    tags = [tag for tag in (*before.tags, *(options.tag or ())) if tag not in (options.untag or ())]
    after = notes_of(
        before.name if options.name is None else options.name, tags,
        before.text if options.text is None else options.text,
    )  # fmt: skip
    if after != before:
        write_notes(options.run, after)
    for what, value in (("name", after.name), ("tags", ", ".join(after.tags)), ("note", after.text)):
        say(f"{what:<5} {value or '–'}")
