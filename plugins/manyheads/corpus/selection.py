"""Selects B_past, B_con and the scientists from raw papers (VirSci 2025, §3.1, App. C.2)."""

import itertools
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from manyheads.base.errors import CorpusError
from manyheads.base.files import Closing
from manyheads.base.papers import Paper, Period, fold
from manyheads.base.sqlite import Database
from manyheads.corpus.ecosystem import STORED
from manyheads.corpus.meta import BuildOptions
from manyheads.corpus.records import RawAuthor, RawPaper, Reader, Rejects

# Selected papers on disk, as they may not fit in memory.


SPOOL = "selected.sqlite"
_TABLES = (
    "CREATE TABLE raw (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, doi TEXT, file TEXT, place TEXT, period TEXT, record TEXT)",
    "CREATE INDEX by_doi ON raw (doi) WHERE doi IS NOT NULL",
    "CREATE TABLE again (number INTEGER PRIMARY KEY, own TEXT)",
    "CREATE TABLE masked (number INTEGER PRIMARY KEY, period TEXT, record TEXT)",
    "CREATE TABLE text (number INTEGER PRIMARY KEY, introduction TEXT, method TEXT)",
    "CREATE TABLE reference (number INTEGER PRIMARY KEY, year INTEGER, given TEXT, core TEXT)",
)


_APART = {"introduction", "method", "references", "core_references"}
"""Parts of a paper stored separately: they may be long, and most passes do not need them."""


class Spool(Closing):
    """Selected papers, raw and masked, in the order read; each pass reads from disk.

    Creates the file; `close` removes it.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.years: dict[Period, Counter[int]] = {period: Counter() for period in get_args(Period)}
        """Number of papers added per year."""
        self.without_citations = 0
        """Papers without citation counts in the dataset."""
        self.with_text = self.with_references = 0
        """Papers with a full text, and with references."""
        if path is not None:
            path.unlink(missing_ok=True)  # without a journal, a killed process's file may be broken
        settings = ("PRAGMA cache_size = -16000", *_TABLES, "BEGIN")
        self._db = Database(path, *settings, failure=_failure, safety="none")

    def add(self, paper: RawPaper, period: Period, where: Rejects, number: int) -> tuple[str, str]:
        """Add a paper read as a record of a number; returns its id, and the place of an earlier paper with the same id or DOI.

        With the same title, too, it is not added, and the id is empty. An id with another title is another paper's, as ids are
        unique in their file alone: the paper's id gets the file's name, or its place.
        """
        insert = "INSERT OR IGNORE INTO raw (id, doi, file, place, period, record) VALUES (?, ?, ?, ?, ?, ?)"
        own, doi, place, before = paper.id, paper.doi and paper.doi.casefold(), where.place(number), ""
        same = self._db.rows("SELECT place, record FROM raw WHERE doi = ?", doi) if doi else []
        within = f"{own}@{where.file}" if where.file else own
        # two files may have one name
        places = (f"{within}:{number}{'*' * more}" for more in itertools.count())
        for name in itertools.chain(dict.fromkeys((own, within)), places):
            paper = paper if name == own else paper.model_copy(update={"id": name})
            record = paper.model_dump_json(by_alias=True, exclude=_APART)
            row = name, doi, where.file, place, period, record
            if not same and self._db.change(insert, *row):  # the usual case, and the fastest
                break
            for earlier, known in (*same, *self._db.rows("SELECT place, record FROM raw WHERE id = ?", name)):
                before = before or earlier
                if fold(json.loads(known)["title"]) == fold(paper.title):
                    return "", earlier
            if self._db.change(insert, *row):
                break
        if paper.id != own:
            both = "INSERT OR IGNORE INTO again SELECT number, ? FROM raw WHERE id IN (?, ?)"
            self._db.change(both, own, own, paper.id)
        if paper.introduction or paper.method:
            sql = "INSERT INTO text SELECT number, ?, ? FROM raw WHERE id = ?"
            self._db.change(sql, paper.introduction, paper.method, paper.id)
            self.with_text += 1
        if paper.references or paper.core_references:
            given, core = map(json.dumps, (paper.references, paper.core_references))
            sql = "INSERT INTO reference SELECT number, ?, ?, ? FROM raw WHERE id = ?"
            self._db.change(sql, paper.year, given, core, paper.id)
            self.with_references += 1
        self.years[period][paper.year] += 1
        self.without_citations += paper.citations is None
        return paper.id, before

    def keep(self, paper: Paper, period: Period) -> None:
        """Add a masked paper."""
        record = paper.model_dump_json(include=STORED)
        self._db.change("INSERT INTO masked (period, record) VALUES (?, ?)", period, record)

    def raw(self, period: Period) -> Iterator[RawPaper]:
        return map(RawPaper.model_validate_json, self.records("raw", period))

    def masked(self, period: Period) -> Iterator[Paper]:
        return map(Paper.model_validate_json, self.records("masked", period))

    def records(self, table: Literal["raw", "masked"], period: Period) -> Iterator[str]:
        """Each paper as JSON."""
        sql = f"SELECT record FROM {table} WHERE period = ? ORDER BY number"
        yield from (record for (record,) in self._db.each(sql, period))

    def texts(self) -> Iterator[tuple[str, str, str]]:
        """Id, introduction and method of each paper that has one of them."""
        return self._beside("id, introduction, method", "text")

    def bibliographies(self) -> Iterator[tuple[str, str, int, list[str], list[str]]]:
        """Id, file and year of each paper that has references, with all of them, and those in introduction and method."""
        for paper, file, year, given, core in self._beside("id, file, year, given, core", "reference"):
            yield paper, file, year, json.loads(given), json.loads(core)

    def ambiguous(self) -> dict[str, tuple[str, str]]:
        """By id, the file and the own id of each paper that shares this with another; the file is empty if both are in it."""
        rows = [*self._beside("id, file, own", "again")]
        files = Counter((file, own) for _, file, own in rows)
        return {paper: (file if files[file, own] == 1 else "", own) for paper, file, own in rows}

    def _beside(self, columns: str, table: str) -> Iterator[tuple[Any, ...]]:
        return self._db.each(f"SELECT {columns} FROM {table} JOIN raw USING (number) ORDER BY number")

    def close(self) -> None:
        """Close and remove the file; may be called twice."""
        self._db.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def _failure(error: Exception) -> CorpusError:
    hint = "free some space, or choose another --out, and run the same command again"
    return CorpusError(f"selected papers cannot be kept on disk: {error}", hint=hint)


@dataclass
class Selection:
    """The selected papers and authors, and the number removed by each filter."""

    spool: Spool
    authors: list[str] = field(default_factory=list[str])
    """Keys of S, in alphabetical order."""
    known: Mapping[str, RawAuthor] = field(default_factory=dict[str, RawAuthor])
    """The dataset's own data on them."""
    read: int = 0
    """Complete records read, before any filter."""
    years: Counter[int] = field(default_factory=Counter[int])
    """Papers read per year."""
    removed: Counter[str] = field(default_factory=Counter[str])
    missing: Counter[str] = field(default_factory=Counter[str])
    """Papers read that lack something, by its name."""

    def summary(self) -> str:
        lacks = [f"{count:,} of {self.read:,} papers have no {what}" for what, count in self.missing.items()]
        removals = [f"{name} removed {count:,}" for name, count in self.removed.items() if count]
        papers = "paper" if self.read == 1 else "papers"
        return "; ".join(filter(None, (f"{self.read:,} {papers} read", *lacks, ", ".join(removals))))


def select(
    papers: Iterable[tuple[int, RawPaper]],
    options: BuildOptions,
    rejects: Rejects,
    spool: Spool | None = None,
    reader: Reader | None = None,
) -> Selection:
    """Apply every filter and count what it removes; of papers with the same id the first is kept.

    Args:
        spool: stores the selected papers; in memory if omitted.
        reader: provides the dataset's own data on authors.

    Raises:
        CorpusError: no past paper is left, or a filter removed every contemporary paper or author; lists the filters' counts.
            A corpus of only past papers, or without authors, has fewer uses, see `Meta.uses`.
    """
    chosen, wrote = Selection(spool or Spool()), Counter[str]()
    for number, paper in papers:
        chosen.read += 1
        chosen.years[paper.year] += 1
        lacks = {
            "abstract": not paper.abstract.strip(),
            "authors": not paper.byline,
            "citation count": paper.citations is None,
        }
        chosen.missing.update(what for what, missing in lacks.items() if missing)
        period = period_of(paper.year, options)
        if reason := "year window" if period is None else _why_not(paper, period, options):
            chosen.removed[reason] += 1
            rejects.leave_out(number, paper, reason)
            continue
        own, before = chosen.spool.add(paper, period or "past", rejects, number)
        if not own:
            rejects.note(number, "duplicate", f"the same paper as {before}")
            continue
        if own != paper.id:
            why = f"the id {paper.id!r} is another paper's, in {before}: it is {own!r} here"
            rejects.remark(number, [why])
        if period == "past":
            wrote.update(paper.authors)
    for period in get_args(Period):
        _need_papers(chosen, period, options)
    chosen.known = reader.authors(wrote.keys()) if reader and options.author_counts == "dataset" else {}
    chosen.authors = _scientists(chosen, wrote, options)
    if wrote and not chosen.authors:
        raise CorpusError(f"no authors left: {chosen.summary()}", hint=LOOSEN)
    if reader and options.author_counts == "past":
        # Only names, affiliations and interests: a dataset's counts reach past the bound.
        counts = {"papers": None, "citations": None, "coauthors": None}
        known = reader.authors(set(chosen.authors))
        chosen.known = {key: replace(author, **counts) for key, author in known.items()}
    return chosen


def period_of(year: int, options: BuildOptions) -> Period | None:
    """Past, contemporary, or None outside the window."""
    if year < options.bound:
        return "past" if options.start is None or year >= options.start else None
    return "contemporary" if options.end is None or year <= options.end else None


def _why_not(paper: RawPaper, period: Period, options: BuildOptions) -> str | None:
    if options.require_abstract and not paper.abstract.strip():
        return NO_ABSTRACT
    least = options.min_past_citations if period == "past" else options.min_contemporary_citations
    if least and paper.citations is None:
        return f"{period} citations unknown, so not ≥ {least}"
    return f"{period} citations ≥ {least}" if (paper.citations or 0) < least else None


def _scientists(chosen: Selection, wrote: Counter[str], options: BuildOptions) -> list[str]:
    """The selected authors of B_past, by key; an author counts once per paper."""
    papers = dict(wrote)
    # A dataset's own numbers of an author have priority over counts in B_past.
    papers |= {
        key: one.papers for key, one in chosen.known.items() if key in wrote and one.papers is not None
    }
    able = {key for key, count in papers.items() if count >= options.min_papers}
    social, citations = _coauthors(chosen, able, options.min_coauthors)
    chosen.removed[f"authors with ≥ {options.min_papers} papers"] += len(papers) - len(able)
    chosen.removed[f"authors with ≥ {options.min_coauthors} co-authors"] += len(able) - len(social)
    chosen.removed = +chosen.removed
    kept = sorted(social, key=lambda key: (-papers[key], -citations[key], key))
    most = len(kept) if options.max_scientists is None else options.max_scientists
    if kept[most:]:
        chosen.removed[f"at most {most} scientists"] += len(kept) - most
    return sorted(kept[:most])


def _coauthors(chosen: Selection, able: Collection[str], least: int) -> tuple[set[str], Mapping[str, int]]:
    """The authors in `able` with a minimum number of co-authors, and their papers' citations.

    Stores no more co-authors than needed: some papers have thousands.
    """
    met: dict[str, set[str]] = {key: set() for key in able}
    citations = Counter[str]()
    for paper in chosen.spool.raw("past"):
        for key in paper.authors:
            if (others := met.get(key)) is not None:
                citations[key] += paper.citations or 0
                if len(others) <= least:
                    others.update(paper.authors)
    counted = {key: len(others) - 1 for key, others in met.items()}
    for key, author in chosen.known.items():
        if key in counted and author.coauthors is not None:
            counted[key] = len(author.coauthors)
        if author.citations is not None:
            citations[key] = author.citations
    return {key for key, count in counted.items() if count >= least}, citations


LOOSEN, NO_ABSTRACT = "loosen the filter that removed the most", "missing abstract"
EXPORT = "look abstracts up with --complete, or export the papers with them; --columns abstract=COLUMN names their column in a table"


def _need_papers(chosen: Selection, period: Period, options: BuildOptions) -> None:
    """Raises for a corpus without past papers, or whose contemporary papers were all removed by a filter; it may have had none
    from the start."""
    years = chosen.years
    if chosen.spool.years[period] or (period == "contemporary" and years and max(years) < options.bound):
        return
    start = "" if options.start is None else f", from {options.start} on"
    end = "" if options.end is None else f", up to {options.end}"
    span = f"before {options.bound}{start}" if period == "past" else f"from {options.bound} on{end}"
    problem = f"no {period} papers ({span}) left: {chosen.summary()}"
    most = max(chosen.removed, key=chosen.removed.__getitem__, default="")
    hint = EXPORT if most == NO_ABSTRACT else LOOSEN
    never = years and all(period_of(year, options) != "past" for year in years)
    if period == "past" and hint == LOOSEN and never:
        first, last = min(years), max(years)
        some = f"the years {first} to {last}" if first < last else f"{first} alone"
        problem = f"no past papers ({span}): {chosen.summary()}; they are from {some}"
        some = f"a --bound from {first + 1} to {last}, and --start and --end around it, or " * (first < last)
        enough = "which makes them all past papers: enough for search and scipip"
        hint = f"choose {some}--bound {last + 1}, {enough}"
    raise CorpusError(problem, hint=hint)
