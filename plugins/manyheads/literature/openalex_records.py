"""OpenAlex' records as they come, and as publications and authors. What is null there is unknown here."""

import datetime as dt
import html
import re
from collections.abc import Collection, Iterable
from typing import Any, TypeVar

from pydantic import BaseModel

from manyheads.literature.publication import Author, Publication, year_of
from manyheads.literature.source import Part

T = TypeVar("T")

ALWAYS = ("id", "title", "publication_year", "publication_date")
"""The date is needed to hold the bound, whether it is asked for or not."""
FIELDS: dict[Part, str] = {
    "abstract": "abstract_inverted_index",
    "authors": "authorships",
    "venue": "primary_location",
    "citations": "cited_by_count",
    "doi": "doi",
}

_MARKUP = re.compile(
    r"</?(?:i|b|u|em|strong|italic|bold|sub|sup|sc|scp|tt|(?:jats|mml):[a-z]+)(?:\s[^<>]*)?>", re.IGNORECASE
)
"""Publishers hand it in with their titles; it would make another title of each."""


class Named(BaseModel):
    display_name: str | None = None


class Authorship(BaseModel):
    author: Named | None = None
    raw_author_name: str | None = None


class Location(BaseModel):
    source: Named | None = None


class Work(BaseModel):
    """A work with the fields that were selected."""

    id: str
    title: str | None = None
    publication_year: int | None = None
    publication_date: dt.date | None = None
    abstract_inverted_index: dict[str, list[int]] | None = None
    authorships: list[Authorship] | None = None
    primary_location: Location | None = None
    cited_by_count: int | None = None
    doi: str | None = None
    referenced_works: list[str] | None = None
    related_works: list[str] | None = None


class Person(BaseModel):
    id: str
    display_name: str | None = None
    works_count: int | None = None
    cited_by_count: int | None = None
    last_known_institutions: list[Named] | None = None


class Meta(BaseModel):
    next_cursor: str | None = None


class WorksPage(BaseModel):
    meta: Meta
    results: list[Work]


class PeoplePage(BaseModel):
    meta: Meta
    results: list[Person]


def selected(parts: Collection[Part]) -> list[str]:
    """The fields to ask for."""
    return [*ALWAYS, *(field for part, field in FIELDS.items() if part in parts)]


def publication(work: Work) -> Publication | None:
    """A work as a publication; None for one without a title, which no reader could use."""
    title = " ".join(_MARKUP.sub("", html.unescape(work.title or "")).split())
    if not title:
        return None
    names = [one.author.display_name if one.author else None for one in work.authorships or ()]
    raw = [one.raw_author_name for one in work.authorships or ()]
    place = work.primary_location.source if work.primary_location else None
    return Publication(
        id=f"openalex:{tail(work.id)}",
        source="openalex",
        title=title,
        abstract=_abstract(work.abstract_inverted_index),
        year=year_of(work.publication_year, work.publication_date),
        date=work.publication_date,
        citations=work.cited_by_count,
        authors=tuple(name or other or "" for name, other in zip(names, raw, strict=True) if name or other),
        venue=place.display_name if place else None,
        doi=work.doi.removeprefix("https://doi.org/") if work.doi else None,
        url=work.id,
    )


def author(person: Person) -> Author | None:
    """A person as an author; None for one without a name."""
    if not person.display_name:
        return None
    return Author(
        id=f"openalex:{tail(person.id)}",
        source="openalex",
        name=person.display_name,
        affiliations=known(one.display_name for one in person.last_known_institutions or ()),
        papers=person.works_count,
        citations=person.cited_by_count,
    )


def known(values: Iterable[T | None]) -> tuple[T, ...]:
    """Those that are not None."""
    return tuple(value for value in values if value is not None)


def tail(url: str) -> str:
    """`W2741809807` of `https://openalex.org/W2741809807`."""
    return url.rpartition("/")[2]


def _abstract(index: dict[str, list[int]] | None) -> str:
    """An abstract from the places of its words."""
    from pyalex import invert_abstract

    text: Any = invert_abstract(index) if index else None
    return text or ""
