"""Whether a reference, or a title, means a source's paper: by DOI, arXiv number, or a nearly equal title."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Literal, NamedTuple

from manyheads.base.papers import Paper, fold, identifiers_of, identify
from manyheads.corpus.references import FEWEST, Words
from manyheads.documents.document import Reference
from manyheads.literature.merging import TELLING

FEW = 2
"""Maximum consecutive letters that differ between spellings of a title: `colour`, a lost ligature; shorter than a word."""
SHARE, LETTERS = 0.06, 3
"""Maximum share of a title's letters that differ in total, and a minimum allowed in any case."""
NEAR = 0.6
"""Minimum share of common words for two titles to mean one paper, if the authors agree."""
_NUMBERS = re.compile(r"\d+|\b[ivx]+\b")


@lru_cache(maxsize=50_000)
def same_title(one: str, other: str) -> bool:
    """Whether two titles are equal up to punctuation, case and a few letters.

    Numbers must agree, as in `YOLOv3` and `YOLOv4`, or `Part I` and `Part II`; short titles must agree completely.
    """
    a, b = fold(one), fold(other)
    if a == b:
        return bool(a)
    longest = max(len(a), len(b))
    most = max(LETTERS, SHARE * longest)
    if min(len(a), len(b)) < TELLING or abs(len(a) - len(b)) > most:
        return False
    if _NUMBERS.findall(one.casefold()) != _NUMBERS.findall(other.casefold()):
        return False
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if matcher.quick_ratio() < 1 - most / longest:
        return False
    gaps = [max(i2 - i1, j2 - j1) for what, i1, i2, j1, j2 in matcher.get_opcodes() if what != "equal"]
    return max(gaps) <= FEW and sum(gaps) <= most


class Cited:
    """References, to match against a paper."""

    def __init__(self, references: Sequence[Reference]) -> None:
        self._entries = [_Entry.of(reference) for reference in references]
        self._names = {name for entry in self._entries for name in entry.names}

    def means(self, paper: Paper) -> bool:
        """Whether a paper has the DOI, arXiv number or title of one of them, or its title is in an entry."""
        return not self._names.isdisjoint(names_of(paper)) or any(one.means(paper) for one in self._entries)


@dataclass(frozen=True)
class _Entry:
    reference: Reference
    names: frozenset[str]
    key: str
    """The letters and digits of its text."""
    words: Words

    @classmethod
    def of(cls, reference: Reference) -> "_Entry":
        return cls(reference, frozenset(_named(reference)), fold(reference.text), Words(reference.text))

    def means(self, paper: Paper) -> bool:
        """Match by title alone; many papers share a short one, such as "Editorial": year and authors must agree too."""
        reference, telling = self.reference, len(paper.key) >= TELLING
        if not (same_title(reference.title, paper.title) or (telling and self._holds(paper))):
            return False
        return telling or (shares_author(reference, paper) and _close(reference.year, paper.year))

    def _holds(self, paper: Paper) -> bool:
        """Whether the title is in the entry, between punctuation, and not part of a longer one."""
        if paper.key not in self.key:
            return False
        title, words = Words(paper.title), self.words
        return len(title) >= FEWEST and any(
            words.key(start, start + len(title)) == title.key()
            and words.stands_alone(start, start + len(title))
            for start in range(len(words) - len(title) + 1)
        )


def names_of(paper: Paper) -> set[str]:
    """The DOI and the arXiv number of a paper, if known."""
    own = (f"{each.kind}:{each.value.casefold()}" for each in identifiers_of(paper) if each.kind != "title")
    return {*own}


def _named(reference: Reference) -> Iterator[str]:
    for text in filter(None, (reference.doi, reference.arxiv)):
        name = identify(text)
        yield f"{name.kind}:{name.value.casefold()}"


def shares_author(reference: Reference, paper: Paper) -> bool:
    """Whether an author of the entry is one of the paper's; True if either has no authors."""
    if not reference.authors or not paper.authors or paper.source == "local":  # masked authors
        return True
    return not _people(reference.authors).isdisjoint(_words(paper.authors))


def near(reference: Reference, paper: Paper) -> bool:
    """Whether an entry may mean a paper with another title: most words and the authors agree."""
    mine, theirs = _words((reference.title,)), _words((paper.title,))
    share = len(mine & theirs) / max(len(mine | theirs), 1)
    return bool(reference.authors) and share >= NEAR and shares_author(reference, paper)


class Difference(NamedTuple):
    """A detail in which an entry differs from the source of its paper."""

    kind: Literal["title", "year", "authors"]
    cited: str
    found: str


def differences(reference: Reference, paper: Paper) -> Iterator[Difference]:
    """Differences between an entry and a paper's source; of authors, only the entry's first one is compared."""
    titled = same_title(reference.title, paper.title) or _Entry.of(reference).means(paper)
    if reference.title and not titled:
        yield Difference("title", reference.title, paper.title)
    if not _close(reference.year, paper.year):
        yield Difference("year", str(reference.year), str(paper.year))
    first = reference.model_copy(update={"authors": reference.authors[:1]})
    if not shares_author(first, paper):
        yield Difference("authors", reference.authors[0], ", ".join(paper.authors[:3]))


def _close(one: int | None, other: int | None) -> bool:
    """A preprint and its printed version may be a year apart."""
    return one is None or other is None or abs(one - other) <= 1


def _people(names: Sequence[str]) -> set[str]:
    """Family names, the last word of each."""
    return {fold(name.split()[-1]) for name in names if name.strip()}


def _words(texts: Sequence[str]) -> set[str]:
    return {fold(word) for text in texts for word in re.split(r"[\s,;:.–—-]+", text)} - {""}
