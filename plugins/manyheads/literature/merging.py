"""Papers of several sources, merged by the names that they are known by: a DOI, a title."""

from collections.abc import Sequence

from manyheads.papers import Paper, fold

_FILLED = ("abstract", "venue", "citations", "doi", "url")
"""What a paper takes over from another source where its own does not know it."""
TELLING = 20
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
        """Those found by narrower queries first, then in the order in which they came."""
        return tuple(paper for _, paper in sorted(self._papers, key=lambda one: one[0]))[:limit]


def _is_one(one: Paper, other: Paper) -> bool:
    """Whether two papers of one title, without a DOI that both have, are the same."""
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
    """Of those authors who stand under their names: those of a corpus are masked."""
    if paper.source == "local":
        return set()
    return {
        fold(name.partition(",")[0].split()[-1]) for name in paper.authors if name.partition(",")[0].strip()
    }
