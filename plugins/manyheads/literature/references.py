"""From a reference to the paper it means: by id, by DOI or arXiv number, else by a title that stands in it.

Papers are numbers, texts are hashes of them, so that the titles of millions fit into memory. An entry of a
bibliography is read once, word by word: the time does not grow with the number of titles.
"""

import json
import re
import unicodedata
from array import array
from collections.abc import Iterator
from typing import IO, NamedTuple

from manyheads.bank.corpus import RawPaper
from manyheads.errors import CorpusError
from manyheads.literature.identifiers import identify

LATER = 1
"""Years by which a paper may be younger than one that cites it: cited before print, or counted by another date."""
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


class Entry(NamedTuple):
    """What targets need of a dataset's paper; `source` is the number of the dataset."""

    source: int
    id: str
    title: str
    abstract: str
    year: int
    citations: int | None
    references: tuple[str, ...]


def later(year: int | None, than: int | None) -> bool:
    """Whether a paper of a year is too young to be cited by one of another; of what is not known, nothing is."""
    return year is not None and than is not None and year > than + LATER


class Words:
    """A text's words, folded."""

    def __init__(self, text: str) -> None:
        marks = unicodedata.normalize("NFKD", text)
        self._text = "".join(one for one in marks if not unicodedata.combining(one)).casefold()
        self._words = [*WORD.finditer(self._text)]

    def __len__(self) -> int:
        return len(self._words)

    def key(self, start: int = 0, stop: int | None = None) -> int:
        """The same for the same words in a row."""
        return hash(" ".join(word[0] for word in self._words[start:stop]))

    def stands_alone(self, start: int, stop: int) -> bool:
        """Whether the words of this range have the text's ends or punctuation around them."""
        text, words = self._text, self._words
        ahead = text[words[start - 1].end() : words[start].start()] if start else "."
        behind = text[words[stop - 1].end() : words[stop].start()] if stop < len(words) else "."
        return bool(EDGE.search(ahead) and EDGE.search(behind))


class Index:
    """The papers that references may mean; numbers count them from 0."""

    def __init__(self) -> None:
        self._ids, self._names, self._titles = dict[int, int](), dict[int, int](), dict[int, int]()
        self._lengths = dict[int, int]()
        """By the first words of titles, how many words these have: a bit for each length."""
        self._keys, self._years = array("q"), array("h")

    def add(self, source: int, paper: RawPaper) -> bool:
        """Put a paper of a source, unless there is one of its id; of two with one title, the first is meant."""
        if (own := hash((source, paper.id))) in self._ids:
            return False
        number, title = len(self._keys), Words(paper.title)
        self._ids[own] = number
        if (name := _name(paper.id)) is not None:
            self._names.setdefault(name, number)
        self._titles.setdefault(title.key(), number)
        if len(title) >= FEWEST:
            first = title.key(0, FEWEST)
            self._lengths[first] = self._lengths.get(first, 0) | 1 << len(title)
        self._keys.append(title.key())
        self._years.append(paper.year)
        return True

    def again(self, number: int) -> bool:
        """Whether a paper before this one has the same title."""
        return self._titles[self._keys[number]] != number

    def cited(self, source: int, paper: RawPaper | Entry) -> list[int]:
        """The papers that a paper's references mean, each title once, in their order.

        Never the paper itself, nor later ones: a bibliography may be that of the paper's last version.
        """
        papers: dict[int, int] = {}
        for reference in paper.references:
            number = self._ids.get(hash((source, reference.strip())))
            if number is None:
                names = (self._names.get(name) for name in _names_in(reference))
                number = next((one for one in names if one is not None), None)
            if number is None:
                number = self._titled(Words(reference), paper.year)
            if number is not None and not later(self._years[number], paper.year):
                papers.setdefault(self._keys[number], number)
        papers.pop(Words(paper.title).key(), None)
        return [*papers.values()]

    def _titled(self, entry: Words, year: int) -> int | None:
        """The paper with the longest title in an entry, of those that are old enough to be cited."""
        best: tuple[int, int] | None = None
        for start in range(len(entry) - FEWEST + 1):
            lengths = self._lengths.get(entry.key(start, start + FEWEST), 0)
            while lengths:
                stop = start + lengths.bit_length() - 1
                lengths ^= 1 << (stop - start)
                if stop > len(entry) or not entry.stands_alone(start, stop):
                    continue
                number = self._titles.get(entry.key(start, stop))
                if number is not None and not later(self._years[number], year):
                    best = max(best or (0, 0), (stop - start, number))
        return best and best[1]


def _name(paper_id: str) -> int | None:
    """An id that is a DOI or an arXiv number."""
    name = identify(paper_id)
    return hash((name.kind, name.value.casefold())) if name.kind in ("doi", "arxiv") else None


def _names_in(reference: str) -> Iterator[int]:
    """The DOIs and arXiv numbers in an entry; a DOI may end in a bracket, or stand in brackets."""
    low = reference.casefold()
    if any(mark in low for mark in NAMED):
        dois = (doi for one in DOI.findall(reference) for doi in (one.rstrip("."), one.rstrip(".)]}")))
        names = (_name(one) for one in (*dois, *ARXIV.findall(reference)))
        yield from (name for name in names if name is not None)


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
