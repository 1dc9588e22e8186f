"""Real targets of the relative quality ranking (Review and Rebuttal, §4.1): a paper and its prior work."""

import hashlib
import heapq
import json
import random
import re
import tempfile
from array import array
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

from manyheads.base.errors import CorpusError, LiteratureError
from manyheads.base.files import writable
from manyheads.base.papers import Paper, fold
from manyheads.corpus.building import Progress, report_each
from manyheads.corpus.ecosystem import Ecosystem, paper_text
from manyheads.corpus.records import Reader, Rejects
from manyheads.corpus.references import Index, later
from manyheads.datasets.opening import SourceOptions, is_search, open_corpus
from manyheads.literature.library import Library

_T = TypeVar("_T")

# Papers of datasets, on disk while their references are matched.


class CitingPaper(NamedTuple):
    """Fields of a dataset's paper needed for targets; `source` is the number of the dataset."""

    source: int
    id: str
    title: str
    abstract: str
    year: int
    citations: int | None
    references: tuple[str, ...]


class Entries:
    """Papers in a file, by number from 0, to keep millions of texts out of memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._starts = file, array("q")

    def add(self, entry: CitingPaper) -> None:
        self._starts.append(self._file.tell())
        self._file.write(json.dumps(entry).encode() + b"\n")

    def __getitem__(self, number: int) -> CitingPaper:
        self._file.seek(self._starts[number])
        return _entry(self._file.readline())

    def __iter__(self) -> Iterator[CitingPaper]:
        self._file.seek(0)
        return map(_entry, self._file)


@contextmanager
def _scratch() -> Generator[Entries]:
    try:
        with tempfile.TemporaryFile() as file:
            yield Entries(file)
    except OSError as error:
        raise CorpusError(
            f"cannot write papers to disk for matching references: {error.strerror or error}",
            hint="free some space, or set TMPDIR to another folder, and run the same command again",
        ) from error


def _entry(line: bytes) -> CitingPaper:
    *fields, references = json.loads(line)
    return CitingPaper._make((*fields, tuple(references)))


# A paper's prior work: nothing later, and nothing that contains the paper's own idea.


RUN = 8
"""Number of consecutive words that two texts seldom share unless one is based on the other."""
RETOLD = 1 / 3
"""Share of the shorter text's runs above which both have the same content, such as a preprint and its extended version."""


def retells(text: str, other: str) -> bool:
    """Whether two texts share enough runs of words to have the same content."""

    def runs(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"\w+", text.casefold())
        return {tuple(words[start : start + RUN]) for start in range(max(1, len(words) - RUN + 1))}

    ours, theirs = runs(text), runs(other)
    return len(ours & theirs) >= RETOLD * min(len(ours), len(theirs))


_W = TypeVar("_W", Paper, CitingPaper)


def before(paper: Paper | CitingPaper, others: Iterable[_W]) -> list[_W]:
    """Other papers suitable for the paper's background."""
    earlier = (one for one in others if not later(one.year, paper.year))
    return [one for one in earlier if not retells(one.abstract, paper.abstract)]


# A case of a suite: a paper as the target, and the abstracts given to the author of new ideas.

WITHOUT_ABSTRACT = "without an abstract"
SPARE = 10
"""Extra papers drawn, in case of insufficient texts."""


@dataclass(frozen=True)
class Wish:
    """Which papers may be targets, how many to draw, and their backgrounds.

    Attributes:
        count: maximum number of targets.
        least, most: minimum and maximum texts of a background; beyond the maximum, a sample is drawn.
        after: a year; only later papers are targets.
        citations: minimum citations of a target.
        seed: of both draws.
    """

    count: int = 10
    least: int = 5
    most: int = 20
    after: int | None = None
    citations: int | None = None
    seed: int = 0

    def unfit(self, paper: Paper | CitingPaper) -> str | None:
        """Why a paper cannot be a target, apart from its references."""
        if not paper.abstract.strip():
            return WITHOUT_ABSTRACT
        if self.after is not None and (paper.year is None or paper.year <= self.after):
            return f"not known to be after {self.after}"
        if self.citations is not None and paper.citations is None:
            return "with unknown citation counts"
        if self.citations is not None and (paper.citations or 0) < self.citations:
            return f"with fewer than {self.citations} citations"
        return None

    @property
    def too_few(self) -> str:
        if self.least == 1:
            return "without references with an available abstract"
        return f"with fewer than {self.least} references with an available abstract"

    def draw(self, papers: Iterable[tuple[Sequence[str], _T]]) -> list[_T]:
        """A sample with `SPARE` extra papers; it depends only on the names of the papers.

        A larger count extends the sample.
        """

        def place(one: tuple[Sequence[str], _T]) -> bytes:
            return hashlib.sha256("\0".join((str(self.seed), *one[0])).encode()).digest()[:8]

        return [paper for _, paper in heapq.nsmallest(self.count + SPARE, papers, key=place)]

    def some(self, of: str, texts: Sequence[_T]) -> Sequence[_T]:
        """A sample of at most `most` possible background papers, in order."""
        if len(texts) <= self.most:
            return texts
        places = sorted(random.Random(f"{self.seed} {of}").sample(range(len(texts)), self.most))
        return [texts[place] for place in places]


@dataclass(frozen=True)
class TargetCase:
    """A target with its background.

    Attributes:
        id: the paper's id in its source.
        about: for readers only, never shown to agents.
        background, target: titles and abstracts.
    """

    id: str
    about: str
    background: tuple[str, ...]
    target: str

    @classmethod
    def of(
        cls, paper: Paper | CitingPaper, background: Sequence[Paper] | Sequence[CitingPaper], of: str
    ) -> "TargetCase":

        def text(one: Paper | CitingPaper) -> str:
            return f"{' '.join(one.title.split())}\n\n{' '.join(one.abstract.split())}"

        year = f" ({paper.year})" if paper.year else ""
        about = f"{paper.title}{year}: {len(background)} of {of}"
        return cls(paper.id, about, tuple(map(text, background)), text(paper))


@dataclass(frozen=True)
class Targets:
    """The result of a draw.

    Attributes:
        fit: number of suitable papers.
        passed: numbers of unsuitable papers, by reason.
        silent: services that failed, so that a background may be incomplete.
    """

    cases: tuple[TargetCase, ...]
    fit: int
    passed: Counter[str]
    silent: tuple[str, ...] = ()


def reasons(passed: Counter[str]) -> str:
    """The reasons and numbers of unsuitable papers, most frequent first; empty if there were none."""
    return "; ".join(f"{count:,} {why}" for why, count in passed.most_common() if count)


def need_new(path: Path) -> None:
    """Raises `CorpusError` if the file cannot be created, or exists: paid or edited results are not overwritten."""
    if path.exists():
        raise CorpusError(f"{path}: already exists", hint="choose another --out, or remove it")
    if not path.parent.is_dir():
        hint = "choose another --out, or make the folder"
        raise CorpusError(f"{path}: {path.parent} is not a folder", hint=hint)


def write_cases(path: Path, cases: Sequence[TargetCase]) -> None:
    """Write the cases of a suite, a line each; a number is added to repeated ids. Raises `CorpusError` if the file cannot be
    written."""
    seen, lines = Counter[str](), list[str]()
    for case in cases:
        seen[case.id] += 1
        name = case.id if seen[case.id] == 1 else f"{case.id} ({seen[case.id]})"
        keys = {"id": name, "about": case.about, "background": case.background, "ranking.target": case.target}
        lines.append(f"{json.dumps(keys, ensure_ascii=False)}\n")
    with writable(path, CorpusError):
        path.write_text("".join(lines), encoding="utf-8")


# Targets among the contemporary papers of a corpus without references: similar past papers replace them.

LOOKED_AT = 3
"""Similar papers checked per paper needed: some have no abstract, or are duplicates under several ids."""


async def targets_in(ecosystem: Ecosystem, wish: Wish) -> Targets:
    """Draw contemporary papers, each with the most similar past papers with an abstract. Raises `CorpusError` if none is
    suitable."""
    passed, cases, fit = Counter[str](), list[TargetCase](), 0

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
            passed[f"with fewer than {wish.least} past papers with an abstract"] += 1
        else:
            of = "the most similar past papers (this corpus has no references)"
            cases.append(TargetCase.of(paper, background, of))
    if not cases:
        raise CorpusError(
            f"corpus {ecosystem.meta.name}: no contemporary paper is suitable as a target",
            tried=reasons(passed),
            hint="manyheads corpus info describes the corpus",
        )
    return Targets(tuple(cases), fit, passed)


# Targets named by the user, with references from literature services.

MOST_LISTED = 1000
"""Maximum references requested per paper."""


async def targets_named(library: Library, names: Sequence[str], wish: Wish) -> Targets:
    """These papers, each with its references that have an abstract in a service.

    Args:
        names: ids, DOIs, arXiv numbers or exact titles.

    Raises:
        LiteratureError: no service knows a paper, a service that may have more failed, or none of the papers is suitable.
    """
    cases, passed, silent = dict[str, TargetCase](), Counter[str](), dict[str, None]()
    for name in names:
        if (paper := await library.paper(name)) is None:
            raise LiteratureError(
                f"{name}: no source has this paper",
                source="literature",
                fault="lacking",
                hint="use DOI:…, arXiv:…, or the exact title",
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
            cases.setdefault(paper.key, TargetCase.of(paper, wish.some(paper.id, background), of))
        elif findings.degraded:  # too few references prove nothing if a source failed
            raise LiteratureError(
                f"{paper.id}: too few references found, and some sources failed: {', '.join(findings.degraded)}",
                source=findings.degraded[0],
                hint="run the same command again, or exclude the source with --source",
            )
        else:
            passed[wish.too_few] += 1
    if not cases:
        raise LiteratureError(
            "none of these papers is suitable as a target",
            source="literature",
            fault="lacking",
            tried=reasons(passed),
            hint="use other papers, or lower --least",
        )
    return Targets(tuple(cases.values()), len(cases), passed, tuple(silent))


# Targets from datasets with references.

READ_BEFORE = "that are duplicates"


def open_datasets(sources: Sequence[str], format: str, columns: Mapping[str, str]) -> list[Reader]:  # noqa: A002
    """The readers of datasets. Raises `CorpusError` if one does not exist, has an unknown format, or is a search, which has no
    references."""
    if search := next((one for one in sources if is_search(one, format)), None):
        raise CorpusError(f"{search}: a search has no references", hint="use papers instead: --paper DOI")
    opening = SourceOptions(format=format, columns=columns)
    return [open_corpus(source, opening) for source in sources]


def targets_of(readers: Sequence[Reader], wish: Wish, tell: Progress) -> Targets:
    """Draw targets among the papers in these datasets with an abstract and enough references with abstracts.

    A dataset's ids refer to its own papers; DOIs, arXiv numbers and titles to papers of all datasets. Each dataset is read once;
    the needed parts wait in a temporary file until references are matched.

    Raises:
        CorpusError: a dataset cannot be read, the disk is full, or none of the papers is suitable.
    """
    index, passed, cases, fit = Index(), Counter[str](), list[TargetCase](), 0
    with _scratch() as entries:
        rejects = Rejects()
        every = ((number, one) for number, reader in enumerate(readers) for _, one in reader.papers(rejects))
        for source, one in report_each(every, "papers", tell):
            if not one.abstract.strip():
                passed[WITHOUT_ABSTRACT] += 1
            elif index.add(source, one):
                known = one.id, one.title, one.abstract, one.year, one.citations, one.references
                entries.add(CitingPaper(source, *known))
            else:
                passed[READ_BEFORE] += 1
        passed["that are not papers"] = rejects.total

        def candidates() -> Iterator[tuple[Sequence[str], tuple[int, Sequence[int]]]]:
            nonlocal fit
            for number, paper in report_each(enumerate(entries), "references", tell):
                why = wish.unfit(paper) or ("" if paper.references else "without references")
                why = why or (READ_BEFORE if index.again(number) else "")
                known = paper.title, paper.year, paper.references
                cited = () if why else index.cited(paper.source, *known)
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
                cases.append(TargetCase.of(paper, background, f"its {len(paper.references)} references"))
    if not cases:
        raise CorpusError(
            f"{', '.join(reader.name for reader in readers)}: no paper is suitable as a target",
            tried=reasons(passed),
            hint="use datasets with references together with those of the cited papers, or ask for "
            "fewer: --least",
        )
    return Targets(tuple(cases), fit, passed)
