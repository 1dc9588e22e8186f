"""What a run has come to, as `result.json` keeps it: what every run has, and the parts that the systems' own share."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from manyheads import replies
from manyheads.core import NOTHING, Price, Usage, money
from manyheads.core.events import MadeBy
from manyheads.errors import SubjectError, describe
from manyheads.papers import Paper

R = TypeVar("R", bound=BaseModel)
RESULT = "result.json"
MEASURE = "measure.json"
"""What `manyheads measure` keeps of a run in its folder."""
FORMAT = 3
FOLDERS = "name the folder of a run, such as runs/<time>-<name>"


class Part(BaseModel):
    """A part of a result, filled as the run goes. What nobody knows is None."""

    model_config = ConfigDict(extra="ignore")


# Parts that systems share.


class Retrieval(Part):
    """How a paper was found."""

    source: str | None = None
    """Where: a corpus, a service, a file."""
    query: str | None = None
    """The first line of what was looked for; `events.jsonl` has all of it."""
    score: float | None = None
    """Its similarity to the query, -1 to 1."""
    stage: str | None = None
    turn: int | None = None
    channel: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """Which of several ways of a retrieval has found it; left out where there is but one."""
    reason: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """What the channel found it by, such as an entity."""


class Evidence(Part):
    """A paper, or a passage, that a run has come upon: kept once, cited by its id."""

    id: str
    """`e1`, `e2`, … in the order in which they were first found."""
    paper: str
    """The paper's id."""
    title: str
    year: int | None = None
    doi: str | None = Field(default=None, exclude_if=lambda value: value is None)
    url: str | None = Field(default=None, exclude_if=lambda value: value is None)
    venue: str | None = Field(default=None, exclude_if=lambda value: value is None)
    authors: tuple[str, ...] = Field(default=(), exclude_if=lambda value: not value)
    """As a service names them; of a paper of a corpus nobody is named."""
    retrievals: list[Retrieval] = []
    """Each way in which it was found, in order."""

    @property
    def score(self) -> float | None:
        """The highest of its similarities to what it was found by."""
        return max((each.score for each in self.retrievals if each.score is not None), default=None)


class EvidenceList:
    """The evidence of a run as it is found."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], Evidence] = {}

    @property
    def entries(self) -> list[Evidence]:
        return [*self._entries.values()]

    def cite(
        self,
        paper: str,
        title: str,
        retrieval: Retrieval,
        *,
        year: int | None = None,
        passage: str = "",
        of: Paper | None = None,
    ) -> str:
        """The id of a paper that was found, now or before.

        Args:
            passage: a hash that tells its texts apart.
            of: the paper, where more of it is known.
        """
        own = Evidence(id=f"e{len(self._entries) + 1}", paper=paper, title=title, year=year)
        if of:
            own.doi, own.url, own.venue = of.doi, of.url, of.venue
            own.authors = () if of.source == "local" else of.authors
        entry = self._entries.setdefault((paper, passage), own)
        if retrieval not in entry.retrievals:
            entry.retrievals.append(retrieval)
        return entry.id


class Person(Part):
    """Someone who takes part."""

    name: str
    role: str | None = None
    interests: list[str] | None = None
    affiliations: list[str] | None = None
    reasoning: str | None = None
    """Why they have joined, or declined."""


class Topic(Part):
    topic: str
    rationale: str | None = None
    fixed: bool
    """Whether it was given with the run."""


class Idea(Part):
    """An idea of any system."""

    number: int
    title: str
    """Empty where none is told."""
    idea: str
    thought: str | None = None
    by: str
    """Who has put it forward; empty for one that was given with the run."""
    references: list[str] = []
    """The evidence that it was written beside."""

    @property
    def body(self) -> str:
        """All of it but its title."""
        return self.idea

    @property
    def form(self) -> Mapping[str, str]:
        """The six fields of a proposal by name; empty where it has not all of them."""
        return {}


class ScoredIdea(Idea):
    """An idea with its author's ratings, 1 to 10 (VirSci 2024, Fig. 12)."""

    experiment: str
    clarity: int
    feasibility: int
    novelty: int
    confidence: float
    """Clarity + feasibility + weighted novelty."""
    turn: int
    builds_on: int | None = None
    """Number of the idea that it refines, 0 for one of its own; None where there was none before it, or nobody asks."""
    round: int | None = None
    """How often the team had begun with ideas; None where nothing can send it back."""
    kept: bool | None = None
    """Whether it was among those that are voted on; None before that is settled."""
    reflection: str | None = None
    done: bool | None = None
    """Whether its author called it finished, where an author is asked."""

    @property
    def body(self) -> str:
        parts = (self.idea, f"Experiment: {self.experiment}" if self.experiment.strip() else "")
        return "\n\n".join(part for part in parts if part.strip())

    @property
    def text(self) -> str:
        """The idea as others are shown it."""
        return f"{self.title}\n\n{self.idea}\n\nExperiment: {self.experiment}"

    def query(self, whole: bool) -> str:
        """What published papers are looked up by: the title and the idea, or the `whole` of it, with its experiment."""
        return self.text if whole else f"{self.title}\n\n{self.idea}"


class ChosenIdea(ScoredIdea):
    """The idea that the abstract is written on."""

    votes: int
    tie: str | None = None
    """The rule that broke a tie of votes."""


class VoteNote(Part):
    """A line of a voter on one idea."""

    idea: str
    """Its title."""
    note: str


class Vote(Part):
    """A blind vote; `choice` counts from 1 in the order of confidence."""

    voter: str
    turn: int
    choice: int
    reasoning: str
    idea: str
    """Its title."""
    notes: list[VoteNote] = []
    """A line on each idea."""
    shown: list[int] = []
    """The ideas in the order in which the voter saw them, counted as `choice` is."""
    copy_of: int | None = None
    """The turn whose vote counts again, where a model at temperature 0 was asked once; None for a vote of its own."""
    round: int | None = None


class Abstract(replies.Abstract):
    """An abstract in its sections, and as one paragraph."""

    text: str

    @classmethod
    def of(cls, abstract: replies.Abstract) -> "Abstract":
        return cls(**sections(abstract), text=abstract.as_text())


class Draft(replies.Abstract):
    """A version of an abstract; what its author had to say of the one before, where there was one."""

    by: str
    turn: int
    round: int | None = None
    evaluation: replies.Ratings | None = None
    changes: list[str] | None = None

    @classmethod
    def of(cls, abstract: replies.Abstract, by: str, turn: int, held: int | None = None) -> "Draft":
        judged = abstract if isinstance(abstract, replies.Judgement) else None
        changes, evaluation = judged and judged.changes, judged and judged.evaluation
        return cls(**sections(abstract), by=by, turn=turn, round=held, evaluation=evaluation, changes=changes)


def sections(abstract: replies.Abstract) -> dict[str, str]:
    """Title and sections by name."""
    return {name: getattr(abstract, name) for name in replies.Abstract.model_fields}


class Quality(Part):
    """What ideas are judged by; `traits` is a list in Markdown."""

    area: str | None = None
    indicator: str | None = None
    traits: str | None = None

    @property
    def points(self) -> list[str]:
        """The traits one by one."""
        return [line.removeprefix("- ") for line in (self.traits or "").splitlines() if line.strip()]


class RankedItem(Part):
    """A target or an idea in the form that is ranked; a field that its text does not tell is not there."""

    source: str
    title: str
    fields: dict[str, str] = {}
    text: str | None = None
    """As it was ranked, where it was not brought into the form."""
    round: int | None = None
    """Revisions after which it stood so; None where it comes of no such run."""
    settled: bool | None = None
    """Whether its run had ended by then."""
    sha256: str | None = None
    """Of the text that it was read from, where that is not kept."""
    words: int | None = None


class RankedOrder(Part):
    """One order of the same ideas, 0 the target, and how the judge ranked them; places and ranks count from 1."""

    shown: tuple[int, ...]
    """The ideas from the first place to the last."""
    ranked: tuple[int, ...] | None = None
    """From the best to the worst; None where the order failed."""
    rationales: tuple[str, ...] | None = None
    """For each rank, why."""
    target_place: int
    target_rank: int | None = None
    s: float | None = None
    """Its share of ideas above the target (Review and Rebuttal, Eq. 3)."""
    failed: str | None = None
    """With what it ended, where it has no ranking."""

    def place(self, number: int) -> int:
        """Where an idea was shown."""
        return self.shown.index(number) + 1

    def rank(self, number: int) -> int | None:
        """The rank that it got; None of an order that failed."""
        return self.ranked.index(number) + 1 if self.ranked else None

    @property
    def reasons(self) -> list[tuple[int, str]]:
        """The ideas, best first, each with why it stands there."""
        reasons = self.rationales or ("",) * len(self.ranked or ())
        return list(zip(self.ranked or (), reasons, strict=True))


class Figure(Part):
    """A mean, with its interval; without one where all values are equal, or there is one."""

    mean: float
    low: float | None = None
    high: float | None = None
    interval: str | None = None
    """How: BCa (bootstrap), or Student's t where there are fewer than ten values."""

    def ends(self, digits: int = 2, sign: str = "") -> str:
        """The ends of its interval in brackets, with a space before; empty where there is none."""
        return "" if self.low is None else f" ({self.low:{sign}.{digits}f} to {self.high:{sign}.{digits}f})"


class Interval(Part):
    low: float
    high: float
    level: float


# What every run has.


class RunUsage(Usage):
    """All that a run has paid."""

    by_stage: dict[str, Usage] = {}
    unused: Usage = NOTHING
    """What the result does not rest on: turns that came to no reply, and replies that were replaced."""


class RunResult(Part, Generic[R]):
    """A run of any system; `result` is what its system makes of it."""

    format: Literal[3] = FORMAT
    system: str
    host: str | None = None
    """The agent framework; None of a run that has left no result yet."""
    made_by: MadeBy | None = None
    """Versions and date; None of a run of an earlier version, or one that has left no result yet."""
    seed: int
    corpus: str
    embedding: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """The model of the corpus's vectors; left out where no corpus was opened."""
    models: dict[str, str]
    """Provider and name by alias."""
    prices: dict[str, Price] = {}
    """Of a million tokens, by alias; a model whose price is not known is not there."""
    written_by_language_model: bool
    """Whether one wrote in it, and not only the offline model."""
    finished: bool
    """Whether it has come to its end; else this is how far it came."""
    usage: RunUsage
    warnings: list[str] = []
    degraded: list[str] = []
    """Literature sources that could not be asked everything."""
    searches: dict[str, Any] | None = None
    """The search ledger; null for a run that has looked nothing up."""
    evidence: list[Evidence] = []
    result: R

    @property
    def offline(self) -> bool:
        """Whether a model was asked, and none of them a language model."""
        return self.usage.calls > 0 and not self.written_by_language_model

    def cited(self, ids: Iterable[str]) -> list[Evidence]:
        """The evidence of these ids."""
        entries = {each.id: each for each in self.evidence}
        return [entries[each] for each in ids if each in entries]

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.usage.tokens

    @property
    def cost(self) -> str | None:
        """What it cost, with its currency; None where no price is known."""
        return None if self.usage.cost is None else money(self.usage.cost, currency_of(self.prices))

    @property
    def price_note(self) -> str:
        """Whose prices the cost is made of, and which models are not in it; empty where nothing was to be paid."""
        if self.cost and not self.prices:  # of a run of an earlier version
            return "in the currency of your prices"
        return price_note(self.prices, self.models) if self.usage.calls else ""


def currency_of(prices: Mapping[str, Price]) -> str | None:
    """The currency of prices by alias; None where they do not say."""
    return next((price.currency for price in prices.values() if price.currency), None)


def price_note(prices: Mapping[str, Price], models: Mapping[str, str]) -> str:
    """Whose prices a cost is made of, and which models have none.

    Args:
        prices: by alias.
        models: `provider/name` by alias.
    """
    dates = sorted({str(price.as_of) for price in prices.values() if price.listed and price.as_of})
    notes = [f"list prices of {' and '.join(dates)}"] if dates else []
    if any(price.listed is None for price in prices.values()):
        notes.append("your own prices" if dates else "your prices")
    served = {
        alias: name for alias, name in models.items() if name.partition("/")[0] not in ("offline", "replay")
    }
    unknown = dict.fromkeys(name for alias, name in served.items() if alias not in prices)
    missing = [f"no price is known for {', '.join(unknown)}"] if unknown else []
    return "; ".join(filter(None, (" and ".join(notes), *missing)))


def read_result(folder: Path, kind: type[R], *, unfinished: bool = False) -> RunResult[R]:
    """What came of a run, with its system's own part as `kind`.

    Args:
        unfinished: whether one that has not come to its end will do.

    Raises:
        SubjectError: the folder has no readable result, or none of a finished run.
    """
    return parse_result(result_data(folder, unfinished=unfinished), kind, folder)


def parse_result(data: Mapping[str, Any], kind: type[R], folder: Path) -> RunResult[R]:
    """`read_result` of data from a folder."""
    try:
        return RunResult[kind].model_validate(data)
    except ValidationError as error:
        raise SubjectError(f"{folder / RESULT}: {describe(error)}", hint=FOLDERS) from error


def result_data(folder: Path, *, unfinished: bool = False) -> dict[str, Any]:
    """`read_result` as JSON."""
    path = folder / RESULT
    begun = (folder / "config.yaml").is_file()
    hint = f"manyheads resume {folder}" if begun else FOLDERS
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        what = "no finished run" if begun else "no run folder"
        raise SubjectError(f"{folder}: {what} (it has no {RESULT})", hint=hint) from error
    except OSError as error:
        raise SubjectError(f"{path}: {error.strerror}", hint=hint) from error
    except (ValueError, RecursionError) as error:
        raise SubjectError(f"{path}: not valid JSON: {error}", hint=hint) from error
    if not isinstance(data, dict):
        raise SubjectError(f"{path}: not a JSON object", hint=hint)
    result = cast(dict[str, Any], data)
    if (found := result.get("format")) != FORMAT:
        newer = isinstance(found, int) and found > FORMAT
        raise SubjectError(
            f"{path}: of format {found}, this version reads {FORMAT}",
            hint="update manyheads"
            if newer
            else f"{hint}: it is written anew, and no recorded turn is paid again",
        )
    if not (unfinished or result.get("finished")):
        raise SubjectError(f"{folder}: no finished run: its {RESULT} is how far it came", hint=hint)
    return result


def is_finished(folder: Path) -> bool:
    """Whether a run has come to its end; one whose result is damaged has, which is said where it is read.

    Raises FileNotFoundError where there is no result at all.
    """
    try:
        data: Any = json.loads((folder / RESULT).read_text(encoding="utf-8"))
        return bool(data["finished"]) and data["format"] >= FORMAT
    except (ValueError, TypeError, KeyError, RecursionError):
        return True
