"""A case of a suite: a paper as the target, and the abstracts from which ideas beside it begin."""

import hashlib
import heapq
import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from manyheads.errors import CorpusError
from manyheads.literature.targets.before import Written

_T = TypeVar("_T")
SPARE = 10
"""Drawn beyond what is wanted, for those whose texts turn out not to be enough."""


@dataclass(frozen=True)
class Wish:
    """Which papers may be targets, how many are drawn, and what is told beside them.

    Attributes:
        count: targets, at most.
        least, most: texts of a background; with more, some are drawn.
        after: a year; targets are of later ones.
        citations: of a target, at least.
        seed: of both draws.
    """

    count: int = 10
    least: int = 5
    most: int = 20
    after: int | None = None
    citations: int | None = None
    seed: int = 0

    def unfit(self, abstract: str, year: int | None, citations: int | None) -> str | None:
        """Why a paper is no target, whatever it cites."""
        if not abstract.strip():
            return "without an abstract"
        if self.after is not None and (year is None or year <= self.after):
            return f"not known to be later than {self.after}"
        if self.citations is not None and citations is None:
            return "with nobody telling how often they are cited"
        if self.citations is not None and (citations or 0) < self.citations:
            return f"cited less than {self.citations} times"
        return None

    @property
    def too_few(self) -> str:
        """Why a paper is no target for its references."""
        if self.least == 1:
            return "with no reference that is to be had with an abstract"
        return f"with fewer than {self.least} references that are to be had with an abstract"

    def draw(self, *about: str) -> int:
        """A paper's place in the draw, the same whatever else is read; the smallest are drawn."""
        told = "\0".join((str(self.seed), *about))
        return int.from_bytes(hashlib.sha256(told.encode()).digest()[:8])

    def some(self, of: str, told: Sequence[_T]) -> tuple[_T, ...]:
        """At most `most` of what a paper's background could be, in the order given."""
        if len(told) <= self.most:
            return tuple(told)
        places = sorted(random.Random(f"{self.seed} {of}").sample(range(len(told)), self.most))
        return tuple(told[place] for place in places)


class Draw(Generic[_T]):
    """What comes first of all that is offered; no more than that is kept.

    Args:
        count: how many are wanted; `SPARE` more are drawn.
    """

    def __init__(self, count: int) -> None:
        self.offered, self._count, self._kept = 0, count + SPARE, list[tuple[int, int, _T]]()

    def offer(self, place: int, one: _T) -> None:
        """Something with its place in the draw, see `Wish.draw`."""
        self.offered += 1
        heapq.heappush(self._kept, (-place, self.offered, one))
        if len(self._kept) > self._count:
            heapq.heappop(self._kept)

    @property
    def drawn(self) -> list[_T]:
        """In the order of their places: with a larger count, the same come first."""
        return [one for *_, one in sorted(self._kept, reverse=True)]


@dataclass(frozen=True)
class Case:
    """A target with its background.

    Attributes:
        id: of the paper, where it comes from.
        about: for readers alone: nothing of it is shown to an agent.
        background, target: titles and abstracts.
    """

    id: str
    about: str
    background: tuple[str, ...]
    target: str

    def line(self, again: int = 1) -> str:
        """As it stands in the cases of a suite; a number tells it from others of the same id."""
        told = self.id if again == 1 else f"{self.id} ({again})"
        keys = {"id": told, "about": self.about, "background": self.background}
        return json.dumps({**keys, "ranking.target": self.target}, ensure_ascii=False)


@dataclass(frozen=True)
class Targets:
    """What was drawn.

    Attributes:
        fit: papers that could have been drawn.
        passed: papers that could not, by reason.
        silent: services that could not be asked, so that a background may lack something.
    """

    cases: tuple[Case, ...]
    fit: int
    passed: Counter[str]
    silent: tuple[str, ...] = ()

    def told(self) -> str:
        """The papers passed over, in words; empty where there were none."""
        return reasons(self.passed)


def reasons(passed: Counter[str]) -> str:
    """Why papers were passed over and how many, the most frequent first; empty where there were none."""
    return "; ".join(f"{count:,} {why}" for why, count in passed.most_common() if count)


def case_of(paper: Written, background: Sequence[Written], of: str) -> Case:
    """A paper as a target.

    Args:
        background: what is told beside it.
        of: in words, of what these are some.
    """
    year = f" ({paper.year})" if paper.year else ""
    about = f"{paper.title}{year}: {len(background)} of {of}"
    return Case(paper.id, about, tuple(map(_text, background)), _text(paper))


def need_new(path: Path) -> None:
    """Raises `CorpusError` where no file can be made, or there is one: what was paid for or edited is not written over."""
    if path.exists():
        raise CorpusError(f"{path}: is there already", hint="choose another --out, or remove it")
    if not path.parent.is_dir():
        raise CorpusError(
            f"{path}: {path.parent} is no folder", hint="choose another --out, or make the folder"
        )


def write_cases(path: Path, cases: Sequence[Case]) -> None:
    """Write a file of cases, a line each.

    Raises:
        CorpusError: it cannot be written.
    """
    seen, lines = Counter[str](), list[str]()
    for case in cases:
        seen[case.id] += 1
        lines.append(f"{case.line(seen[case.id])}\n")
    try:
        path.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise CorpusError(
            f"{path}: cannot be written: {error.strerror}", hint="choose another --out"
        ) from error


def _text(paper: Written) -> str:
    """A paper as prompts show it: title and abstract, each without the breaks of its lines."""
    return f"{' '.join(paper.title.split())}\n\n{' '.join(paper.abstract.split())}"
