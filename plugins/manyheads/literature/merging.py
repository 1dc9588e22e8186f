"""Merges papers of several sources by identifiers: a DOI, a title."""

from collections.abc import Sequence

from manyheads.base.papers import Paper, fold

_FILLED = ("abstract", "venue", "citations", "doi", "url", "open_text")
"""Fields that a paper takes from another source if its own has none."""
TELLING = 20
"""Minimum letters and digits for a title to be unique."""


class Merged:
    """Papers of several sources without duplicates: equal DOI, or equal title up to punctuation and case.

    Many papers share a short title, such as "Editorial": year and authors must agree too.
    """

    def __init__(self) -> None:
        self._papers: list[tuple[int, Paper]] = []
        self._places: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self._papers)

    def add(self, papers: Sequence[Paper], step: int = 0) -> None:
        """Add papers; `step` is the number of times the query was widened."""
        for paper in papers:
            keys = [f"doi:{paper.doi.casefold()}"] if paper.doi else []
            keys.append(f"title:{paper.key or paper.id}")
            same = (
                place
                for key in keys
                for place in self._places.get(key, ())
                if key.startswith("doi:") or _is_one(self._papers[place][1], paper)
            )
            place = next(same, None)
            if place is None:
                place = len(self._papers)
                self._papers.append((step, paper))
            else:
                first, paper_before = self._papers[place]
                gaps = {
                    name: getattr(paper, name)
                    for name in _FILLED
                    if getattr(paper_before, name) in (None, "")
                }
                self._papers[place] = (min(first, step), paper_before.model_copy(update=gaps))
            for key in keys:
                self._places.setdefault(key, []).append(place)

    def best(self, limit: int) -> tuple[Paper, ...]:
        """Results of narrower queries first, then in order."""
        return tuple(paper for _, paper in sorted(self._papers, key=lambda one: one[0]))[:limit]


def _is_one(one: Paper, other: Paper) -> bool:
    """Whether two papers with the same title, without a common DOI, are the same."""
    if len(one.key) >= TELLING:
        return True
    if one.source == other.source:
        return one.id == other.id
    years = abs(one.year - other.year) if one.year and other.year else None
    people, others = _surnames(one), _surnames(other)
    if people and others:
        return bool(people & others) and (years or 0) <= 1
    return years == 0 and not (one.doi and other.doi)


def _surnames(paper: Paper) -> set[str]:
    """Authors with real names: those of a corpus are masked."""
    if paper.source == "local":
        return set()
    return {
        fold(name.partition(",")[0].split()[-1]) for name in paper.authors if name.partition(",")[0].strip()
    }
