"""From a reference to the paper it means: by id, by DOI or arXiv number, else by a title that stands in it.

Papers are numbers, texts are hashes of them, so that the titles of millions fit into memory. An entry of a
bibliography is read once, word by word: the time does not grow with the number of titles.
"""

import re
import unicodedata
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from manyheads.bank.corpus import RawPaper
from manyheads.literature.named import named
from manyheads.literature.targets.before import later

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

    def add(self, source: int, paper: RawPaper) -> None:
        """Put a paper of a source; of two with one id, or one title, the first is meant."""
        if (own := hash((source, paper.id))) in self._ids:
            return
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

    def number(self, source: int, paper_id: str) -> int | None:
        """The paper of that id in a source."""
        return self._ids.get(hash((source, paper_id)))

    def again(self, number: int) -> bool:
        """Whether a paper before this one has the same title."""
        return self._titles[self._keys[number]] != number

    def cited(self, source: int, paper: RawPaper) -> list[int]:
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
    name = named(paper_id)
    return hash((name.kind, name.value.casefold())) if name.kind in ("doi", "arxiv") else None


def _names_in(reference: str) -> Sequence[int]:
    """The DOIs and arXiv numbers in an entry; a DOI may end in a bracket, or stand in brackets."""
    low = reference.casefold()
    if not any(mark in low for mark in NAMED):
        return ()
    dois = (doi for one in DOI.findall(reference) for doi in (one.rstrip("."), one.rstrip(".)]}")))
    names = (_name(one) for one in (*dois, *ARXIV.findall(reference)))
    return [name for name in names if name is not None]
