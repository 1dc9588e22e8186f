"""Completion of papers before they become a corpus: what their file lacks, from the services that have it, with a ledger."""

import asyncio
import json
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from manyheads.base.errors import LiteratureError
from manyheads.base.papers import Identifier, Paper, identify
from manyheads.config import LiteratureConfig, SourceName
from manyheads.core.events import Searched
from manyheads.corpus.records import FIRST_YEAR, LAST_YEAR, RawAuthor, RawPaper, Reader, Rejects
from manyheads.documents.document import Reference
from manyheads.literature.library import SAME_TITLE, connect, source_class
from manyheads.literature.lookup import CascadeSource, LookUp, LookupCache
from manyheads.literature.matching import is_work, names_of, resembles, words_of
from manyheads.literature.source import Part, Request, Source

COMPLETED = "completed.jsonl"
"""The ledger in a corpus's folder: what each incomplete paper got from which service and when, and what was not found."""
DEFAULT: tuple[SourceName, ...] = ("openalex", "semantic_scholar", "crossref")
"""Services asked unless the config names a cascade."""
FIELDS: Mapping[str, Part] = {
    "abstract": "abstract", "year": "date", "citations": "citations", "doi": "doi", "byline": "authors",
    "references": "references",
}  # fmt: skip
"""The fields of a record that are completed, each with the part of a service's paper that has it."""
NAMES = {"byline": "authors"}
BATCH = 100
"""Papers completed together; the most that a kill can lose."""


@dataclass(eq=False)
class Incomplete:
    """A paper with the fields that it lacks, and where it was read."""

    number: int
    paper: RawPaper
    place: tuple[str, str]
    gaps: set[str]
    filled: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    failed: dict[str, None] = field(default_factory=dict[str, None])
    """Services that could not be asked for it."""

    @property
    def name(self) -> Identifier | None:
        """Its DOI or arXiv number."""
        names = map(identify, filter(None, (self.paper.doi, self.paper.id)))
        return next((name for name in names if name.kind in ("doi", "arxiv")), None)

    @property
    def reference(self) -> Reference:
        """The paper as another would cite it."""
        title, authors = self.paper.title, self.paper.byline
        return Reference(text="", title=title, year=self.paper.year or None, authors=authors)

    def request(self, source: Source) -> Request | None:
        """How a source is asked for it, by name, else by title; None if it has nothing that is missing."""
        gaps = {name for name in self.gaps if FIELDS[name] in source.gives}
        parts = source.gives & {*FIELDS.values()}
        if self.name:
            name = self.name.at(source.name)
            return Request("paper", name, 1, parts=parts) if gaps and name else None
        title = " ".join(words_of(self.paper.title))
        # references alone are not worth a search
        return Request("search", title, SAME_TITLE, parts=parts) if title and gaps - {"references"} else None

    def fill(self, papers: Sequence[Paper], asked: Request, at: float) -> None:
        """Take what is missing from a service's paper. With another title it is not taken: the number is wrong."""
        same = resembles if asked.operation == "paper" else is_work
        if (paper := next((one for one in papers if same(self.reference, one)), None)) is None:
            return
        known: dict[str, object] = {name: getattr(paper, part) for name, part in FIELDS.items()}
        known["year"] = paper.year if FIRST_YEAR <= (paper.year or 0) <= LAST_YEAR else None
        update = {name: one for name, one in known.items() if name in self.gaps and one not in (None, "", ())}
        self.paper = self.paper.model_copy(update=update)
        when = datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
        self.filled |= {NAMES.get(name, name): {"from": paper.id, "at": when} for name in update}
        self.gaps -= update.keys()

    def entry(self) -> dict[str, object]:
        """A line of the ledger."""
        file, unit = self.place
        told: dict[str, object] = {"file": file, unit: self.number}
        told |= {"id": self.paper.id, "title": self.paper.title}
        told |= {"filled": self.filled, "missing": _names(self.gaps), "not asked": [*self.failed]}
        return {name: value for name, value in told.items() if value}


class Completion(Reader):
    """A `Reader` of another reader's papers, completed by services: by DOI or arXiv number in batches, else by title.

    What the file says is never replaced. Answers are cached by paper: run again after a kill, it asks for the other papers
    alone. A paper whose year nobody knows is rejected.

    Args:
        literature: its cascade names the services, else they are `DEFAULT`.
        ledger: the file to write, see `COMPLETED`.
        wanted: tells which papers will be used; others are not completed.
    """

    step = "completing papers"

    def __init__(
        self,
        reader: Reader,
        literature: LiteratureConfig,
        ledger: Path,
        *,
        wanted: Callable[[RawPaper], bool] = lambda paper: True,
    ) -> None:
        self.name, self._reader, self._ledger = reader.name, reader, ledger
        self._wanted, self._cache = wanted, LookupCache()
        cascade = literature.cascade if "cascade" in literature.model_fields_set else DEFAULT
        names: list[SourceName] = [name for name in cascade if name != "local"]
        self._services = [
            CascadeSource(connect(name, literature), self._cache, literature.endpoints.get(name, ""))
            for name in names
        ]
        self._planned = {name: source_class(name) for name in names or DEFAULT}
        self._fields = {
            field
            for field, part in FIELDS.items()
            if any(part in one.gives for one in self._planned.values())
        }
        self.failures: dict[str, str] = {}
        """Why a service could not be asked, by its name."""
        self.completed = self._counts = defaultdict[str, Counter[str]](Counter)

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        return self._reader.authors(wanted)

    def papers(self, rejects: Rejects) -> Iterator[tuple[int, RawPaper]]:
        """The papers of the other reader, in order. Raises `LiteratureError` if no service can be asked, with what would be."""
        rejects.undated, papers = True, self._reader.papers(rejects)
        self._ledger.parent.mkdir(parents=True, exist_ok=True)
        with self._cache, asyncio.Runner() as runner, self._ledger.open("w", encoding="utf-8") as ledger:
            while some := [
                self._incomplete(number, paper, rejects) for number, paper in islice(papers, BATCH)
            ]:
                here = rejects.file, rejects.unit
                runner.run(self._complete([one for one in some if one.gaps]))
                for one in some:
                    rejects.file, rejects.unit = one.place
                    if one.gaps or one.filled:
                        ledger.write(json.dumps(one.entry(), ensure_ascii=False) + "\n")
                    self._count(one)
                    if one.paper.year:
                        yield one.number, one.paper
                    else:
                        rejects.note(one.number, "year", "missing, and no service knows it")
                rejects.file, rejects.unit = here

    def plan(self) -> str:
        """What there is to ask, in words."""
        papers = self._reader.papers(rejects := Rejects(undated=True))
        every = [self._incomplete(*one, rejects) for one in papers]
        incomplete = [one for one in every if one.gaps]
        lacks = [(name, sum(name in _names(one.gaps) for one in incomplete)) for name in _names(FIELDS)]
        named = sum(one.name is not None for one in incomplete)
        requests = (
            f"{name} {math.ceil(named / one.batch) + len(incomplete) - named:,}"
            for name, one in self._planned.items()
        )
        counted = ", ".join(f"{name} {count:,}" for name, count in lacks if count)
        return (
            f"{len(incomplete):,} of {len(every):,} papers lack something: {counted}; {named:,} of them have a DOI or an arXiv "
            f"number, the others are searched by title; requests at most: {', '.join(requests)}"
        )

    def _incomplete(self, number: int, paper: RawPaper, rejects: Rejects) -> Incomplete:
        gaps = {name for name in self._fields if not _has(paper, name)} if self._wanted(paper) else set[str]()
        return Incomplete(number, paper, (rejects.file, rejects.unit), gaps)

    def _count(self, one: Incomplete) -> None:
        for name in _names(self._fields):
            if source := one.filled.get(name):
                self._counts[name][source["from"].partition(":")[0]] += 1
            elif name in _names(one.gaps):
                self._counts[name]["not found"] += 1

    async def _complete(self, papers: Sequence[Incomplete]) -> None:
        for service in self._services:
            asked = defaultdict[Request, list[Incomplete]](list)
            for one in papers:
                if request := one.request(service.source):
                    asked[request].append(one)
            answers = {request: await service.cached(request) for request in asked}
            if not service.source.lacks("papers"):
                answers |= await self._together(
                    service,
                    {one: asked[one] for one in asked if one.operation == "paper" and not answers[one]},
                )
            for request, ones in asked.items():
                if (answer := answers[request]) is None:
                    answer = await self._ask(service, request, ones), time.time()
                for one in ones:
                    one.fill(answer[0] or (), request, answer[1])
        if papers and all(service.failure for service in self._services):
            why = "; ".join(self.failures.values()) or "literature.cascade names none"
            raise LiteratureError(
                f"no service can be asked to complete the papers: {why}",
                source="literature",
                tried=self.plan(),
                hint="run the same command again with a network (answers are kept), or leave out --complete",
            )

    async def _together(
        self, service: CascadeSource, asked: Mapping[Request, Sequence[Incomplete]]
    ) -> dict[Request, tuple[tuple[Paper, ...], float]]:
        """The answers for papers by DOI or arXiv number, from requests for many; empty where none came."""
        if not asked:
            return {}
        names = " ".join(one.query for one in asked)
        whole = replace(next(iter(asked)), operation="papers", query=names, limit=len(asked))
        papers = await self._ask(service, whole, [one for ones in asked.values() for one in ones])
        answers: dict[Request, tuple[tuple[Paper, ...], float]] = dict.fromkeys(asked, ((), time.time()))
        if papers is None:
            return answers
        for request, (one, *_) in asked.items():
            name = identify(request.query).key
            own = tuple(paper for paper in papers if name in names_of(paper) or is_work(one.reference, paper))
            await service.keep(request, own)
            answers[request] = own, time.time()
        return answers

    async def _ask(
        self, service: CascadeSource, request: Request, papers: Sequence[Incomplete]
    ) -> tuple[Paper, ...] | None:
        """A service's papers; None if it could not be asked."""
        look_up = LookUp(request, self._note)
        found = await look_up.ask(service, request.operation, request.query, service.source.deadline())
        for one in papers if look_up.findings().degraded else ():
            one.failed[service.name] = None
        return found

    def _note(self, entry: Searched) -> None:
        if entry.outcome == "failed":
            self.failures[entry.source] = entry.reason
        elif entry.reason and entry.outcome != "skipped":  # some records could not be read
            self.failures[entry.source] = f"{entry.source}: {entry.reason}"


def _has(paper: RawPaper, name: str) -> bool:
    value = getattr(paper, name)
    return bool(value.strip() if isinstance(value, str) else value) or (name == "citations" and value == 0)


def _names(gaps: Collection[str]) -> list[str]:
    """Fields in the order of `FIELDS`, as users know them."""
    return [NAMES.get(name, name) for name in FIELDS if name in gaps]
