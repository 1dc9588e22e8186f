"""The library: the sources of a config asked one after the other, every look-up noted in a ledger."""

from collections.abc import Callable, Collection, Coroutine, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter

from manyheads.config import SourceName
from manyheads.core.events import Searched
from manyheads.errors import LiteratureError
from manyheads.literature.cache import Flights, Listing, Operation, Shelf
from manyheads.literature.names import Named, named, names_of
from manyheads.literature.queries import widen, words_of
from manyheads.literature.source import ALL, Part
from manyheads.literature.watch import LACKING, Look, Outcome, Watched
from manyheads.papers import ANY_TIME, Author, Publication, Window, fold


@dataclass(frozen=True)
class Findings:
    """What a look-up brought: papers, best first and each once; how they were looked for; who could not be asked."""

    papers: tuple[Publication, ...]
    searches: tuple[Searched, ...]
    degraded: tuple[SourceName, ...]
    """Sources of the cascade that failed or were skipped, so that "nothing found" may be their silence."""


class Library(Protocol):
    """What tools and systems see of the literature. Date bounds and patience come from the config.

    Raises `LiteratureError` when no source at all could be asked: nothing found is never said of a failure.
    """

    async def search(self, query: str, limit: int = 10, *, parts: Collection[Part] = ALL) -> Findings:
        """Papers that match words; a query that finds too little is asked again in wider forms."""
        ...

    async def paper(self, paper_id: str) -> Publication | None:
        """One paper by its `Publication.id`, or by a DOI, an arXiv number or its exact title; None for one out of bounds.

        Raises `LiteratureError` too where nobody knows it and a source was silent: None carries no mark of that.
        """
        ...

    async def references(self, paper_id: str, limit: int = 100) -> Findings:
        """What a paper cites."""
        ...

    async def citations(self, paper_id: str, limit: int = 100) -> Findings:
        """What cites a paper."""
        ...

    async def recommendations(self, paper_id: str, limit: int = 10) -> Findings:
        """Papers like one paper."""
        ...

    async def authors(self, query: str, limit: int = 10) -> list[Author]:
        """People by name. Raises as `paper` does."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


# What the sources of a cascade brought for one look-up: papers merged, answers counted, silence remembered.


T = TypeVar("T")
Note = Callable[[Searched], None]

_FILLED = ("abstract", "venue", "citations", "doi", "url")
"""What a paper takes over from another source where its own does not know it."""

_DOI = "doi:"
_TELLING = 20
"""So many letters and digits make a title that only one paper bears."""
_NOBODY = "none of them takes such a name"


class Answered(BaseModel):
    """A look-up's whole result, as a run keeps it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    papers: tuple[Publication, ...] = ()
    people: tuple[Author, ...] = ()
    searches: tuple[Searched, ...] = ()
    degraded: tuple[SourceName, ...] = ()


class Trail(Generic[T]):
    """How a look-up went through the sources. Each entry is told to `note` at once."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self.searches: list[Searched] = []
        self._silent: dict[SourceName, LiteratureError] = {}
        self._answers = 0

    def take(self, outcome: Outcome[list[T]], *, counts: bool = True) -> list[T] | None:
        """Remember what came of asking a source; its answer, None for none.

        Args:
            counts: whether an answer answers what the caller wants to know.
        """
        self.searches.append(outcome.entry)
        self._note(outcome.entry)
        if outcome.silent and outcome.error:
            self._silent.setdefault(outcome.source, outcome.error)
        self._answers += counts and outcome.value is not None
        return outcome.value

    @property
    def degraded(self) -> tuple[SourceName, ...]:
        """Sources that may have known more."""
        return tuple(self._silent)

    def need_answer(self, *, of_all: bool = False) -> None:
        """Raises `LiteratureError` when nobody answered, or with `of_all` when anybody did not."""
        if self._answers and not (of_all and self._silent):
            return
        failures = "; ".join(error.message for error in self._silent.values())
        lacking = "; ".join(f"{entry.source}: {entry.reason}" for entry in self.searches)
        hints = dict.fromkeys(error.hint for error in self._silent.values() if error.hint)
        raise LiteratureError(
            f"{'not every' if self._answers else 'no'} literature source could be asked: {failures or lacking or _NOBODY}",
            source=", ".join(self._silent) or "literature",
            hint="; ".join(hints) or "add a source that can to literature.cascade",
        )


class Merged:
    """Papers of several sources, each once: those with one DOI, or with one title but for signs and case.

    A short title, such as "Editorial", is borne by many: year and authors must agree too.
    """

    def __init__(self) -> None:
        self._papers: list[tuple[int, Publication]] = []
        self._places: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self._papers)

    def add(self, papers: list[Publication], step: int = 0) -> None:
        """Take papers in; `step` is how far the query had been widened for them."""
        for paper in papers:
            place = self._place(paper)
            if place is None:
                place = len(self._papers)
                self._papers.append((step, paper))
            else:
                first, known = self._papers[place]
                self._papers[place] = (min(first, step), _filled(known, paper))
            for key in _keys(paper):
                self._places.setdefault(key, []).append(place)

    def _place(self, paper: Publication) -> int | None:
        """Where the same paper stands already."""
        for key in _keys(paper):
            for place in self._places.get(key, ()):
                if key.startswith(_DOI) or _is_one(self._papers[place][1], paper):
                    return place
        return None

    def best(self, limit: int) -> tuple[Publication, ...]:
        """Those found by narrower queries first, then in the order in which they came."""
        return tuple(paper for _, paper in sorted(self._papers, key=lambda one: one[0]))[:limit]


def _keys(paper: Publication) -> Iterator[str]:
    if paper.doi:
        yield f"{_DOI}{paper.doi.casefold()}"
    yield f"title:{paper.key or paper.id}"


def _is_one(known: Publication, other: Publication) -> bool:
    """Whether two papers of one title, without a DOI that both have, are the same."""
    if len(known.key) >= _TELLING:
        return True
    if known.source == other.source:
        return known.id == other.id
    years = abs(known.year - other.year) if known.year and other.year else None
    people, others = _surnames(known), _surnames(other)
    if people and others:
        return bool(people & others) and (years or 0) <= 1
    return years == 0 and not (known.doi and other.doi)


def _surnames(paper: Publication) -> set[str]:
    """Of those authors who stand under their names: those of a corpus are masked."""
    if paper.source == "local":
        return set()
    return {
        fold(name.partition(",")[0].split()[-1]) for name in paper.authors if name.partition(",")[0].strip()
    }


def _filled(known: Publication, other: Publication) -> Publication:
    gaps = {name: getattr(other, name) for name in _FILLED if getattr(known, name) in (None, "")}
    return known.model_copy(update=gaps)


# The library over several sources: asked in their order, the next one where the ones before found too little.

ENOUGH = 3
"""With so many papers a source's query is wide enough; to fill up the rest, the next source is asked."""
_SAME_TITLE = 10
"""How many papers are looked at for one that bears a title."""
_FOR_MERGING: frozenset[Part] = frozenset(("doi",))
_ANSWERED = TypeAdapter(Answered)


def ignore(entry: Searched) -> None:
    """Tell nobody."""


class Cascade:
    """A `Library` over sources.

    Args:
        sources: in the order in which they are asked.
        window: dates between which everything found lies, papers looked up by name too.
        note: told of every look-up in every source as it ends, and again of those that `kept` repeats.
        kept: a run's own record: what it holds is given again as it was, whatever the sources would say today.
        closing: what else to close.
    """

    def __init__(
        self,
        sources: Sequence[Watched],
        window: Window = ANY_TIME,
        *,
        note: Note = ignore,
        kept: Shelf | None = None,
        closing: Sequence[Shelf] = (),
    ) -> None:
        self._sources, self._window = tuple(sources), window
        self._note, self._kept = note, kept
        self._shelves = (*closing, *([kept] if kept else []))
        self._flights = Flights()

    async def search(self, query: str, limit: int = 10, *, parts: Collection[Part] = ALL) -> Findings:
        """Papers that match words; a query that finds too little is asked again in wider forms, whose finds come last.

        Raises:
            LiteratureError: no source could be asked, or the query says nothing.
        """
        if not words_of(query):
            raise LiteratureError("the query has no words", source="literature", hint="name a few keywords")
        look = self._look("search", query, limit, parts)
        return _findings(await self._answered(look, self._search))

    async def paper(self, paper_id: str) -> Publication | None:
        """One paper by its id, DOI, arXiv number or exact title; None for one that lies outside the window.

        Raises:
            LiteratureError: nobody knows it, and not every source could be asked.
        """
        answered = await self._answered(self._look("paper", paper_id, 1, ALL), self._paper)
        return answered.papers[0] if answered.papers else None

    async def references(self, paper_id: str, limit: int = 100) -> Findings:
        """What a paper cites. Raises `LiteratureError` when no source could be asked."""
        return await self._of_paper("references", paper_id, limit)

    async def citations(self, paper_id: str, limit: int = 100) -> Findings:
        """What cites a paper. Raises `LiteratureError` when no source could be asked."""
        return await self._of_paper("citations", paper_id, limit)

    async def recommendations(self, paper_id: str, limit: int = 10) -> Findings:
        """Papers like one paper. Raises `LiteratureError` when no source could be asked."""
        return await self._of_paper("recommendations", paper_id, limit)

    async def authors(self, query: str, limit: int = 10) -> list[Author]:
        """People by name, of the first source that knows any.

        Raises:
            LiteratureError: nobody knows any, and not every source could be asked.
        """
        answered = await self._answered(self._look("authors", query, limit, ALL), self._authors)
        return list(answered.people)

    async def close(self) -> None:
        """Release connections and files."""
        for watched in self._sources:
            await watched.source.source.close()
        for shelf in self._shelves:
            shelf.close()

    async def _answered(self, look: Look, work: Callable[[Look], Coroutine[Any, Any, Answered]]) -> Answered:
        """The run's record of the same look-up, or the sources' answer, which is recorded then."""
        request: dict[str, JsonValue] = {
            "query": look.query,
            "limit": look.limit,
            "window": str(look.window),
            "parts": " ".join(sorted(look.parts)),
            "sources": " ".join(source.name for source in self._sources),
        }

        async def once() -> Answered:
            if self._kept is None:
                return await work(look)
            if before := await self._kept.get("library", look.operation, request, _ANSWERED):
                for entry in before.value.searches:
                    self._note(entry)
                return before.value
            answered = await work(look)
            await self._kept.put("library", look.operation, request, _ANSWERED, answered)
            return answered

        return await self._flights.join(look, once)

    def _look(self, operation: Operation, query: str, limit: int, parts: Collection[Part]) -> Look:
        words = query.encode(errors="replace").decode()  # halves of letters can be neither sent nor kept
        return Look(operation, words.strip(), limit, self._window, frozenset(parts) | _FOR_MERGING)

    async def _search(self, look: Look) -> Answered:
        trail, merged = Trail[Publication](self._note), Merged()
        for source in self._sources:
            await _widening(source, look, trail, merged)
            if len(merged) >= look.limit:
                break
        trail.need_answer()
        return _closed(trail, merged.best(look.limit))

    async def _paper(self, look: Look) -> Answered:
        trail, wanted = Trail[Publication](self._note), named(look.query)
        for source in self._able(wanted):
            if found := await _by_name(source, look, wanted, trail, source.deadline()):
                return _closed(trail, (found,))
        trail.need_answer(of_all=True)
        return _closed(trail, ())

    async def _authors(self, look: Look) -> Answered:
        trail = Trail[Author](self._note)
        for source in self._sources:
            if people := trail.take(await source.authors(look, source.deadline())):
                return Answered(people=tuple(people), searches=tuple(trail.searches), degraded=trail.degraded)
        trail.need_answer(of_all=True)
        return Answered(searches=tuple(trail.searches))

    async def _of_paper(self, operation: Listing, paper_id: str, limit: int) -> Findings:
        look = self._look(operation, paper_id, limit, ALL)
        return _findings(await self._answered(look, partial(self._follow, operation)))

    async def _follow(self, operation: Listing, look: Look) -> Answered:
        """Papers that belong to one: asked of the source of its id first, of others once they have found it too."""
        trail, wanted = Trail[Publication](self._note), named(look.query)
        names: tuple[Named, ...] = (wanted,)
        for source in self._able(wanted, alone=False):
            until, own = source.deadline(), wanted.at(source.name) if wanted.kind == "own" else None
            lacking = (source.name, operation) in LACKING
            there = own or (look.query if lacking else None)
            if there is None and (found := await _by_names(source, look, names, trail, until)):
                there, names = found.id.partition(":")[2], (*names, *names_of(found))
            if there is None:
                continue
            if papers := trail.take(await source.papers(look, operation, there, until)):
                return _closed(trail, tuple(papers))
            if own and (found := await _by_name(source, look, wanted, trail, until, counts=not lacking)):
                names = names_of(found)
        trail.need_answer()
        return _closed(trail, ())

    def _able(self, wanted: Named, *, alone: bool = True) -> tuple[Watched, ...]:
        """The sources that may know a paper by this name, that of an id of ours first and, if `alone`, only."""
        if wanted.source is None:
            return self._sources
        own = tuple(one for one in self._sources if one.name == wanted.source)
        if not own:
            raise LiteratureError(
                f"{wanted.source}:{wanted.value}: {wanted.source} is not among the sources",
                source=wanted.source,
                hint=f"add {wanted.source} to literature.cascade",
            )
        return own if alone else (*own, *(one for one in self._sources if one not in own))


async def _widening(source: Watched, look: Look, trail: Trail[Publication], merged: Merged) -> None:
    """Ask one source, in wider and wider words as long as it finds too little."""
    until, own = source.deadline(), Merged()
    for step, asked in enumerate(widen(look.query)):
        papers = trail.take(await source.papers(look, "search", asked, until))
        if papers is None:
            return
        merged.add(papers, step)
        own.add(papers)
        if len(own) >= min(ENOUGH, look.limit) or len(merged) >= look.limit:
            return


async def _by_names(
    source: Watched, look: Look, names: Sequence[Named], trail: Trail[Publication], until: float
) -> Publication | None:
    """A paper as one source knows it, by the first of its names that it knows."""
    for name in names:
        if found := await _by_name(source, look, name, trail, until):
            return found
    return None


async def _by_name(
    source: Watched,
    look: Look,
    name: Named,
    trail: Trail[Publication],
    until: float,
    *,
    counts: bool = True,
) -> Publication | None:
    if name.kind == "title":
        one = replace(look, limit=_SAME_TITLE)
        words = " ".join(words_of(name.value)) or name.value
        papers = trail.take(await source.papers(one, "search", words, until), counts=counts)
        return next(filter(name.means, papers or ()), None)
    if (there := name.at(source.name)) is None:
        return None
    papers = trail.take(await source.paper(look, there, until), counts=counts)
    return papers[0] if papers else None


def _closed(trail: Trail[Any], papers: tuple[Publication, ...]) -> Answered:
    return Answered(papers=papers, searches=tuple(trail.searches), degraded=trail.degraded)


def _findings(answered: Answered) -> Findings:
    return Findings(answered.papers, answered.searches, answered.degraded)
