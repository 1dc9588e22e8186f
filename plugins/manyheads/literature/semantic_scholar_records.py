"""Semantic Scholar's answers: their shapes, checked, and what we take of them (api.semanticscholar.org/api-docs)."""

import datetime as dt
from collections.abc import Collection
from typing import Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel

from manyheads.literature.publication import Author, Publication, Window, year_of
from manyheads.literature.source import Part

T = TypeVar("T")

_FIELDS: dict[Part, str] = {
    "abstract": "abstract",
    "authors": "authors",
    "venue": "venue",
    "citations": "citationCount",
    "date": "publicationDate",
    "doi": "externalIds",
    "url": "url",
}
PERSON_FIELDS = ["name", "affiliations", "paperCount", "citationCount"]


class _Answer(BaseModel):
    """Fields are null or left out where Semantic Scholar does not know them, or may not tell."""

    model_config = ConfigDict(alias_generator=to_camel, extra="ignore")


class PersonRecord(_Answer):
    author_id: str | None
    name: str | None = None
    affiliations: list[str] | None = None
    paper_count: int | None = None
    citation_count: int | None = None


class NamedRecord(_Answer):
    name: str | None = None
    author_id: str | None = None


class PaperRecord(_Answer):
    paper_id: str | None
    """Null for works that are cited but not held."""
    title: str | None = None
    abstract: str | None = None
    year: int | None = None
    publication_date: dt.date | None = None
    citation_count: int | None = None
    venue: str | None = None
    authors: list[NamedRecord] | None = None
    external_ids: dict[str, str | int | None] | None = None
    url: str | None = None


class CitedRecord(_Answer):
    cited_paper: PaperRecord


class CitingRecord(_Answer):
    citing_paper: PaperRecord


class Page(_Answer, Generic[T]):
    """One page of a list. Its data is left out when nothing matches, and null when publishers withhold it."""

    total: int | None = None
    offset: int = 0
    next: int | None = None
    data: list[T] | None = None

    @model_validator(mode="after")
    def _explained(self) -> Self:
        if self.data is None and self.total == 0:
            self.data = []
        if "data" not in self.model_fields_set:
            raise ValueError("neither data nor a total of 0")
        return self


class Recommended(_Answer):
    recommended_papers: list[PaperRecord]


def fields(parts: Collection[Part], window: Window) -> list[str]:
    """What to ask for, in a fixed order; the date too where a window has to be checked."""
    wanted = {*parts, "date"} if window.after or window.before else {*parts}
    return ["paperId", "title", "year", *(field for part, field in _FIELDS.items() if part in wanted)]


def publication(record: PaperRecord) -> Publication | None:
    """None for a record without id or title, which could neither be looked up nor shown."""
    title = " ".join((record.title or "").split())
    if not (record.paper_id and title):
        return None
    doi = (record.external_ids or {}).get("DOI")
    people = [person for person in record.authors or () if person.name]
    return Publication(
        id=_own(record.paper_id),
        source="semantic_scholar",
        title=title,
        abstract=(record.abstract or "").strip(),
        year=year_of(record.year, record.publication_date),
        date=record.publication_date,
        citations=record.citation_count,
        authors=tuple(person.name or "" for person in people),
        author_ids=tuple(_own(person.author_id) if person.author_id else "" for person in people),
        venue=record.venue or None,
        doi=str(doi) if doi else None,
        url=record.url or None,
    )


def author(record: PersonRecord) -> Author | None:
    """None for a record without id or name."""
    if not (record.author_id and record.name):
        return None
    return Author(
        id=_own(record.author_id),
        source="semantic_scholar",
        name=record.name,
        affiliations=tuple(filter(None, record.affiliations or ())),
        papers=record.paper_count,
        citations=record.citation_count,
    )


def _own(identifier: str) -> str:
    return f"semantic_scholar:{identifier}"
