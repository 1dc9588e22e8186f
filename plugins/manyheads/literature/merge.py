"""Papers of several sources put together: one that several know is listed once, with what each knows of it."""

from collections.abc import Iterator, Sequence

from manyheads.papers import Paper, fold

_FILLED = ("abstract", "venue", "citations", "doi", "url")
"""What a paper takes over from another source where its own does not know it."""
_DOI = "doi:"
_TELLING = 20
"""So many letters and digits make a title that only one paper bears."""


class Merged:
    """Papers of several sources, each once: those with one DOI, or with one title but for signs and case.

    A short title, such as "Editorial", is borne by many: year and authors must agree too.
    """

    def __init__(self) -> None:
        self._papers: list[tuple[int, Paper]] = []
        self._places: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self._papers)

    def add(self, papers: Sequence[Paper], step: int = 0) -> None:
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

    def _place(self, paper: Paper) -> int | None:
        """Where the same paper stands already."""
        for key in _keys(paper):
            for place in self._places.get(key, ()):
                if key.startswith(_DOI) or _is_one(self._papers[place][1], paper):
                    return place
        return None

    def best(self, limit: int) -> tuple[Paper, ...]:
        """Those found by narrower queries first, then in the order in which they came."""
        return tuple(paper for _, paper in sorted(self._papers, key=lambda one: one[0]))[:limit]


def _keys(paper: Paper) -> Iterator[str]:
    if paper.doi:
        yield f"{_DOI}{paper.doi.casefold()}"
    yield f"title:{paper.key or paper.id}"


def _is_one(known: Paper, other: Paper) -> bool:
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


def _surnames(paper: Paper) -> set[str]:
    """Of those authors who stand under their names: those of a corpus are masked."""
    if paper.source == "local":
        return set()
    return {
        fold(name.partition(",")[0].split()[-1]) for name in paper.authors if name.partition(",")[0].strip()
    }


def _filled(known: Paper, other: Paper) -> Paper:
    gaps = {name: getattr(other, name) for name in _FILLED if getattr(known, name) in (None, "")}
    return known.model_copy(update=gaps)
