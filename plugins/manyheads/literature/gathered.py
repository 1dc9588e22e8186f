"""What the sources of a cascade brought for one look-up: papers merged, answers counted, silence remembered."""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from manyheads.config import SourceName
from manyheads.errors import LiteratureError
from manyheads.events import Searched
from manyheads.literature.publication import Author, Publication, fold
from manyheads.literature.watched import Outcome

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
