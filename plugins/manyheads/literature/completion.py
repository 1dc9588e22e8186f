"""Completion of papers before they become a corpus: what their file lacks, from the services that have it, with a ledger."""

import asyncio
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from pydantic import JsonValue, TypeAdapter

from manyheads.base.errors import LiteratureError
from manyheads.base.papers import Identifier, Paper, identify
from manyheads.config import LiteratureConfig, SourceName
from manyheads.corpus.records import FIRST_YEAR, LAST_YEAR, RawAuthor, RawPaper, Reader, Rejects
from manyheads.documents.document import Reference
from manyheads.literature.library import SAME_TITLE, SERVICES, connect
from manyheads.literature.lookup import CascadeSource, LookupCache
from manyheads.literature.matching import is_work, names_of, resembles, words_of
from manyheads.literature.source import LackingError, Operation, Part, Request

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
_ANSWER = TypeAdapter(tuple[str, tuple[Paper, ...]])
_Answer = tuple[str, tuple[Paper, ...]]
"""When a service answered, and its papers."""


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

    def fill(self, paper: Paper, at: str) -> None:
        """Take what is missing from a service's paper."""
        known: dict[str, object] = {name: getattr(paper, part) for name, part in FIELDS.items()}
        known["year"] = paper.year if FIRST_YEAR <= (paper.year or 0) <= LAST_YEAR else None
        update = {
            name: known[name] for name in FIELDS if name in self.gaps and known[name] not in (None, "", ())
        }
        self.paper = self.paper.model_copy(update=update)
        self.filled |= {NAMES.get(name, name): {"from": paper.id, "at": at} for name in update}
        self.gaps -= update.keys()

    def entry(self) -> dict[str, object]:
        """A line of the ledger."""
        file, unit = self.place
        told: dict[str, object] = {
            "file": file,
            unit: self.number,
            "id": self.paper.id,
            "title": self.paper.title,
        }
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
        cache: stores the services' answers.
    """

    step = "completing papers"

    def __init__(
        self,
        reader: Reader,
        literature: LiteratureConfig,
        ledger: Path,
        *,
        wanted: Callable[[RawPaper], bool] = lambda paper: True,
        cache: Callable[[], LookupCache] = LookupCache,
    ) -> None:
        self.name, self._reader, self._ledger = reader.name, reader, ledger
        self._wanted, self._open_cache, self._endpoints = wanted, cache, literature.endpoints
        cascade = literature.cascade if "cascade" in literature.model_fields_set else DEFAULT
        names: list[SourceName] = [name for name in cascade if name != "local"]
        self._services = [CascadeSource(connect(name, literature)) for name in names]
        self._planned = [SERVICES[name] for name in names or DEFAULT]
        self._fields = {
            field for field, part in FIELDS.items() if any(part in one.gives for one in self._planned)
        }
        self.failures: dict[str, str] = {}
        """Why a service could not be asked, by its name."""
        self._counts = defaultdict[str, Counter[str]](Counter)
        self.completed = self._counts

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        return self._reader.authors(wanted)

    def papers(self, rejects: Rejects) -> Iterator[tuple[int, RawPaper]]:
        """The papers of the other reader, in order. Raises `LiteratureError` if no service can be asked, with what would be."""
        rejects.undated, papers = True, self._reader.papers(rejects)
        self._ledger.parent.mkdir(parents=True, exist_ok=True)
        with (
            self._open_cache() as cache,
            asyncio.Runner() as runner,
            self._ledger.open("w", encoding="utf-8") as ledger,
        ):
            while some := [
                self._incomplete(number, paper, rejects) for number, paper in islice(papers, BATCH)
            ]:
                here = rejects.file, rejects.unit
                runner.run(self._complete([one for one in some if one.gaps], cache))
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
            f"{one.name} {math.ceil(named / one.batch) + len(incomplete) - named:,}" for one in self._planned
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

    async def _complete(self, papers: Sequence[Incomplete], cache: LookupCache) -> None:
        for service in self._services:
            fields = {name for name, part in FIELDS.items() if part in service.source.gives}
            named = defaultdict[str, list[Incomplete]](list)
            for one in papers:
                if one.gaps & fields and one.name and (name := one.name.at(service.name)):
                    named[name].append(one)
            await self._by_name(service, named, cache)
            for one in papers:
                # references alone are not worth a search
                if one.name is None and one.gaps & fields - {"references"}:
                    await self._by_title(service, one, cache)
        if papers and all(service.failure for service in self._services):
            why = "; ".join(self.failures.values()) or "literature.cascade names none"
            raise LiteratureError(
                f"no service can be asked to complete the papers: {why}",
                source="literature",
                tried=self.plan(),
                hint="run the same command again with a network (answers are kept), or leave out --complete",
            )

    async def _by_name(
        self, service: CascadeSource, named: Mapping[str, Sequence[Incomplete]], cache: LookupCache
    ) -> None:
        """Complete papers by DOI or arXiv number. A paper with another title is not taken: the number is wrong."""
        answers = {name: self._cached(service, name, cache) for name in named}
        rest = [name for name, answer in answers.items() if answer is None]
        together = [[name] for name in rest] if "papers" in service.source.lacking else [rest] if rest else []
        for names in together:
            asked = [one for name in names for one in named[name]]
            answer = await self._ask(
                service, "papers" if names is rest else "paper", " ".join(names), len(names), asked
            )
            for name in names if answer else ():
                known = identify(name)
                at, papers = answer or ("", ())
                own = f"{known.kind}:{known.value.casefold()}"
                same = (
                    one for one in papers if own in names_of(one) or is_work(named[name][0].reference, one)
                )
                answers[name] = self._keep(service, name, (at, tuple(same)), cache)
        for name, answer in answers.items():
            for one in named[name]:
                for paper in answer[1] if answer else ():
                    if resembles(one.reference, paper):
                        one.fill(paper, answer[0] if answer else "")

    async def _by_title(self, service: CascadeSource, one: Incomplete, cache: LookupCache) -> None:
        title = " ".join(words_of(one.paper.title))
        answer = self._cached(service, title, cache)
        if (
            answer is None
            and title
            and (answer := await self._ask(service, "search", title, SAME_TITLE, [one]))
        ):
            self._keep(service, title, answer, cache)
        for paper in answer[1] if answer else ():
            if is_work(one.reference, paper):
                one.fill(paper, answer[0] if answer else "")
                break

    async def _ask(
        self,
        service: CascadeSource,
        operation: Operation,
        query: str,
        limit: int,
        papers: Sequence[Incomplete],
    ) -> _Answer | None:
        """A service's papers; None if it could not be asked, or answered in part."""
        request = Request(operation, query, limit, parts=service.source.gives & {*FIELDS.values()})
        try:
            found, _ = await service.answer(request)
        except LackingError:
            return "", ()
        except LiteratureError as error:
            if error is not service.failure:
                service.fail(error)
                self.failures[service.name] = error.message
            for one in papers:
                one.failed[service.name] = None
            return None
        service.succeed()
        if request.faults:
            self.failures[service.name] = f"{service.name}: {'; '.join(request.faults)}"
        return datetime.now(UTC).isoformat(timespec="seconds"), found

    def _cached(self, service: CascadeSource, query: str, cache: LookupCache) -> _Answer | None:
        return cache.get(service.name, "complete", self._key(service, query), _ANSWER)

    def _keep(self, service: CascadeSource, query: str, answer: _Answer, cache: LookupCache) -> _Answer:
        if answer[0]:
            cache.keep_answer(service.name, "complete", self._key(service, query), _ANSWER, answer)
        return answer

    def _key(self, service: CascadeSource, query: str) -> JsonValue:
        parts = " ".join(sorted(service.source.gives & {*FIELDS.values()}))
        return {"asked": query, "parts": parts, "address": self._endpoints.get(service.name, "")}


def _has(paper: RawPaper, name: str) -> bool:
    value = getattr(paper, name)
    return bool(value.strip() if isinstance(value, str) else value) or (name == "citations" and value == 0)


def _names(gaps: Collection[str]) -> list[str]:
    """Fields in the order of `FIELDS`, as users know them."""
    return [NAMES.get(name, name) for name in FIELDS if name in gaps]
