"""From raw papers to B_past, B_con and the scientists' real names (VirSci 2025, §3.1, App. C.2)."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from manyheads.bank.corpus import RawPaper, Rejects
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
    years: Counter[int] = field(default_factory=Counter[int])
    """Papers read of each year."""
    removed: Counter[str] = field(default_factory=Counter[str])

    def told(self) -> str:
        removals = ", ".join(f"{name} removed {count:,}" for name, count in self.removed.items() if count)
        return f"{self.read:,} papers read{'; ' if removals else ''}{removals}"


def select(papers: Iterable[tuple[int, RawPaper]], options: BuildOptions, rejects: Rejects) -> Selection:
    """Apply every filter, counting what each removes; of papers with the same id the first is kept.

    Raises:
        CorpusError: no past paper, no contemporary paper or no author is left; says what removed how many.
    """
    chosen, lines = Selection(), dict[str, int]()
    for line, paper in papers:
        chosen.read += 1
        chosen.years[paper.year] += 1
        period = period_of(paper.year, options)
        if reason := _why_not(paper, period, options):
            chosen.removed[reason] += 1
        elif (before := lines.setdefault(paper.id, line)) != line:
            rejects.note(line, "id", f"repeats the id of {rejects.unit} {before}")
        else:
            (chosen.past if period == "past" else chosen.contemporary).append(paper)
    _need_years(chosen, "past", options)
    _need(chosen, chosen.past, f"past papers ({_span('past', options)})")
    _need_years(chosen, "contemporary", options)
    _need(chosen, chosen.contemporary, f"contemporary papers ({_span('contemporary', options)})")
    chosen.authors = _scientists(chosen, options)
    _need(chosen, chosen.authors, "authors")
    return chosen


def period_of(year: int, options: BuildOptions) -> Period | None:
    """Past, contemporary, or None outside the window."""
    if year < options.bound:
        return "past" if options.start is None or year >= options.start else None
    return "contemporary" if options.end is None or year <= options.end else None


def _why_not(paper: RawPaper, period: Period | None, options: BuildOptions) -> str | None:
    if period is None:
        return "year window"
    if options.require_abstract and not paper.abstract.strip():
        return "abstract present"
    least = options.min_past_citations if period == "past" else options.min_contemporary_citations
    if least and paper.citations is None:
        return f"{period} citations not known, so not ≥ {least}"
    return f"{period} citations ≥ {least}" if (paper.citations or 0) < least else None


def _scientists(chosen: Selection, options: BuildOptions) -> list[str]:
    """The authors of B_past that pass, by real name; an author is counted once a paper."""
    papers, coauthors = Counter[str](), defaultdict[str, set[str]](set)
    citations = Counter[str]()
    for paper in chosen.past:
        for author in paper.authors:
            papers[author] += 1
            citations[author] += paper.citations or 0
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


def _span(period: Period, options: BuildOptions) -> str:
    """The years of a period in words."""
    if period == "past":
        return f"before {options.bound}" + (f", from {options.start} on" if options.start is not None else "")
    return f"from {options.bound} on" + (f", up to {options.end}" if options.end is not None else "")


def _need_years(chosen: Selection, period: Period, options: BuildOptions) -> None:
    """Refuse years that no paper is of: no filter is to blame for that."""
    if not chosen.years or any(period_of(year, options) == period for year in chosen.years):
        return
    first, last = min(chosen.years), max(chosen.years)
    spread = f"the years {first} to {last}" if first < last else f"{first} alone"
    raise CorpusError(
        f"no {period} papers ({_span(period, options)}): {chosen.told()}; they are of {spread}",
        hint=f"choose a --bound from {first + 1} to {last}, and --start and --end, if any, around it"
        if first < last
        else "add papers of other years: past ones are of years before the bound, contemporary ones not",
    )


def _need(chosen: Selection, left: list[RawPaper] | list[str], what: str) -> None:
    if not left:
        raise CorpusError(f"no {what} left: {chosen.told()}", hint="loosen the filter that removed the most")
