"""AMiner's network: who cites, who wrote what, and who has written with whom, in a few bytes each."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from manyheads.bank.corpus import Rejects
from manyheads.bank.files import lines

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DENSE = 2**26
"""Below this, an index has a place of its own in one array of counts; the dataset's are below 2.1 million."""
MOST_DIGITS = 18
LAST_PLACE = 2**31 - 1


class Cited:
    """How often each paper is cited: the papers that name it among their references, each counted once."""

    def __init__(self, papers: Path) -> None:
        self._dense, self._sparse = array("I"), Counter[str]()
        seen = set[bytes]()
        with closing(lines(papers)) as found:
            for _, line in found:
                if line.startswith(b"#index"):
                    seen.clear()
                elif line.startswith(b"#%") and (cited := line[2:].strip()) not in seen:
                    seen.add(cited)
                    self._count(cited.decode("utf-8", errors="replace"))

    def times(self, index: str) -> int:
        if (place := _place(index)) is None:
            return self._sparse[index]
        return self._dense[place] if place < len(self._dense) else 0

    def _count(self, index: str) -> None:
        if (place := _place(index)) is None:
            self._sparse[index] += 1
            return
        if place >= len(self._dense):
            self._dense.extend(
                array("I", bytes(self._dense.itemsize * (place + 1 + place // 8 - len(self._dense))))
            )
        self._dense[place] += 1


def _place(index: str) -> int | None:
    """The index as a number; None where it is none, or written in another way than numbers are, or too large."""
    known = int(index) if index.isdecimal() and len(index) <= MOST_DIGITS else DENSE
    return known if known < DENSE and str(known) == index else None


@dataclass(frozen=True)
class Authorships:
    """Which authors wrote a paper: parallel arrays, sorted by paper and, within one, by place in the byline."""

    papers: "NDArray[np.int64]"
    authors: "NDArray[np.int64]"
    places: "NDArray[np.int32]"

    @classmethod
    def read(cls, file: Path, rejects: Rejects) -> "Authorships":
        """From lines of four numbers: the line's, the author's index, the paper's, the place in the byline from 1.

        Lines that are anything else go to `rejects`.
        """
        import numpy as np

        rejects.file, rejects.unit = file.name, "line"
        authors, papers, places = array("q"), array("q"), array("i")
        for number, row in numbers(file, 4):
            if row is None:
                rejects.note(number, "authorship", "not four numbers")
                continue
            _, author, paper, place = row
            authors.append(author)
            papers.append(paper)
            places.append(min(place, LAST_PLACE))
        columns = [np.asarray(column) for column in (papers, authors, places)]  # views, no copies
        order = np.lexsort((columns[2], columns[0]))
        return cls(*(column[order] for column in columns))

    def of(self, paper: str, count: int) -> list[str]:
        """The index of each of a paper's `count` authors, in the order of its byline; "" where not known."""
        if not paper.isdecimal() or len(paper) > MOST_DIGITS:
            return [""] * count
        start, end = self.papers.searchsorted(int(paper)), self.papers.searchsorted(int(paper), "right")
        known: list[str] = [*map(str, self.authors[start:end].tolist())]
        if len(known) == count:
            return known
        by_place: dict[int, str] = dict(zip(self.places[start:end].tolist(), known, strict=True))
        return [by_place.get(place, "") for place in range(1, count + 1)]


def read_coauthors(file: Path, keys: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Of each author in `keys` (index to key), by index: the co-authors, and how many papers they wrote together.

    A co-author is named by key where `keys` has one, else by index. Lines that are no three numbers say nothing.
    """
    met: dict[str, dict[str, int]] = defaultdict(dict)
    for _, row in numbers(file, 3):
        one, other, together = map(str, row or (0, 0, 0))
        for own, theirs in ((one, other), (other, one)):
            if own in keys:
                met[own][keys.get(theirs, theirs)] = int(together)
    return met


def numbers(file: Path, count: int) -> Iterator[tuple[int, tuple[int, ...] | None]]:
    """Each line's numbers, `count` of them, a `#` before the first left out; None for a line of anything else."""
    with closing(lines(file)) as found:
        for number, line in found:
            parts = line.removeprefix(b"#").split()
            fit = len(parts) == count and all(part.isdigit() and len(part) <= MOST_DIGITS for part in parts)
            yield number, tuple(map(int, parts)) if fit else None
