"""A paper as any source gives it, and the dates between which one is looked for."""

import datetime as dt
import re
import unicodedata
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from manyheads.config import SourceName


class Publication(BaseModel):
    """A paper found. What its source does not know is None or empty, never made up."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """`source:identifier`, such as `semantic_scholar:649def34f8be…`; what look-ups by id take."""
    source: SourceName
    title: str
    abstract: str = ""
    year: int | None = None
    date: dt.date | None = None
    """Day of publication."""
    citations: int | None = None
    authors: tuple[str, ...] = ()
    author_ids: tuple[str, ...] = ()
    """Beside the authors, as `Author.id`; empty for one whom the source does not tell from namesakes."""
    venue: str | None = None
    doi: str | None = None
    url: str | None = None

    @property
    def key(self) -> str:
        """The same for a paper found in two sources: its title's letters and digits."""
        return fold(self.title)


class Author(BaseModel):
    """A person found by name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    source: SourceName
    name: str
    affiliations: tuple[str, ...] = ()
    papers: int | None = None
    citations: int | None = None


def year_of(year: int | None, date: dt.date | None) -> int | None:
    """The year that a source tells, else that of the date; None for what is no year of our calendar."""
    if year is not None and dt.MINYEAR <= year <= dt.MAXYEAR:
        return year
    return date.year if date else None


def fold(text: str) -> str:
    """Letters and digits alone, in lower case, accents dropped."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return re.sub(r"[^\w]|_", "", "".join(c for c in plain if not unicodedata.combining(c)))


@dataclass(frozen=True)
class Window:
    """Dates of publication, half open: `after` ≤ date < `before`; None leaves an end open."""

    after: dt.date | None = None
    before: dt.date | None = None

    def holds(self, paper: Publication) -> bool:
        """Whether a paper surely lies inside: of one with a year alone, the whole year must; undated ones do not."""
        if self.after is None and self.before is None:
            return True
        if paper.date is None and paper.year is None:
            return False
        year = paper.year or 1
        first, last = (paper.date, paper.date) if paper.date else (dt.date(year, 1, 1), dt.date(year, 12, 31))
        return (self.after is None or first >= self.after) and (self.before is None or last < self.before)

    def __str__(self) -> str:
        parts = [f"from {self.after}" if self.after else "", f"before {self.before}" if self.before else ""]
        return ", ".join(filter(None, parts))


ANY_TIME = Window()
