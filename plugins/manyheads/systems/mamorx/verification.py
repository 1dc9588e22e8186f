"""Check the sources of a review: quotes in the paper, figures, tables, references, papers from outside."""

import asyncio
from collections.abc import Sequence

from manyheads.base.errors import ModelError
from manyheads.base.papers import fold
from manyheads.base.text import count
from manyheads.core.events import Judged
from manyheads.documents import Document, Passage, find_quote
from manyheads.systems.mamorx.desk import VERIFICATION, ReviewDesk
from manyheads.systems.mamorx.paper import MamorxRun, section_name
from manyheads.systems.mamorx.replies import Correction, correction_of
from manyheads.systems.mamorx.result import Claim, PaperReview, PointSource
from manyheads.systems.mamorx.review import markdown, source_of


async def verify(desk: ReviewDesk, role: str, *, correct: bool) -> None:
    """Look up the sources of all claims of the review, and write its text.

    Args:
        role: who wrote it.
        correct: whether to ask the author again about points whose sources are absent.
    """
    desk.begin(VERIFICATION)
    run, review = desk.run, desk.run.result.review
    assert review
    await look_up(run, review.claims)
    await look_up_quotes(run, review)
    if correct and (astray := [claim for claim in review.claims if not claim.grounded]):
        try:
            await _correct(desk, role, review, astray)
        except ModelError as error:
            run.warn(VERIFICATION, f"points without sources could not be corrected: {error.message}")
    if left := sum(not claim.grounded for claim in review.claims):
        points = f"{left} of {len(review.claims)} points"
        run.warn(VERIFICATION, f"{points} name no source that exists; they are listed separately")
    if misquoted := len(review.misquoted):
        quotes = count(misquoted, "quote")
        run.warn(VERIFICATION, f"{quotes} in the texts of the review: not found in the paper")
    review.text = markdown(review, desk.form, apart=True)


async def look_up(run: MamorxRun, claims: Sequence[Claim]) -> None:
    """Find each source of some claims, and drop repeated claims; in a thread, since a large paper takes a while."""
    await asyncio.to_thread(lambda: [find(run, source) for claim in claims for source in claim.sources])
    for claim in claims:
        first = reversed(claim.sources)
        once = {(one.kind, one.name, fold(one.found or one.quote), one.state): one for one in first}
        claim.sources = [*once.values()][::-1]


async def look_up_quotes(run: MamorxRun, review: PaperReview) -> None:
    """Find the quotes of a review's texts: in the paper, else in works it cites or is compared with."""
    works = [
        *(one.text for one in run.material.references.values()),
        *(f"{one.abstract}\n{one.passage}" for one in run.result.references),
        *(f"{one.title}\n{one.abstract}\n{one.passage}" for one in run.result.related),
    ]

    def look(quote: PointSource) -> None:
        find(run, quote)
        if quote.state == "absent" and find_quote(Document(abstract="\n".join(works)), quote.quote):
            quote.kind, quote.state = "reference", "close"

    await asyncio.to_thread(lambda: [look(quote) for entry in review.entries for quote in entry.quotes])


def find(run: MamorxRun, source: PointSource) -> None:
    """Look up one source, and fill in its page, words and state."""
    paper, there, page, text = run.material, False, None, ""
    match source.kind:
        case "figure":
            if figure := paper.figure(source.name):
                source.name, page, there = f"Figure {figure.number}", figure.page or None, True
        case "table":
            if table := paper.table(source.name):
                source.name, page, there = f"Table {table.number}", table.page or None, True
        case "reference":
            if name := paper.reference(source.name):
                work = next((each for each in run.result.references if each.name == name), None)
                source.name, there, text = name, True, paper.references[name].text
                if work:
                    source.evidence, text = work.evidence, f"{text}\n{work.abstract}\n{work.passage}"
        case "paper":
            if found := next((each for each in run.result.related if each.name == source.name), None):
                source.evidence, there = found.evidence or None, True
                text = f"{found.title}\n{found.abstract}\n{found.passage}"
        case "passage":
            pass
    source.page = page
    if not source.quote or not (there or source.kind == "passage"):
        source.state = "there" if there else "absent"
        return
    outside = Document(abstract=text) if source.kind in ("reference", "paper") else paper.document
    if (passage := find_quote(outside, source.quote)) is None:
        source.state = "absent"
        return
    source.found, source.similarity = passage.text, round(passage.similarity, 3)
    source.state = "exact" if passage.exact else "close"
    if outside is paper.document:
        source.page = passage.page or page
    if source.kind == "passage":
        source.name = place_name(passage, paper.document)


def place_name(passage: Passage, document: Document) -> str:
    """Where a passage stands, such as `Section 4.2 Results`, `Abstract` or `Figure 2`."""
    if passage.section is None:
        return passage.where[:1].upper() + passage.where[1:]
    section = document.sections[passage.section]
    return f"{'Section ' * bool(section.number)}{section_name(section)}"


async def _correct(desk: ReviewDesk, role: str, review: PaperReview, astray: Sequence[Claim]) -> None:
    """Have points with absent sources corrected or withdrawn; points without an answer are not changed."""
    run = desk.run
    kind = correction_of(run.reply_type(role, "correct", Correction), len(review.claims), len(astray))
    reply = await desk.ask_reader(VERIFICATION, role, "correct", kind, purpose="correct", claims=astray)
    claims, withdrawn = {claim.number: claim for claim in astray}, set[int]()
    for point in reply.value.points:
        if not (claim := claims.pop(point.number, None)):
            continue
        if point.withdraw:
            withdrawn.add(claim.number)
        elif point.text.strip():
            claim.text, claim.sources = point.text.strip(), [*map(source_of, point.sources)]
        outcome = "withdrawn" if point.withdraw else "corrected"
        run.emit(Judged(stage=VERIFICATION, subject=f"point {claim.number}", outcome=outcome))
    review.claims = [claim for claim in review.claims if claim.number not in withdrawn]
    for entry in review.entries:
        entry.claims = [number for number in entry.claims if number not in withdrawn]
    await look_up(run, review.claims)
