"""From raw papers to B_past, B_con and the scientists' real names (VirSci 2025, §3.1, App. C.2)."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from manyheads.bank.corpus import RawPaper, Reject, Rejects
from manyheads.bank.options import BuildOptions
from manyheads.bank.records import Period
from manyheads.errors import CorpusError


@dataclass
class Selection:
    """The papers and authors that passed, and how many each filter removed."""

    past: list[RawPaper] = field(default_factory=list[RawPaper])
    contemporary: list[RawPaper] = field(default_factory=list[RawPaper])
    authors: list[str] = field(default_factory=list[str])
    """Real names of S, in alphabetical order."""
    read: int = 0
    """Whole lines read, before any filter."""
    removed: Counter[str] = field(default_factory=Counter[str])

    def told(self) -> str:
        removals = ", ".join(f"{name} removed {count:,}" for name, count in self.removed.items() if count)
        return f"{self.read:,} papers read; {removals or 'no filter removed any'}"


def select(papers: Iterable[tuple[int, RawPaper]], options: BuildOptions, rejects: Rejects) -> Selection:
    """Apply every filter, counting what each removes; of papers with the same id the first is kept.

    Raises:
        CorpusError: no past paper, no contemporary paper or no author is left; says what removed how many.
    """
    chosen, lines = Selection(), dict[str, int]()
    for line, paper in papers:
        chosen.read += 1
        period = period_of(paper, options)
        if reason := _why_not(paper, period, options):
            chosen.removed[reason] += 1
        elif (before := lines.setdefault(paper.id, line)) != line:
            rejects.add(Reject(line, "id", f"repeats the id of line {before}"))
        else:
            (chosen.past if period == "past" else chosen.contemporary).append(paper)
    _need(chosen, chosen.past, f"past papers (before {options.bound})")
    _need(chosen, chosen.contemporary, f"contemporary papers (from {options.bound} on)")
    chosen.authors = _scientists(chosen, options)
    _need(chosen, chosen.authors, "authors")
    return chosen


def period_of(paper: RawPaper, options: BuildOptions) -> Period | None:
    """Past, contemporary, or None outside the window."""
    if paper.year < options.bound:
        return "past" if options.start is None or paper.year >= options.start else None
    return "contemporary" if options.end is None or paper.year <= options.end else None


def _why_not(paper: RawPaper, period: Period | None, options: BuildOptions) -> str | None:
    if period is None:
        return "year window"
    if options.require_abstract and not paper.abstract.strip():
        return "abstract present"
    if period == "past" and paper.citations < options.min_past_citations:
        return f"past citations ≥ {options.min_past_citations}"
    if period == "contemporary" and paper.citations < options.min_contemporary_citations:
        return f"contemporary citations ≥ {options.min_contemporary_citations}"
    return None


def _scientists(chosen: Selection, options: BuildOptions) -> list[str]:
    """The authors of B_past that pass, by real name; an author is counted once a paper."""
    papers, coauthors = Counter[str](), defaultdict[str, set[str]](set)
    citations = Counter[str]()
    for paper in chosen.past:
        for author in paper.authors:
            papers[author] += 1
            citations[author] += paper.citations
            coauthors[author].update(paper.authors)
    kept: list[str] = []
    for author, count in papers.items():
        if count < options.min_papers:
            chosen.removed[f"authors with ≥ {options.min_papers} papers"] += 1
        elif len(coauthors[author]) - 1 < options.min_coauthors:
            chosen.removed[f"authors with ≥ {options.min_coauthors} co-authors"] += 1
        else:
            kept.append(author)
    kept.sort(key=lambda name: (-papers[name], -citations[name], name))
    most = len(kept) if options.max_scientists is None else options.max_scientists
    if kept[most:]:
        chosen.removed[f"at most {most} scientists"] += len(kept) - most
    return sorted(kept[:most])


def _need(chosen: Selection, left: list[RawPaper] | list[str], what: str) -> None:
    if not left:
        raise CorpusError(f"no {what} left: {chosen.told()}", hint="loosen the filter that removed the most")
