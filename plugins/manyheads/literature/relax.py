"""Ever wider forms of a query: a service that wants every word finds nothing for a whole abstract."""

import re
from collections import Counter
from collections.abc import Iterator

from manyheads.bank.lexical import STOP_WORDS
from manyheads.bank.phrases import EVERYWHERE

MOST_LETTERS = 300
"""Of a query: longer ones are refused or cut by the services themselves."""
FEWER = (8, 5, 3, 2)
"""How many words the wider and wider forms keep; a single one would match a whole field."""

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")
_COMMON = frozenset(EVERYWHERE.split())
_FEWEST_IN_TITLE = 3


def widen(query: str, most: int = MOST_LETTERS) -> Iterator[str]:
    """A query, then ever wider forms of it: its first sentence, its salient words, fewer and fewer of them.

    The same forms for the same query always; each has fewer words than the one before and none that it had not.
    Nothing comes of a blank query.

    Args:
        most: letters that a form may have.
    """
    said: set[tuple[str, ...]] = set()
    for form in _forms(query, most):
        words = tuple(sorted({word.casefold() for word in words_of(form)}))
        if form and words not in said:
            said.add(words)
            yield form


def words_of(text: str) -> list[str]:
    """The words of a text, signs and operators of query languages left out."""
    return _WORD.findall(text)


def salient(text: str, most: int) -> list[str]:
    """Up to `most` different words that tell what a text is about, in their order; without stop words."""
    counts: Counter[str] = Counter(word.casefold() for word in words_of(text))
    first = {word.casefold(): word for word in reversed(words_of(text))}
    told = [low for low in counts if low not in STOP_WORDS and len(low) > 1]
    best = sorted(told, key=lambda low: (_weight(first[low], counts[low]), -told.index(low)), reverse=True)
    kept = set(best[:most])
    return [first[low] for low in told if low in kept]


def _forms(query: str, most: int) -> Iterator[str]:
    whole = _cut(" ".join(query.split()), most)
    yield whole
    title = _cut(_first_sentence(query), most)
    if not set(words_of(title)) <= set(words_of(whole)):  # it stood behind the cut
        title = whole
    yield title
    for number in FEWER:
        yield " ".join(salient(title, number))


def _first_sentence(query: str) -> str:
    """The title of a text, or the first sentence that says something (`Abstract.` does not); else the whole."""
    for line in query.splitlines():
        for sentence in _SENTENCE_END.split(line):
            if len(salient(sentence, _FEWEST_IN_TITLE)) == _FEWEST_IN_TITLE:
                return " ".join(sentence.split())
    return " ".join(query.split())


def _cut(text: str, most: int) -> str:
    """The text up to `most` letters, whole words where it has any."""
    if len(text) <= most:
        return text
    return text[: most + 1].rpartition(" ")[0] or text[:most]


def _weight(word: str, count: int) -> tuple[bool, int, bool, int]:
    """Words that every abstract has say least; names and acronyms, and long words, say most."""
    named = any(letter.isupper() for letter in word[1:]) or any(letter.isdigit() for letter in word)
    return word.casefold() not in _COMMON, count, named, min(len(word), 12)
