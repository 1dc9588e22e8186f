"""What runs have come to, each by what its system tells of it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

from manyheads.config.files import read_yaml
from manyheads.core.results import Abstract, Idea, RunResult, Topic, parse_result, result_data, sections
from manyheads.engine.folder import CONFIG
from manyheads.engine.system import System
from manyheads.errors import ConfigError, SubjectError
from manyheads.models.offline import LABEL
from manyheads.replies import label
from manyheads.report.record import count
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
    lines = [
        "",
        "\n".join(lines).strip("\n"),
        "",
        f"{calls}, {run.tokens} tokens{estimated}{cost}{note}; {warnings}",
    ]
    if run.degraded:
        silent = ", ".join(run.degraded)
        lines.append(f"Degraded  {silent} could not be asked everything; see the report")
    if run.offline:
        lines.append(LABEL)
    return "\n".join([*lines, f"Report    {folder / 'report.html'}"])


def write_report(folder: Path) -> Path:
    """Write `report.html` into a run folder, of a finished or an unfinished run.

    Returns:
        The path of the report.

    Raises:
        UserError: the folder is no run folder, or the report cannot be written.
    """
    config = read_yaml(folder / CONFIG) if (folder / CONFIG).is_file() else {}
    system = config.get("system") or result_data(folder, unfinished=True).get("system")
    return own(str(system)).write_report(folder)


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
