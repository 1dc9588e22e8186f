"""The evolution of one idea as the report shows it: versions, what changed between them, reviews and verdicts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from manyheads.replies import label
from manyheads.report.diff import Piece, changed_words, shortened, word_diff
from manyheads.report.page import Page, View
from manyheads.report.record import Record, count
from manyheads.systems import results
from manyheads.systems.rebuttal.result import Course, RebuttalResult, Round, Version


def essence(result: RebuttalResult) -> Iterator[tuple[str, str]]:
    """The idea, its abstract or else its hypothesis, and how it got on."""
    idea, abstract = result.idea, result.abstract
    yield from results.work(None, idea, abstract)
    if idea and not abstract:
        yield "Hypothesis", idea.hypothesis or idea.idea
    if result.rebuttal:
        yield "Rebuttal", _course(result.rebuttal)


def work(result: RebuttalResult) -> Iterator[str]:
    """The abstract, or the idea field by field; one that was never revised is a paragraph."""
    yield from results.in_sections(result.abstract)
    if result.idea and not result.abstract:
        for name, text in result.idea.fields:
            yield {"title": f"# {text}", "idea": text}.get(name, f"**{label(name)}.** {text}")


def _course(course: Course) -> str:
    went = f"{count(course.iterations, 'revision')} for {course.indicator}"
    better = "" if course.improvements is None else f", {course.improvements} found better"
    return f"{went}{better}; the end: {course.ending}"


def report(record: Record) -> View:
    """The report of a review and rebuttal."""
    result: RebuttalResult = record.result.result
    page = Page(record, tuple(person.name for person in result.team))
    return View(
        __package__ or "",
        page,
        {"course": result.rebuttal or Course(method=""), "steps": steps(result.rounds)},
    )


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


def steps(held: Sequence[Round]) -> list[Step]:
    """Each version with its difference to the one before."""
    return [_step(held[n - 1].idea if n else None, one) for n, one in enumerate(held)]


def _step(before: Version | None, one: Round) -> Step:
    if before is None or before.formed != one.idea.formed:
        whole = [(name, [Piece("same", text)]) for name, text in one.idea.fields]
        return Step(one, whole, 0, 0, alone=True)
    names = [name for name, _ in one.idea.fields]
    pieces = [(name, word_diff(getattr(before, name) or "", getattr(one.idea, name))) for name in names]
    counts = [changed_words(each) for _, each in pieces]
    sections = [(name, shortened(each)) for name, each in pieces]
    return Step(one, sections, sum(came for came, _ in counts), sum(went for _, went in counts), alone=False)
