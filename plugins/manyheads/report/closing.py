"""What a run came to, in words: the last lines that it prints, and what the frameworks' teams end with."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import fill
from typing import Any

from manyheads.core.results import Abstract, Idea, RunResult, Topic, sections
from manyheads.models.offline import LABEL
from manyheads.replies import label
from manyheads.report.record import count

ABSTRACT = "Abstract"
Texts = Iterable[str]
"""Paragraphs in Markdown."""
Essence = Iterable[tuple[str, str]]
"""Names, and what is told under each, in order."""


def closing_lines(folder: Path, run: RunResult[Any], essence: Essence) -> str:
    """A finished run's essence; what it cost, and where the report is."""
    cost = f", cost {run.usage.cost:.4f}" if run.usage.cost is not None else ""
    calls, warnings = count(run.usage.calls, "call"), count(len(run.warnings), "warning")
    estimated = f" (of {run.usage.estimated} calls estimated)" if run.usage.estimated else ""
    lines = ["", _laid_out(list(essence)), "", f"{calls}, {run.tokens} tokens{estimated}{cost}; {warnings}"]
    if run.degraded:
        silent = ", ".join(run.degraded)
        lines.append(f"Degraded  {silent} could not be asked everything; see the report")
    if not run.written_by_language_model:
        lines.append(LABEL)
    return "\n".join([*lines, f"Report    {folder / 'report.html'}"])


def _laid_out(essence: list[tuple[str, str]]) -> str:
    """Names and texts in two columns, the abstract between them over both."""
    width = max(10, *(len(name) + 1 for name, _ in essence)) if essence else 0
    lines = [
        f"\n{fill(text, width=100)}\n" if name == ABSTRACT else f"{name:{width}}{text}"
        for name, text in essence
    ]
    return "\n".join(lines).strip("\n")


def work(topic: Topic | None, idea: Idea | None, abstract: Abstract | None) -> Iterator[tuple[str, str]]:
    """Topic, idea and abstract, each as far as there is one; an idea that the abstract has its title from but once."""
    title = abstract and abstract.title
    named = idea.title if idea and idea.title != title else None
    told = {
        "Topic": topic and topic.topic, "Idea": named, "Title": title, ABSTRACT: abstract and abstract.text
    }  # fmt: skip
    yield from ((name, text) for name, text in told.items() if text)


def in_sections(abstract: Abstract | None) -> Iterator[str]:
    """An abstract section by section, in Markdown."""
    if abstract:
        yield f"# {abstract.title}"
        told = sections(abstract)
        yield from (f"**{label(name)}.** {text}" for name, text in told.items() if name != "title")


def in_bold(essence: Essence) -> Iterator[str]:
    """An essence in Markdown."""
    yield from (f"**{name}.** {text}" for name, text in essence)
