"""What a run has come to, as `result.json` keeps it: what every run has, and the parts that the systems' own share."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from manyheads import replies
from manyheads.core import NOTHING, Usage
from manyheads.errors import SubjectError, describe

R = TypeVar("R", bound=BaseModel)
RESULT = "result.json"
FORMAT = 2
FOLDERS = "name the folder of a run, such as runs/<time>-<name>"


class Part(BaseModel):
    """A part of a result, filled as the run goes. What nobody knows is None."""

    model_config = ConfigDict(extra="ignore")


# Parts that systems share.


class Evidence(Part):
    """A paper that a run has come upon, kept once and cited by its id."""

    id: str
    """`e1`, `e2`, … in the order in which they were first found."""
    paper: str
    """The paper's id."""
    title: str
    year: int | None = None
    source: str | None = None
    """Where it was found: a corpus, a service, a file."""
    query: str | None = None
    """The first line of what was looked for; `events.jsonl` has all of it."""
    score: float | None = None
    """Its similarity to the query, -1 to 1."""
    stage: str | None = None
    turn: int | None = None


@dataclass
class EvidenceList:
    """The evidence of a run as it is found."""

    entries: list[Evidence] = field(default_factory=list[Evidence])
    _ids: dict[tuple[str, str, object], str] = field(default_factory=dict[tuple[str, str, object], str])

    def cite(
        self, paper: str, title: str, query: str | None = None, *, mark: object = None, **found: Any
    ) -> str:
        """The id of a paper found by a query; the same paper by the same query is one piece of evidence.

        Args:
            mark: tells apart what has no query.
        """
        key = (paper, title, query or mark)
        if key not in self._ids:
            self._ids[key] = f"e{len(self.entries) + 1}"
            line = query and query.split("\n", 1)[0]
            self.entries.append(Evidence(id=self._ids[key], paper=paper, title=title, query=line, **found))
        return self._ids[key]


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


class ChosenIdea(ScoredIdea):
    """The idea that the abstract is written on."""

    votes: int
    tie: str | None = None
    """The rule that broke a tie of votes."""


class Vote(Part):
    """A blind vote; `choice` counts from 1 in the order in which the ideas were shown."""

    voter: str
    turn: int
    choice: int
    reasoning: str
    idea: str
    """Its title."""
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

    format: Literal[2] = FORMAT
    system: str
    host: str | None = None
    """The agent framework; None of a run of version 0.1.0."""
    seed: int
    corpus: str
    models: dict[str, str]
    """Provider and name by alias."""
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

    def cited(self, ids: Iterable[str]) -> list[Evidence]:
        """The evidence of these ids."""
        entries = {each.id: each for each in self.evidence}
        return [entries[each] for each in ids if each in entries]

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.usage.input_tokens + self.usage.output_tokens


class Anything(Part):
    """The result of any system, its parts as they stand on the disk."""

    model_config = ConfigDict(extra="allow")


def read_result(folder: Path, kind: type[R], *, unfinished: bool = False) -> RunResult[R]:
    """What came of a run, with its system's own part as `kind`.

    Args:
        unfinished: whether one that has not come to its end will do.

    Raises:
        SubjectError: the folder has no readable result, or none of a finished run.
    """
    data = result_data(folder, unfinished=unfinished)
    try:
        return RunResult[kind].model_validate(data)
    except ValidationError as error:
        raise SubjectError(f"{folder / RESULT}: {describe(error)}", hint=FOLDERS) from error


def result_data(folder: Path, *, unfinished: bool = False) -> dict[str, Any]:
    """`read_result` as JSON, in today's form."""
    path = folder / RESULT
    begun = (folder / "config.yaml").is_file()
    hint = f"manyheads resume {folder}" if begun else FOLDERS
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        what = "no finished run" if begun else "no run folder"
        raise SubjectError(f"{folder}: {what} (it has no {RESULT})", hint=hint) from error
    except OSError as error:
        raise SubjectError(f"{path}: {error.strerror}", hint=hint) from error
    except ValueError as error:
        raise SubjectError(f"{path}: not valid JSON: {error}", hint=hint) from error
    if not isinstance(data, dict):
        raise SubjectError(f"{path}: not a JSON object", hint=hint)
    result = modern(cast(dict[str, Any], data), str(path))
    if not (unfinished or result.get("finished")):
        raise SubjectError(f"{folder}: no finished run: its {RESULT} is how far it came", hint=hint)
    return result


def is_finished(folder: Path) -> bool:
    """Whether a run has come to its end; one whose result is damaged has, which is said where it is read.

    Raises:
        FileNotFoundError: there is no result at all.
    """
    try:
        data: object = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    except ValueError:
        return True
    if not isinstance(data, dict) or "format" not in data:
        return True
    return bool(cast(dict[str, Any], data).get("finished"))


# Results of version 0.1.0, which have no format: everything in one object, references in full where they are cited.


def modern(data: Mapping[str, Any], path: str) -> dict[str, Any]:
    """A result in today's form; what version 0.1.0 did not keep is None.

    Raises:
        SubjectError: it is of a later version.
    """
    if data.get("format") == FORMAT:
        return dict(data)
    if "format" in data:
        raise SubjectError(
            f"{path}: of format {data['format']}, this version reads {FORMAT}", hint="update manyheads"
        )
    evidence = EvidenceList()
    common = {name: data[name] for name in RunResult.model_fields if name in data and name != "result"}
    try:
        own = {name: _cited(each, name, evidence) for name, each in data.items() if name not in common}
    except (KeyError, TypeError) as error:
        raise SubjectError(f"{path}: not what a run writes: {error}", hint=FOLDERS) from error
    entries = [each.model_dump(mode="json") for each in evidence.entries]
    return {"format": FORMAT, "finished": True, **common, "evidence": entries, "result": own}


def _cited(value: Any, name: str, evidence: EvidenceList) -> Any:
    """A part of an old result with its papers kept as evidence."""
    if isinstance(value, dict):
        part = cast(dict[str, Any], value)
        return {key: _cited(each, key, evidence) for key, each in part.items()}
    if not isinstance(value, list):
        return value
    items = cast(list[Any], value)
    if name in ("references", "works"):
        return [_paper(each, evidence) for each in items]
    if name == "overlaps":
        own = ("similarity", "reason")
        return [{"evidence": _paper(each, evidence), **{key: each[key] for key in own}} for each in items]
    if name == "rounds":
        items = [{**each, "idea": {"number": each["round"], **each["idea"]}} for each in items]
    return [_cited(each, "", evidence) for each in items]


def _paper(old: Mapping[str, Any], evidence: EvidenceList) -> str:
    paper, title, score = old["id"], old["title"], old.get("score")
    return evidence.cite(paper, title, mark=score, year=old.get("year"), score=score)
