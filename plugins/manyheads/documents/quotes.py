"""Finds quotes in a document: first exact letters, then nearly the same words.

A quote may differ from the printed text in hyphens, ligatures, case, white space, citations, articles or a letter of a long
word. It must not differ in a number, a negation or a content word: that is another sentence.
"""

import re
import unicodedata
import weakref
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from difflib import SequenceMatcher
from itertools import product
from pathlib import Path
from typing import NamedTuple

from manyheads.base.papers import fold
from manyheads.documents.document import SIGN, Box, Document, Limits, word_count
from manyheads.documents.headings import FLOAT
from manyheads.documents.pdfium import opened, page_of
from manyheads.documents.words import Letter, PageFrame, direction_of, ink_of, letters_of

SHORT = 4
"""Words below which a quote must match exactly."""
LONG = 5
"""Minimum letters of a word in which one letter may differ."""
LOOSE = 0.12
"""Maximum share of a quote's letters that differ."""
SMALL = frozenset(
    re.findall(
        r"\w+",
        "a an the of that which this these those its our we also then thus so is are was were be been has have had",
    )
)
"""Words that may be missing from a quote, or added to it."""
CITED = re.compile(
    r"\[\d{1,4}(?:\s*[,;–—-]\s*\d{1,4})*\]|\((?:[^()]{0,200}\s)?[^\W\d_][\w.’'-]*,?\s+(?:19|20)\d\d[a-z]?(?:[;,][^()]{0,200})?\)"
    r"|\((?:19|20)\d\d[a-z]?\)"
)
GAP = re.compile(r"\s*(?:\[\s*(?:\.\s?\.\s?\.|…)\s*\]|\(\s*(?:\.\s?\.\s?\.|…)\s*\)|\.\s?\.\s?\.|…)\s*")
WORD = re.compile(rf"(?:(?<![\w.)\]])[-−]\s?)?\d+(?:[.,]\d+)*|[{SIGN}]|[^\W\d_{SIGN}]+(?:['’][^\W\d_]+)?")
RUN = re.compile(r"[^\W_]+")
LIGATURE = str.maketrans("", "", "fil")
CAPTION = re.compile(rf"(?i)^\W*{FLOAT}\s*[A-Z]?\.?[\dIVX]+\s*[:.|]\s*(?=\S)")
"""The label of a caption, which a document stores without it."""
ALIKE = str.maketrans(
    dict.fromkeys("“”„‟″«»", '"')
    | dict.fromkeys("‘’‚‛′`", "'")
    | dict.fromkeys("‐‑‒–—−\u00ad", "-")
    | dict.fromkeys("\n\t\r\u00a0", " ")
)
EDGES = " \t\n.,;:!?\"'*_()[]{}…-"


class Passage(NamedTuple):
    """The location of a quote in a document."""

    text: str
    """As in the document."""
    section: int | None
    """The index of the section; None outside sections."""
    page: int | None
    similarity: float
    """Share of equal letters, 0 to 1."""
    exact: bool
    """Whether it is exact, except for white space, quotation marks and dashes."""
    where: str = ""
    """The section's name, `abstract`, `title`, `Figure 2`, `Table 1` or `note`."""


def find_quote(document: Document, quote: str) -> Passage | None:
    """The passage of a quote, in sections, title, abstract, captions, tables and notes; never in hidden text.

    Parts separated by `…` are found one after the other, in the same section. None if not found.
    """
    held = _HELD.get(id(document))
    if held is None or held[0]() is not document:
        if len(_HELD) > 8:
            _HELD.clear()
        held = _HELD[id(document)] = weakref.ref(document), _Index(document)
    return held[1].passage(quote)


class Letters:
    """A text's letters and digits, in lower case without accents, with their positions in the text."""

    def __init__(self, text: str, *, cited: bool = False) -> None:
        pieces, places = list[str](), array("I")
        for run in RUN.finditer(text if cited else CITED.sub(_blank, text)):
            if run[0].isascii():
                pieces.append(run[0].lower())
                places.extend(range(*run.span()))
            else:
                for place, letter in enumerate(run[0], run.start()):
                    plain = fold(letter)
                    pieces.append(plain)
                    places.extend([place] * len(plain))
        self.text, self.places = "".join(pieces), places


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


class _Index:
    """The letters of all texts of a document, unit by unit."""

    def __init__(self, document: Document) -> None:
        self._units = [unit for unit in document.units() if unit.text]
        pieces, places, self._starts, length = list[str](), array("I"), list[int](), 0
        for unit in self._units:
            letters = Letters(unit.text)
            self._starts.append(length)
            pieces.append(letters.text)
            places.extend(letters.places)
            places.append(len(unit.text))
            length += len(letters.text) + 1
        self._starts.append(length)
        self._letters, self._places = "|".join(pieces), places
        self._plain = [unit.text.translate(ALIKE) for unit in self._units]

    def passage(self, quote: str) -> Passage | None:
        if not self._units:
            return None
        parts = [part for part in GAP.split(quote) if any(map(str.isalnum, part))]
        if len(parts) < 2:
            label = CAPTION.match(quote)
            for one in (quote, quote[label.end() :]) if label else (quote,):
                if parts and (match := self._match(one, range(len(self._units)))):
                    return match[0]
            return None
        for number in range(len(self._units)):
            passages, end = list[Passage](), 0
            for part in parts:
                match = self._match(part, range(number, number + 1), end)
                if match is None:
                    break
                passages.append(match[0])
                end = match[1]
            else:
                similar = sum(one.similarity * len(part) for one, part in zip(passages, parts, strict=True))
                return passages[0]._replace(
                    text=" … ".join(one.text for one in passages),
                    similarity=round(similar / sum(map(len, parts)), 3),
                    exact=all(one.exact for one in passages),
                )
        return None

    def _match(self, quote: str, units: range, after: int = 0) -> tuple[Passage, int] | None:
        """The best passage, or the first after a character, and the character at which it ends."""
        plain = " ".join(quote.translate(ALIKE).split())
        for number in units:
            text = self._plain[number]
            for start in _occurrences(text, plain, after, len(text)):
                end = start + len(plain)
                if not (_inner(text, start) or _inner(text, end)):
                    return self._passage(number, start, end, 1.0, exact=True), end
        letters = Letters(quote).text
        if not letters or not units:
            return None
        short = word_count(quote) < SHORT
        low, high = self._starts[units[0]], self._starts[units[-1] + 1] - 1
        low = bisect_left(self._places, after, low, high)
        close: tuple[Passage, int] | None = None
        for start in _occurrences(self._letters, letters, low, high):
            match = self._close(quote, start, start + len(letters), 1.0)
            if match and match[0].exact:
                return match
            close = close or match
        if close or short:
            return None if short else close
        most = max(1, int(LOOSE * len(letters)))
        places = near(self._letters, letters, most, low, high)
        matches = (self._close(quote, start, end, 1 - off / len(letters)) for start, end, off in places)
        return next(filter(None, matches), None)

    def _close(self, quote: str, start: int, end: int, similarity: float) -> tuple[Passage, int] | None:
        """The passage of some letters, if it says the same as the quote, and the character at which it ends."""
        number = bisect_right(self._starts, start) - 1
        if end >= self._starts[number + 1]:
            return None
        text = self._units[number].text
        first, last = self._places[start], self._places[end - 1] + 1
        while _inner(text, first):
            first -= 1
        while _inner(text, last):
            last += 1
        # A word left out at an end may have cost its neighbour.
        firsts, lasts = [first], [last]
        if similarity < 1:
            before, behind = text[max(0, first - 60) : first], text[last : last + 60]
            for words in (r"(?:\w+\W+){1,2}$", r"\w+\W+$"):
                firsts += [first - len(one[0]) for one in re.finditer(words, before)]
            lasts += [last + one.end() for one in re.finditer(r"^(?:\W+\w+){1,2}?(?!\w)", behind)]
        for first, last in product(firsts, lasts):
            if same_words(quote, text[first:last]):
                exact = similarity == 1 and _bare(quote) == _bare(text[first:last])
                return self._passage(number, first, last, similarity, exact=exact), last
        return None

    def _passage(self, number: int, first: int, last: int, similarity: float, *, exact: bool) -> Passage:
        unit = self._units[number]
        text = " ".join(unit.text[first:last].split())
        return Passage(text, unit.section, unit.page(first), round(similarity, 3), exact, unit.where)


_HELD: dict[int, tuple[weakref.ref[Document], _Index]] = {}


def _bare(text: str) -> str:
    """A text without edges, white space and variants of punctuation."""
    text = " ".join(text.translate(ALIKE).strip(EDGES).split())
    return text[:1].lower() + text[1:]


def _inner(text: str, place: int) -> bool:
    around = text[place - 1 : place + 1] if 0 < place < len(text) else ""
    return around.isalnum() and not re.search(f"[{SIGN}]", around)


def _occurrences(text: str, part: str, low: int, high: int, most: int = 50) -> Iterator[int]:
    for _ in range(most):
        low = text.find(part, low, high)
        if low < 0:
            return
        yield low
        low += 1


def near(
    text: str, part: str, most: int, low: int = 0, high: int | None = None
) -> Iterator[tuple[int, int, int]]:
    """Approximate matches of letters: begin, end and number of differences (at most `most`), most likely first.

    One of `most` + 1 pieces is unchanged; the distance is computed around positions with several such pieces.
    """
    high = len(text) if high is None else high
    size = max(4, len(part) // (most + 1))
    votes = Counter[int]()
    for offset in range(0, len(part) - size + 1, size):
        for place in _occurrences(text, part[offset : offset + size], low, high):
            votes[(place - offset) // (most + 1)] += 1
    for bucket, _ in votes.most_common(6):
        place = bucket * (most + 1)
        begin, end = max(low, place - most - 1), min(high, place + len(part) + 2 * most + 2)
        window = text[begin:end]
        stop, distance = _closest(part, window)
        if distance <= most and stop:
            size_back, _ = _closest(part[::-1], window[:stop][::-1], anchored=True)
            yield begin + stop - size_back, begin + stop, distance


def _closest(part: str, text: str, *, anchored: bool = False) -> tuple[int, int]:
    """The end of the best match of a part in a text, with the edit distance (Myers, J. ACM 46, 1999).

    Anchored, it begins at the text's start.
    """
    size = len(part)
    masks = dict[str, int]()
    for place, letter in enumerate(part):
        masks[letter] = masks.get(letter, 0) | 1 << place
    every, top = (1 << size) - 1, 1 << (size - 1)
    more, less, score = every, 0, size
    best = (size, 0)
    for place, letter in enumerate(text, 1):
        equal = masks.get(letter, 0)
        vertical = equal | less
        across = (((equal & more) + more) ^ more) | equal
        up, down = less | (every & ~(across | more)), more & across
        score += bool(up & top) - bool(down & top)
        up, down = (up << 1 | anchored) & every, (down << 1) & every
        more, less = down | (every & ~(vertical | up)), up & vertical
        best = min(best, (score, place))
    return best[1], best[0]


def same_words(quote: str, text: str) -> bool:
    """Whether a quote says the same as the text, word for word, with the allowed differences."""
    quoted, printed = _words(quote), _words(text)
    matcher = SequenceMatcher(None, [one for one, _ in quoted], [one for one, _ in printed], autojunk=False)
    return all(
        tag == "equal" or _excused(quoted[a0:a1], printed[b0:b1])
        for tag, a0, a1, b0, b1 in matcher.get_opcodes()
    )


def _words(text: str) -> list[tuple[str, bool]]:
    """Words and numbers in plain letters, each with whether it touches the previous one."""
    text = CITED.sub(_blank, unicodedata.normalize("NFKC", text))
    words, end = list[tuple[str, bool]](), -1
    for match in WORD.finditer(text):
        word = match[0]
        if any(map(str.isdigit, word)):
            word = re.sub(r",(?=\d{3}(?!\d))|\s", "", word).replace("−", "-")
        else:
            word = fold(word)
        words.append((word, match.start() == end))
        end = match.end()
    return words


def _excused(quoted: Sequence[tuple[str, bool]], printed: Sequence[tuple[str, bool]]) -> bool:
    mine, theirs = [one for one, _ in quoted], [one for one, _ in printed]
    numbers = [[one for one in words if one[-1:].isdigit()] for words in (mine, theirs)]
    if numbers[0] != numbers[1]:
        # The mark of a footnote stands at its word.
        return not mine and all(
            (touches and one.isdigit() and len(one) < 3) or one in SMALL for one, touches in printed
        )
    one, other = "".join(mine), "".join(theirs)
    if one == other or {*mine, *theirs} <= SMALL:
        return True
    mine, theirs = ([word for word in words if word not in SMALL] for words in (mine, theirs))
    one, other = "".join(mine), "".join(theirs)
    if one == other:
        return True
    # Ligatures are lost by some readers of PDFs: `e ciency`.
    if (
        max(len(one), len(other)) >= SHORT
        and 0 < abs(len(one) - len(other)) < 4
        and one.translate(LIGATURE) == other.translate(LIGATURE)
    ):
        return True
    one, other = sorted((one, other), key=len)
    if len(one) > 2 and other.startswith(one) and len(other) < len(one) + 3:
        return True
    if len(one) < LONG or one[:2] != other[:2]:
        return False
    return _closest(one, other, anchored=True)[1] + abs(len(one) - len(other)) <= max(1, len(one) // 6)


LEAST = 12
"""Minimum letters of half a passage to locate it."""


def quote_boxes(path: Path, page: int, text: str) -> list[Box]:
    """The lines of a page that contain a passage, in display coordinates (`render` without a turn); [] if not found.

    Args:
        path: the PDF.
        page: from 1.
        text: a passage from `find_quote`; it may begin on the previous page, or continue on the next.

    Raises:
        DocumentError: the file cannot be read, or has no such page.
    """
    with opened(path) as document:
        raw = page_of(document, path, page)
        shown = PageFrame.on(raw)
        with closing(raw.get_textpage()) as textpage:
            letters = [one for one in letters_of(textpage, Limits()) if one.style and not one.style.invisible]
        reading = PageFrame.on(raw, direction_of(letters))
        raw.close()
    # A letter may be drawn as a ligature, and count as two.
    folds = [fold(one.text) for one in letters]
    printed = "".join(folds)
    owners = [number for number, fold in enumerate(folds) for _ in fold]
    lines: list[list[Letter]] = []
    for part in GAP.split(text):
        for start, end in _spans(printed, Letters(part, cited=True).text):
            for number in dict.fromkeys(owners[start:end]):
                if lines and _goes_on(ink_of(lines[-1], reading), ink_of([letters[number]], reading)):
                    lines[-1].append(letters[number])
                else:
                    lines.append([letters[number]])
    return [ink_of(line, shown) for line in lines]


def _spans(printed: str, part: str) -> list[tuple[int, int]]:
    """The location of letters; of their halves, if separated by a page's end or a figure."""
    if not part:
        return []
    start = printed.find(part)
    if start >= 0:
        return [(start, start + len(part))]
    if one := next(near(printed, part, max(1, int(LOOSE * len(part)))), None):
        return [one[:2]]
    middle = len(part) // 2
    return [*_spans(printed, part[:middle]), *_spans(printed, part[middle:])] if middle >= LEAST else []


def _goes_on(line: Box, letter: Box) -> bool:
    """Whether a letter is on the same line."""
    high = max(line[3] - line[1], letter[3] - letter[1])
    level = min(line[3], letter[3]) - max(line[1], letter[1]) > -0.3 * high and (
        max(line[3], letter[3]) - min(line[1], letter[1]) < 1.9 * high
    )
    return level and -0.5 * high < letter[0] - line[2] < 3 * high
