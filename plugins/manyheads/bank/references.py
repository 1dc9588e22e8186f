"""From a reference to the paper it means: by id, by DOI or arXiv number, else by a title that stands in it.

Papers are numbers, texts are hashes of them, so that the titles of millions fit into memory. An entry of a
bibliography is read once, word by word: the time does not grow with the number of titles.
"""

import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from manyheads.bank.corpus import RawPaper
from manyheads.papers import identify

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


class Citing(Protocol):
    """A paper with its references, ids or entries of a bibliography."""

    @property
    def title(self) -> str: ...
    @property
    def year(self) -> int: ...
    @property
    def references(self) -> Sequence[str]: ...


def later(year: int | None, than: int | None) -> bool:
    """Whether a paper of a year is too young to be cited by one of another; of what is not known, nothing is."""
    return year is not None and than is not None and year > than + LATER


class Words:
    """A text's words, folded."""

    def __init__(self, text: str) -> None:
        if not text.isascii():
            marks = unicodedata.normalize("NFKD", text)
            text = "".join(one for one in marks if not unicodedata.combining(one))
        self._text = text.casefold()
        self._words = [*WORD.finditer(self._text)]
        self._texts = [word[0] for word in self._words]

    def __len__(self) -> int:
        return len(self._words)

    def key(self, start: int = 0, stop: int | None = None) -> int:
        """The same for the same words in a row."""
        return hash(" ".join(self._texts[start:stop]))

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

    def cited(self, source: int, paper: Citing) -> list[int]:
        """The papers that a paper's references mean, each title once, in their order.

        Never the paper itself, nor later ones: a bibliography may be that of the paper's last version.
        """
        papers: dict[int, int] = {}
        for reference in paper.references:
            number = self.meant(source, reference, paper.year)
            if number is not None and not later(self._years[number], paper.year):
                papers.setdefault(self._keys[number], number)
        papers.pop(Words(paper.title).key(), None)
        return [*papers.values()]

    def meant_by(self, source: int, references: Iterable[str], year: int) -> list[int]:
        """The papers that references mean, each once, in their order; see `meant`."""
        numbers = (self.meant(source, reference, year) for reference in references)
        return [*dict.fromkeys(number for number in numbers if number is not None)]

    def meant(self, source: int, reference: str, year: int) -> int | None:
        """The paper that a reference means, in a paper of a source and a year: of this id, DOI or arXiv number; else of this
        title, if it is old enough to be cited."""
        number = self._ids.get(hash((source, reference.strip())))
        if number is None:
            names = (self._names.get(name) for name in _names_in(reference))
            number = next((one for one in names if one is not None), None)
        return self._titled(Words(reference), year) if number is None else number

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
