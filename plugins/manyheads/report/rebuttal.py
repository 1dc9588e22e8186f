"""The evolution of one idea as the report shows it: versions, what changed between them, reviews and verdicts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from manyheads.core.events import Said
from manyheads.replies import Proposal
from manyheads.report.diff import Piece, changed_words, shortened, word_diff
from manyheads.report.record import Part, Quality, Record, part_of

SYSTEM = "rebuttal"
FORM = tuple(Proposal.model_fields)
IDEAS = ("propose", "revise", "reflect")
"""Tasks that are answered with a version of the idea."""
ENDINGS = {
    "converged": "no significant improvement was found any more",
    "max_iters": "the most revisions that were allowed were made, and it had not come to rest",
    "fixed_iters": "all revisions were made that were asked for; nobody judged them",
    "initial": "the first idea was left as it is",
}


class Version(Part):
    """One version: a paragraph in `idea` at first, six fields from the first revision on."""

    title: str = ""
    thought: str = ""
    reflection: str = ""
    idea: str = ""
    problem: str = ""
    objective: str = ""
    hypothesis: str = ""
    method: str = ""
    expected_impact: str = ""
    by: str = ""
    source: str = ""

    @property
    def formed(self) -> bool:
        return bool(self.problem)

    @property
    def fields(self) -> list[tuple[str, str]]:
        names = FORM if self.formed else ("title", "idea")
        return [(name, text) for name in names if (text := cast(str, getattr(self, name)))]


class Review(Part):
    strengths: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()


class Verdict(Part):
    reasoning: str = ""
    improved: bool


class Round(Part):
    round: int
    idea: Version
    review: Review | None = None
    verdict: Verdict | None = None
    improved: bool | None = None


class Work(Part):
    id: str = ""
    title: str = ""


class Background(Part):
    source: str = ""
    works: tuple[Work, ...] = ()
    left_out: int = 0


class Course(Quality):
    """How the run went, and what it went for."""

    method: str = ""
    iterations: int = 0
    improvements: int | None = None
    """Versions that were found better; None where nobody has judged."""
    stopped_by: str = ""
    final: int | None = None

    @property
    def ending(self) -> str:
        return ENDINGS.get(self.stopped_by, self.stopped_by)


class Evolution(Part):
    rounds: tuple[Round, ...] = ()
    rebuttal: Course = Course()
    background: Background = Background()


@dataclass(frozen=True)
class Step:
    """A version beside the one before it; `alone` where there is none in the same form, `cut` where parts are left out."""

    held: Round
    sections: list[tuple[str, list[Piece]]]
    came: int
    went: int
    alone: bool

    @property
    def cut(self) -> bool:
        return any(piece.kind == "gap" for _, pieces in self.sections for piece in pieces)


def evolution_of(record: Record) -> Evolution:
    """The evolution of a finished run, or how far one has come.

    Raises:
        JournalError: `result.json` is not what a run writes.
    """
    return part_of(Evolution, record, _so_far)


def steps(evolution: Evolution) -> list[Step]:
    """Each version with its difference to the one before."""
    held = evolution.rounds
    return [_step(held[n - 1].idea if n else None, one) for n, one in enumerate(held)]


def _step(before: Version | None, one: Round) -> Step:
    if before is None or before.formed != one.idea.formed:
        whole = [(name, [Piece("same", text)]) for name, text in one.idea.fields]
        return Step(one, whole, 0, 0, alone=True)
    names = [name for name, _ in one.idea.fields]
    pieces = [(name, word_diff(getattr(before, name), getattr(one.idea, name))) for name in names]
    counts = [changed_words(each) for _, each in pieces]
    sections = [(name, shortened(each)) for name, each in pieces]
    return Step(one, sections, sum(came for came, _ in counts), sum(went for _, went in counts), alone=False)


def _so_far(record: Record) -> dict[str, Any]:
    rounds: dict[int, dict[str, Any]] = {}
    for number, told in _told(record):
        rounds.setdefault(number, {"round": number}).update(told)
    chosen = cast(Mapping[str, Any], record.config.get("rebuttal") or {})
    course = {key: chosen[key] for key in ("area", "indicator", "method") if key in chosen}
    if 0 in rounds:
        rounds[0].setdefault("idea", {})  # one that was given is said by nobody
    whole = [rounds[number] for number in sorted(rounds) if "idea" in rounds[number]]
    return {"rounds": whole, "rebuttal": course}


def _told(record: Record) -> Iterator[tuple[int, dict[str, Any]]]:
    """What the events say of each round."""
    for said in record.of(Said):
        number = said.turn if said.stage == SYSTEM else 0
        if said.task in IDEAS:
            told = {"idea": {**said.data, "by": said.speaker}}
            yield number, {**told, "improved": said.data.get("improved")}
        elif said.task == "review":
            yield number, {"review": said.data}
        elif said.task == "compare":
            yield number, {"verdict": said.data, "improved": said.data.get("improved")}
