"""Wider and wider forms of a query: a service that requires every word finds nothing for a whole abstract."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations

from manyheads.corpus.lexical import EVERYWHERE, STOP_WORDS

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
_COMMON = frozenset(f"{EVERYWHERE} {_LINKING}".split())
_FEWEST_IN_TITLE = 3


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
