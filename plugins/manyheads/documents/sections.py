"""From lines to title, authors, abstract and sections."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, takewhile
from typing import NamedTuple

from manyheads.base.papers import fold
from manyheads.documents.document import CORE, SIGN, Kind
from manyheads.documents.headings import ABSTRACT, ASIDE, CONTENTS, PLAIN, REFERENCES, kind_of
from manyheads.documents.layout import CAPTION, ENDS, TextLine, groups, joined, spacing, wordy

NUMBERED = re.compile(
    r"(?i)^(?:(?:section|appendix)\s+|[第제]\s?)?((?:\d{1,2}|[A-Z])(?:[.．]\d{1,2}){0,3}|[IVX]{1,5}|[Ⅰ-Ⅻ]|[一二三四五六七八九十]{1,3}(?=[、.．章节節]))"
    rf"(?:[章节節장절]\s+|[.:)．、：）]\s*|\s+|(?=[{SIGN}]))(\S.*)$"
)
LETTER = re.compile(r"[A-HJ-UWYZ](?:\.|$)")
"""The number of an appendix, but not of a section: I, V and X are Roman."""
ROMAN = re.compile(r"[IVX]+")
NUMERALS = {
    numeral: number
    for numerals in (
        "I II III IV V VI VII VIII IX X XI XII XIII XIV XV",
        "一 二 三 四 五 六 七 八 九 十 十一 十二 十三 十四 十五",
    )
    for number, numeral in enumerate(numerals.split(), 1)
}
PLACES = re.compile(
    r"@|universit|institut|department|school|college|laborator|\binc\b|\bltd\b|research|google|microsoft|paper under|"
    r"anonymous|https?:|academy|centre|center|faculty|\d{4}|correspondence|equal contribution|email|key ?words|"
    r"大学|大學|学院|研究[所院室]|公司|会社|대학|학교|학과|연구[소원실]",
    re.I,
)
LONGEST_HEADING = 3
"""Lines."""
HEAD = 15
"""Lines of a paper that may contain its title."""
_NAME = r"(?:[A-ZÀ-ÞŁŚŽ][\w.'’\-]*|(?:van|von|de|der|den|del|da|di|la|le|bin|al|ten|el|dos)\b)"
PERSON = re.compile(rf"^{_NAME}(?:\s+{_NAME}){{1,5}}$|^[{SIGN}가-힣]{{2,4}}(?:\s?[{SIGN}가-힣]{{1,4}})?$")
MASTHEAD = re.compile(r"(?i)\b(?:vol(?:ume)?|no|pp|issn|doi|issue|homepage|published)\b[.:\s]|www\.|https?:")
"""Parts of the lines below a journal's name."""
BY = re.compile(r"(?i)^by:?\s+")
MARKED = re.compile(r"(?<=\w)[*∗⋆†‡§¶]+$")
"""The mark of a note behind a title."""


@dataclass
class Division:
    title: str
    number: str = ""
    kind: Kind = "other"
    text: str = ""
    """Paragraphs, one per line."""
    starts: tuple[tuple[int, int], ...] = ()
    """Pages, and the characters of `text` at which they begin."""
    cites: tuple[int, ...] | None = None
    """Its citations; None to search the text for them."""
    pages: tuple[int, ...] = ()
    references: bool = False
    depth: int = 0
    """1 for a section, 2 for a subsection; 0 to infer it from its number."""
    lines: list[TextLine] = field(default_factory=list[TextLine])
    heading: TextLine | None = None

    @property
    def level(self) -> int:
        return self.depth or self.number.count(".") + 1


def title_and_authors(
    lines: Sequence[TextLine], body: float, told: str = ""
) -> tuple[str, tuple[str, ...], list[TextLine]]:
    """The title, the authors below it, and the lines of the text.

    Args:
        told: the title in the file's metadata.
    """
    first = [one for one in lines if one.page == lines[0].page] if lines else []
    end = next((number for number, one in enumerate(first) if _opens(one, body)), len(first))
    if end < len(first):
        # Authors may stand in two columns above the abstract.
        opening = first[end]
        beside = [
            one
            for one in first[end:]
            if one.column != opening.column
            and one.base < opening.base - 1.5 * opening.size
            and not _running(one)
        ]
        apart = set(map(id, beside))
        first = [*first[:end], *beside, *(one for one in first[end:] if id(one) not in apart)]
        lines = [*first, *lines[len(first) :]]
        end += len(beside)
    head = first[:end]
    start, stop = _title(head, body, told)
    if start == stop:
        return "", (), [*lines]
    title = MARKED.sub("", joined(map(_unmarked, head[start:stop])))
    # An abstract without a heading, or the text itself, consists of sentences.
    sentences = (at for at in range(stop, len(first) - 1) if all(map(_running, first[at : at + 2])))
    begin = min(next(sentences, end), end)
    people = [one for one in first[stop:begin] if one.largest <= first[start].largest]
    return title, _authors(people), [*lines[begin:]]


def _title(head: Sequence[TextLine], body: float, told: str) -> tuple[int, int]:
    """The lines of the title, from and to: what the metadata say, if it stands there; else the first large lines above the
    authors, the largest ones, or the first in bold or capitals; equal if there are none."""
    for start, stop in ((a, b) for a in range(min(HEAD, len(head))) for b in range(a + 1, a + 6)):
        if len(fold(told)) > 8 and fold("".join(one.text for one in head[start:stop])) == fold(told):
            return start, min(stop, len(head))
    size = max((one.largest for one in head[:HEAD]), default=0.0)
    if size < body + 1:
        # AMS and APA.
        start = next((n for n, one in enumerate(head[:HEAD]) if _stands_out(one)), len(head))
        stop = min(start + 1, len(head))
        while stop < len(head) and _goes_on(head[stop], head[stop - 1], body, 2.5):
            stop += 1
        return start, stop
    start = next(number for number, one in enumerate(head) if one.largest > size - 0.3)
    for number, one in enumerate(head[:start]):
        large = one.largest >= body + 1 and len(one.words) > 2 and not _authors([one])
        if large and len(_authors(head[number + 1 : start])) > 1 and not _authors(head[start + 1 :]):
            # A logo stands below the authors.
            start, size = number, one.largest
            break
    stop = start + 1
    while stop < len(head) and abs(head[stop].largest - size) < 0.3:
        stop += 1
    below = next((n for n, one in enumerate(head) if n > stop and one.largest >= body + 1), 0)
    if below and any(MASTHEAD.search(one.text) for one in head[start:below]) and not _authors(head[:below]):
        # The journal's name stands above the title, larger.
        start, stop = (below + line for line in _title(head[below:], body, ""))
    return start, stop


def _stands_out(line: TextLine) -> bool:
    """Whether a line is in bold or capitals, and is no address or number."""
    letters = sum(map(str.isalpha, line.text))
    words = len(line.words) > 1 and letters > 0.6 * len(line.text)
    return (line.bold or line.text.isupper()) and words and not PLACES.search(line.text)


def opens_abstract(line: TextLine, body: float) -> bool:
    """Whether a line is the heading of the abstract, or begins with it: `Abstract.`, the word in another font, or before a
    sentence."""
    match = ABSTRACT.match(line.text)
    if not match or match.end() == len(line.text) or len(line.words) == 1:
        return bool(match)
    mark, rest = match["mark"].strip(), line.text[match.end() :]
    first, second = ((one.bold, one.italic, one.caps) for one in line.words[:2])
    begins = rest[:1].isalpha() and not rest[:1].islower()
    sentence = begins and not (line.bold or line.text.isupper() or line.largest > body + 0.5)
    return first != second or sentence or (bool(mark) and not (mark == "-" and rest[:1].islower()))


def _opens(line: TextLine, body: float) -> bool:
    """Whether a line begins the abstract or is the first section's heading."""
    number, title = bare(line)
    named = number in ("1", "I") or bool(PLAIN.match(title))
    return opens_abstract(line, body) or (named and heading(line, body))


def _running(line: TextLine) -> bool:
    """Whether a line is one of sentences: long, and not of names."""
    capitals = sum(one.text[0].isupper() for one in line.words)
    long = line.width > 0.5 * (line.right - line.left) and wordy(line)
    return long and (2 * capitals < len(line.words) or line.text.isupper()) and not PLACES.search(line.text)


def _authors(lines: Sequence[TextLine]) -> tuple[str, ...]:
    names: list[str] = []
    for line in sorted(lines, key=lambda one: (round(one.base), one.x0)):
        if PLACES.search(line.text):
            continue
        for name in pieces_of_names(BY.sub("", _spaced(line))):
            if PERSON.match(name) and len(name) < 50 and name not in names:
                names.append(name)
    return tuple(names)


def pieces_of_names(text: str) -> list[str]:
    """The parts of a line of names, without marks and numbers."""
    pieces = re.split(r"\s*[,;·•|，、；・]\s*|\s+(?:(?i:and|und|et)|&)\s+|\s{2,}|\n", text)
    names = (" ".join(re.sub(r"[^\w\s.'’‐-]|[\d_]", "", piece).split()) for piece in pieces)
    return [name for name in names if name]


def _spaced(line: TextLine) -> str:
    """The line's text, with two spaces at wide gaps."""
    text = ""
    for number, word in enumerate(line.words):
        if number:
            text += "  " if word.x0 - line.words[number - 1].x1 > 0.8 * word.size else " "
        text += word.level or word.text
    return text


def _unmarked(line: TextLine) -> str:
    """The line's text without the marks of notes at its end."""
    text, last = small_capitals(line), line.words[-1]
    return text.removesuffix(last.text) + last.level if len(last.level) > 2 else text


def small_capitals(line: TextLine) -> str:
    """The line's text, with small capitals as small letters."""
    if not any(word.caps for word in line.words):
        return line.text
    return " ".join(
        word.text.lower() if word.text.isupper() and word.size < 0.9 * line.largest else word.text
        for word in line.words
    )


def bare(line: TextLine) -> tuple[str, str]:
    """A heading's number and title, with separated letters joined (`R EFERENCES`)."""
    text = small_capitals(line)
    text = re.sub(r"\b([A-Z]) (?=[A-Z]{2,}\b)", r"\1", text) if text.isupper() else text
    number, match = "", NUMBERED.match(text)
    if match and not match[2].islower():
        number, text = unicodedata.normalize("NFKC", match[1]).rstrip("."), match[2]
    apart = text.split()
    if len(apart) > 1 and all(len(one) == 1 and one > "\u0fff" for one in apart):
        text = "".join(apart)
    return number, text.strip().rstrip(".:：")


def _named(line: TextLine) -> bool:
    """Whether a line's words can be those of a heading."""
    _, title = bare(line)
    words = title.split()
    if not words or len(title) > 120 or len(words) > 22 or CAPTION.match(line.text):
        return False
    letters = sum(map(str.isalpha, title))
    # Chinese has no capitals.
    begins = title[0].isalnum() and not title[0].islower()
    least = max(3 if title.isascii() else 2, 0.6 * len(title.replace(" ", "")))
    return begins and letters >= least


def heading(line: TextLine, body: float) -> bool:
    """Whether a line looks like a section's heading, by its font."""
    if not _named(line):
        return False
    number, title = bare(line)
    letters = sum(map(str.isalpha, title))
    large, capitals = line.largest > body + 0.4, line.text.isupper() and letters > 3
    mixed = any(one.caps for one in line.words) and all(
        one.caps or one.text.isupper() or not one.text.isalpha() for one in line.words[bool(number) :]
    )
    if number:
        return large or line.bold or capitals or mixed or line.italic
    if PLAIN.match(title):
        return large or line.bold or capitals or mixed or line.width < 0.5 * (line.right - line.left)
    return (large and (line.bold or line.largest > body + 0.9)) or (capitals and line.bold)


def divisions(lines: Sequence[TextLine], body: float) -> list[Division]:
    """The text split at its headings; the part before the first has no title."""
    heads = {id(line) for line in lines if heading(line, body)}
    made = _divided(lines, heads, body)
    if sum(bool(one.title) and not (one.references or ABSTRACT.fullmatch(one.title)) for one in made) < 3:
        # Its headings are not in a font of their own: AMS, APA.
        made = max(made, _divided(lines, heads | _bare_headings(lines), body), key=len)
    first = made[0]
    if (end := _set_apart(first.lines, body)) and not any(ABSTRACT.fullmatch(one.title) for one in made):
        made[:1] = [Division("Abstract", lines=first.lines[:end]), Division("", lines=first.lines[end:])]
    set_kinds(made)
    return [one for one in made if one.title or one.lines]


def _set_apart(lines: Sequence[TextLine], body: float) -> int:
    """Number of lines of an abstract without a heading: the first ones, in small letters, italics or bold, or indented on both
    sides."""

    def look(line: TextLine) -> tuple[bool, ...]:
        ends = line.text.endswith((".", ")")) and line.x0 - line.left > 12
        indented = line.x0 - line.left > 12 and (line.right - line.x1 > 12 or ends)
        return line.size < body - 0.6, line.italic, line.bold, indented

    for way in range(4):
        end = len([*takewhile(lambda line: look(line)[way], lines)])  # noqa: B023
        if end > 1 and _running(lines[0]):
            return end
    return 0


def _bare_headings(lines: Sequence[TextLine]) -> set[int]:
    """Lines that are headings by their position: centred, with or being numbers that run 1, 2, 3; else in another font, alone."""
    run = list[TextLine]()
    for line in lines:
        number = bare(line)[0] * _named(line) or line.text.rstrip(".")
        if _centred(line) and NUMERALS.get(number, number) in (len(run) + 1, str(len(run) + 1)):
            run.append(line)
    if len(run) < 3:
        alike = groupby(lines, key=lambda one: (one.page, one.column, one.bold, one.italic))
        short = chain.from_iterable(some for _, own in alike if len(some := [*own]) <= LONGEST_HEADING)
        run = [line for line in short if _alone(line) and _named(line) and not line.text.endswith(".")]
    return set(map(id, run))


def _centred(line: TextLine) -> bool:
    before, behind = line.x0 - line.left, line.right - line.x1
    return abs(before - behind) < 12 and before > 0.08 * (line.right - line.left)


def _alone(line: TextLine) -> bool:
    """Whether a line is in a font of headings, as large as the text: bold, or centred in italics or capitals."""
    return line.bold or (_centred(line) and (line.italic or line.text.isupper()))


def _divided(lines: Sequence[TextLine], heads: set[int], body: float) -> list[Division]:
    made = [Division("")]
    later = Counter(fold(line.text) for line in lines if id(line) in heads)
    step = spacing(lines)
    previous: TextLine | None = None
    for line in lines:
        last = made[-1]
        later[fold(line.text)] -= id(line) in heads
        listed = CONTENTS.match(last.title) and later[fold(line.text)] > 0
        if listed:
            last.lines.append(line)
        elif last.heading and last.heading is previous and _goes_on(line, last.heading, body):
            last.title = joined((last.title, small_capitals(line).rstrip(".:")))
            last.heading = line
        elif id(line) in heads and _stands_alone(line, previous, step) and _in_order(line, made):
            number, title = bare(line)
            made.append(Division(title, number, heading=line, references=bool(REFERENCES.match(title))))
        elif opens_abstract(line, body) and not any(
            one.number or ABSTRACT.fullmatch(one.title) for one in made
        ):
            made.append(Division("Abstract", lines=[line]))
        else:
            last.lines.append(line)
        previous = line
    return made


def _goes_on(line: TextLine, above: TextLine, body: float, far: float = 1.5) -> bool:
    """Whether a line is the second line of a heading, at most `far` lines below the first."""
    number, title = bare(line)
    capitals = any(one.caps for one in line.words)
    same = line.bold == above.bold and capitals == any(one.caps for one in above.words)
    alike = same and abs(line.largest - above.largest) < 0.3
    capital = line.text.isupper() and above.text.isupper()
    marked = line.bold or capitals or capital or line.largest > body + 0.9
    near = line.page == above.page and 0 < line.base - above.base < far * line.largest
    return alike and marked and near and not number and not PLAIN.match(title)


def _stands_alone(line: TextLine, previous: TextLine | None, step: float) -> bool:
    if previous is None or previous.page != line.page or previous.column != line.column:
        return True
    return (
        line.base - previous.base > 1.05 * step
        or line.base < previous.base
        or line.largest > previous.largest + 0.4
        or line.bold != previous.bold
    )


def _in_order(line: TextLine, made: Sequence[Division]) -> bool:
    """Whether a heading's number can follow the earlier ones: lists and tables have numbers too."""
    number, _ = bare(line)
    if not number:
        return True
    later = ROMAN.fullmatch(number) and number not in ("I", "II")
    if later and not any(ROMAN.fullmatch(one.number) for one in made):
        return False
    new = _parts(number)
    lettered = new[0][0] != ""
    before = [_parts(one.number) for one in made if one.number]
    if lettered and before and not any(one.references for one in made):
        # A section of an appendix, or of a Roman one; else `A` is the first word of a title.
        dotted = re.match(r"[A-Z][.:)]", line.text) is not None
        last = made[-1].kind if made[-1].kind != "other" else _kind(made[-1].title)
        ended = last == "conclusion" or ASIDE.search(made[-1].title)
        if not dotted and before[-1][0][0] == "" and not ended:
            return False
    if lettered and (not before or before[-1][0][0] == ""):
        return new[0] == ("A", 1)
    old = next((one for one in reversed(before) if (one[0][0] != "") == lettered), None)
    if old is None:
        return new[0][1] <= 2 or len(new) == 1
    return old < new and new[0][1] <= old[0][1] + 2


def _parts(number: str) -> list[tuple[str, int]]:
    parts: list[tuple[str, int]] = []
    for part in number.split(".") if number else ():
        if part.isdigit():
            parts.append(("", int(part)))
        elif len(part) > 1 or part in NUMERALS:
            parts.append(("", NUMERALS.get(part.upper(), 99)))
        else:
            parts.append(("A", ord(part.upper()) - 64))
    return parts


def set_kinds(made: Sequence[Division]) -> None:
    """Set each passage's kind: by its title, else by its parent's, else by its position.

    A section with another title is the method if it is between introduction or related work and the experiments; everything
    after the references is appendix. A subsection whose section is missing has its own kind alone.
    """
    after, numbered = False, any(one.number for one in made)
    # If sections are I, II and III, subsections are A, B and C.
    roman = any(one.number == "II" for one in made)
    parent: Kind = "other"
    top, orphans, orphan = "", set[int](), False
    for one in made:
        own = _kind(one.title)
        after = after or one.references
        letter = LETTER.match(one.number) and not roman
        first, _, rest = one.number.partition(".")
        if (after and not one.references) or letter or "appendix" in (own, one.kind):
            one.kind = "appendix"
            after = after or own == "appendix"
        elif (
            one.level == 1
            and not LETTER.match(one.number)
            and (one.number or not numbered or own != "other" or ASIDE.search(one.title))
        ):
            one.kind = parent = own
            top, orphan = first, False
        elif rest and top and first != top:
            one.kind = parent = own
            top, orphan = first, True
        else:
            one.kind = own if parent == "other" else parent
        if orphan:
            orphans.add(id(one))
    begun = False
    last: Kind = "other"
    for one in made:
        if one.kind in ("introduction", "related"):
            begun = True
        if one.references or one.kind in ("conclusion", "appendix"):
            begun = False
        unnamed = one.kind == "other" and one.title and not ASIDE.search(one.title)
        if begun and unnamed and id(one) not in orphans:
            one.kind = "method" if last not in ("experiments", "results") else last
        if one.kind not in ("other", "appendix"):
            last = one.kind


class Core(NamedTuple):
    """Text of introduction and method, and the distinct references cited there: the paper's core references (SciPIP, §3.1)."""

    introduction: str = ""
    method: str = ""
    cites: tuple[str, ...] = ()


def core_of(parts: Sequence[Division], cites: Sequence[Iterable[str]]) -> Core:
    """Introduction, method and core references of a paper by its sections, and what each of them cites.

    Text before the first heading is the introduction if no heading names one.
    """
    for one in parts:
        one.number, one.title = numbered_title(one.title, one.number)
    set_kinds(parts)
    if parts and not parts[0].title and all(one.kind != "introduction" for one in parts):
        parts[0].kind = "introduction"

    def text(kind: Kind) -> str:
        return "\n\n".join(text for one in parts if one.kind == kind and (text := one.text.strip()))

    core = (own for one, own in zip(parts, cites, strict=True) if one.kind in CORE)
    return Core(text("introduction"), text("method"), tuple(dict.fromkeys(chain.from_iterable(core))))


def numbered_title(title: str, number: str = "") -> tuple[str, str]:
    """A heading's number, if known apart or written before its title, and its title."""
    title = " ".join(title.split())
    if number:
        return number, title
    if (match := NUMBERED.match(title)) and not match[2].islower() and not match[1].isalpha():
        return match[1].rstrip("."), match[2].rstrip(".:")
    if match := re.match(
        r"(?:Appendix\s+)?([A-Z](?:\.\d+)*)[.:]\s+(?=\S)|(?:Appendix\s+)([A-Z])\s+(?=\S)|([IVX]+)\.\s+(?=\S)",
        title,
    ):
        return match[1] or match[2] or match[3], title[match.end() :].rstrip(".:")
    return "", title.rstrip(".:")


def _kind(title: str) -> Kind:
    """The kind of a section by its title; `other` for acknowledgements and the like."""
    aside = ASIDE.search(title) or REFERENCES.match(title) or ABSTRACT.fullmatch(title)
    return "other" if aside else kind_of(title)


def paragraphs(
    lines: Sequence[TextLine], words: Mapping[str, int]
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The text of lines, one paragraph per line, and for each page the character at which it begins."""
    step = spacing(lines)
    paragraphs, starts, length = list[str](), dict[int, int](), 0
    for group in groups(lines, lambda line, previous: _begins(line, previous, step)):
        for number, line in enumerate(group):
            if line.page not in starts:
                starts[line.page] = length + len(_closed_up(group[:number], words))
        paragraphs.append(_closed_up(group, words))
        length += len(paragraphs[-1]) + 1
    return "\n".join(paragraphs), tuple(starts.items())


def _closed_up(lines: Sequence[TextLine], words: Mapping[str, int]) -> str:
    """Lines as one text, without the spaces that superscripts and formulas leave before punctuation."""
    return re.sub(r" +([,.;:])(?=\s|$)", r"\1", joined((line.text for line in lines), words))


def _begins(line: TextLine, previous: TextLine, step: float) -> bool:
    ended = previous.text.endswith(ENDS)
    if line.page != previous.page or line.column != previous.column:
        return ended and (previous.width < 0.9 * (previous.right - previous.left) or line.words[0].bold)
    indented = line.x0 - line.left > 6 and abs(previous.x0 - line.left) < 3 and line.x0 - line.left < 30
    return line.base - previous.base > 1.35 * step or (indented and ended)
