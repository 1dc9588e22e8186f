"""A run's result, as stored in `result.json`: the common fields, and parts that systems share."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from manyheads.asking import replies
from manyheads.base.errors import SubjectError, describe
from manyheads.base.files import read_text
from manyheads.base.papers import Paper
from manyheads.base.text import decimals_of, rounded
from manyheads.core import NOTHING, Price, Usage, money
from manyheads.core.events import MadeBy
from manyheads.core.notebook import result_html

R = TypeVar("R", bound=BaseModel)
RESULT = "result.json"
MEASURE = "measure.json"
"""The file in which `manyheads measure` stores a run's measures."""
FORMAT = 3
FOLDERS = "name the folder of a run, such as runs/<time>-<name>"


class Part(BaseModel):
    """A part of a result, filled during the run. Unknown values are None.

    Example:
        class Count(Part):
            words: int | None = None
    """

    model_config = ConfigDict(extra="ignore")


# Parts that systems share.


class Retrieval(Part):
    """One way in which a paper was found."""

    source: str | None = None
    """The source: a corpus, a service, a file."""
    query: str | None = None
    """The first line of the query; `events.jsonl` has the full text."""
    score: float | None = None
    """Similarity to the query, -1 to 1."""
    stage: str | None = None
    turn: int | None = None
    channel: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """The retrieval strategy that found it; omitted if there is only one."""
    reason: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """The strategy's reason, such as an entity."""


class Evidence(Part):
    """A paper, or a passage, found during a run: stored once, cited by its id.

    Example:
        >>> Evidence(id="e1", paper="p7", title="Robust retrieval", year=2014).year
        2014
    """

    id: str
    """`e1`, `e2`, … in the order of discovery."""
    paper: str
    """The paper's id."""
    title: str
    year: int | None = None
    doi: str | None = Field(default=None, exclude_if=lambda value: value is None)
    url: str | None = Field(default=None, exclude_if=lambda value: value is None)
    venue: str | None = Field(default=None, exclude_if=lambda value: value is None)
    authors: tuple[str, ...] = Field(default=(), exclude_if=lambda value: not value)
    """As the service gives them; empty for a paper of a corpus."""
    retrievals: list[Retrieval] = []
    """Each way in which it was found, in order."""

    @property
    def score(self) -> float | None:
        """The highest similarity of any query."""
        return max((each.score for each in self.retrievals if each.score is not None), default=None)


class EvidenceList:
    """Collects the evidence of a run."""

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
        """The id of a paper, new or already found.

        Args:
            passage: a hash that distinguishes several texts of one paper.
            of: the paper, for its further fields.
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
    """A participant."""

    name: str
    role: str | None = None
    interests: list[str] | None = None
    affiliations: list[str] | None = None
    reasoning: str | None = None
    """Reason for joining or declining."""


class Topic(Part):
    topic: str
    rationale: str | None = None
    fixed: bool
    """Whether the user chose the member."""


class Idea(Part):
    """An idea of any system."""

    number: int
    title: str
    """Empty if there is none."""
    idea: str
    thought: str | None = None
    by: str
    """The author; empty for an idea from the user."""
    references: list[str] = []
    """The evidence shown to the author."""

    @property
    def body(self) -> str:
        """The text without its title."""
        return self.idea

    @property
    def form(self) -> Mapping[str, str]:
        """The six fields of a proposal by name; empty if any is missing."""
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
    """Number of the idea that it refines, 0 for a new idea; None if there was no idea to refine, or it was not asked."""
    round: int | None = None
    """Times that the team has restarted with ideas; None if the team cannot restart."""
    kept: bool | None = None
    """Whether it is a candidate of the vote; None if not yet decided."""
    reflection: str | None = None
    done: bool | None = None
    """Whether its author declared it finished, if the author is asked."""

    @property
    def body(self) -> str:
        parts = (self.idea, f"Experiment: {self.experiment}" if self.experiment.strip() else "")
        return "\n\n".join(part for part in parts if part.strip())

    @property
    def text(self) -> str:
        """The idea as others see it."""
        return f"{self.title}\n\n{self.idea}\n\nExperiment: {self.experiment}"

    def query(self, whole: bool) -> str:
        """The query for published papers: title and idea, or with `whole` the experiment too."""
        return self.text if whole else f"{self.title}\n\n{self.idea}"


class Abstract(replies.Abstract):
    """An abstract by section, and as one paragraph."""

    text: str

    @classmethod
    def of(cls, abstract: replies.Abstract) -> "Abstract":
        return cls(**sections(abstract), text=abstract.as_text())


class Draft(replies.Abstract):
    """A version of an abstract, with its author's comment on the previous version, if any."""

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


class Figure(Part):
    """A mean with its interval; no interval for a single value or equal values."""

    mean: float
    low: float | None = None
    high: float | None = None
    interval: str | None = None
    """Method: BCa (bootstrap), or Student's t for fewer than ten values."""

    @property
    def words(self) -> str:
        """The mean, with its interval in brackets if there is one, whose width of some four standard errors gives the digits."""
        digits = decimals_of(((self.high or 0) - (self.low or 0)) / 4)
        return f"{rounded(self.mean, digits)}{self.ends(digits or 0)}"

    def ends(self, digits: int = 2, sign: str = "") -> str:
        """The interval in brackets, after a space; empty if there is none."""
        return "" if self.low is None else f" ({self.low:{sign}.{digits}f} to {self.high:{sign}.{digits}f})"


# Fields of every run.


class RunUsage(Usage):
    """Total usage of a run."""

    by_stage: dict[str, Usage] = {}
    unused: Usage = NOTHING
    """What the result does not use: turns without a valid reply, and replaced replies."""


class PersonWord(Part):
    """What a person contributed to a run: a decision between stages, or a role's reply."""

    stage: str
    turn: int
    speaker: str
    task: str
    action: str
    """`accept`, `edit`, `pick`, `add` or `back` (sent back) of who steers; `reply` in a role."""
    text: str
    by: str
    """Who it was, as `human/NAME`."""


class RunResult(Part, Generic[R]):
    """A run of any system; `result` is the system's own part.

    Example:
        result = load("runs/20260101-120000-virsci")
        print(result.usage.calls, result.result.idea.title)
    """

    format: Literal[3] = FORMAT
    system: str
    host: str | None = None
    """The agent framework; None for a run without a result yet."""
    made_by: MadeBy | None = None
    """Versions and date; None for runs of earlier versions, or without a result yet."""
    seed: int
    corpus: str
    embedding: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """The embedding model of the corpus; omitted if no corpus was opened."""
    language: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """The language of the agents' texts, as in the config; omitted if the config names none."""
    models: dict[str, str]
    """Provider and name by alias."""
    prices: dict[str, Price] = {}
    """Price per million tokens, by alias; models without a known price are omitted."""
    written_by_language_model: bool
    """Whether a language model wrote any of it, not only the offline model."""
    finished: bool
    """Whether the run is finished; otherwise the result is partial."""
    usage: RunUsage
    warnings: list[str] = []
    degraded: list[str] = []
    """Literature sources that could not answer every query."""
    searches: dict[str, Any] | None = None
    """The search ledger; null if the run looked up nothing."""
    evidence: list[Evidence] = []
    people: list[PersonWord] = Field(default=[], exclude_if=lambda value: not value)
    """What people contributed; omitted if nobody did."""
    result: R

    def _repr_html_(self) -> str:
        return result_html(self)

    @property
    def offline(self) -> bool:
        """Whether models were asked, but no language model."""
        return self.usage.calls > 0 and not self.written_by_language_model

    def cited(self, ids: Iterable[str]) -> list[Evidence]:
        """The evidence with these ids."""
        entries = {each.id: each for each in self.evidence}
        return [entries[each] for each in ids if each in entries]

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.usage.tokens

    @property
    def cost(self) -> str | None:
        """Cost with its currency; None if no price is known."""
        return None if self.usage.cost is None else money(self.usage.cost, currency_of(self.prices))

    @property
    def price_note(self) -> str:
        """Where the prices come from, and the models without a price; empty if nothing was paid."""
        if self.cost and not self.prices:  # from a run of an earlier version
            return "in the currency of your prices"
        return price_note(self.prices, self.models) if self.usage.calls else ""


def currency_of(prices: Mapping[str, Price]) -> str | None:
    """The currency of prices by alias; None if it is not stated."""
    return next((price.currency for price in prices.values() if price.currency), None)


def price_note(prices: Mapping[str, Price], models: Mapping[str, str]) -> str:
    """Where the prices of a cost come from, and the models without a price.

    Args:
        prices: by alias.
        models: `provider/name` by alias.
    """
    dates = sorted({str(price.as_of) for price in prices.values() if price.listed and price.as_of})
    notes = [f"list prices of {' and '.join(dates)}"] if dates else []
    if any(price.listed is None for price in prices.values()):
        notes.append("your own prices" if dates else "your prices")
    served = {
        alias: name
        for alias, name in models.items()
        if name.partition("/")[0] not in ("offline", "replay", "human")
    }
    unknown = dict.fromkeys(name for alias, name in served.items() if alias not in prices)
    missing = [f"no price is known for {', '.join(unknown)}"] if unknown else []
    return "; ".join(filter(None, (" and ".join(notes), *missing)))


def read_result(folder: Path, kind: type[R], *, unfinished: bool = False) -> RunResult[R]:
    """The result of a run, with its system's own part as `kind`.

    Args:
        unfinished: also accept the partial result of an unfinished run.

    Raises:
        SubjectError: the folder has no readable result, or the run is not finished.
    """
    return parse_result(result_data(folder, unfinished=unfinished), kind, folder)


def parse_result(data: Mapping[str, Any], kind: type[R], folder: Path) -> RunResult[R]:
    """Like `read_result`, for data already read from a folder."""
    try:
        return RunResult[kind].model_validate(data)
    except ValidationError as error:
        raise SubjectError(f"{folder / RESULT}: {describe(error)}", hint=FOLDERS) from error


def result_data(folder: Path, *, unfinished: bool = False) -> dict[str, Any]:
    """Like `read_result`, as JSON."""
    path = folder / RESULT
    begun = (folder / "config.yaml").is_file()
    hint = f"manyheads resume {folder}" if begun else FOLDERS
    try:
        data: Any = json.loads(read_text(path))
    except FileNotFoundError as error:
        what = "not a finished run" if begun else "not a run folder"
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
        hint = "update manyheads" if newer else f"{hint}: rewrites it from the journal, at no cost"
        raise SubjectError(f"{path}: has format {found}, but this version reads {FORMAT}", hint=hint)
    if not (unfinished or result.get("finished")):
        raise SubjectError(f"{folder}: not a finished run: its {RESULT} is partial", hint=hint)
    return result


def is_finished(folder: Path) -> bool:
    """Whether a run is finished. A damaged result counts as finished: reading it reports the damage.

    Raises FileNotFoundError if there is no result at all.
    """
    try:
        data: Any = json.loads(read_text(folder / RESULT))
        return bool(data["finished"]) and data["format"] >= FORMAT
    except (ValueError, TypeError, KeyError, RecursionError):
        return True
