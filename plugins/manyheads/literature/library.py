"""The library: a config's sources asked in order, with every look-up in a ledger."""

import asyncio
import datetime as dt
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import JsonValue, TypeAdapter

from manyheads.base import entry_points
from manyheads.base.errors import ConfigError, LiteratureError, UserError
from manyheads.base.http import Pace
from manyheads.base.papers import ANY_TIME, SOURCES, Identifier, Paper, Window, identifiers_of, identify
from manyheads.config import LiteratureConfig, SourceName
from manyheads.config.environment import secret, with_environment
from manyheads.literature.local import LocalSource
from manyheads.literature.lookup import CascadeSource, Findings, LookUp, LookupCache, Note, SingleFlight
from manyheads.literature.matching import MOST_LETTERS, Merged, salient, same_title, widen, words_of
from manyheads.literature.source import ALL, HttpService, Operation, Part, Request, Source

if TYPE_CHECKING:
    from manyheads.corpus.ecosystem import KnowledgeBank


ENOUGH = 3
"""Minimum papers from a source before its query is not widened further; the next source supplies the rest."""
SLOW = 1.0
"""Seconds between two requests above which a source is asked last for look-ups of many papers."""
SAME_TITLE = 10
"""Papers to check for one with a given title."""
_FOR_MERGING: frozenset[Part] = frozenset(("doi",))
_FINDINGS = TypeAdapter(Findings)
S = TypeVar("S", bound=Source)
_Work = Callable[[LookUp], Coroutine[Any, Any, Findings]]


SERVICES: dict[SourceName, str] = {
    "semantic_scholar": "SemanticScholar", "openalex": "OpenAlex", "arxiv": "Arxiv", "crossref": "Crossref", "pubmed": "PubMed",
}  # fmt: skip
"""The class of each service, in the module of its name."""


def service_class(name: SourceName) -> type[HttpService]:
    return getattr(import_module(f"{__package__}.{name}"), SERVICES[name])


def source_class(name: SourceName) -> type[Source]:
    """The class of a source by name: a service of ours, or one that another package brings; else `ConfigError`."""
    if name in SERVICES:
        return service_class(name)
    found = entry_points.load(SOURCES, name, "literature source")
    if not (isinstance(found, type) and issubclass(found, Source)):
        raise entry_points.misfit(SOURCES, name, "a class of literature.source.Source")
    return found


def connect(
    name: SourceName, config: LiteratureConfig, paces: Mapping[SourceName, Pace] | None = None
) -> Source:
    """A source by name, optionally with other `paces`; no contact before the first request. Raises `ConfigError`."""
    service, address = source_class(name), config.endpoints.get(name)
    if not issubclass(service, HttpService):
        source = _made(name, service)
        source.name = name
        return source
    key_env = config.semantic_scholar_key_env if name == "semantic_scholar" else service.key_env

    def own(variable: str | None) -> str | None:
        where = f"literature.endpoints.{name}"
        return secret(variable, address or service.address, where) if variable else None

    key, mailto = own(key_env), own(service.mailto_env)
    return _made(
        name, service, name=name, address=with_environment(address) if address else service.address,
        key_env=key_env, key=key, mailto=mailto, retries=config.retries, patience=config.patience,
        pace=(paces or {}).get(name) or service.paces[bool(key or mailto)],
    )  # fmt: skip


def _made(name: SourceName, service: type[S], /, **fields: Any) -> S:
    try:
        return service(**fields)
    except UserError:
        raise
    except Exception as error:  # other packages may raise anything
        if name in SERVICES:
            raise
        problem = f"a literature source that can be made: {type(error).__name__}: {error}"
        raise entry_points.misfit(SOURCES, name, problem) from error


class Library:
    """The sources of a config's cascade, in order: the next is asked if the earlier ones found too little.

    Nothing is read, written or contacted before the first look-up. Date bounds and patience come from the config. A failure is
    never reported as "nothing found": look-ups raise `LiteratureError` if no source answered.

        async with Library(LiteratureConfig(cascade=("openalex",))) as library:
            found = await library.search("tactile sensing", 5)

    Args:
        config: names the sources; errors in it are raised by the first look-up, or by `open`, as a `ConfigError`.
        bank: for the source `local`, which is omitted without a bank; not closed by the library.
        bound: the corpus's first contemporary year, for `before: bound`: only papers before its 1 January. None without a corpus.
        note: called with every look-up in every source when it ends, and when `record` replays it, such as a
            `SearchLedger`'s.
        cache: an SQLite file for the services' answers, valid for `max_age`; None for no cache.
        record: an SQLite file for the results of this run, of any age: a resumed run sees the same.
        paces: other paces than the services' own, for mirrors that allow them.
        sources: replace the config's; only the run's own record is then stored.
    """

    def __init__(
        self,
        config: LiteratureConfig,
        *,
        bank: "KnowledgeBank | None" = None,
        bound: int | None = None,
        note: Note = lambda entry: None,
        cache: Path | None = None,
        record: Path | None = None,
        paces: Mapping[SourceName, Pace] | None = None,
        sources: Sequence[Source] | None = None,
    ) -> None:
        self.config, self._bank, self._bound, self.note = config, bank, bound, note
        self._sources, self._paces = sources, paces or {}
        self.cache = LookupCache(cache, dt.timedelta(days=config.max_age)) if cache else None
        self._record = LookupCache(record, record=True) if record else None
        self._under_way = SingleFlight()

    def open(self) -> Self:
        """Check the config now, without contacting a service.

        Raises:
            ConfigError: `before` is not a date, no source is left, or a key is invalid or may not go to its host.
        """
        _ = self.window, self._members
        return self

    async def search(
        self, query: str, limit: int = 10, *, parts: Collection[Part] = ALL, window: Window | None = None
    ) -> Findings:
        """Papers that match words; a query with too few results is widened step by step, and the additional papers come last.
        Raises `LiteratureError` if no source answered, or the query has no words.

        Args:
            window: dates to use instead of the config's.
        """
        if not words_of(query):
            hint = "use a few keywords"
            raise LiteratureError("the query has no words", source="literature", fault="wordless", hint=hint)
        return await self._findings(self._search, "search", query, limit, parts, window)

    async def paper(
        self, paper_id: str, *, parts: Collection[Part] = ALL, window: Window | None = None
    ) -> Paper | None:
        """One paper by its `Paper.id`, or by a DOI, an arXiv number or its exact title; None if it is outside the dates.

        Raises:
            LiteratureError: no source has it, and not every source could be asked, so it may exist.
        """
        findings = await self._findings(self._paper, "paper", paper_id, 1, parts, window)
        return next(iter(findings.papers), None)

    async def papers(
        self, names: Collection[str], *, parts: Collection[Part] = ALL, window: Window | None = None
    ) -> Findings:
        """The sources' papers with these DOIs and arXiv numbers, `DOI:…` or `ARXIV:…`, several per request.

        The fastest source is asked first, the others for the rest. Papers missing here may still be found by `paper`.
        """
        query = " ".join(sorted(name for name in names if len(name.split()) == 1))
        return await self._findings(self._papers, "papers", query, len(names), parts, window)

    async def titled(
        self, title: str, *, parts: Collection[Part] = ALL, window: Window | None = None
    ) -> Findings:
        """Papers with a title, up to a few letters; if no source has one, the results for its words.

        Also searches for half of its most specific words, as a misread or misquoted title contains wrong ones. Raises
        `LiteratureError` if no source answered.
        """
        return await self._findings(self._titled, "paper", title, SAME_TITLE, parts, window)

    async def retracted(self, paper: Paper) -> bool | None:
        """Whether a paper is retracted, by the first source that knows; None if none does or could be asked."""
        if paper.retracted is None:
            name = identifiers_of(paper)[0].value
            findings = await self._findings(self._retracted, "paper", name, 1, ("retracted",), ANY_TIME)
            paper = next(iter(findings.papers), paper)
        return paper.retracted

    async def references(
        self, paper_id: str, limit: int = 100, *, parts: Collection[Part] = ALL, window: Window | None = None
    ) -> Findings:
        """A paper's references. Raises `LiteratureError` if no source answered."""
        return await self._findings(self._references, "references", paper_id, limit, parts, window)

    async def close(self) -> None:
        """Close files."""
        for file in filter(None, (self.cache, self._record)):
            file.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *ended: object) -> None:
        await self.close()

    @cached_property
    def window(self) -> Window:
        """The dates of the config."""
        return window(self.config, self._bound)

    @cached_property
    def _members(self) -> tuple[CascadeSource, ...]:
        if self._sources is not None:
            return tuple(map(CascadeSource, self._sources))
        config, members = self.config, list[CascadeSource]()
        for name in config.cascade:
            if name != "local":
                source, address = connect(name, config, self._paces), config.endpoints.get(name, "")
                members.append(CascadeSource(source, self.cache, address))
            elif self._bank is not None:
                members.append(CascadeSource(LocalSource(self._bank, self._bound)))
        if not members:
            hint = f"add one of {', '.join(SERVICES)} to it"
            raise ConfigError("literature.cascade: there is no corpus to look papers up in", hint=hint)
        return tuple(members)

    @property
    def _fastest(self) -> list[CascadeSource]:
        """The sources, with slow ones last."""
        return sorted(self._members, key=lambda one: getattr(one.source, "pace", Pace()).seconds >= SLOW)

    async def _findings(
        self,
        work: _Work,
        operation: Operation,
        query: str,
        limit: int,
        parts: Collection[Part] = ALL,
        window: Window | None = None,
    ) -> Findings:
        """The run's record of the same look-up, or the sources' answer, which is then recorded."""
        words = query.encode(errors="replace").decode()  # lone surrogates can be neither sent nor stored
        fields = frozenset(parts) | _FOR_MERGING
        request = Request(operation, words.strip(), limit, window or self.window, fields)
        key: dict[str, JsonValue] = {
            "query": request.query,
            "limit": request.limit,
            "window": str(request.window),
            "parts": " ".join(sorted(request.parts)),
            "sources": " ".join(member.name for member in self._members),
        }
        place, record = ("library", request.operation, key, _FINDINGS), self._record

        async def once() -> Findings:
            if record and (before := await asyncio.to_thread(record.get, *place)):
                for entry in before.searches:
                    self.note(entry)
                return before
            findings = await work(LookUp(request, self.note))
            if record:
                await asyncio.to_thread(record.keep_answer, *place, findings)
            return findings

        return await self._under_way.join(request, once)

    async def _search(self, look_up: LookUp) -> Findings:
        merged, limit = Merged(), look_up.request.limit
        for member in self._members:
            until, own = member.source.deadline(), Merged()
            for step, form in enumerate(widen(look_up.request.query)):
                if (papers := await look_up.ask(member, "search", form, until)) is None:
                    break
                merged.add(papers, step)
                own.add(papers)
                if len(own) >= min(ENOUGH, limit) or len(merged) >= limit:
                    break
            if len(merged) >= limit:
                break
        look_up.need_answer()
        return look_up.findings(merged.best(limit))

    async def _paper(self, look_up: LookUp) -> Findings:
        name = identify(look_up.request.query)
        for member in self._able(name, alone=True):
            if paper := await _by_name(look_up, member, (name,), member.source.deadline()):
                return look_up.findings((paper,))
        look_up.need_answer(of_all=True)
        return look_up.findings()

    async def _papers(self, look_up: LookUp) -> Findings:
        merged, left = Merged(), look_up.request.query.split()
        for member in self._fastest:
            if left and not member.source.lacks("papers"):
                until = member.source.deadline()
                papers = await look_up.ask(member, "papers", " ".join(left), until, limit=len(left)) or ()
                merged.add(papers)
                names = {name for paper in papers for name in identifiers_of(paper)}
                left = [name for name in left if identify(name) not in names]
        return look_up.findings(merged.best(len(merged)))

    async def _titled(self, look_up: LookUp) -> Findings:
        merged, title = Merged(), look_up.request.query
        telling = salient(title, MOST_LETTERS)
        half = salient(title, max(ENOUGH, len(telling) // 2))
        for member in self._fastest:
            until = member.source.deadline()
            for form in dict.fromkeys(" ".join(words).replace("-", " ") for words in (words_of(title), half)):
                papers = await look_up.ask(member, "search", form, until) if form else ()
                if papers is None:
                    break
                if same := tuple(paper for paper in papers if same_title(title, paper.title)):
                    return look_up.findings(same)
                merged.add(papers)
        look_up.need_answer()
        return look_up.findings(merged.best(len(merged)))

    async def _retracted(self, look_up: LookUp) -> Findings:
        name = identify(look_up.request.query)
        for member in self._members:
            if member.source.tells_retractions:
                paper = await _by_name(look_up, member, (name,), member.source.deadline())
                if paper and paper.retracted is not None:
                    return look_up.findings((paper,))
        return look_up.findings()

    async def _references(self, look_up: LookUp) -> Findings:
        """A paper's references: from the source of its id first, from others after they have identified it."""
        query = look_up.request.query
        name = identify(query)
        names: tuple[Identifier, ...] = (name,)
        for member in self._able(name):
            until = member.source.deadline()
            own = name.at(member.name) if name.kind == "own" else None
            lacking = bool(member.source.lacks("references"))
            there = own or (query if lacking else None)
            if there is None and (paper := await _by_name(look_up, member, names, until)):
                there, names = paper.id.partition(":")[2], (*names, *identifiers_of(paper))
            if there is None:
                continue
            if papers := await look_up.ask(member, "references", there, until):
                return look_up.findings(papers)
            if own and (paper := await _by_name(look_up, member, (name,), until, counts=not lacking)):
                names = identifiers_of(paper)
        look_up.need_answer()
        return look_up.findings()

    def _able(self, name: Identifier, *, alone: bool = False) -> tuple[CascadeSource, ...]:
        """The sources that may know a paper by this identifier, the source of our own id first, or `alone`."""
        if name.source is None:
            return self._members
        own = tuple(one for one in self._members if one.name == name.source)
        if not own:
            raise LiteratureError(
                f"{name.source}:{name.value}: {name.source} is not among the sources",
                source=name.source,
                fault="lacking",
                hint=f"add {name.source} to literature.cascade",
            )
        return own if alone else (*own, *(one for one in self._members if one not in own))


async def _by_name(
    look_up: LookUp, member: CascadeSource, names: Sequence[Identifier], until: float, *, counts: bool = True
) -> Paper | None:
    """A source's paper, by the first identifier that it knows."""
    for name in names:
        if name.kind == "title":
            words = " ".join(words_of(name.value)) or name.value
            papers = await look_up.ask(member, "search", words, until, limit=SAME_TITLE, counts=counts)
            papers = tuple(filter(name.means, papers or ()))
        elif there := name.at(member.name):
            papers = await look_up.ask(member, "paper", there, until, counts=counts)
        else:
            continue
        if papers:
            return papers[0]
    return None


def window(config: LiteratureConfig, bound: int | None = None) -> Window:
    """The date of `before`: `bound`, `any`, a year (its 1 January) or a date; raises `ConfigError` for anything else."""
    before = config.before.strip()
    if before == "bound":
        return Window(before=None if bound is None else dt.date(bound, 1, 1))
    if before == "any":
        return Window()
    try:
        day = dt.date(int(before), 1, 1) if len(before) == 4 else dt.date.fromisoformat(before)
        return Window(before=day)
    except ValueError as error:
        raise ConfigError(
            f"literature.before: {config.before!r} is not a date",
            tried="bound, any, a year, a date",
            hint="write it as 2015 or 2015-06-30",
        ) from error
