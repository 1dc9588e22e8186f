"""What runs have come to, each by what its system tells of it."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from textwrap import fill
from typing import Any

from pydantic import BaseModel

from manyheads.config.files import read_yaml
from manyheads.core.results import (
    MEASURE,
    RESULT,
    Abstract,
    Idea,
    RunResult,
    Topic,
    parse_result,
    result_data,
    sections,
)
from manyheads.disk import replace_text
from manyheads.engine.folder import CONFIG, writing
from manyheads.engine.system import System
from manyheads.errors import ConfigError, SubjectError, UserError
from manyheads.models.offline import LABEL
from manyheads.replies import label
from manyheads.report.index import list_run
from manyheads.report.record import count, section
from manyheads.report.top import Related, report_link
from manyheads.systems import system_of

ABSTRACT = "Abstract"
"""What stands above an abstract in an essence."""


def own(name: str) -> System:
    """The system of a result; raises `SubjectError` for one that is not there."""
    try:
        return system_of(name)
    except ConfigError as error:
        raise SubjectError(error.message, tried=error.tried, hint=error.hint) from error


def load(folder: Path | str, *, unfinished: bool = True) -> RunResult[Any]:
    """What a run has come to, finished or not: `load("runs/…").result.idea.title`.

    Args:
        unfinished: whether a run that has not come to its end will do.

    Raises:
        SubjectError: the folder has no readable result, or its system is not there.
    """
    data = result_data(folder := Path(folder), unfinished=unfinished)
    return parse_result(data, own(str(data.get("system"))).result, folder)


def typed(data: Mapping[str, Any]) -> RunResult[Any]:
    """A result as the last event of a run has it."""
    return RunResult[own(data["system"]).result].model_validate(data)


def essence(run: RunResult[Any]) -> list[tuple[str, str]]:
    """The essence of a result: names, and what is told under each, in order."""
    return list(own(run.system).essence(run.result))


def details(run: RunResult[Any]) -> list[str]:
    """What a reader wants of a result beyond its essence, in Markdown."""
    return list(own(run.system).details(run.result))


def in_full(run: RunResult[Any]) -> list[str]:
    """What was written, in Markdown; or else the essence, and what a reader wants beyond it."""
    work = list(own(run.system).work(run.result))
    return work or [*(f"**{name}.** {text}" for name, text in essence(run)), *details(run)]


def closing_lines(folder: Path) -> str:
    """The last lines that a finished run prints: its essence, what it cost, and where the report is."""
    run = load(folder)
    rows = essence(run)
    width = max([10, *(len(name) + 1 for name, _ in rows)])
    # The abstract stands between the two columns of names and texts, over both.
    lines = [
        f"\n{fill(text, width=100)}\n" if name == ABSTRACT else f"{name:{width}}{text}" for name, text in rows
    ]
    cost = f", cost {run.cost}" if run.cost else ""
    note = f" ({run.price_note})" if run.price_note else ""
    calls, warnings = count(run.usage.calls, "call"), count(len(run.warnings), "warning")
    estimated = f" (of {run.usage.estimated} calls estimated)" if run.usage.estimated else ""
    body = "\n".join(lines).strip("\n")
    lines = [
        *(["", body] if body else []),
        "",
        f"{calls}, {run.tokens} tokens{estimated}{cost}{note}; {warnings}",
    ]
    if run.degraded:
        silent = ", ".join(run.degraded)
        lines.append(f"Degraded  {silent} failed at times; see the report")
    if run.offline:
        lines.append(LABEL)
    return "\n".join([*lines, f"Report    {folder / 'report.html'}"])


def write_report(folder: Path) -> Path:
    """Write `report.html` into a run folder, of a finished or an unfinished run, with what other runs say of it.

    Returns:
        The path of the report.

    Raises:
        UserError: the folder is no run folder, or the report cannot be written.
    """
    config = read_yaml(folder / CONFIG) if (folder / CONFIG).is_file() else {}
    system = config.get("system") or result_data(folder, unfinished=True).get("system")
    return own(str(system)).write_report(folder, [*related(folder)])


def related(folder: Path) -> Iterator[Related]:
    """The runs beside a run, or inside its folder, that review or judge it."""
    for file in sorted((*folder.parent.glob(f"*/{CONFIG}"), *folder.glob(f"*/{CONFIG}"))):
        with suppress(UserError, OSError, ValueError):
            # Most runs have nothing to do with this one, and parsing a config takes a hundred times as long.
            if file.parent == folder or folder.name not in file.read_text("utf-8"):
                continue
            if folder.resolve() in subjects(file.parent):
                run = load(file.parent, unfinished=False)
                system = own(run.system)
                means = system.reviews.scores(run.result) if system.reviews else {}
                words = [f"{label(name)} {mean.mean:.3g}{mean.ends(1)}" for name, mean in means.items()]
                yield Related(system.title, report_link(file.parent, folder), "; ".join(words))


def subjects(folder: Path) -> list[Path]:
    """The folders of the runs that a run reviews or judges; empty of a run that does neither.

    Raises:
        UserError: the folder has no readable config, or its system is not there.
    """
    config = read_yaml(folder / CONFIG)
    system = own(str(config.get("system")))
    names = [each.input for each in (system.reviews, system.judge) if each]
    named = [section(config, "inputs").get(name) for name in names]
    paths = [
        folder / str(path) for each in named for path in (each if isinstance(each, list) else [each]) if path
    ]
    return [path.resolve() for path in dict.fromkeys(paths) if (path / RESULT).is_file()]


def update_reports(folder: Path) -> None:
    """Write the reports of the runs again that a run reviews or judges, so that they link to it."""
    with suppress(UserError, OSError):
        for run in subjects(folder):
            write_report(run)


def keep_measure(folder: Path, score: BaseModel) -> None:
    """Keep what was measured of a run in its folder, and show it in its report.

    Raises:
        JournalError: the folder cannot be written.
    """
    with writing(folder):
        replace_text(folder / MEASURE, score.model_dump_json(indent=2) + "\n")
    write_report(folder)
    list_run(folder)


# What systems' essences share.


def work(topic: Topic | None, idea: Idea | None, abstract: Abstract | None) -> Iterator[tuple[str, str]]:
    """Topic, idea and abstract, each as far as there is one; an idea that the abstract has its title from but once."""
    title = abstract and abstract.title
    if topic:
        yield "Topic", topic.topic
    if idea and idea.title and idea.title != title:
        yield "Idea", idea.title
    if title:
        yield "Title", title
    if abstract and abstract.text:
        yield ABSTRACT, abstract.text


def in_sections(abstract: Abstract | None) -> Iterator[str]:
    """An abstract section by section, in Markdown."""
    if abstract:
        yield f"# {abstract.title}"
        yield from (
            f"**{label(name)}.** {text}" for name, text in sections(abstract).items() if name != "title"
        )
