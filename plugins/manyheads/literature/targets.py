"""Real targets of the relative quality ranking (Review and Rebuttal, §4.1): a paper, and what was known before it."""

import hashlib
import heapq
import json
import random
import re
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

from manyheads.bank.building import Progress, report_each
from manyheads.bank.corpus import Reader, Rejects
from manyheads.bank.ecosystem import Ecosystem
from manyheads.bank.knowledge import paper_text
from manyheads.bank.references import Index, later
from manyheads.errors import CorpusError, LiteratureError
from manyheads.literature.library import Library
from manyheads.literature.readers.formats import Opening, is_search, open_corpus
from manyheads.papers import Paper, fold

_T = TypeVar("_T")

# Papers of datasets, kept on disk while their references are matched.


class Entry(NamedTuple):
    """What targets need of a dataset's paper; `source` is the number of the dataset."""

    source: int
    id: str
    title: str
    abstract: str
    year: int
    citations: int | None
    references: tuple[str, ...]


class Entries:
    """Papers in a file, by number from 0: no text of millions of papers is kept in memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._starts, self._size = file, array("q"), 0

    def add(self, entry: Entry) -> None:
        """Put a paper at the end."""
        self._starts.append(self._size)
        self._size += self._write(json.dumps(entry).encode() + b"\n")

    def __getitem__(self, number: int) -> Entry:
        self._file.seek(self._starts[number])
        return _entry(self._file.readline())

    def __iter__(self) -> Iterator[Entry]:
        self._write(b"")
        self._file.seek(0)
        return map(_entry, self._file)

    def _write(self, line: bytes) -> int:
        """Write a line, or all that waits to be written; how many bytes that were."""
        try:
            if not line:
                self._file.flush()
            return self._file.write(line)
        except OSError as error:
            raise CorpusError(
                f"papers cannot be kept on the disk while references are matched: {error.strerror or error}",
                hint="make room there, or set TMPDIR to a folder with more, and run the same command again",
            ) from error


def _entry(line: bytes) -> Entry:
    *fields, references = json.loads(line)
    return Entry._make((*fields, tuple(references)))


# What was known before a paper: nothing later than it, and nothing that tells the paper's own idea.


RUN = 8
"""Words in a row that texts seldom have in common but where one is made of the other."""
RETOLD = 1 / 3
"""Of the runs of the shorter text: from there on both tell the same, a preprint, say, and its extended version."""


def retells(text: str, other: str) -> bool:
    """Whether two texts have so many words in a row in common that one tells what the other does."""

    def runs(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"\w+", text.casefold())
        return {tuple(words[start : start + RUN]) for start in range(max(1, len(words) - RUN + 1))}

    ours, theirs = runs(text), runs(other)
    return len(ours & theirs) >= RETOLD * min(len(ours), len(theirs))


_W = TypeVar("_W", Paper, Entry)


def before(paper: Paper | Entry, others: Iterable[_W]) -> list[_W]:
    """Those of other papers that may stand in the paper's background."""
    return [
        one for one in others if not later(one.year, paper.year) and not retells(one.abstract, paper.abstract)
    ]


# A case of a suite: a paper as the target, and the abstracts from which ideas beside it begin.

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

    def unfit(self, paper: Paper | Entry) -> str | None:
        """Why a paper is no target, whatever it cites."""
        if not paper.abstract.strip():
            return WITHOUT_ABSTRACT
        if self.after is not None and (paper.year is None or paper.year <= self.after):
            return f"not known to be later than {self.after}"
        if self.citations is not None and paper.citations is None:
            return "with nobody telling how often they are cited"
        if self.citations is not None and (paper.citations or 0) < self.citations:
            return f"cited less than {self.citations} times"
        return None

    @property
    def too_few(self) -> str:
        """Why a paper is no target for its references."""
        if self.least == 1:
            return "with no reference that is to be had with an abstract"
        return f"with fewer than {self.least} references that are to be had with an abstract"

    def draw(self, papers: Iterable[tuple[Sequence[str], _T]]) -> list[_T]:
        """`SPARE` more than are wanted; who is drawn depends on the names given with each, whatever else is read.

        With a larger count, the same come first.
        """

        def place(one: tuple[Sequence[str], _T]) -> bytes:
            return hashlib.sha256("\0".join((str(self.seed), *one[0])).encode()).digest()[:8]

        return [paper for _, paper in heapq.nsmallest(self.count + SPARE, papers, key=place)]

    def some(self, of: str, texts: Sequence[_T]) -> Sequence[_T]:
        """At most `most` of what a paper's background could be, in the order given."""
        if len(texts) <= self.most:
            return texts
        places = sorted(random.Random(f"{self.seed} {of}").sample(range(len(texts)), self.most))
        return [texts[place] for place in places]


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

    @classmethod
    def of(cls, paper: Paper | Entry, background: Sequence[Paper] | Sequence[Entry], of: str) -> "Case":
        """A paper as a target; `of` says in words of what the background is some."""

        def text(one: Paper | Entry) -> str:
            return f"{' '.join(one.title.split())}\n\n{' '.join(one.abstract.split())}"

        year = f" ({paper.year})" if paper.year else ""
        about = f"{paper.title}{year}: {len(background)} of {of}"
        return cls(paper.id, about, tuple(map(text, background)), text(paper))


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


def need_new(path: Path) -> None:
    """Raises `CorpusError` where no file can be made, or there is one: what was paid for or edited is not written over."""
    if path.exists():
        raise CorpusError(f"{path}: is there already", hint="choose another --out, or remove it")
    if not path.parent.is_dir():
        raise CorpusError(
            f"{path}: {path.parent} is no folder", hint="choose another --out, or make the folder"
        )


def write_cases(path: Path, cases: Sequence[Case]) -> None:
    """Write the cases of a suite, a line each; a number tells one from others of the same id. Raises `CorpusError`
    where the file cannot be written."""
    seen, lines = Counter[str](), list[str]()
    for case in cases:
        seen[case.id] += 1
        name = case.id if seen[case.id] == 1 else f"{case.id} ({seen[case.id]})"
        keys = {"id": name, "about": case.about, "background": case.background, "ranking.target": case.target}
        lines.append(f"{json.dumps(keys, ensure_ascii=False)}\n")
    try:
        path.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise CorpusError(
            f"{path}: cannot be written: {error.strerror}", hint="choose another --out"
        ) from error


# Targets among the contemporary papers of a corpus, which knows no references: its past papers stand for them.

LOOKED_AT = 3
"""Times as many near papers are looked at as are told: some have no abstract, or are one paper under several ids."""


async def targets_in(ecosystem: Ecosystem, wish: Wish) -> Targets:
    """Draw contemporary papers, each with the past papers nearest to it that have an abstract. Raises `CorpusError`
    where none can be a target."""
    passed, cases, fit = Counter[str](), list[Case](), 0

    def candidates() -> Iterator[tuple[Sequence[str], Paper]]:
        nonlocal fit
        for paper in ecosystem.papers.papers(where={"period": "contemporary"}):
            if why := wish.unfit(paper):
                passed[why] += 1
            else:
                fit += 1
                yield (paper.id,), paper

    for paper in wish.draw(candidates()):
        if len(cases) == wish.count:
            break
        [hits] = await ecosystem.past([paper_text(paper)], wish.most * LOOKED_AT)
        near: dict[str, Paper] = {fold(paper.title): paper}  # never the paper itself, by whatever title
        for one in before(paper, (hit.paper for hit in hits if hit.paper.abstract.strip())):
            near.setdefault(fold(one.title), one)
        background = [*near.values()][1 : wish.most + 1]
        if len(background) < wish.least:
            passed[f"with fewer than {wish.least} past papers that have an abstract"] += 1
        else:
            of = "the past papers nearest to it, as this corpus knows no references"
            cases.append(Case.of(paper, background, of))
    if not cases:
        raise CorpusError(
            f"corpus {ecosystem.meta.name}: no contemporary paper in it can be a target",
            tried=reasons(passed),
            hint="manyheads corpus info says what is in it",
        )
    return Targets(tuple(cases), fit, passed)


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
        if (paper := await library.paper(name)) is None:
            raise LiteratureError(
                f"{name}: no source knows such a paper",
                source="literature",
                fault="lacking",
                hint="name it by DOI:…, arXiv:…, or its exact title",
            )
        if why := wish.unfit(paper):
            passed[why] += 1
            continue
        findings = await library.references(paper.id, MOST_LISTED)
        silent.update(dict.fromkeys(findings.degraded))
        others = (one for one in findings.papers if one.abstract.strip() and one.key != paper.key)
        background = [*{one.key: one for one in before(paper, others)}.values()]
        if len(background) >= wish.least:
            of = f"its {len(findings.papers)} references"
            cases.setdefault(paper.key, Case.of(paper, wish.some(paper.id, background), of))
        elif findings.degraded:  # too few references are no fact about a paper where a source was silent
            raise LiteratureError(
                f"{paper.id}: too few references came, but some sources failed: {', '.join(findings.degraded)}",
                source=findings.degraded[0],
                hint="run the same command again, or leave the source out: --source",
            )
        else:
            passed[wish.too_few] += 1
    if not cases:
        raise LiteratureError(
            "none of these papers can be a target",
            source="literature",
            fault="lacking",
            tried=reasons(passed),
            hint="name other papers, or lower --least",
        )
    return Targets(tuple(cases.values()), len(cases), passed, tuple(silent))


# Targets of datasets that tell references.

READ_BEFORE = "that were read before"


def open_datasets(sources: Sequence[str], format: str, columns: Mapping[str, str]) -> list[Reader]:  # noqa: A002
    """The readers of datasets, one each. Raises `CorpusError` where nothing is there, its format is not known, or it
    is a search, which tells no references."""
    if search := next((one for one in sources if is_search(one, format)), None):
        raise CorpusError(f"{search}: a search tells no references", hint="name papers instead: --paper DOI")
    opening = Opening(format=format, columns=columns)
    return [open_corpus(source, opening) for source in sources]


def targets_of(readers: Sequence[Reader], wish: Wish, tell: Progress) -> Targets:
    """Draw targets among papers that have an abstract and enough references with abstracts in these datasets.

    A dataset's ids mean papers of its own; DOIs, arXiv numbers and titles mean papers of all. Each dataset is read once; what
    is needed of it waits in a temporary file until the references are matched.

    Raises:
        CorpusError: a dataset cannot be read, the disk is full, or none of the papers can be a target.
    """
    with tempfile.TemporaryFile() as file:
        entries, index, passed, cases, fit = Entries(file), Index(), Counter[str](), list[Case](), 0
        rejects = Rejects()
        every = ((number, one) for number, reader in enumerate(readers) for _, one in reader.papers(rejects))
        for source, one in report_each(every, "papers", tell):
            if not one.abstract.strip():
                passed[WITHOUT_ABSTRACT] += 1
            elif index.add(source, one):
                entries.add(
                    Entry(source, one.id, one.title, one.abstract, one.year, one.citations, one.references)
                )
            else:
                passed[READ_BEFORE] += 1
        passed["that are no papers"] = rejects.total

        def candidates() -> Iterator[tuple[Sequence[str], tuple[int, Sequence[int]]]]:
            """Papers that can be a target, and those of their background, by their numbers."""
            nonlocal fit
            for number, paper in report_each(enumerate(entries), "references", tell):
                why = wish.unfit(paper) or ("" if paper.references else "without references")
                why = why or (READ_BEFORE if index.again(number) else "")
                cited = () if why else index.cited(paper.source, paper)
                if why or len(cited) < wish.least:
                    passed[why or wish.too_few] += 1
                else:
                    fit += 1
                    yield (str(paper.source), paper.id), (number, wish.some(paper.id, cited))

        for number, cited in wish.draw(candidates()):
            if len(cases) == wish.count:
                break
            paper = entries[number]
            background = before(paper, [entries[one] for one in cited])
            if len(background) < wish.least:
                passed[wish.too_few] += 1
            else:
                cases.append(Case.of(paper, background, f"its {len(paper.references)} references"))
    if not cases:
        raise CorpusError(
            f"{', '.join(reader.name for reader in readers)}: no paper in it can be a target",
            tried=reasons(passed),
            hint="name datasets that tell references together with those that hold the papers referred to, or ask for "
            "fewer: --least",
        )
    return Targets(tuple(cases), fit, passed)
