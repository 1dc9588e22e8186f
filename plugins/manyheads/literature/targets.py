"""Real targets of the relative quality ranking (Review and Rebuttal, §4.1): a paper, and what was known before it."""

import hashlib
import heapq
import json
import random
import re
import tempfile
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Generic, NamedTuple, Protocol, TypeVar

from manyheads.bank.building import Progress, report_each
from manyheads.bank.corpus import RawPaper, Reader, Rejects
from manyheads.bank.ecosystem import Ecosystem
from manyheads.bank.knowledge import paper_text
from manyheads.errors import CorpusError, LiteratureError
from manyheads.literature.identifiers import identify
from manyheads.literature.library import Library
from manyheads.literature.lookup import Findings
from manyheads.literature.readers.formats import Opening, is_search, open_corpus
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


# From a reference to the paper it means: by id, by DOI or arXiv number, else by a title that stands in it.
#
# Papers are numbers, texts are hashes of them, so that the titles of millions fit into memory. An entry of a
# bibliography is read once, word by word: the time does not grow with the number of titles.


READ_BEFORE = "that were read before"
FEWEST = 3
"""Words of a title below which it is no proof: "Deep learning" stands in many other titles."""
WORD = re.compile(r"[^\W_]+")
EDGE = re.compile(r"[.,;?!\"“”«»()\[\]]")
"""What stands between a title and its neighbours in an entry; a colon or an apostrophe stands inside of titles."""
DOI = re.compile(r"\b10\.\d{4,9}/[^\s,;\"<>]+", re.ASCII)
ARXIV = re.compile(
    r"(?:arxiv(?:\.org/(?:abs|pdf)/|[:.]?)\s*|\babs/)(\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})",
    re.I | re.A,
)
NAMED = ("10.", "arxiv", "abs/")
"""What stands in every entry that one of these finds anything in."""


@dataclass(frozen=True)
class Words:
    """A text's words, folded, and the text that they were found in."""

    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    text: str

    @classmethod
    def of(cls, text: str) -> "Words":
        marks = unicodedata.normalize("NFKD", text)
        plain = "".join(one for one in marks if not unicodedata.combining(one)).casefold()
        found = [*WORD.finditer(plain)]
        return cls(tuple(one[0] for one in found), tuple(one.span() for one in found), plain)

    def key(self, start: int = 0, stop: int | None = None) -> int:
        """The same for the same words in a row."""
        return hash(" ".join(self.words[start:stop]))

    def stands_alone(self, start: int, stop: int) -> bool:
        """Whether the words of this range have the text's ends or punctuation around them."""
        before = self.text[self.spans[start - 1][1] : self.spans[start][0]] if start else "."
        after = self.text[self.spans[stop - 1][1] : self.spans[stop][0]] if stop < len(self.words) else "."
        return bool(EDGE.search(before) and EDGE.search(after))


class Index:
    """The papers that references may mean; numbers count them from 0."""

    def __init__(self) -> None:
        self._ids, self._names, self._titles = dict[int, int](), dict[int, int](), dict[int, int]()
        self._lengths = dict[int, int]()
        """By the first words of titles, how many words these have: a bit for each length."""
        self._keys, self._years = array("q"), array("h")

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, source: int, paper: RawPaper) -> bool:
        """Put a paper of a source, unless there is one of its id; of two with one title, the first is meant."""
        if (own := hash((source, paper.id))) in self._ids:
            return False
        number, title = len(self), Words.of(paper.title)
        self._ids[own] = number
        if (name := _name(paper.id)) is not None:
            self._names.setdefault(name, number)
        self._titles.setdefault(title.key(), number)
        if len(title.words) >= FEWEST:
            first = title.key(0, FEWEST)
            self._lengths[first] = self._lengths.get(first, 0) | 1 << len(title.words)
        self._keys.append(title.key())
        self._years.append(paper.year)
        return True

    def number(self, source: int, paper_id: str) -> int | None:
        """The paper of that id in a source."""
        return self._ids.get(hash((source, paper_id)))

    def again(self, number: int) -> bool:
        """Whether a paper before this one has the same title."""
        return self._titles[self._keys[number]] != number

    def cited(self, source: int, paper: "RawPaper | Entry") -> list[int]:
        """The papers that a paper's references mean, each title once, in their order.

        Never the paper itself, nor later ones: a bibliography may be that of the paper's last version.
        """
        own = Words.of(paper.title).key()
        found: dict[int, int] = {}
        for reference in paper.references:
            number = self._meant(source, paper.year, reference)
            if number is not None and not later(self._years[number], paper.year):
                found.setdefault(self._keys[number], number)
        found.pop(own, None)
        return [*found.values()]

    def _meant(self, source: int, year: int, reference: str) -> int | None:
        if (number := self.number(source, reference.strip())) is not None:
            return number
        known = (self._names.get(name) for name in _names_in(reference))
        number = next((one for one in known if one is not None), None)
        return self._titled(Words.of(reference), year) if number is None else number

    def _titled(self, entry: Words, year: int) -> int | None:
        """The paper with the longest title in an entry, of those that are old enough to be cited."""
        found = ((stop - start, number) for start, stop, number in self._in(entry))
        fit = [one for one in found if not later(self._years[one[1]], year)]
        return max(fit)[1] if fit else None

    def _in(self, entry: Words) -> Iterator[tuple[int, int, int]]:
        for start in range(len(entry.words) - FEWEST + 1):
            for length in _bits(self._lengths.get(entry.key(start, start + FEWEST), 0)):
                stop = start + length
                if stop > len(entry.words) or not entry.stands_alone(start, stop):
                    continue
                if (number := self._titles.get(entry.key(start, stop))) is not None:
                    yield start, stop, number


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _name(paper_id: str) -> int | None:
    """An id that is a DOI or an arXiv number."""
    name = identify(paper_id)
    return hash((name.kind, name.value.casefold())) if name.kind in ("doi", "arxiv") else None


def _names_in(reference: str) -> Sequence[int]:
    """The DOIs and arXiv numbers in an entry; a DOI may end in a bracket, or stand in brackets."""
    low = reference.casefold()
    if not any(mark in low for mark in NAMED):
        return ()
    dois = (doi for one in DOI.findall(reference) for doi in (one.rstrip("."), one.rstrip(".)]}")))
    names = (_name(one) for one in (*dois, *ARXIV.findall(reference)))
    return [name for name in names if name is not None]


# The papers of one reading, on the disk: no text of millions of papers is kept in memory.


READING, MATCHING = "papers", "references"


class Entry(NamedTuple):
    """What targets need of a paper; `source` is the number of its dataset."""

    source: int
    id: str
    title: str
    abstract: str
    year: int
    citations: int | None
    references: tuple[str, ...]


class Entries:
    """Papers in a file, by number from 0."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._starts, self._size = file, array("q"), 0

    def add(self, source: int, paper: RawPaper) -> None:
        """Put a paper at the end."""
        entry = (source, paper.id, paper.title, paper.abstract, paper.year, paper.citations, paper.references)
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
    source, paper_id, title, abstract, year, citations, references = json.loads(line)
    return Entry(source, paper_id, title, abstract, year, citations, tuple(references))


@dataclass(frozen=True)
class Candidate:
    """A paper that can be a target, and the papers of its background, by their numbers."""

    number: int
    background: tuple[int, ...]


def open_datasets(sources: Sequence[str], format: str, columns: Mapping[str, str]) -> list[Reader]:  # noqa: A002
    """The readers of datasets, one each.

    Raises:
        CorpusError: nothing is there, its format is not known, or it is a search, which tells no references.
    """
    if search := next((one for one in sources if is_search(one, format)), None):
        raise CorpusError(f"{search}: a search tells no references", hint="name papers instead: --paper DOI")
    opening = Opening(format=format, columns=columns, references=True)
    return [open_corpus(source, opening) for source in sources]


def targets_of(readers: Sequence[Reader], wish: Wish, tell: Progress) -> Targets:
    """Draw targets among papers that have an abstract and enough references with abstracts in these datasets.

    A dataset's ids mean papers of its own; DOIs, arXiv numbers and titles mean papers of all. Each dataset is read once; what
    is needed of it waits in a temporary file until the references are matched.

    Raises:
        CorpusError: a dataset cannot be read, the disk is full, or none of the papers can be a target.
    """
    with tempfile.TemporaryFile() as file:
        entries, index, passed = Entries(file), Index(), Counter[str]()
        _read(readers, entries, index, passed, tell)
        draw = Draw[Candidate](wish.count)
        for number, entry in report_each(enumerate(entries), MATCHING, tell):
            found = _candidate(number, entry, index, wish)
            if isinstance(found, str):
                passed[found] += 1
            else:
                draw.offer(wish.draw(str(entry.source), entry.id), found)
        cases = list[Case]()
        for one in draw.drawn:
            if len(cases) == wish.count:
                break
            paper = entries[one.number]
            background = before(paper, [entries[number] for number in one.background])
            if len(background) < wish.least:
                passed[wish.too_few] += 1
            else:
                cases.append(case_of(paper, background, f"its {len(paper.references)} references"))
    if not cases:
        raise CorpusError(
            f"{', '.join(reader.name for reader in readers)}: no paper in it can be a target",
            tried=reasons(passed),
            hint="name datasets that tell references together with those that hold the papers referred to, or ask for "
            "fewer: --least",
        )
    return Targets(tuple(cases), draw.offered, passed)


def _read(
    readers: Sequence[Reader], entries: Entries, index: Index, passed: Counter[str], tell: Progress
) -> None:
    """Put the papers that have an abstract into the entries and the index, which number them alike."""
    rejects = Rejects()
    every = ((source, paper) for source, reader in enumerate(readers) for _, paper in reader.papers(rejects))
    for source, paper in report_each(every, READING, tell):
        if not paper.abstract.strip():
            passed[WITHOUT_ABSTRACT] += 1
        elif index.add(source, paper):
            entries.add(source, paper)
        else:
            passed[READ_BEFORE] += 1
    passed["that are no papers"] = rejects.total


def _candidate(number: int, entry: Entry, index: Index, wish: Wish) -> Candidate | str:
    """What a paper can be the target of, or why of nothing."""
    if why := wish.unfit(entry.abstract, entry.year, entry.citations):
        return why
    if not entry.references:
        return "without references"
    if index.again(number):
        return READ_BEFORE
    cited = index.cited(entry.source, entry)
    return Candidate(number, wish.some(entry.id, cited)) if len(cited) >= wish.least else wish.too_few
