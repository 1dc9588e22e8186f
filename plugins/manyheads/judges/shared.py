"""Shared by judges of ideas: their results, reading ideas, asking judges, summaries of scores, and the report."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from manyheads.asking.replies import Text
from manyheads.base.text import ABSENT
from manyheads.config import Inputs, Section, Slot
from manyheads.core.events import Judged
from manyheads.core.results import Figure, Part
from manyheads.measures.statistics import Ends, Mean, mean_of
from manyheads.report.page import Page, View
from manyheads.report.record import Record
from manyheads.systems.ideas import Entry, Several, read_ideas
from manyheads.systems.ranking.judging import Bench
from manyheads.systems.traits import Quality
from manyheads.team.run import Run


class JudgedIdea(Part):
    """A judged idea."""

    number: int
    source: str
    """The run or file it was read from; empty for a text."""
    title: str
    text: str

    @property
    def name(self) -> str:
        return self.title or f"Idea {self.number}"

    @property
    def shown_text(self) -> str:
        """The text shown to judges, without source and number."""
        return "\n\n".join(filter(None, (self.title, self.text)))


# Comparisons (SciPIP, App. A.1, Tables 18 and 19).


class Contestant(JudgedIdea):
    """A compared idea."""

    contender: str
    """Its contender: pairs are never of the same contender."""


class Order(Part):
    """The same ideas in one order."""

    shown: list[int]
    """Numbers of the ideas, from the first place to the last."""
    ranks: dict[str, dict[str, float]] = {}
    """By criterion and idea's number, 1 the best; tied ideas have the mean of their ranks."""
    thought: str = ""
    failed: str | None = None
    """The reason if there is no comparison."""


class Bout(Part):
    """Ideas compared with each other in several orders."""

    ideas: list[int]
    orders: list[Order] = []

    @property
    def ranked(self) -> list[Order]:
        """The orders with a comparison."""
        return [order for order in self.orders if order.ranks]


class ContenderStanding(Part):
    """A contender's figures by criterion. Values are per idea; intervals are over ideas."""

    contender: str
    ideas: int
    bouts: int
    wins: dict[str, Figure] = {}
    """The share of other contenders' ideas ranked below its ideas; a tie counts half."""
    first: dict[str, Figure] = {}
    """How often its ideas rank first; ties share it."""
    rank: dict[str, Figure] = {}
    """Their mean rank."""


class ComparisonResult(Part):
    """The comparisons and their figures."""

    ideas: list[Contestant] = []
    bouts: list[Bout] = []
    standings: list[ContenderStanding] = []
    """Sorted by overall share of wins, best first."""
    wins: dict[str, Figure] | None = None
    """By criterion, the share of rivals ranked below the ideas; None without rivals."""
    failed: int | None = None
    """Orders without a comparison."""
    ties: float | None = None
    """Share of pairs that tie overall."""
    first_place: float | None = None
    """The overall share of wins of the idea shown first: 0.5 without position bias in balanced orders."""
    inference_cost: int | None = None


# Novelty (SciPIP, §4.3, Tables 3 and 17).


class SearchRound(Part):
    """One round of a search."""

    number: int
    query: str
    """The query looked up before it; empty in the first."""
    papers: list[str] = []
    """Titles of its results."""
    novelty: int
    """The score in this round, 0 to 10."""
    thought: str


class SoughtIdea(JudgedIdea):
    """An idea assessed for novelty."""

    rounds: list[SearchRound] = []
    novelty: int | None = None
    """The score of the last round; None if the idea was not assessed."""
    not_assessed: str | None = None
    """The reason for a missing score: a source that did not answer is no proof of novelty."""


class NoveltyResult(Part):
    """The novelty of ideas by search results."""

    ideas: list[SoughtIdea] = []
    histogram: dict[str, int] = {}
    """How many ideas have each score (SciPIP, Table 3)."""
    score: Figure | None = None
    """The mean of the scores."""
    assessed: int | None = None
    not_assessed: int | None = None
    """Ideas without a score, left out of the histogram and the mean."""
    inference_cost: int | None = None


# Matches (SciPIP, §4.2, Tables 1, 2, 15 and 16).


class PublishedIdea(Part):
    """A published idea."""

    paper: str
    title: str
    year: int | None = None
    similarity: float
    """Cosine to the idea."""


class MatchedIdea(JudgedIdea):
    """An idea and the published ideas nearest to it."""

    references: list[PublishedIdea] = []
    """In the order shown to the judge."""
    closest: int | None = None
    """The place of the one the judge picked, from 1."""
    score: int | None = None
    """Similarity to the picked idea, 0 to 5; None without a valid answer or without published ideas."""
    reasons: list[str] = []
    failed: str | None = None
    """The reason for a missing score."""


class ScoreStanding(Part):
    """How often ideas of one similarity score rank first among one idea of each score (SciPIP, Table 2)."""

    score: int
    novelty: Figure
    feasibility: Figure


class MatchResult(Part):
    """The similarity of ideas to published ones."""

    ideas: list[MatchedIdea] = []
    histogram: dict[str, int] = {}
    """How many ideas have each score (SciPIP, Table 1)."""
    score: Figure | None = None
    """The mean of the scores."""
    failed: int | None = None
    """Ideas without a score, left out of the histogram and the mean."""
    bouts: list[Bout] = []
    """Comparisons of ideas of different scores."""
    standings: list[ScoreStanding] = []
    failed_orders: int | None = None
    inference_cost: int | None = None


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

    ideas: Annotated[Several, IDEAS] = ()
    """Folders of runs (all their final ideas), text files, or texts."""


def entries_of(named: Iterable[str]) -> tuple[Entry, ...]:
    """All named ideas. Raises `SubjectError` if one cannot be read."""
    return tuple(entry for each in named for entry in read_ideas(each))


def ideas_of(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Their number, source, title and text."""
    names = ("source", "title", "text")
    return [
        {"number": n, **{name: getattr(each, name) for name in names}} for n, each in enumerate(entries, 1)
    ]


def bench_of(run: Run[Any, Any, Any], area: str) -> Bench:
    """Asks judges; a failure of one question does not stop the others."""
    return Bench(run, Quality(area=area, indicator="", traits=""))


def invalid(run: Run[Any, Any, Any], fault: str, **details: object) -> str:
    """The message to a judge whose answer breaks a rule of its task."""
    return run.roles.prompts.render("judge/invalid.md.j2", {"fault": fault, **details}).strip()


def figure(
    values: Iterable[float], seed: int, within: Ends | None = None, *, share: bool = False
) -> Figure | None:
    """The mean of values with its interval; None without values."""
    mean = mean_of([*values], seed=seed, within=within, share=share)
    return mean and as_figure(mean)


def as_figure(mean: Mean) -> Figure:
    return Figure(mean=mean.mean, low=mean.low, high=mean.high, interval=mean.method)


def conclude(
    run: Run[Any, Any, Any],
    stage: str,
    turn: int,
    scored: Sequence[tuple[JudgedIdea, int | None, str | None]],
    most: int,
    what: str,
    without: str,
) -> int:
    """Fill in the histogram (SciPIP, Tables 1 and 3), the best first, and the mean of ideas' scores from 0 to `most`.

    Args:
        scored: each idea with its score, or why it has none.
        what, without: the score in words, and an idea without one.

    Returns:
        Number of ideas without a score; each of them has a warning.
    """  # fmt: skip
    scores = [score for _, score, _ in scored if score is not None]
    counts = Counter(scores)
    run.result.histogram = {str(score): counts[score] for score in range(most, -1, -1)}
    run.result.score = figure(scores, run.config.seed, (0, most))
    for idea, score, why in scored:
        if why:
            run.warn(stage, f"“{idea.name}” {without}: {why}")
        outcome = without if score is None else f"{what} {score} of {most}"
        run.emit(Judged(stage=stage, turn=turn, subject=idea.name, outcome=outcome))
    return len(scored) - len(scores)


# The report, in the same form for all.


class FigureTable(Part):
    """A table of a report."""

    title: str
    lead: str = ""
    head: list[str]
    rows: list[list[str]] = Field(default_factory=list[list[str]])
    wordy: bool = False
    """Whether some cells are texts."""


class Fold(Part):
    """A section to unfold: one idea or one comparison, with the judge's words."""

    title: str
    note: str = ""
    failed: bool = False
    texts: list[tuple[str, str]] = Field(default_factory=list[tuple[str, str]])
    """The heading of each text, and the text."""


def figure_words(value: Figure | None) -> str:
    """A figure with its interval."""
    return ABSENT if value is None else value.words


def score_words(histogram: Mapping[str, int]) -> str:
    """The number of ideas by score, without empty scores."""
    return ", ".join(f"{score}: {n}" for score, n in histogram.items() if n) or "none"


def score_table(lead: str, histogram: Mapping[str, int], without: str, number: int | None) -> FigureTable:
    """The number of ideas by score, and the `number` of those `without` a score."""
    rows = [["Ideas", *map(str, histogram.values()), str(number)]]
    return FigureTable(title="Scores", lead=lead, head=["Score", *histogram, without], rows=rows)


def score_path(path: Sequence[str]) -> tuple[str, ...]:
    """The path of a measure in the result: the score is a mean."""
    return ("score", "mean") if path[0] == "score" else tuple(path)


def view(
    record: Record,
    title: str,
    essence: Iterable[tuple[str, str]],
    tables: Sequence[FigureTable],
    steps: Sequence[Fold],
) -> View:
    """A report with a title, the essence of a finished run, tables, and sections to unfold."""
    facts = [*essence] if record.result.finished else []
    return View(
        "manyheads.judges", Page(record), {"title": title, "facts": facts, "tables": tables, "steps": steps}
    )
