"""The outcome of a run as the report reads it: `result.json` typed, or the same told from the events so far."""

from collections.abc import Iterable
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Field

from manyheads import replies
from manyheads.config import BASELINES
from manyheads.core import NOTHING, Usage
from manyheads.events import Recruited, Said, Stage, Voted, Warned
from manyheads.report.folder import Record
from manyheads.report.part import Part, valid

SECTIONS = tuple(name for name in replies.Abstract.model_fields if name != "title")

RANKING = "ranking"


class Person(Part):
    name: str
    role: str = "member"
    interests: str = ""
    affiliations: str = ""
    reasoning: str = ""


class Topic(Part):
    topic: str = ""
    rationale: str = ""
    fixed: bool = False


class Reference(Part):
    id: str = ""
    title: str = ""
    year: int | None = None
    score: float | None = None


class Idea(Part):
    number: int = 0
    title: str = ""
    reflection: str = ""
    thought: str = ""
    idea: str = ""
    experiment: str = ""
    clarity: int | None = None
    feasibility: int | None = None
    novelty: int | None = None
    confidence: float | None = None
    by: str = ""
    turn: int = 0
    round: int = 1
    references: tuple[Reference, ...] = ()
    kept: bool = False
    tie: str | None = None


class Vote(Part):
    voter: str
    turn: int = 0
    round: int = 1
    choice: int
    idea: str = ""
    reasoning: str = ""


class Abstract(Part):
    title: str = ""
    introduction: str = ""
    objective: str = ""
    methods: str = ""
    expected_results: str = ""
    conclusion: str = ""


class Draft(Abstract):
    by: str = ""
    turn: int = 0
    round: int = 1
    evaluation: dict[str, int] | None = None
    changes: tuple[str, ...] | None = None


class Course(Part):
    """How a baseline went, and what it may have cost."""

    ideas: int
    stopped_by: str
    done_in_turns: tuple[int, ...] = ()
    tokens_allowed: int | None = None
    tokens_used: int
    like: str | None = None


class Spent(Usage):
    by_stage: dict[str, Usage] = Field(default_factory=dict[str, Usage])
    unused: Usage = NOTHING
    """What the result does not rest on: turns that came to no reply, and replies that were replaced."""


def _words(value: object) -> object:
    """Interests and affiliations are kept as one text or as a list."""
    return ", ".join(map(str, cast(list[object], value))) if isinstance(value, list) else value or ""


def _person(value: object) -> object:
    if isinstance(value, str):
        return {"name": value}
    if not isinstance(value, dict):
        return value
    data = cast(dict[str, Any], value)
    return {**data, **{key: _words(data.get(key)) for key in ("interests", "affiliations", "reasoning")}}


People = tuple[Annotated[Person, BeforeValidator(_person)], ...]


class Outcome(Part):
    """What came out, complete or so far."""

    system: str = ""
    host: str = ""
    team: People = ()
    declined: People = ()
    left: People = ()
    topic: Topic = Topic()
    ideas: tuple[Idea, ...] = ()
    votes: tuple[Vote, ...] = ()
    idea: Idea | None = None
    abstract: Abstract | None = None
    drafts: tuple[Draft, ...] = ()
    baseline: Course | None = None
    usage: Spent = Spent()
    warnings: tuple[str, ...] = ()
    written_by_language_model: bool = True


def outcome_of(record: Record) -> Outcome:
    """The result of a finished run, or what the events of an unfinished one tell.

    Raises:
        JournalError: `result.json` is not what a run writes.
    """
    if record.result is None:
        return _so_far(record)
    return valid(Outcome, record, {"host": str(record.config.get("host", "")), **_own(record.result)})


def _own(result: dict[str, Any]) -> dict[str, Any]:
    """A result without the ideas that a ranking was given: nobody in the run has had them."""
    return {**result, "ideas": ()} if result.get("system") == RANKING else result


def _so_far(record: Record) -> Outcome:
    said, held = record.of(Said), _rounds(record)
    drafts = _drafts((s for s in said if "expected_results" in s.data), held)
    recruits = record.of(Recruited)
    return Outcome(
        system=str(record.config.get("system", "")),
        host=str(record.config.get("host", "")),
        team=(
            *_leader(said),
            *(Person(name=r.candidate, reasoning=r.reasoning) for r in recruits if r.accepted),
            *_without_leader(record, said),
        ),
        declined=tuple(Person(name=r.candidate, reasoning=r.reasoning) for r in recruits if not r.accepted),
        topic=_topic(record),
        ideas=tuple(_idea(number, s, held) for number, s in enumerate(filter(_is_idea, said), 1)),
        votes=tuple(
            Vote(
                voter=v.voter,
                turn=v.turn,
                round=held.get((v.stage, v.turn), 1),
                choice=v.choice,
                reasoning=v.reasoning,
            )
            for v in record.of(Voted)
        ),
        abstract=drafts[-1] if drafts else None,
        drafts=tuple(drafts),
        usage=_spent(said),
        warnings=tuple(w.message for w in record.of(Warned)),
        written_by_language_model=not unwritten(record),
    )


def unwritten(record: Record) -> frozenset[str]:
    """The labels of those that spoke in the run and are no language model of this run."""
    return frozenset(
        label for label, provider in record.models().items() if provider in ("offline", "replay")
    )


def _leader(said: list[Said]) -> list[Person]:
    """The leader, who is not recruited: known from the first turn that they sum up."""
    return [Person(name=s.speaker, role="leader") for s in said if s.part == "leader"][:1]


def _without_leader(record: Record, said: list[Said]) -> list[Person]:
    """Those who speak in a baseline, which forms no team."""
    names = dict.fromkeys(s.speaker for s in said) if record.config.get("system") in BASELINES else ()
    return [Person(name=name, role="") for name in names]


def _is_idea(said: Said) -> bool:
    return "experiment" in said.data and said.part != "guest"


Held = dict[tuple[str, int], int]
"""The round by stage and turn: turns are counted on through all rounds."""


def _rounds(record: Record) -> Held:
    """Each idea generation begins a round: a further one follows where self-review has given an idea up."""
    held: Held = {}
    number = 0
    for event in record.events:
        number += isinstance(event, Stage) and event.stage == "idea"
        held.setdefault((event.stage, event.turn), max(number, 1))
    return held


def _idea(number: int, said: Said, held: Held) -> Idea:
    told = {"number": number, "by": said.speaker, "turn": said.turn, "round": held[said.stage, said.turn]}
    return Idea.model_validate({**said.data, **told})


def _drafts(said: Iterable[Said], held: Held) -> list[Draft]:
    """The versions of the abstract; who has heard a guest writes theirs again, and the later one counts."""
    drafts: list[Draft] = []
    for s in said:
        if drafts and (drafts[-1].by, drafts[-1].turn) == (s.speaker, s.turn):
            drafts.pop()
        told = {"by": s.speaker, "turn": s.turn, "round": held[s.stage, s.turn]}
        drafts.append(Draft.model_validate({**s.data, **told}))
    return drafts


def _topic(record: Record) -> Topic:
    if fixed := record.config.get("topic"):
        return Topic(topic=str(fixed), fixed=True)
    written = [s.data for s in record.of(Said) if "rationale" in s.data]
    return Topic.model_validate(written[-1]) if written else Topic()


def _spent(said: list[Said]) -> Spent:
    stages: dict[str, Usage] = {}
    for s in said:
        stages[s.stage] = stages.get(s.stage, NOTHING) + s.usage
    return Spent(**sum((s.usage for s in said), NOTHING).model_dump(), by_stage=stages)
