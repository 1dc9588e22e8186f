"""Results of runs, with summaries by their systems, and in other formats: Markdown, BibTeX, JSON and CSV."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from textwrap import fill
from typing import Any, cast

from pydantic import BaseModel

from manyheads.asking.replies import label
from manyheads.base.errors import ConfigError, SubjectError, UserError
from manyheads.base.files import read_text, replace_text
from manyheads.base.folders import CONFIG, writing
from manyheads.base.text import count, csv_text, plain, printable
from manyheads.config.files import read_yaml
from manyheads.core.results import (
    MEASURE,
    RESULT,
    Abstract,
    Evidence,
    Idea,
    RunResult,
    Topic,
    parse_result,
    result_data,
    sections,
)
from manyheads.models.offline import LABEL
from manyheads.report.index import list_run
from manyheads.report.record import bibtex, links_of, section
from manyheads.report.top import RelatedRun, report_link
from manyheads.systems import system_of
from manyheads.team.system import System

ABSTRACT = "Abstract"  # label in a summary


def written(folder: Path, form: str) -> str:
    """A run's result in one of `FORMATS`.

    Raises:
        SubjectError: the folder has no readable result, or the run has nothing for this format.
    """
    run = load(folder)
    if text := FORMATS[form](run, folder):
        return text
    others = [name for name, write in FORMATS.items() if name != form and write(run, folder)]
    raise SubjectError(
        f"{folder}: this run of {run.system} has {LACKING[form]}",
        hint=f"another --format: {', '.join(others)}" if others else f"manyheads resume {folder}",
    )


def markdown(run: RunResult[Any], folder: Path) -> str:
    """Title, abstract, idea and references; for a run without an idea, the system's summary."""
    parts = [*_work(run)]
    if not parts:
        return ""
    if references := _references(run):
        listed = "\n".join(f"{n}. {_reference(each)}" for n, each in enumerate(references, 1))
        parts += ["## References", listed]
    models = ", ".join(dict.fromkeys(run.models.values()))
    note = LABEL if run.offline else f"Written by {run.system} of manyheads with {models}."
    unfinished = "" if run.finished else " The run is not finished."
    return printable("\n\n".join([*parts, "---", f"*{note}{unfinished}*"])) + "\n"


def _work(run: RunResult[Any]) -> Iterator[str]:
    result = run.result
    abstract, idea = getattr(result, "abstract", None), getattr(result, "idea", None)
    if not isinstance(idea, Idea) or len(getattr(result, "final", ())) > 1:
        told = in_full(run) if essence(run) else []
        if told and not told[0].startswith("# "):
            title = plain(getattr(result, "title", None) or "")
            yield f"# {own(run.system).title}{': ' * bool(title)}{title}"
        yield from told
        return
    yield f"# {plain(abstract.title if abstract else idea.title) or own(run.system).title}"
    if topic := getattr(result, "topic", None):
        yield f"**Topic.** {topic.topic}"
    if abstract:
        yield f"## {ABSTRACT}"
        yield abstract.text
    yield "## Idea"
    if abstract and idea.title and idea.title != abstract.title:
        yield f"**{plain(idea.title)}**"
    yield idea.body


def _references(run: RunResult[Any]) -> list[Evidence]:
    """The references of the idea or ideas; for a run without an idea, all papers found."""
    ideas = getattr(run.result, "final", None) or [getattr(run.result, "idea", None)]
    cited = dict.fromkeys(each for idea in ideas if isinstance(idea, Idea) for each in idea.references)
    return run.cited(cited) if isinstance(ideas[0], Idea) else run.evidence


def _reference(paper: Evidence) -> str:
    year = f" ({paper.year})" if paper.year else ""
    link = next((address for _, address in links_of(paper)), plain(paper.paper))
    return f"{plain(paper.title)}{year}. {link}"


def as_bibtex(run: RunResult[Any], folder: Path) -> str:
    return bibtex(_references(run))


def as_json(run: RunResult[Any], folder: Path) -> str:
    """The result file of the run."""
    return json.dumps(result_data(folder, unfinished=True), ensure_ascii=False, indent=2) + "\n"


def as_csv(run: RunResult[Any], folder: Path) -> str:
    """The system's table, else every idea with its scores."""
    rows = [_flat(row) for row in own(run.system).table(run.result)] or [*_ideas(run)]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = ([row.get(name) for name in columns] for row in rows)
    return csv_text([columns, *cells]) if rows else ""


def _ideas(run: RunResult[Any]) -> Iterator[dict[str, object]]:
    """Every idea in the lists of a result, including rounds, with its numbers; the final one is marked."""
    best = getattr(run.result, "idea", None)
    lists: dict[str, Any] = {name: each for name, each in run.result if isinstance(each, list)}
    entries = ((name, entry) for name, listed in lists.items() for entry in listed)
    ideas = ((name, one if isinstance(one, Idea) else getattr(one, "idea", None)) for name, one in entries)
    found = [(name, idea) for name, idea in ideas if isinstance(idea, Idea)]
    several = len({name for name, _ in found}) > 1
    for name, idea in found or ([("", best)] if isinstance(best, Idea) else []):
        chosen = isinstance(best, Idea) and (best.number, best.idea) == (idea.number, idea.idea)
        references = "; ".join(plain(paper.title) for paper in run.cited(idea.references))
        listed = {"list": name} if several else {}
        told = _flat(idea.model_dump(exclude={"references"}))
        yield {**listed, **told, "chosen": chosen, "references": references}


def _flat(data: BaseModel | Mapping[str, Any], above: str = "") -> dict[str, object]:
    """Single values by name, with nested names joined; texts of a list share a cell."""
    flat = dict[str, object]()
    for name, value in (data.model_dump() if isinstance(data, BaseModel) else data).items():
        if isinstance(value, dict):
            flat |= _flat(cast(Mapping[str, Any], value), f"{above}{name}.")
        elif isinstance(value, str):
            flat[f"{above}{name}"] = printable(value)
        elif isinstance(value, int | float):
            flat[f"{above}{name}"] = value
        elif (
            isinstance(value, list)
            and value
            and all(isinstance(each, str) for each in cast(list[object], value))
        ):
            flat[f"{above}{name}"] = printable("; ".join(cast(list[str], value)))
    return flat


FORMATS: Mapping[str, Callable[[RunResult[Any], Path], str]] = {
    "md": markdown, "bib": as_bibtex, "json": as_json, "csv": as_csv,
}  # fmt: skip
LACKING = {
    "md": "written nothing yet", "bib": "no references", "json": "no result",
    "csv": "no ideas and no other table",
}  # fmt: skip
"""What a run lacks if a format is empty."""


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
    tokens = f"{run.tokens} tokens{estimated}{cost}{note}"
    lines = [*(["", body] if body else []), "", f"{calls}, {tokens}; {warnings}"]
    if run.degraded:
        lines.append(f"Degraded  {', '.join(run.degraded)} failed at times; see the report")
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


def related(folder: Path) -> Iterator[RelatedRun]:
    """The runs next to a run, or inside its folder, that review or judge it."""
    for file in sorted((*folder.parent.glob(f"*/{CONFIG}"), *folder.glob(f"*/{CONFIG}"))):
        with suppress(UserError, OSError, ValueError):
            # Parsing a config takes a hundred times as long, and most runs are unrelated.
            if file.parent == folder or folder.name not in read_text(file):
                continue
            if folder.resolve() in subjects(file.parent):
                run = load(file.parent, unfinished=False)
                system = own(run.system)
                means = system.reviews.scores(run.result) if system.reviews else {}
                words = [f"{label(name)} {mean.mean:.3g}{mean.ends(1)}" for name, mean in means.items()]
                yield RelatedRun(system.title, report_link(file.parent, folder), "; ".join(words))


def subjects(folder: Path) -> list[Path]:
    """The folders of the runs that a run reviews or judges; empty for other runs.

    Raises:
        UserError: the folder has no readable config, or its system is missing.
    """
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
