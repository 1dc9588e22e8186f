"""Targets among the contemporary papers of a corpus, which knows no references: its past papers stand for them."""

from collections import Counter

from manyheads.bank.ecosystem import Ecosystem
from manyheads.bank.knowledge import paper_text
from manyheads.bank.records import Paper
from manyheads.errors import CorpusError
from manyheads.literature.publication import fold
from manyheads.literature.targets.before import before
from manyheads.literature.targets.case import Case, Draw, Targets, Wish, case_of, reasons

LOOKED_AT = 3
"""Times as many near papers are looked at as are told: some have no abstract, or are one paper under several ids."""


async def targets_in(ecosystem: Ecosystem, wish: Wish) -> Targets:
    """Draw contemporary papers, each with the past papers nearest to it that have an abstract.

    Raises:
        CorpusError: none can be a target.
    """
    passed, draw, cases = Counter[str](), Draw[Paper](wish.count), list[Case]()
    for paper in ecosystem.papers.papers(where={"period": "contemporary"}):
        if why := wish.unfit(paper.abstract, paper.year, paper.citations):
            passed[why] += 1
        else:
            draw.offer(wish.draw(paper.id), paper)
    for paper in draw.drawn:
        if len(cases) == wish.count:
            break
        near = await _near(ecosystem, paper, wish.most)
        if len(near) < wish.least:
            passed[f"with fewer than {wish.least} past papers that have an abstract"] += 1
        else:
            cases.append(
                case_of(paper, near, "the past papers nearest to it, as this corpus knows no references")
            )
    if not cases:
        raise CorpusError(
            f"corpus {ecosystem.meta.name}: no contemporary paper in it can be a target",
            tried=reasons(passed),
            hint="manyheads corpus info says what is in it",
        )
    return Targets(tuple(cases), draw.offered, passed)


async def _near(ecosystem: Ecosystem, paper: Paper, most: int) -> list[Paper]:
    """The nearest past papers, best first; never the paper itself, by whatever title."""
    [hits] = await ecosystem.past([paper_text(paper)], most * LOOKED_AT)
    found: dict[str, Paper] = {fold(paper.title): paper}
    for one in before(paper, (hit.paper for hit in hits if hit.paper.abstract.strip())):
        found.setdefault(fold(one.title), one)
    return [*found.values()][1 : most + 1]
