"""The evolution of an idea in the report: versions, their differences, reviews and verdicts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from manyheads.asking.replies import label
from manyheads.report.page import Page, View
from manyheads.report.pictures import Lineage, Row
from manyheads.report.record import Record, count
from manyheads.report.talk import Piece, changed_words, shortened, word_diff
from manyheads.systems import results
from manyheads.systems.rebuttal.result import Course, RebuttalResult, Round


def essence(result: RebuttalResult) -> Iterator[tuple[str, str]]:
    """The idea, its abstract or else its hypothesis, and its course."""
    idea, abstract, course = result.idea, result.abstract, result.rebuttal
    yield from results.work(None, idea, abstract)
    if idea and not abstract:
        yield "Hypothesis", idea.hypothesis or idea.idea
    if course:
        better = "" if course.improvements is None else f", {course.improvements} judged better"
        revisions = f"{count(course.iterations, 'revision')} for {course.indicator}"
        yield "Rebuttal", f"{revisions}{better}; stopped: {course.ending}"


def work(result: RebuttalResult) -> Iterator[str]:
    """The abstract, or the idea field by field; an idea without revisions is one paragraph."""
    yield from results.in_sections(result.abstract)
    if result.idea and not result.abstract:
        for name, text in result.idea.fields:
            yield {"title": f"# {text}", "idea": text}.get(name, f"**{label(name)}.** {text}")


def report(record: Record) -> View:
    """The report of a review and rebuttal."""
    result: RebuttalResult = record.result.result
    page = Page(record, tuple(person.name for person in result.team))
    course = result.rebuttal or Course(method="")
    lines = lineage(result.rounds, course, page.hues)
    return View(__package__ or "", page, {"course": course, "steps": steps(result.rounds), "lines": lines})


MET = {"yes": 1.0, "partly": 0.5, "no": 0.0}
"""The reviewer's verdict on a trait, as a score."""


def lineage(rounds: Sequence[Round], course: Course, hues: Mapping[str, int]) -> Lineage | None:
    """The versions, each from the one before, with the reviewer's verdicts; None for fewer than two."""
    rows = list[Row]()
    for before, one in zip([None, *rounds], rounds, strict=False):
        verdicts = [each.met for each in one.review.verdicts] if one.review else []
        met = verdicts.count("yes")
        better = {True: "better than the one before", False: "not better than the one before", None: ""}
        words = ("final" if one.round == course.final else "", better[one.improved])
        row = Row(
            str(one.round), one.idea.title or "The initial idea", mark=str(one.round),
            parents=(str(before.round),) if before else (), scores=tuple(MET[each] for each in verdicts),
            figure=f"{met}/{len(verdicts)}" if verdicts else "", weight=one.round,
            outcome="won" if one.round == course.final else "kept" if one.improved else "",
            note=", ".join(filter(None, words)), hue=hues.get(one.idea.by, 190),
        )  # fmt: skip
        rows.append(row)
    return Lineage(rows) if len(rows) > 1 else None


@dataclass(frozen=True)
class Step:
    """A version and the one before it; `alone` if there is none in the same form, `cut` if parts are left out."""

    held: Round
    sections: list[tuple[str, list[Piece]]]
    came: int = 0
    went: int = 0
    alone: bool = False

    @property
    def cut(self) -> bool:
        return any(piece.kind == "gap" for _, pieces in self.sections for piece in pieces)


def steps(rounds: Sequence[Round]) -> list[Step]:
    """Each version with its difference from the one before."""
    steps: list[Step] = []
    for before, one in zip([None, *rounds], rounds, strict=False):
        if before is None or before.idea.formed != one.idea.formed:
            whole = [(name, [Piece("same", text)]) for name, text in one.idea.fields]
            steps.append(Step(one, whole, alone=True))
            continue
        pieces = {name: word_diff(getattr(before.idea, name) or "", text) for name, text in one.idea.fields}
        counts = [changed_words(each) for each in pieces.values()]
        sections = [(name, shortened(each)) for name, each in pieces.items()]
        steps.append(Step(one, sections, sum(came for came, _ in counts), sum(went for _, went in counts)))
    return steps
