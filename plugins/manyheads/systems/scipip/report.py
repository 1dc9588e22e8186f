"""A run of SciPIP in words, and its report: ideas, papers, and the picture of the links between them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from manyheads.core.results import Evidence
from manyheads.report.lettering import LETTER, LINE, wrapped
from manyheads.report.lineage import Lineage, Row
from manyheads.report.page import Page, View
from manyheads.report.record import Record, count
from manyheads.systems import results
from manyheads.systems.scipip.result import Candidate, Cluster, FinalIdea, ScipipResult, Twin

PAD, GAP = 7.0, 8.0
"""Space in a box around its text, and between boxes."""
EDGE = 1.0
"""Margin of the picture, so that no frame is cut."""


@dataclass(frozen=True)
class Entry:
    """The content of a box: its mark, such as a number, its title, a note below, and its style."""

    key: str
    mark: str
    title: str
    note: str = ""
    style: str = ""
    hue: int = 0


@dataclass(frozen=True)
class Box:
    """An entry with its position; `title` and `note` are lines of text, each with its height."""

    entry: Entry
    x: float
    y: float
    width: float
    height: float
    title: tuple[tuple[float, str], ...]
    note: tuple[tuple[float, str], ...]

    @property
    def middle(self) -> float:
        return self.y + self.height / 2

    @property
    def whole(self) -> str:
        """The full title if it is cut."""
        return f"{self.entry.mark} {self.entry.title}" + f" ({self.entry.note})" * bool(self.entry.note)


@dataclass(frozen=True)
class Line:
    """A line from a paper to an idea: the path of a curve, and the idea, whose style it takes."""

    path: str
    entry: Entry


@dataclass(frozen=True)
class Picture:
    """Papers on the left, ideas on the right, a line for each paper that an idea builds on."""

    width: float
    height: float
    papers: Sequence[Box]
    ideas: Sequence[Box]
    lines: Sequence[Line]


def draw(
    papers: Sequence[Entry],
    ideas: Sequence[Entry],
    links: Mapping[str, Iterable[str]],
    width: float,
    lines: int,
) -> Picture:
    """Two columns with lines between them. Papers are placed near the ideas that build on them, so that few lines cross.

    Ideas without papers, and papers without ideas, are at the bottom.

    Args:
        links: by the key of an idea, the keys of its papers.
        width: of the picture.
        lines: maximum lines of a title.
    """
    ideas = sorted(ideas, key=lambda idea: not links.get(idea.key))
    at = {idea.key: place for place, idea in enumerate(ideas)}
    places: dict[str, list[int]] = {}
    for idea, keys in links.items():
        for key in keys:
            places.setdefault(key, []).append(at[idea])

    def order(place: int) -> tuple[bool, float, int]:
        rows = places.get(papers[place].key)
        return not rows, sum(rows) / len(rows) if rows else 0.0, place

    ordered = [papers[place] for place in sorted(range(len(papers)), key=order)]
    column = round(width * 0.41)
    texts = [[_text(each, column, lines) for each in entries] for entries in (ordered, ideas)]
    heights = [sum(len(title + note) * LINE + 2 * PAD + GAP for title, note in each) for each in texts]
    total = max([*heights, LINE])
    left = _stacked(ordered, texts[0], EDGE, column - EDGE, total - heights[0])
    right = _stacked(ideas, texts[1], width - column, column - EDGE, total - heights[1])
    boxes = {box.entry.key: box for box in left}
    curves = [
        Line(_curve(boxes[key], box), box.entry)
        for box in right
        for key in links.get(box.entry.key, ())
        if key in boxes
    ]
    return Picture(width, total, left, right, curves)


def _curve(paper: Box, idea: Box) -> str:
    start, end = paper.x + paper.width, idea.x
    middle = (start + end) / 2
    return (
        f"M{start:.1f} {paper.middle:.1f} C{middle:.1f} {paper.middle:.1f} {middle:.1f} {idea.middle:.1f} "
        f"{end:.1f} {idea.middle:.1f}"
    )


Words = tuple[list[str], list[str]]
"""The lines of a box: its title, wrapped and cut, and its note."""


def _text(entry: Entry, width: float, lines: int) -> Words:
    letters = int((width - 2 * PAD) / LETTER)
    return wrapped(f"{entry.mark} {entry.title}", letters, lines), wrapped(entry.note, letters, lines)


def _stacked(
    entries: Sequence[Entry], texts: Sequence[Words], x: float, width: float, spare: float
) -> list[Box]:
    """A column of boxes; spare height is divided between them."""
    boxes, y = list[Box](), GAP / 2
    for entry, (title, note) in zip(entries, texts, strict=True):
        y += spare / len(entries) / 2
        height = len(title + note) * LINE + 2 * PAD
        lines = [(round(y + PAD + (n + 0.78) * LINE, 1), line) for n, line in enumerate(title + note)]
        head, below = tuple(lines[: len(title)]), tuple(lines[len(title) :])
        boxes.append(Box(entry, x, round(y, 1), width, height, head, below))
        y += height + GAP + spare / len(entries) / 2
    return boxes


PICTURES = {"broad": (704.0, 2), "slim": (350.0, 3)}
"""Width of the picture and lines of its titles: in the report's column, and on a telephone."""


def essence(result: ScipipResult) -> Iterator[tuple[str, str]]:
    """The problem, the final ideas, the abstract of the first, and what they were chosen from."""
    if result.problem:
        yield "Problem", result.problem
    for idea in result.final:
        yield f"Idea {idea.number}", idea.title
    yield from results.work(None, None, result.abstract)
    if result.ideas:
        survivors = sum(bool(idea.screening and idea.screening.kept) for idea in result.ideas)
        merged = sum(len(idea.merged) for idea in result.ideas)
        papers = sum(len(cluster.members) for cluster in result.clusters)
        yield (
            "Selection",
            f"{count(papers, 'paper')} in {count(len(result.clusters), 'cluster')}; {count(len(result.ideas), 'idea')}, "
            f"{merged} merged into them, {survivors} kept",
        )


def details(result: ScipipResult) -> Iterator[str]:
    """Reasons for the problem, and how the final ideas fit together."""
    if result.rationale:
        yield f"**Rationale.** {result.rationale}"
    if result.coherence:
        yield f"**Together.** {result.coherence}"


def work(result: ScipipResult) -> Iterator[str]:
    """The problem and the final ideas in full."""
    if not result.final:
        return
    yield f"**Problem.** {result.problem}"
    for idea in result.final:
        yield f"# {idea.title}"
        yield idea.body


def report(record: Record) -> View:
    """The report of a run."""
    people = tuple(person.name for person in record.result.result.team)
    return View(__package__ or "", IdeasPage(record, people))


@dataclass(frozen=True)
class Paper:
    """A retrieved paper: its evidence, and its number in the prompt."""

    evidence: Evidence
    number: int | None = None

    @property
    def channels(self) -> list[str]:
        """The channels that found it, each once."""
        return list(dict.fromkeys(each.channel for each in self.evidence.retrievals if each.channel))

    @property
    def reasons(self) -> list[str]:
        """What each channel found it by."""
        return [each.reason for each in self.evidence.retrievals if each.reason]


@dataclass(frozen=True)
class IdeasPage(Page):
    """The whole report."""

    @property
    def result(self) -> ScipipResult:
        return self.record.result.result

    @cached_property
    def papers(self) -> dict[str, Paper]:
        """The retrieved papers by id of their evidence."""
        numbers = {cluster.members[0]: cluster.number for cluster in self.result.clusters if cluster.shown}
        ids = [member for cluster in self.result.clusters for member in cluster.members]
        return {each.id: Paper(each, numbers.get(each.id)) for each in self.cited(ids)}

    @property
    def excerpts(self) -> list[Paper]:
        """The papers shown to the model."""
        return [paper for paper in self.papers.values() if paper.number is not None]

    @cached_property
    def clusters(self) -> list[tuple[Cluster, list[Paper]]]:
        return [
            (cluster, [self.papers[member] for member in cluster.members if member in self.papers])
            for cluster in self.result.clusters
        ]

    @cached_property
    def fate(self) -> list[Candidate]:
        """The ideas in the filter's order, those without a judgement last."""
        last = len(self.result.ideas)
        return sorted(
            self.result.ideas,
            key=lambda idea: (idea.screening and idea.screening.place) or last + idea.number,
        )

    @property
    def rows(self) -> list[tuple[Candidate | Twin, Candidate | None]]:
        """All ideas by number, each with the idea it was merged into, if any."""
        rows: list[tuple[Candidate | Twin, Candidate | None]] = [(idea, None) for idea in self.result.ideas]
        rows += [(twin, idea) for idea in self.result.ideas for twin in idea.merged]
        return sorted(rows, key=lambda row: row[0].number)

    def finals(self, idea: Candidate) -> list[FinalIdea]:
        """The final ideas that an idea is part of."""
        return [final for final in self.result.final if idea.number in final.sources]

    def numbers(self, references: Sequence[str]) -> list[int]:
        """The numbers of papers in the prompt."""
        papers = (self.papers.get(each) for each in references)
        return sorted(paper.number for paper in papers if paper and paper.number is not None)

    @cached_property
    def pictures(self) -> list[tuple[str, Picture]]:
        """The picture for the report's column, and for a telephone."""
        papers = [Entry(p.evidence.id, f"[{p.number}]", p.evidence.title) for p in self.excerpts]
        ideas = [self._entry(idea) for idea in self.result.ideas]
        links = {str(idea.number): idea.references for idea in self.result.ideas}
        return [(name, draw(papers, ideas, links, *size)) for name, size in PICTURES.items()]

    @cached_property
    def lines(self) -> Lineage | None:
        """From the first ideas, by origin, to the final ones; None for fewer than two."""
        rows = [self._row(idea, home) for idea, home in self.rows] + [
            Row(
                f"final-{final.number}",
                final.title,
                "Final ideas, refined together",
                str(final.number),
                tuple(map(str, final.sources)),
                outcome="won",
                hue=_hue(final.sources[0]) if final.sources else 190,
            )
            for final in self.result.final
        ]
        return Lineage(rows) if len(rows) > 1 else None

    def _row(self, idea: Candidate | Twin, home: Candidate | None) -> Row:
        """A first idea; one that was merged into another is a source of that."""
        screening = idea.screening if isinstance(idea, Candidate) else None
        merged = [str(twin.number) for twin in idea.merged] if isinstance(idea, Candidate) else []
        kept = screening.kept if screening else None
        scores = (screening.fit, screening.novelty, screening.feasibility) if screening else ()
        fate = {True: "kept", False: "left out", None: f"merged into {home.number}" if home else ""}[kept]
        return Row(
            str(idea.number),
            idea.title,
            "Ideas from brainstorming" if idea.origin == "brainstorm" else "Ideas from the papers",
            str(idea.number),
            tuple(merged),
            tuple(score / 10 for score in scores),
            f"no. {screening.place}" if screening and screening.place else "",
            sum(scores),
            "kept" if kept else "out" if home or kept is False else "",
            fate,
            _hue(idea.number),
        )

    def _entry(self, idea: Candidate) -> Entry:
        screening, finals = idea.screening, self.finals(idea)
        fate = ""
        if finals:
            fate = "in final " + ", ".join(str(each.number) for each in finals)
        elif screening and screening.kept is not None:
            fate = "kept" if screening.kept else "left out"
        origin = {
            "brainstorm": "brainstormed",
            "both": "also brainstormed",
            "literature": "",
            "person": "a person's",
        }[idea.origin]
        style = " ".join(
            filter(
                None,
                (
                    "brainstormed" if idea.origin in ("brainstorm", "both") else "",
                    "out" if screening and screening.kept is False else "",
                ),
            )
        )
        note = " · ".join(filter(None, (origin, fate)))
        return Entry(str(idea.number), f"{idea.number}.", idea.title, note, style, _hue(idea.number))


def _hue(number: int) -> int:
    """The colour of an idea, by turns of the golden angle."""
    return int(number * 137.508 + 200) % 360
