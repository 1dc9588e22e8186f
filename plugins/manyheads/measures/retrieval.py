"""Papers that the literature services know of a text's idea, in place of B_con (VirSci 2025, App. C.3; 2024, §4.2)."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from manyheads.bank.records import Paper
from manyheads.errors import LiteratureError
from manyheads.literature.instead import PARTS, as_paper
from manyheads.literature.library import Library
from manyheads.literature.publication import Publication, fold
from manyheads.literature.relax import first_sentence, widen
from manyheads.subjects import Subject, read_result

RETRIEVED = 50
"""Papers that a text is held against. The papers give no number."""
LOOKED_AT = 2
"""So many times the papers wanted are asked for: publishers withhold many abstracts from the services."""

LeftOut = Callable[[str, str], bool]
"""Whether a paper does not count, by its id and title."""


@dataclass(frozen=True)
class Retrieved:
    """What was found for a query, and how.

    Attributes:
        papers: those that a text can be held against, found by narrower queries first; their authors left out.
        queries: what was asked, wider and wider; never nothing.
        found: papers found.
        incomplete: how many of these have no abstract or no year, so that nothing can be held against them.
        excluded: ids of those that were left out on demand.
        degraded: sources that could not be asked, so that they may have known nearer papers.
    """

    papers: tuple[Paper, ...]
    queries: tuple[str, ...]
    found: int
    incomplete: int
    excluded: tuple[str, ...]
    degraded: tuple[str, ...]


def query_of(subject: Subject) -> str:
    """What papers are looked for by: the idea of a run, its title first; of any other text its title or first sentence."""
    folder = Path(subject.source)
    idea = read_result(folder).get("idea") if folder.is_dir() else None
    if isinstance(idea, dict) and {"title", "idea"} <= idea.keys():
        return f"{idea['title']}\n{idea['idea']}"
    return subject.title or first_sentence(subject.text)


def leaving_out(exclude: Collection[str], titles: Iterable[str] = ()) -> LeftOut:
    """Leaves out papers with one of these ids or, whatever their case and signs, one of these titles."""
    keys = {key for title in titles if (key := fold(title))}
    return lambda paper_id, title: paper_id in exclude or fold(title) in keys


async def retrieve(library: Library, query: str, wanted: int, left_out: LeftOut) -> Retrieved:
    """Up to `wanted` papers with abstract and year.

    A library is content with a query that finds a few papers, as agents are. Here the papers found are also what
    a text's distances are divided by; so wider forms of the query are asked until there are enough, or all are.

    Raises:
        LiteratureError: no source could be asked.
    """
    found, degraded, queries = dict[str, Publication](), dict[str, None](), dict[str, None]()
    for form in widen(query):
        if form in queries:
            continue
        try:
            findings = await library.search(form, LOOKED_AT * wanted, parts=PARTS)
        except LiteratureError as error:
            if not queries:
                raise
            degraded |= dict.fromkeys(error.source.split(", "))
            break
        queries |= dict.fromkeys(entry.asked for entry in findings.searches)
        degraded |= dict.fromkeys(findings.degraded)
        for paper in findings.papers:
            found.setdefault(paper.key or paper.id, paper)
        if len(_papers(found.values(), left_out)) >= wanted:
            break
    papers = _papers(found.values(), left_out)
    excluded = tuple(one.id for one in found.values() if left_out(one.id, one.title))
    incomplete = len(found) - len(excluded) - len(papers)
    return Retrieved(
        tuple(papers[:wanted]), tuple(queries), len(found), incomplete, excluded, tuple(degraded)
    )


def _papers(found: Iterable[Publication], left_out: LeftOut) -> list[Paper]:
    """Those that count, and that a text can be held against."""
    return [paper for one in found if not left_out(one.id, one.title) and (paper := as_paper(one))]
