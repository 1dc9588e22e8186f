"""Targets among the papers of datasets, with those of their references that stand in the same datasets."""

import json
import re
import tempfile
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from manyheads.bank.building import Progress, counted
from manyheads.bank.corpus import RawPaper, Reader, Rejects
from manyheads.errors import CorpusError
from manyheads.literature.identifiers import identify
from manyheads.literature.readers.formats import Opening, is_search, open_corpus
from manyheads.literature.targets import (
    WITHOUT_ABSTRACT,
    Case,
    Draw,
    Targets,
    Wish,
    before,
    case_of,
    later,
    reasons,
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
    opening = Opening(columns=columns, references=True)
    return [open_corpus(Path(source), format, opening) for source in sources]


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
        for number, entry in counted(enumerate(entries), MATCHING, tell):
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
    for source, paper in counted(every, READING, tell):
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
