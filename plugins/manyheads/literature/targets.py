"""Real targets of the relative quality ranking (Review and Rebuttal, §4.1): a paper, and what was known before it."""

import hashlib
import heapq
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from manyheads.bank.ecosystem import Ecosystem
from manyheads.bank.knowledge import paper_text
from manyheads.errors import CorpusError, LiteratureError
from manyheads.literature.library import Library
from manyheads.literature.lookup import Findings
from manyheads.papers import Paper, fold

# What was known before a paper: nothing later than it, and nothing that tells the paper's own idea.


LATER = 1
"""Years by which a paper may be younger than one that cites it: cited before print, or counted by another date."""
RUN = 8
"""Words in a row that texts seldom have in common but where one is made of the other."""
RETOLD = 1 / 3
"""Of the runs of the shorter text: from there on both tell the same, a preprint, say, and its extended version."""


class Written(Protocol):
    """A paper, of whatever source."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def abstract(self) -> str: ...
    @property
    def year(self) -> int | None: ...


_W = TypeVar("_W", bound=Written)


def later(year: int | None, than: int | None) -> bool:
    """Whether a paper of a year is too young to be cited by one of another; of what is not known, nothing is."""
    return year is not None and than is not None and year > than + LATER


def retells(text: str, other: str) -> bool:
    """Whether two texts have so many words in a row in common that one tells what the other does."""
    ours, theirs = _runs(text), _runs(other)
    return len(ours & theirs) >= RETOLD * min(len(ours), len(theirs))


def before(paper: Written, others: Iterable[_W]) -> list[_W]:
    """Those of other papers that may stand in the paper's background."""
    return [
        one for one in others if not later(one.year, paper.year) and not retells(one.abstract, paper.abstract)
    ]


def _runs(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return {tuple(words[start : start + RUN]) for start in range(max(1, len(words) - RUN + 1))}


# A case of a suite: a paper as the target, and the abstracts from which ideas beside it begin.

_T = TypeVar("_T")
WITHOUT_ABSTRACT = "without an abstract"
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
            return WITHOUT_ABSTRACT
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


# Targets among the contemporary papers of a corpus, which knows no references: its past papers stand for them.

LOOKED_AT = 3
"""Times as many near papers are looked at as are told: some have no abstract, or are one paper under several ids."""


async def targets_in(ecosystem: Ecosystem, wish: Wish) -> Targets:
    """Draw contemporary papers, each with the past papers nearest to it that have an abstract.

    Raises:
        CorpusError: none can be a target.
    """
    passed, draw, cases = Counter[str](), Draw[Paper](wish.count), list[Case]()
    for paper in ecosystem.papers.papers(where={"period": "contemporary"}):
        if why := wish.unfit(paper.abstract, paper.year, paper.citations):
            passed[why] += 1
        else:
            draw.offer(wish.draw(paper.id), paper)
    for paper in draw.drawn:
        if len(cases) == wish.count:
            break
        near = await _near(ecosystem, paper, wish.most)
        if len(near) < wish.least:
            passed[f"with fewer than {wish.least} past papers that have an abstract"] += 1
        else:
            cases.append(
                case_of(paper, near, "the past papers nearest to it, as this corpus knows no references")
            )
    if not cases:
        raise CorpusError(
            f"corpus {ecosystem.meta.name}: no contemporary paper in it can be a target",
            tried=reasons(passed),
            hint="manyheads corpus info says what is in it",
        )
    return Targets(tuple(cases), draw.offered, passed)


async def _near(ecosystem: Ecosystem, paper: Paper, most: int) -> list[Paper]:
    """The nearest past papers, best first; never the paper itself, by whatever title."""
    [hits] = await ecosystem.past([paper_text(paper)], most * LOOKED_AT)
    found: dict[str, Paper] = {fold(paper.title): paper}
    for one in before(paper, (hit.paper for hit in hits if hit.paper.abstract.strip())):
        found.setdefault(fold(one.title), one)
    return [*found.values()][1 : most + 1]


# Targets that the user names, with their references as literature services tell them.

MOST_LISTED = 1000
"""References of a paper that are asked for, at most."""


async def targets_named(library: Library, names: Sequence[str], wish: Wish) -> Targets:
    """These papers, each with those of its references of which a service knows the abstract.

    Args:
        names: ids, DOIs, arXiv numbers or exact titles.

    Raises:
        LiteratureError: a paper is known to no service, a service that may know of more could not be asked, or none
            of the papers can be a target.
    """
    cases, passed, silent = dict[str, Case](), Counter[str](), dict[str, None]()
    for name in names:
        paper = await library.paper(name)
        if paper is None:
            raise LiteratureError(
                f"{name}: no source knows such a paper",
                source="literature",
                hint="name it by DOI:…, arXiv:…, or its exact title",
            )
        found = await _case(library, paper, wish, silent)
        if isinstance(found, str):
            passed[found] += 1
        else:
            cases.setdefault(paper.key, found)
    if not cases:
        raise LiteratureError(
            "none of these papers can be a target",
            source="literature",
            tried=reasons(passed),
            hint="name others, or ask for fewer: --least",
        )
    return Targets(tuple(cases.values()), len(cases), passed, tuple(silent))


async def _case(library: Library, paper: Paper, wish: Wish, silent: dict[str, None]) -> Case | str:
    """The paper as a target, or why it is none; services that could not be asked are put to `silent`."""
    if why := wish.unfit(paper.abstract, paper.year, paper.citations):
        return why
    findings = await library.references(paper.id, MOST_LISTED)
    silent.update(dict.fromkeys(findings.degraded))
    others = (one for one in findings.papers if one.abstract.strip() and one.key != paper.key)
    told = [*{one.key: one for one in before(paper, others)}.values()]
    if len(told) < wish.least:
        _need_all(paper, findings)
        return wish.too_few
    return case_of(paper, wish.some(paper.id, told), f"its {len(findings.papers)} references")


def _need_all(paper: Paper, findings: Findings) -> None:
    """Too few references are no fact about a paper where a source was silent."""
    if findings.degraded:
        raise LiteratureError(
            f"{paper.id}: too few references came, but not everything was asked: {', '.join(findings.degraded)}",
            source=findings.degraded[0],
            hint="run the same command again, or leave the source out: --source",
        )
