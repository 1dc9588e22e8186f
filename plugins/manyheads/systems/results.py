"""Results of runs, with summaries by their systems, and their reports."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from manyheads.asking.replies import label
from manyheads.base.errors import ConfigError, SubjectError, UserError
from manyheads.base.files import read_text, replace_text
from manyheads.base.folders import CONFIG, writing
from manyheads.base.text import count
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
from manyheads.models.offline import LABEL
from manyheads.systems import system_of
from manyheads.team.system import System

if TYPE_CHECKING:
    from manyheads.report.top import RelatedRun

ABSTRACT = "Abstract"  # label in a summary


def own(name: str) -> System:
    """The system of a result; raises `SubjectError` if it is missing."""
    try:
        return system_of(name)
    except ConfigError as error:
        raise SubjectError(error.message, tried=error.tried, hint=error.hint) from error


def load(folder: Path | str, *, unfinished: bool = True) -> RunResult[Any]:
    """The result of a run, finished or not.

    Example:
        result = load("runs/20260101-120000-virsci")
        print(result.finished, result.result.idea.title)

    Args:
        unfinished: accept an unfinished run.

    Raises:
        SubjectError: the folder has no readable result, or its system is missing.
    """
    data = result_data(folder := Path(folder), unfinished=unfinished)
    return parse_result(data, own(str(data.get("system"))).result, folder)


def typed(data: Mapping[str, Any]) -> RunResult[Any]:
    """A result from the last event of a run."""
    return RunResult[own(data["system"]).result].model_validate(data)


def essence(run: RunResult[Any]) -> list[tuple[str, str]]:
    """The summary of a result: labels and texts, in order."""
    return list(own(run.system).essence(run.result))


def details(run: RunResult[Any]) -> list[str]:
    """Details of a result beyond its summary, in Markdown."""
    return list(own(run.system).details(run.result))


def in_full(run: RunResult[Any]) -> list[str]:
    """The written text in Markdown, else summary and details."""
    work = list(own(run.system).work(run.result))
    return work or [*(f"**{name}.** {text}" for name, text in essence(run)), *details(run)]


def prose(run: RunResult[Any]) -> list[str]:
    """The written text without the summary and its figures: the work, else the details; the summary if there is nothing else."""
    return list(own(run.system).work(run.result)) or details(run) or in_full(run)


def closing_lines(folder: Path) -> str:
    """The last lines printed for a finished run: summary, cost and report."""
    run = load(folder)
    rows = essence(run)
    width = max([10, *(len(name) + 1 for name, _ in rows)])
    # The abstract spans both columns.
    texts = (
        f"\n{fill(text, width=100)}\n" if name == ABSTRACT else f"{name:{width}}{text}" for name, text in rows
    )
    body = "\n".join(texts).strip("\n")
    cost = f", cost {run.cost}" if run.cost else ""
    note = f" ({run.price_note})" if run.price_note else ""
    calls, warnings = count(run.usage.calls, "call"), count(len(run.warnings), "warning")
    estimated = f" (of {run.usage.estimated} calls estimated)" if run.usage.estimated else ""
    cached = f" ({run.usage.cached_tokens:,} from a cache)" if run.usage.cached_tokens else ""
    tokens = f"{run.tokens} tokens{cached}{estimated}{cost}{note}"
    lines = [*(["", body] if body else []), "", f"{calls}, {tokens}; {warnings}"]
    if run.degraded:
        lines.append(f"Degraded  {', '.join(run.degraded)} did not answer every search; see the report")
    if run.offline:
        lines.append(LABEL)
    return "\n".join([*lines, f"Report    {folder / 'report.html'}"])


def write_report(folder: Path) -> Path:
    """Write `report.html` into a run folder, finished or not, with links to reviews and judgements of the run.

    Returns:
        The path of the report.

    Raises:
        UserError: the folder is no run folder, or the report cannot be written.
    """
    config = read_yaml(folder / CONFIG) if (folder / CONFIG).is_file() else {}
    system = config.get("system") or result_data(folder, unfinished=True).get("system")
    return own(str(system)).write_report(folder, [*related(folder)])


def related(folder: Path) -> "Iterator[RelatedRun]":
    """The runs next to a run, or inside its folder, that review or judge it."""
    from manyheads.report.top import RelatedRun, report_link

    for file in sorted((*folder.parent.glob(f"*/{CONFIG}"), *folder.glob(f"*/{CONFIG}"))):
        with suppress(UserError, OSError, ValueError):
            # Parsing a config takes a hundred times as long, and most runs are unrelated.
            if file.parent == folder or folder.name not in read_text(file):
                continue
            if folder.resolve() in subjects(file.parent):
                run = load(file.parent, unfinished=False)
                system = own(run.system)
                means = system.reviews.scores(run.result) if system.reviews else {}
                words = [f"{label(name)} {mean.words}" for name, mean in means.items()]
                yield RelatedRun(system.title, report_link(file.parent, folder), "; ".join(words))


def subjects(folder: Path) -> list[Path]:
    """The folders of the runs that a run reviews or judges; empty for other runs.

    Raises:
        UserError: the folder has no readable config, or its system is missing.
    """
    from manyheads.report.record import section

    config = read_yaml(folder / CONFIG)
    system = own(str(config.get("system")))
    names = [each.input for each in (system.reviews, system.judge) if each]
    named = [section(config, "inputs").get(name) for name in names]
    listed = (each if isinstance(each, list) else [each] for each in named)
    paths = dict.fromkeys(folder / str(path) for each in listed for path in each if path)
    return [path.resolve() for path in paths if (path / RESULT).is_file()]


def update_reports(folder: Path) -> None:
    """Update the reports of the runs that a run reviews or judges, to link to it."""
    with suppress(UserError, OSError):
        for run in subjects(folder):
            write_report(run)


def keep_measure(folder: Path, score: BaseModel) -> None:
    """Save a run's measures in its folder, and show them in its report.

    Raises:
        JournalError: the folder cannot be written.
    """
    from manyheads.report.index import list_run

    with writing(folder):
        replace_text(folder / MEASURE, score.model_dump_json(indent=2) + "\n")
    write_report(folder)
    list_run(folder)


# Shared by the summaries of systems.


def work(topic: Topic | None, idea: Idea | None, abstract: Abstract | None) -> Iterator[tuple[str, str]]:
    """Topic, idea and abstract, as far as there are any; the idea is left out if the abstract has the same title."""
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
    for name, text in sections(abstract).items() if abstract else ():
        yield f"# {text}" if name == "title" else f"**{label(name)}.** {text}"
