"""Ever wider forms of a query: a service that wants every word finds nothing for a whole abstract."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations

from manyheads.bank.lexical import EVERYWHERE, STOP_WORDS

MOST_LETTERS = 300
"""Of a query: longer ones are refused or cut by the services themselves."""
FEWER = (8, 5, 3)
"""How many words the wider and wider forms keep; then come the pairs of the last ones, as any one may be in the way."""

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")
_LINKING = (
    "about above across after against along among around because before behind below beneath beside besides beyond "
    "down during except inside onto outside over since through throughout toward towards under until up upon versus"
)
"""Titles are full of them, and a search for them finds anything."""
_COMMON = frozenset(f"{EVERYWHERE} {_LINKING}".split())
_FEWEST_IN_TITLE = 3


def widen(query: str, most: int = MOST_LETTERS) -> Iterator[str]:
    """A query, then ever wider forms of it: its first sentence, its salient words, fewer and fewer, then pairs of them.

    The same forms for the same query always, of at most `most` letters, none twice but for stop words, which services pass
    over. Each has at most as many words as the one before, and none that the query had not. A single word is not asked
    for, it would match a whole field; nothing comes of a blank query.
    """
    said: set[frozenset[str]] = set()
    for form in _forms(query, most):
        said_words = frozenset(word.casefold() for word in words_of(form))
        words = said_words - STOP_WORDS or said_words
        if form and words not in said:
            said.add(words)
            yield form


def words_of(text: str) -> list[str]:
    """The words of a text, signs and operators of query languages left out."""
    return _WORD.findall(text)


def salient(text: str, most: int) -> list[str]:
    """Up to `most` different words that tell what a text is about, in their order; without stop words."""
    return _in_order(_ranked(text)[:most])


def _ranked(text: str) -> list[tuple[int, str]]:
    """The different words that are no stop words, most salient first, each with its place.

    Words that every abstract has say least; names and acronyms, and long words, say most.
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
        """The text up to `most` letters, whole words where it has any."""
        return text if len(text) <= most else text[: most + 1].rpartition(" ")[0] or text[:most]

    whole, title = cut(" ".join(query.split())), cut(first_sentence(query))
    yield whole
    if not set(words_of(title)) <= set(words_of(whole)):  # it stood behind the cut
        title = whole
    yield title
    ranked = _ranked(title)
    for number in FEWER:
        yield " ".join(_in_order(ranked[:number]))
    for pair in combinations(ranked[: FEWER[-1]], 2):
        yield " ".join(_in_order(pair))


def first_sentence(query: str) -> str:
    """The title of a text, or the first sentence that says something (`Abstract.` does not); else the whole."""
    for line in query.splitlines():
        for sentence in _SENTENCE_END.split(line):
            if len(salient(sentence, _FEWEST_IN_TITLE)) == _FEWEST_IN_TITLE:
                return " ".join(sentence.split())
    return " ".join(query.split())
