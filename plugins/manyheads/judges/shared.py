"""Shared by judges of ideas: reading ideas, asking judges, summaries of scores, and the report."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, model_validator

from manyheads.asking.replies import Text
from manyheads.base.errors import ModelError, ReplyError
from manyheads.config import Inputs, Section, Slot
from manyheads.core.results import Figure, Part, Quality
from manyheads.core.texts import Given
from manyheads.measures.statistics import Ends, mean_of
from manyheads.report.page import Page, View
from manyheads.report.record import Record
from manyheads.systems.ideas import Entry, read_ideas
from manyheads.systems.ranking.judging import Bench
from manyheads.team.run import Run

JUDGE = "judge"
KINDS = "the folder of a run, a text file, or a text"
IDEAS = Slot(
    "each",
    file=True,
    metavar="RUN|FILE|TEXT",
    required=True,
    hint=f"name them: --set 'inputs.ideas=[…]', each {KINDS}; of a run, all of its final ideas",
)


class JudgeConfig(Section):
    """Settings of all judges of ideas."""

    area: Text = "computer science"
    """The judge's field of research."""


class IdeasInputs(Inputs):
    """The ideas to judge."""

    in_full = frozenset({"ideas"})

    ideas: Annotated[tuple[Given, ...], IDEAS] = ()
    """Folders of runs (all their final ideas), text files, or texts."""

    @model_validator(mode="after")
    def _each_once(self) -> "IdeasInputs":
        if len(set(self.ideas)) < len(self.ideas):
            raise ValueError("ideas: one is named twice")
        return self


def entries_of(named: Iterable[str]) -> tuple[Entry, ...]:
    """All named ideas. Raises `SubjectError` if one cannot be read."""
    return tuple(entry for each in named for entry in read_ideas(each))


def ideas_of(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Their number, source, title and text."""
    return [
        {"number": number, "source": each.source, "title": each.title, "text": each.text}
        for number, each in enumerate(entries, 1)
    ]


def bench_of(run: Run[Any, Any, Any], area: str) -> Bench:
    """Asks judges; a failure of one question does not stop the others."""
    return Bench(run, Quality(area=area, indicator="", traits=""))


def invalid(run: Run[Any, Any, Any], fault: str, **details: object) -> str:
    """The message to a judge whose answer breaks a rule of its task."""
    return run.roles.prompts.render("judge/invalid.md.j2", {"fault": fault, **details}).strip()


def need_one(failures: Sequence[ReplyError], total: int, what: str) -> None:
    """Raises `ModelError` if all have failed."""
    if failures and len(failures) == total:
        first = failures[0]
        raise ModelError(f"{what}: {first.message}", tried=first.tried, hint=first.hint) from first


def figure(values: Sequence[float], seed: int, within: Ends | None = None) -> Figure | None:
    """The mean of values with its interval; None without values."""
    mean = mean_of(values, seed=seed, within=within)
    return mean and Figure(mean=mean.mean, low=mean.low, high=mean.high, interval=mean.method)


def histogram(scores: Iterable[int], least: int, most: int) -> dict[str, int]:
    """How many ideas have each score of a scale, the best first (SciPIP, Tables 1 and 3)."""
    counts = Counter(scores)
    return {str(score): counts[score] for score in range(most, least - 1, -1)}


# The report, in the same form for all.


class Table(Part):
    """A table of a report."""

    title: str
    lead: str = ""
    head: list[str]
    rows: list[list[str]] = Field(default_factory=list[list[str]])
    wordy: bool = False
    """Whether some cells are texts."""


class Step(Part):
    """A section to unfold: one idea or one comparison, with the judge's words."""

    title: str
    note: str = ""
    failed: bool = False
    texts: list[tuple[str, str]] = Field(default_factory=list[tuple[str, str]])
    """The heading of each text, and the text."""


def figure_words(value: Figure | None) -> str:
    """A figure with its interval."""
    return "–" if value is None else f"{value.mean:.2f}{value.ends()}"


def score_words(histogram: Mapping[str, int]) -> str:
    """The number of ideas by score, without empty scores."""
    return ", ".join(f"{score}: {n}" for score, n in histogram.items() if n) or "none"


def score_table(lead: str, histogram: Mapping[str, int], without: str, number: int | None) -> Table:
    """The number of ideas by score, and the `number` of those `without` a score."""
    rows = [["Ideas", *map(str, histogram.values()), str(number)]]
    return Table(title="Scores", lead=lead, head=["Score", *histogram, without], rows=rows)


def score_path(path: Sequence[str]) -> tuple[str, ...]:
    """The path of a measure in the result: the score is a mean."""
    return ("score", "mean") if path[0] == "score" else tuple(path)


def view(
    record: Record,
    title: str,
    essence: Iterable[tuple[str, str]],
    tables: Sequence[Table],
    steps: Sequence[Step],
) -> View:
    """A report with a title, the essence of a finished run, tables, and sections to unfold."""
    facts = [*essence] if record.result.finished else []
    shown = {"title": title, "facts": facts, "tables": tables, "steps": steps}
    return View(__package__ or "", Page(record), shown)
