"""Resolves references to papers: by id, by DOI or arXiv number, else by title.

Papers are numbers and texts are hashes, so that millions of titles fit into memory. An entry of a bibliography is scanned
once, word by word: the time does not depend on the number of titles.
"""

import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from manyheads.base.papers import identify

if TYPE_CHECKING:
    from manyheads.corpus.records import RawPaper

SHARED = "*"
"""The source of ids that are unique in all sources."""
LATER = 1
"""Years by which a paper may be younger than a citing one: cited before print, or dated differently."""
FEWEST = 3
"""Minimum words of a title as evidence: "Deep learning" is part of many other titles."""
WORD = re.compile(r"[^\W_]+")
EDGE = re.compile(r"[.,;?!\"“”«»()\[\]]")
"""Separators of a title in an entry; colons and apostrophes may be part of titles."""
NAMED = ("10.", "arxiv", "abs/")
"""Characters in every entry that one of these matches."""


def later(year: int | None, than: int | None) -> bool:
    """Whether a paper of one year is too young to be cited by one of another; False if unknown."""
    return year is not None and than is not None and year > than + LATER


class FoldedWords:
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
        """Hash of a sequence of words."""
        return hash(" ".join(self._texts[start:stop]))

    def stands_alone(self, start: int, stop: int) -> bool:
        """Whether this range of words is bounded by the text's ends or punctuation."""
        text, words = self._text, self._words
        ahead = text[words[start - 1].end() : words[start].start()] if start else "."
        behind = text[words[stop - 1].end() : words[stop].start()] if stop < len(words) else "."
        return bool(EDGE.search(ahead) and EDGE.search(behind))


class Index:
    """The papers that references may refer to, numbered from 0."""

    def __init__(self) -> None:
        self._ids, self._names, self._titles = dict[int, int](), dict[int, int](), dict[int, int]()
        self._lengths = dict[int, int]()
        """Lengths of titles by their first words: a bit per length."""
        self._keys, self._years = array("q"), array("h")

    def add(self, source: int | str, paper: "RawPaper", own_id: str = "") -> bool:
        """Add a source's paper, unless the id exists; of equal titles, the first is used. `own_id` is the source's own id."""
        if (own := hash((source, own_id or paper.id))) in self._ids:
            return False
        number, title = len(self._keys), FoldedWords(paper.title)
        self._ids[own] = number
        for name in map(_name, filter(None, (own_id or paper.id, paper.doi))):
            if name is not None:
                self._names.setdefault(name, number)
        self._titles.setdefault(title.key(), number)
        if len(title) >= FEWEST:
            first = title.key(0, FEWEST)
            self._lengths[first] = self._lengths.get(first, 0) | 1 << len(title)
        self._keys.append(title.key())
        self._years.append(paper.year)
        return True

    def again(self, number: int) -> bool:
        """Whether an earlier paper has the same title."""
        return self._titles[self._keys[number]] != number

    def cited(self, source: int, title: str, year: int, references: Iterable[str]) -> list[int]:
        """The papers in a paper's references, in order without duplicate titles.

        Never the paper itself, nor later ones: the bibliography may be of the paper's last version.
        """
        papers: dict[int, int] = {}
        for number in self.meant_by(source, references, year):
            if not later(self._years[number], year):
                papers.setdefault(self._keys[number], number)
        papers.pop(FoldedWords(title).key(), None)
        return [*papers.values()]

    def meant_by(self, source: int | str, references: Iterable[str], year: int) -> list[int]:
        """The papers in references, in order without duplicates; see `meant`."""
        numbers = (self.meant(source, reference, year) for reference in references)
        return [*dict.fromkeys(number for number in numbers if number is not None)]

    def meant(self, source: int | str, reference: str, year: int) -> int | None:
        """The paper of a reference in a paper from a source and a year: with this id, DOI or arXiv number, else with this title, if
        it is old enough."""
        one = reference.strip()
        number = self._ids.get(hash((source, one)), self._ids.get(hash((SHARED, one))))
        if number is None:
            names = (self._names.get(name) for name in _names_in(reference))
            number = next((one for one in names if one is not None), None)
        return self._titled(FoldedWords(reference), year) if number is None else number

    def _titled(self, entry: FoldedWords, year: int) -> int | None:
        """The paper with the longest title in an entry, of those old enough to be cited."""
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
    """The DOIs and arXiv numbers in an entry; a DOI may end in a bracket, or be in brackets."""
    low = reference.casefold()
    if any(mark in low for mark in NAMED):
        from manyheads.documents.bibliography import ARXIV, DOI

        dois = (doi for one in DOI.findall(reference) for doi in (one.rstrip("."), one.rstrip(".)]}")))
        names = (_name(one) for one in (*dois, *ARXIV.findall(reference)))
        yield from (name for name in names if name is not None)
