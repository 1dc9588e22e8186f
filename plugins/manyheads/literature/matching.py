"""Queries and matches: wider forms of a query, papers of several sources merged, and which paper a reference means."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Literal, NamedTuple

from manyheads.base.papers import Paper, fold, identifiers_of, identify
from manyheads.corpus.phrases import EVERYWHERE, STOP_WORDS, stems
from manyheads.corpus.references import FEWEST, FoldedWords

if TYPE_CHECKING:
    from manyheads.documents.document import Reference

# Wider and wider forms of a query: a service that requires every word finds nothing for a whole abstract.

MOST_LETTERS = 300
"""Maximum letters of a query: services refuse or cut longer ones."""
FEWER = (8, 5, 3)
"""Number of words in the wider forms; then follow pairs of the last ones, as any one may be the obstacle."""

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")
_LINKING = (
    "about above across after against along among around because before behind below beneath beside besides beyond "
    "down during except inside onto outside over since through throughout toward towards under until up upon versus"
)
"""Frequent words in titles, useless in a search."""
_COMMON = EVERYWHERE.union(_LINKING.split())
_FEWEST_IN_TITLE = 3
_OPERATORS = {"AND", "OR", "NOT"}


def widen(query: str, most: int = MOST_LETTERS) -> Iterator[str]:
    """A query, then wider forms: its first sentence, fewer and fewer salient words, then pairs of them.

    Deterministic; each form has at most `most` letters, and differs from the others in more than stop words, which services
    ignore. No form has more words than the one before, or words that the query does not have. A single word is not used, as it
    would match a whole field; a blank query has no forms.
    """
    said: set[frozenset[str]] = set()
    for form in _forms(query, most):
        said_words = frozenset(word.casefold() for word in words_of(form))
        words = said_words - STOP_WORDS or said_words
        if form and words not in said:
            said.add(words)
            yield form


def words_of(text: str) -> list[str]:
    """The words of a text, without punctuation and operators of query languages."""
    return _WORD.findall(text)


def without_operators(text: str) -> str:
    """The words of a text; quotes, wildcards and operators in capitals would change a query."""
    return " ".join(word.lower() if word in _OPERATORS else word for word in words_of(text))


def salient(text: str, most: int) -> list[str]:
    """Up to `most` distinct words most specific to a text, in order, without stop words."""
    return _in_order(_ranked(text)[:most])


def _ranked(text: str) -> list[tuple[int, str]]:
    """The distinct words except stop words, most specific first, each with its position.

    Words common to all abstracts rank last; names, acronyms and long words rank first.
    """
    words = [word for word in words_of(text) if len(word) > 1]
    counts = Counter(word.casefold() for word in words)
    first = {word.casefold(): (place, word) for place, word in reversed([*enumerate(words)])}

    def weight(one: tuple[int, str]) -> tuple[bool, int, bool, int, int]:
        place, word = one
        named = any(letter.isupper() for letter in word[1:]) or any(letter.isdigit() for letter in word)
        low = word.casefold()
        return low not in _COMMON, counts[low], named, min(len(word), 12), -place

    return sorted((one for low, one in first.items() if low not in STOP_WORDS), key=weight, reverse=True)


def _in_order(words: Iterable[tuple[int, str]]) -> list[str]:
    return [word for _, word in sorted(words)]


def _forms(query: str, most: int) -> Iterator[str]:
    def cut(text: str) -> str:
        """The text up to `most` letters, cut between words if possible."""
        return text if len(text) <= most else text[: most + 1].rpartition(" ")[0] or text[:most]

    whole, title = cut(" ".join(query.split())), cut(first_sentence(query))
    yield whole
    if not set(words_of(title)) <= set(words_of(whole)):  # it comes after the cut
        title = whole
    yield title
    ranked = _ranked(title)
    for number in FEWER:
        yield " ".join(_in_order(ranked[:number]))
    for pair in combinations(ranked[: FEWER[-1]], 2):
        yield " ".join(_in_order(pair))


def first_sentence(query: str) -> str:
    """The title of a text, or the first informative sentence (not `Abstract.`); else the whole."""
    for line in query.splitlines():
        for sentence in _SENTENCE_END.split(line):
            if len(salient(sentence, _FEWEST_IN_TITLE)) == _FEWEST_IN_TITLE:
                return " ".join(sentence.split())
    return " ".join(query.split())


class Topic:
    """The words of a query, for sources that also list papers with few of them."""

    def __init__(self, query: str) -> None:
        self._words = set(stems(query))

    def of(self, paper: Paper) -> bool:
        """Whether a paper's title and abstract have two thirds of the words (of two, both), ignoring endings."""
        words = self._words
        count = len(words & set(stems(f"{paper.title} {paper.abstract}")))
        return 0 < count >= len(words) - len(words) // 3


# Papers of several sources, merged by identifiers: a DOI, a title.

_FILLED = ("abstract", "venue", "citations", "doi", "url", "open_text")
"""Fields that a paper takes from another source if its own has none."""
TELLING = 20
"""Minimum letters and digits for a title to be unique."""


class Merged:
    """Papers of several sources without duplicates: equal DOI, or equal title up to punctuation and case.

    Many papers share a short title, such as "Editorial": year and authors must agree too.
    """

    def __init__(self) -> None:
        self._papers: list[tuple[int, Paper]] = []
        self._places: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self._papers)

    def add(self, papers: Sequence[Paper], step: int = 0) -> None:
        """Add papers; `step` is the number of times the query was widened."""
        for paper in papers:
            keys = [f"doi:{paper.doi.casefold()}"] if paper.doi else []
            keys.append(f"title:{paper.key or paper.id}")
            same = (
                place
                for key in keys
                for place in self._places.get(key, ())
                if key.startswith("doi:") or _is_one(self._papers[place][1], paper)
            )
            place = next(same, None)
            if place is None:
                place = len(self._papers)
                self._papers.append((step, paper))
            else:
                first, paper_before = self._papers[place]
                empty = (name for name in _FILLED if getattr(paper_before, name) in (None, ""))
                gaps = {name: getattr(paper, name) for name in empty}
                self._papers[place] = (min(first, step), paper_before.model_copy(update=gaps))
            for key in keys:
                self._places.setdefault(key, []).append(place)

    def best(self, limit: int) -> tuple[Paper, ...]:
        """Results of narrower queries first, then in order."""
        return tuple(paper for _, paper in sorted(self._papers, key=lambda one: one[0]))[:limit]


def _is_one(one: Paper, other: Paper) -> bool:
    """Whether two papers with the same title, without a common DOI, are the same."""
    if len(one.key) >= TELLING:
        return True
    if one.source == other.source:
        return one.id == other.id
    years = abs(one.year - other.year) if one.year and other.year else None
    # the authors of a corpus are masked
    people, others = (_surnames(() if each.source == "local" else each.authors) for each in (one, other))
    if people and others:
        return bool(people & others) and (years or 0) <= 1
    return years == 0 and not (one.doi and other.doi)


def _surnames(names: Sequence[str]) -> set[str]:
    """Family names: what stands before a comma, else the last word of each."""
    words = (name.partition(",")[0].split() for name in names)
    return {fold(each[-1]) for each in words if each}


# Whether a reference, or a title, means a paper: by DOI, arXiv number, or a nearly equal title.

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


class CitedWorks:
    """References, to match against a paper."""

    def __init__(self, references: Sequence["Reference"]) -> None:
        self._entries = [_CitedEntry.of(reference) for reference in references]
        self._names = {name for entry in self._entries for name in entry.names}

    def means(self, paper: Paper) -> bool:
        """Whether a paper has the DOI, arXiv number or title of one of them, or its title is in an entry."""
        return not self._names.isdisjoint(names_of(paper)) or any(one.means(paper) for one in self._entries)


@dataclass(frozen=True)
class _CitedEntry:
    reference: "Reference"
    names: frozenset[str]
    key: str
    """The letters and digits of its text."""
    words: FoldedWords

    @classmethod
    def of(cls, reference: "Reference") -> "_CitedEntry":
        return cls(
            reference,
            frozenset(identify(name).key for name in (reference.doi, reference.arxiv) if name),
            fold(reference.text),
            FoldedWords(reference.text),
        )

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
        title, words = FoldedWords(paper.title), self.words
        return len(title) >= FEWEST and any(
            words.key(start, start + len(title)) == title.key()
            and words.stands_alone(start, start + len(title))
            for start in range(len(words) - len(title) + 1)
        )


def names_of(paper: Paper) -> set[str]:
    """The DOI and the arXiv number of a paper, if known."""
    return {each.key for each in identifiers_of(paper) if each.kind != "title"}


def shares_author(reference: "Reference", paper: Paper) -> bool:
    """Whether an author of the entry is one of the paper's; True if either has no authors."""
    if not reference.authors or not paper.authors or paper.source == "local":  # masked authors
        return True
    return not _surnames(reference.authors).isdisjoint(_words(paper.authors))


def near(reference: "Reference", paper: Paper) -> bool:
    """Whether an entry may mean a paper with another title: most words and the authors agree."""
    mine, theirs = _words((reference.title,)), _words((paper.title,))
    share = len(mine & theirs) / max(len(mine | theirs), 1)
    return bool(reference.authors) and share >= NEAR and shares_author(reference, paper)


def resembles(reference: "Reference", paper: Paper) -> bool:
    """Whether a paper may be the entry's by its title, of which either may lack a part, if they have the same number."""
    mine, theirs = _words((reference.title,)), _words((paper.title,))
    alike = len(mine & theirs) >= NEAR * min(len(mine), len(theirs))
    return same_title(reference.title, paper.title) or alike


def is_work(reference: "Reference", paper: Paper) -> bool:
    """Whether a paper is surely the entry's by its title alone: year and first author agree if known, with a short title both
    must be."""
    known = reference.authors and paper.authors and reference.year and paper.year
    return not any(differences(reference, paper)) and (len(paper.key) >= TELLING or bool(known))


class Difference(NamedTuple):
    """A detail in which an entry differs from the source of its paper."""

    kind: Literal["title", "year", "authors"]
    cited: str
    found: str


def differences(reference: "Reference", paper: Paper) -> Iterator[Difference]:
    """Differences between an entry and a paper's source; of authors, only the entry's first one is compared."""
    titled = same_title(reference.title, paper.title) or _CitedEntry.of(reference).means(paper)
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


def _words(texts: Sequence[str]) -> set[str]:
    return {fold(word) for text in texts for word in re.split(r"[\s,;:.–—-]+", text)} - {""}
