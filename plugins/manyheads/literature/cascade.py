"""The library over several sources: asked in their order, the next one where the ones before found too little."""

from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic import JsonValue, TypeAdapter

from manyheads.errors import LiteratureError
from manyheads.events import Searched
from manyheads.literature.cached import Listing, Operation, Shelf
from manyheads.literature.flights import Flights
from manyheads.literature.gathered import Answered, Merged, Note, Trail
from manyheads.literature.lacking import LACKING
from manyheads.literature.library import Findings
from manyheads.literature.named import Named, named, names_of
from manyheads.literature.publication import ANY_TIME, Author, Publication, Window
from manyheads.literature.relax import widen, words_of
from manyheads.literature.source import ALL, Part
from manyheads.literature.watched import Look, Watched

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
