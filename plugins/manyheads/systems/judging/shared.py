"""What judges of ideas share: the ideas they are given, how they are asked, and what scores come to."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, model_validator

from manyheads.config import Inputs, Section, Slot
from manyheads.core.results import Figure, Part, Quality
from manyheads.discussion.run import Run
from manyheads.errors import ModelError, ReplyError
from manyheads.measures.statistics import Ends, mean_of
from manyheads.replies import Text
from manyheads.report.page import Page, View
from manyheads.report.record import Record
from manyheads.systems.ideas import Entry, read_ideas
from manyheads.systems.ranking.judging import Bench
from manyheads.texts import Given

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
    """What all judges of ideas go by."""

    area: Text = "computer science"
    """The field of research in which the judge is at home."""


class IdeasInputs(Inputs):
    """Ideas that are judged."""

    in_full = frozenset({"ideas"})

    ideas: Annotated[tuple[Given, ...], IDEAS] = ()
    """Folders of runs, whose final ideas are all taken, text files, or texts."""

    @model_validator(mode="after")
    def _each_once(self) -> "IdeasInputs":
        if len(set(self.ideas)) < len(self.ideas):
            raise ValueError("ideas: one is named twice")
        return self


def entries_of(named: Iterable[str]) -> tuple[Entry, ...]:
    """All ideas that are named. Raises `SubjectError` where one cannot be read."""
    return tuple(entry for each in named for entry in read_ideas(each))


def ideas_of(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Their number, source, title and text."""
    return [
        {"number": number, "source": each.source, "title": each.title, "text": each.text}
        for number, each in enumerate(entries, 1)
    ]


def bench_of(run: Run[Any, Any, Any], area: str) -> Bench:
    """Where judges are asked; what fails at one of them ends no other."""
    return Bench(run, Quality(area=area, indicator="", traits=""))


def invalid(run: Run[Any, Any, Any], fault: str, **details: object) -> str:
    """What a judge is told of an answer that breaks a rule of its task."""
    return run.roles.prompts.render("judge/invalid.md.j2", {"fault": fault, **details}).strip()


def need_one(failures: Sequence[ReplyError], total: int, what: str) -> None:
    """Raises `ModelError` where all of something has failed: then there is nothing to tell."""
    if failures and len(failures) == total:
        first = failures[0]
        raise ModelError(f"{what}: {first.message}", tried=first.tried, hint=first.hint) from first


def figure(values: Sequence[float], seed: int, within: Ends | None = None) -> Figure | None:
    """The mean of values with its interval; None of none."""
    mean = mean_of(values, seed=seed, within=within)
    return mean and Figure(mean=mean.mean, low=mean.low, high=mean.high, interval=mean.method)


def histogram(scores: Iterable[int], least: int, most: int) -> dict[str, int]:
    """How many ideas have each score of a scale, the best first (SciPIP, Tables 1 and 3)."""
    counts = Counter(scores)
    return {str(score): counts[score] for score in range(most, least - 1, -1)}


# The report, of one form for all.


class Table(Part):
    """A table of a report."""

    title: str
    lead: str = ""
    head: list[str]
    rows: list[list[str]] = Field(default_factory=list[list[str]])
    wordy: bool = False
    """Whether there are texts among its cells."""


class Step(Part):
    """Something to unfold: one idea, or one comparison, with what the judge has said."""

    title: str
    note: str = ""
    failed: bool = False
    texts: list[tuple[str, str]] = Field(default_factory=list[tuple[str, str]])
    """What stands over each text, and the text."""


def figure_words(value: Figure | None) -> str:
    """A figure with the ends of its interval."""
    return "–" if value is None else f"{value.mean:.2f}{value.ends()}"


def score_words(histogram: Mapping[str, int]) -> str:
    """How many ideas have each score that one has."""
    return ", ".join(f"{score}: {n}" for score, n in histogram.items() if n) or "none"


def score_table(lead: str, histogram: Mapping[str, int], without: str, number: int | None) -> Table:
    """How many ideas have each score, and the `number` of those `without` one."""
    rows = [["Ideas", *map(str, histogram.values()), str(number)]]
    return Table(title="Scores", lead=lead, head=["Score", *histogram, without], rows=rows)


def score_path(path: Sequence[str]) -> tuple[str, ...]:
    """Where a measure stands in the result: the score is a mean."""
    return ("score", "mean") if path[0] == "score" else tuple(path)


def view(
    record: Record,
    title: str,
    essence: Iterable[tuple[str, str]],
    tables: Sequence[Table],
    steps: Sequence[Step],
) -> View:
    """A report of a title, of a finished run's essence, of tables and what can be unfolded."""
    facts = [*essence] if record.result.finished else []
    shown = {"title": title, "facts": facts, "tables": tables, "steps": steps}
    return View(__package__ or "", Page(record), shown)
