"""The cited works: whether each exists as cited, whether it is retracted, its abstract; open texts of these and of related works
(MAMORX, §3.1)."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from manyheads.base.errors import BugError, DocumentError, LiteratureError
from manyheads.base.folders import door
from manyheads.base.papers import ANY_TIME, Paper, fold
from manyheads.core import together
from manyheads.core.events import Judged
from manyheads.core.results import Retrieval
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.retrieval import LiteratureDatabase
from manyheads.documents import Reference, speech
from manyheads.literature.fulltext import open_text
from manyheads.literature.library import Library
from manyheads.literature.matching import CitedWorks, differences, near, words_of
from manyheads.literature.source import Part
from manyheads.systems.mamorx.desk import NOVELTY, REFERENCES
from manyheads.systems.mamorx.paper import MamorxRun, Manuscript, ranked
from manyheads.systems.mamorx.result import CitedWork, Work

PARTS: frozenset[Part] = frozenset(("abstract", "authors", "date", "doi", "retracted", "open_text"))
MOST_LISTED = 1000  # cited works requested from a source
AT_ONCE = 8  # look-ups: longer queues at a source run into time-outs
PASSAGES, WORDS = 2, 180
"""Maximum passages of an open text, and their words together: as many as an abstract's, so that a prompt holds several."""


async def look_up(run: MamorxRun, *, after: asyncio.Event | None = None) -> None:
    """Look up the paper's references, and fill `run.result.references` step by step.

    A reference that no source answered is "not asked"; it is "not found" only if all have answered.
    The paper's date is no limit here: cited works are not later.

    Args:
        after: what is waited for before the first look-up, so that a search of few questions does not stand in line
            behind many at a source that wants seconds between two.
    """
    library, most, entries = run.library, run.settings.references.most, run.material.references
    works = {
        name: CitedWork(name=name, text=one.text, title=one.title, year=one.year)
        for name, one in entries.items()
    }
    run.result.references = [*works.values()]
    if library is None:
        return
    if after:
        await after.wait()
    turns, names = asyncio.Semaphore(AT_ONCE), [*works]
    listed = await _listed(run, library, [entries[name] for name in names[:most]]) if names[:most] else ()

    async def check(name: str) -> None:
        async with turns:
            try:
                with door(run.folder):
                    await _Check(run, library, entries[name], works[name], listed).fill()
            except BugError as error:
                works[name].details.append(error.message)
                run.warn(REFERENCES, f"{name}: {error.message}")

    await together(*map(check, names[:most]))
    await _link(run, library, works, turns)
    for name in names[most:]:
        works[name].details = [f"left out: references.most is {most}"]
    if left_out := len(names[most:]):
        line = f"{left_out} of {len(names)} references are not looked up: references.most is {most}"
        run.warn(REFERENCES, line)


def cite(run: MamorxRun) -> None:
    """Keep the works found as evidence.

    Must not run concurrently with other steps: the order determines the ids of the evidence.
    """
    for number, one in enumerate(run.result.references, 1):
        if one.paper:
            query = one.title or one.text
            way = Retrieval(source=one.paper.partition(":")[0], query=query, stage=REFERENCES, turn=number)
            one.evidence = run.evidence.cite(one.paper, one.found, way, year=one.year, of=one.published)


async def _listed(run: MamorxRun, library: Library, entries: Sequence[Reference]) -> Sequence[Paper]:
    """Works found by one look-up instead of many: those that a source lists for the paper itself, and those with numbers."""
    listed, document = list[Paper](), run.material.document
    for name in filter(words_of, (*document.numbers, document.title)):
        try:
            if paper := await library.paper(name, parts=("doi",), window=ANY_TIME):
                found = await library.references(paper.id, MOST_LISTED, parts=PARTS, window=ANY_TIME)
                listed += found.papers
                break
        except LiteratureError:  # the ledger records it; each reference is looked up by itself
            continue
    names = {f"DOI:{one.doi}" for one in entries if one.doi}
    names |= {f"ARXIV:{one.arxiv}" for one in entries if one.arxiv}
    if names:
        listed += (await library.papers(names, parts=PARTS, window=ANY_TIME)).papers
    return listed


async def _link(
    run: MamorxRun, library: Library, works: Mapping[str, CitedWork], turns: asyncio.Semaphore
) -> None:
    """Which of the cited works cite which: the graph of cited works (§3.1). A source that does not say leaves it open."""
    found = [one for one in works.values() if one.paper]
    names = {key: one.name for one in found for key in (one.paper, fold(one.found))}
    own = [one.paper.removeprefix("local:") for one in found if one.paper.startswith("local:")]
    within = {}
    if own and isinstance(run.literature, Ecosystem):
        within = await asyncio.to_thread(LiteratureDatabase.of(run.literature).graph.citations, own)

    async def link(work: CitedWork) -> None:
        if work.paper.startswith("local:"):
            known = within.get(work.paper.removeprefix("local:"))
            keys = [f"local:{one}" for one in known.all] if known else []
        else:
            try:
                async with turns:
                    listed = await library.references(work.paper, MOST_LISTED, parts=(), window=ANY_TIME)
            except LiteratureError:  # the ledger records it
                return
            keys = [key for paper in listed.papers for key in (paper.id, fold(paper.title))]
        cited = {names[key] for key in keys if key in names} - {work.name}
        work.cites = [name for name in works if name in cited]

    if len(found) > 1:  # one alone can cite no other
        latest = sorted(found, key=lambda one: -(one.year or 0))
        await together(*map(link, latest[: run.settings.references.linked]))


@dataclass
class _Check:
    """The look-up of one reference; `silent` holds why sources did not answer."""

    run: MamorxRun
    library: Library
    reference: Reference
    work: CitedWork
    listed: Sequence[Paper]
    silent: list[str] = field(default_factory=list[str])

    async def fill(self) -> None:
        """Fill in its state and the sources' details of the work."""
        work, reference = self.work, self.reference
        paper = self._in_list() or await self._by_number() or await self._by_title()
        if not paper:
            if self.silent:
                work.details += self.silent
            elif reference.doi or reference.arxiv or words_of(reference.title):
                work.state = "not found"
            else:
                work.details.append("the entry has neither a title nor a DOI")
            return
        for one in differences(reference, paper):
            self._differs(one.kind, one.cited, one.found, paper.source)
        work.state = "differs" if work.details else "exists"
        work.paper, work.found, work.abstract, work.published = paper.id, paper.title, paper.abstract, paper
        work.open_text = paper.open_text or ""
        if speech(paper.abstract):
            line = f"the abstract of {work.name}, “{paper.title}”, addresses a reviewer or a model"
            self.run.warn(REFERENCES, line)
        work.retracted = await self.library.retracted(paper)

    def _in_list(self) -> Paper | None:
        """The work in a source's own list; a work with another DOI does not match."""
        paper = next(filter(self._by_entry().means, self.listed), None)
        own, other = self.reference.doi or "", (paper and paper.doi) or ""
        return paper if own.casefold() in ("", other.casefold()) else None

    def _by_entry(self) -> CitedWorks:
        """The entry, without its numbers, which may be wrong, where it has a title."""
        numbers = {"doi": None, "arxiv": None} if self.reference.title else {}
        return CitedWorks([self.reference.model_copy(update=numbers)])

    async def _by_number(self) -> Paper | None:
        """The work of its DOI or arXiv number; a mismatch is recorded."""
        reference, cited = self.reference, self._by_entry()
        for kind, name in (("doi", reference.doi), ("arxiv", reference.arxiv)):
            if not name:
                continue
            try:
                paper = await self.library.paper(name, parts=PARTS, window=ANY_TIME)
            except LiteratureError as error:
                self.silent.append(error.message)
                continue
            if paper and (not reference.title or cited.means(paper) or near(reference, paper)):
                return paper
            if paper:
                self._differs(kind, name, paper.title, paper.source)
        return None

    def _differs(self, kind: str, cited: str, found: str, source: str) -> None:
        """Record a detail that differs, with words from a file, since agents see it too."""
        variables = {"kind": kind, "cited": cited, "found": found, "source": source}
        words = self.run.roles.prompts.render("partials/difference.md.j2", variables)
        self.work.details.append(words.strip())

    async def _by_title(self) -> Paper | None:
        """The work with its title, else one with similar title and authors."""
        if not words_of(self.reference.title):
            return None
        try:
            found = await self.library.titled(self.reference.title, parts=PARTS, window=ANY_TIME)
        except LiteratureError as error:
            self.silent.append(error.message)
            return None
        cited = CitedWorks([self.reference])
        paper = next(filter(cited.means, found.papers), None)
        paper = paper or next((one for one in found.papers if near(self.reference, one)), None)
        if paper is None and found.degraded:
            self.silent.append(f"{', '.join(found.degraded)} did not answer and may know it")
        return paper


async def read_open_texts(run: MamorxRun) -> None:
    """Read open texts of the relevant related papers and cited works nearest to the paper; their addresses are evidence."""
    paper, library, failures = run.material.document, run.library, list[str]()
    related = ((NOVELTY, one, one.title) for one in run.result.related if one.relevant)
    cited = ((REFERENCES, one, one.found) for one in run.result.references)
    works: list[tuple[str, Work, str]] = [each for each in (*related, *cited) if each[1].open_text]
    told = [f"{title} {one.abstract}" for _, one, title in works]
    if library is None or not told:
        return
    chosen = ranked(told, f"{paper.title} {paper.abstract}", run.settings.texts)
    for stage, work, title in (works[at] for at in chosen):
        try:
            with door(run.folder):
                document = await open_text(library, work.paper, title, work.open_text)
                text = Manuscript(document.model_copy(update={"abstract": ""}), Path(), work.open_text, "")
                found = text.search(paper.title, PASSAGES) or text.passages[:PASSAGES]
            passage = " ".join(" … ".join(one.text for one in found).split()[:WORDS])
            if speech(passage):
                raise DocumentError("the passage addresses a reviewer or a model")
        except (LiteratureError, DocumentError, BugError) as error:
            failures.append(f"{work.name}: {error.message}")
            continue
        work.passage = passage
        way = Retrieval(source=work.open_text, query=paper.title, stage=stage, channel="open text")
        run.evidence.cite(work.paper, title, way, year=work.year)
    if chosen:
        words, stage = f"{len(chosen) - len(failures)} of {len(chosen)} read", works[chosen[0]][0]
        run.emit(Judged(stage=stage, subject="Open texts", outcome=words, reasoning="; ".join(failures)))
