"""A review of a paper in words, and its report: claims next to the pages of their sources."""

import base64
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from manyheads.base.errors import DocumentError, SubjectError
from manyheads.base.files import inside, sha256_of
from manyheads.base.text import count
from manyheads.core.results import Figure
from manyheads.documents import Comment, annotated, quote_boxes
from manyheads.documents.pictures import drawn, page_size
from manyheads.report.page import Page, View, monogram
from manyheads.report.pictures import Exchanges, PictureQuestion, PictureSpeaker
from manyheads.report.record import Record
from manyheads.systems.mamorx.result import (
    Anchor,
    Claim,
    MamorxResult,
    NoveltyAssessment,
    PaperReview,
    PointSource,
    RelatedWork,
    ReviewEntry,
)

if TYPE_CHECKING:
    from PIL.Image import Image

WIDTH = 1100  # of a page in pixels: ten-point letters are legible
QUALITY = 62  # of a page as JPEG
LARGEST = 12_000_000  # bytes of all pictures of a report
IN_PAGES = ("passage", "table")
"""Kinds of sources shown on a page; a figure has its own picture, a reference its line."""


def essence(result: MamorxResult) -> Iterator[tuple[str, str]]:
    """The paper, its scores, its novelty, and the number of claims with sources."""
    if result.title or result.paper:
        yield "Paper", result.title or (result.paper.source if result.paper else "")
    if result.partial:
        yield "Partial", result.partial
    for entry in result.review.entries if result.review else ():
        if entry.stated:
            yield entry.title, entry.stated
    if result.novelty:
        yield "Novelty", f"{result.novelty.verdict}{conflicts(result.novelty)}"
    if result.figures:
        yield "Figures", f"{sum(note.seen for note in result.figures)} of {len(result.figures)} seen"
    if result.references:
        yield "References", states(result)
    if result.review and result.review.claims:
        points, shown = result.review.claims, sum(claim.grounded for claim in result.review.claims)
        with_sources = f"{shown} of {len(points)} with sources that were found"
        yield "Points", with_sources if result.names_sources else str(len(points))
    if result.drafts > 1:
        yield "Drafts", f"the best of {result.drafts} reviews"


def conflicts(novelty: NoveltyAssessment) -> str:
    """The number of papers in conflict, after the verdict."""
    return f", {count(len(novelty.conflicts), 'paper')} in conflict" if novelty.conflicts else ""


def states(result: MamorxResult) -> str:
    told = [(state, sum(work.state == state for work in result.references)) for state in STATES]
    retracted = sum(bool(work.retracted) for work in result.references)
    words = [f"{number} {STATES[state]}" for state, number in told if number]
    return ", ".join([*words, *([f"{retracted} retracted"] if retracted else [])])


STATES = {"exists": "exist", "differs": "differ", "not found": "not found", "not asked": "not asked"}


def details(result: MamorxResult) -> Iterator[str]:
    """The reason for the verdict on novelty, and problems of references."""
    if result.novelty and result.novelty.reason:
        yield f"**Novelty.** {' '.join((result.novelty.reason, *result.novelty.missing))}"
    for work in result.references:
        if work.state in ("differs", "not found") or work.retracted:
            why = [*work.details, *(["retracted"] if work.retracted else [])]
            yield f"**{work.name}** {work.title or work.text}: {work.state}{': ' * bool(why)}{'; '.join(why)}"


def work(result: MamorxResult) -> Iterator[str]:
    if result.review:
        if result.partial:
            yield f"**This review is partial.** {result.partial}"
        yield result.review.text


def scores(result: MamorxResult) -> Mapping[str, Figure]:
    """The scores of the form by their titles."""
    scored = result.review.scored if result.review else []
    return {entry.title: Figure(mean=value) for entry, value in scored}


def _file_of(paper: Anchor | None) -> Path | None:
    if not paper or not paper.pages:
        return None
    path = Path(paper.source)
    try:
        return path if sha256_of(path) == paper.sha256 else None
    except OSError:
        return None


def annotated_paper(result: MamorxResult) -> bytes | None:
    """The PDF under review with the points of the review; raises `SubjectError` if it is missing or has changed."""
    if not (review := result.review) or not result.paper or not result.paper.pages:
        return None
    if (path := _file_of(result.paper)) is None:
        hint = "put it back; the report still has its passages: manyheads open RUN"
        raise SubjectError(f"{result.paper.source}: missing, or not the file that was reviewed", hint=hint)
    stated = ((entry, entry.stated or entry.value) for entry in review.entries)
    whole = "\n\n".join(f"{entry.title}: {text}" for entry, text in stated if text not in (None, ""))
    about = [Comment(f"{review.title}\n\n{whole}".strip())] if whole else []
    titles = {number: entry.title for entry in review.entries for number in entry.claims}
    for claim in review.claims:
        passages = [
            (source.page, source.found or source.quote)
            for source in claim.sources
            if source.page and source.state in ("exact", "close") and source.kind in IN_PAGES
        ]
        doubtful = result.names_sources and not claim.grounded
        doubt = "Not verified: not all of its sources were found.\n" if doubtful else ""
        heading = f"{titles.get(claim.number, claim.field)} ({claim.number})"
        page = next((source.page for source in claim.sources if source.page and source.state != "absent"), 1)
        about.append(Comment(f"{heading}\n{doubt}{claim.text}", page, passages))
    return annotated(path, about, f"manyheads, {result.maker}")


def report(record: Record) -> View:
    return View(__package__ or "", ReviewPage(record))


@dataclass(frozen=True)
class Mark:
    """A line of a quote on a page, in percent of its width and height; `anchor` is the quote's id in the report."""

    claim: int
    anchor: str
    first: bool
    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class Picture:
    """An embedded picture: its `data:` address and size in pixels."""

    address: str
    width: int
    height: int


@dataclass(frozen=True)
class PageSheet:
    """A page of the paper, with its highlighted quotes."""

    page: int
    picture: Picture
    marks: list[Mark]


@dataclass(frozen=True)
class ReviewPage(Page[MamorxResult]):
    @cached_property
    def review(self) -> PaperReview:
        return self.result.review or PaperReview(form="", title="")

    @property
    def grounded(self) -> int:
        return sum(claim.grounded for claim in self.review.claims)

    def points(self, entry: ReviewEntry, *, grounded: bool) -> list[Claim]:
        """The verified claims of an entry, or the unverified ones."""
        claims = [claim for claim in self.review.claims if claim.number in entry.claims]
        return [claim for claim in claims if (claim.grounded or not self.result.names_sources) == grounded]

    @cached_property
    def states(self) -> str:
        return states(self.result)

    @cached_property
    def compared(self) -> list[RelatedWork]:
        """The papers selected for comparison, those in conflict first."""
        left = [paper for paper in self.result.related if not paper.dropped and paper.relevant is not False]
        return sorted(left, key=lambda paper: (paper.novel is not False, paper.novel is None))

    @cached_property
    def passed_over(self) -> list[RelatedWork]:
        """The other papers that were found."""
        return [paper for paper in self.result.related if paper not in self.compared]

    @cached_property
    def links(self) -> dict[tuple[str, str], str]:
        """The ids of figures, references and papers in the report, by kind and name."""
        result = self.result
        parts = {"figure": result.figures, "reference": result.references, "paper": self.result.related}
        return {
            (kind, one.name): f"{kind}-{n}" for kind, each in parts.items() for n, one in enumerate(each, 1)
        }

    def link(self, claim: Claim, source: PointSource) -> str:
        """The id of a source's target; empty if there is none."""
        if source.state == "absent":
            return ""
        anchor = _anchor(claim, source)
        if any(mark.anchor == anchor for sheet in self.sheets for mark in sheet.marks):
            return anchor
        if there := self.links.get((source.kind, source.name)):
            return there
        return next((f"page-{sheet.page}" for sheet in self.sheets if sheet.page == source.page), "")

    def speaker(self, expert: str) -> str:
        """The name under which an expert speaks, who is asked by a key of the config."""
        names = {name.casefold(): name for name in self.hues}
        return names.get(expert.casefold(), expert)

    @cached_property
    def exchanges(self) -> Exchanges | None:
        """Who was asked what; None if no one was."""
        asked = self.result.exchanges
        if not asked:
            return None
        leader = self.result.team[0].name if self.result.team else "Leader"
        names = dict.fromkeys([leader, *(self.speaker(one.expert) for one in asked)])
        speakers = [PictureSpeaker(name, monogram(name), self.hues.get(name, 80)) for name in names]
        kinds = {"delegate": "task for", "ask": "question to"}
        messages = [
            PictureQuestion(name, f"{one.number}. {one.text}", f"{kinds[one.kind]} {name}", bool(one.answer))
            for one in asked
            for name in [self.speaker(one.expert)]
        ]
        return Exchanges(speakers, messages)

    @cached_property
    def file(self) -> Path | None:
        """The PDF under review; None if it is not a PDF, is missing or was replaced."""
        return _file_of(self.result.paper)

    @cached_property
    def pages(self) -> list[int]:
        """The pages of the claims' sources, in order; figures have their own pictures."""
        sources = (source for claim in self.review.claims for source in claim.sources)
        return sorted({s.page for s in sources if s.page and s.state != "absent" and s.kind in IN_PAGES})

    @cached_property
    def sheets(self) -> list[PageSheet]:
        """The pages of the claims' sources, as many as fit into the report with the figures."""
        sheets, room = list[PageSheet](), LARGEST - sum(len(crop.address) for crop in self.crops.values())
        for page in self.pages if self.file else ():
            assert self.file
            try:
                picture = _picture(drawn(self.file, page, width=WIDTH, margin=0), "JPEG")
                marks = self._marks(self.file, page)
            except DocumentError:
                continue
            room -= len(picture.address)
            if room < 0:
                break
            sheets.append(PageSheet(page, picture, marks))
        return sheets

    def _marks(self, path: Path, page: int) -> list[Mark]:
        marks, (across, down) = list[Mark](), page_size(path, page)
        for claim in self.review.claims:
            for source in claim.sources:
                if source.page == page and source.state in ("exact", "close") and source.kind in IN_PAGES:
                    anchor = _anchor(claim, source)
                    lines = quote_boxes(path, page, source.found or source.quote)
                    for place, (left, top, right, bottom) in enumerate(lines):
                        box = left / across, top / down, (right - left) / across, (bottom - top) / down
                        marks.append(Mark(claim.number, anchor, place == 0, *(100 * each for each in box)))
        return marks

    @cached_property
    def crops(self) -> dict[str, Picture]:
        """The figures' pictures by their names."""
        from PIL import Image

        pictures = dict[str, Picture]()
        for note in self.result.figures:
            if note.image and (path := inside(self.record.folder, note.image)):
                with suppress(OSError):
                    pictures[note.name] = _picture(Image.open(path), "PNG")
        return pictures


def _anchor(claim: Claim, source: PointSource) -> str:
    place = next(n for n, each in enumerate(claim.sources, 1) if each is source)
    return f"quote-{claim.number}-{place}"


def _picture(image: "Image", kind: Literal["JPEG", "PNG"]) -> Picture:
    """A picture reduced for the report; raises `OSError` if it cannot be read."""
    image = image.convert("RGB")
    image.thumbnail((WIDTH, 2 * WIDTH))
    written = BytesIO()
    if kind == "PNG" and len(image.getcolors(256) or ()):
        image.quantize().save(written, "PNG", optimize=True)
    else:
        kind = "JPEG"
        image.save(written, kind, quality=QUALITY, optimize=True)
    address = f"data:image/{kind.lower()};base64,{base64.b64encode(written.getvalue()).decode()}"
    return Picture(address, *image.size)
