"""Papers of a literature service as a dataset: a query, asked year by year."""

import asyncio
import datetime as dt
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from manyheads.bank.corpus import RawAuthor, RawPaper, Rejects, sifted
from manyheads.errors import CorpusError, LiteratureError
from manyheads.literature.cache import LookupCache
from manyheads.literature.publication import Publication, Window
from manyheads.literature.readers.common import Record, paper
from manyheads.literature.source import Part, Source

KEPT = "corpus with ids"
"""As what years are kept; another name than before papers told of their authors' ids."""
MOST_A_YEAR = 1000
"""Semantic Scholar's search gives no more papers than this to one query."""
PARTS: tuple[Part, ...] = ("abstract", "authors", "venue", "citations", "date")
PUBLICATIONS = TypeAdapter(list[Publication])


class Searched:
    """A `Reader` of what a service finds for a query, each year's best matches.

    A year that was fetched is kept in the cache: a build that was interrupted goes on from there.

    Args:
        query: words to search for.
        years: the first and the last year, both asked.
        connect: opens the service; it is closed when the papers have been read.
        cache: opens where years are kept.
        limit: papers of one year, at most.
        address: of the service if it is not its own.

    Raises:
        CorpusError: no words, or no years.
    """

    def __init__(
        self,
        query: str,
        years: tuple[int | None, int | None],
        connect: Callable[[], Source],
        cache: Callable[[], LookupCache],
        limit: int = MOST_A_YEAR,
        address: str = "",
    ) -> None:
        self.name = f"search: {query}"
        first, last = years
        if not query.strip():
            raise CorpusError(
                "the query is empty", hint='such as: manyheads corpus build "s2:graph retrieval" …'
            )
        if first is None or last is None or last < first:
            raise CorpusError(
                f"{self.name}: the years to ask for are missing or not in order",
                hint="--start 2010 --bound 2015 --end 2018",
            )
        self._query, self._years, self._limit = query.strip(), range(first, last + 1), limit
        self._connect, self._open_cache, self._address = connect, cache, address

    def papers(self, rejects: Rejects) -> Iterator[tuple[int, RawPaper]]:
        """See `Reader.papers`; a record's number is its rank in its year.

        Raises:
            LiteratureError: the service cannot be reached or refuses; the years so far are kept.
            CorpusError: nothing was found at all.
        """
        example = "use other words, or other years"
        yield from sifted(self.name, self._records(rejects), rejects, example=example)

    def _records(self, rejects: Rejects) -> Iterator[Record]:
        rejects.unit = "paper"
        source = self._connect()
        with self._open_cache() as cache, asyncio.Runner() as runner:
            try:
                for year in self._years:
                    found = self._kept(cache, source, year)
                    if found is None:
                        found = runner.run(self._ask(source, year))
                        cache.put(
                            source.name,
                            KEPT,
                            self._request(year),
                            PUBLICATIONS.dump_python(found, mode="json"),
                        )
                    rejects.file = f"{source.name} {year}"
                    for rank, one in enumerate(found, 1):
                        yield rank, paper(_fields(one))
            finally:
                runner.run(source.close())

    def _request(self, year: int) -> dict[str, Any]:
        asked = {"query": self._query, "year": year, "limit": self._limit, "parts": list(PARTS)}
        return asked | ({"address": self._address} if self._address else {})

    def _kept(self, cache: LookupCache, source: Source, year: int) -> list[Publication] | None:
        """What was kept of a year; None too where an earlier version kept it otherwise."""
        kept = cache.get(source.name, KEPT, self._request(year))
        try:
            return None if kept is None else PUBLICATIONS.validate_python(kept.value)
        except ValidationError:
            return None

    async def _ask(self, source: Source, year: int) -> list[Publication]:
        window = Window(dt.date(year, 1, 1), dt.date(year + 1, 1, 1))
        try:
            return await source.search(self._query, self._limit, window=window, parts=PARTS)
        except LiteratureError as error:
            kept = f"{self._years.index(year)} of {len(self._years)} years are found, and kept"
            error.tried = f"{error.tried}; {kept}" if error.tried else kept
            raise

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        """Nothing but what the papers say."""
        return {}


def _fields(one: Publication) -> dict[str, Any]:
    return {
        "id": one.id,
        "title": one.title,
        "abstract": one.abstract,
        "authors": list(one.authors),
        "author_ids": [each.partition(":")[2] for each in one.author_ids],  # as in the service's own dumps
        "year": one.year if one.date is None else one.date.year,
        "citations": one.citations,
        "venue": one.venue,
    }
