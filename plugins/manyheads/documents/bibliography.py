"""The reference list: its entries, matched to the text's citations."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

from manyheads.base.papers import fold
from manyheads.documents.document import SIGN, Reference
from manyheads.documents.layout import TextLine, joined, spacing

LABEL = re.compile(r"^(?:\[(\d{1,4}|[A-Za-z+]{1,8}\d{2}[a-z]?)\]|(\d{1,3})\.(?=\s)|\((\d{1,3})\)(?=\s))\s*")
YEAR = re.compile(r"(?<![\d.:/–-])((?:19|20)\d\d)([a-z])?(?![\d/]|\.\d|\s*[–-]\s*\d)")
DOI = re.compile(r"\b10\.\d{4,9}/[^\s,;\"<>]+", re.ASCII)
ARXIV = re.compile(
    r"(?:arxiv(?:\.org/(?:abs|pdf)/|[:.,]?)(?:\s*preprint)?(?:\s*arxiv:?)?\s*|\babs/)(\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})",
    re.I | re.A,
)
QUOTED = re.compile(
    r"[“\"]([^”\"]{8,300})[”\"]|‘‘([^’]{8,300})’’|``(.{8,300}?)''|[《「『“]([^》」』”]{2,200})[》」』”]"
)
ASIAN = re.compile(rf"[{SIGN}가-힣]")
WIDE = {code: f"{chr(code - 0xFEE0)} " for code in map(ord, "．，：；")} | {"。": ". "}
KIND = re.compile(r"\s*\[[A-Z]{1,2}(?:/[A-Z]{1,2})?\]")
"""The kind of a work in Chinese lists (GB/T 7714): `[J]`, `[M/OL]`."""
LETTER = r"A-ZÀ-ÖØ-ÞĀ-Ž"
NAME = rf"(?:(?:van|von|de|der|den|del|da|di|la|le|ten|el|dos|al)\s+){{0,3}}[{LETTER}][\w’'‐-]{{1,40}}(?:\s+(?:van|von|de|der|den)\s+[{LETTER}][\w’'-]{{1,40}})?"
YEARS = r"(?:19|20)\d\d[a-z]?(?:\s*[,;&]\s*(?:(?:19|20)\d\d[a-z]?|[a-z](?=[,;)\s])))*"
CITATION = re.compile(
    rf"({NAME})((?:,\s+{NAME}){{0,4}},?\s+(?:and|&)\s+({NAME})|\s+et\s+al\.?)?(?:’s|'s)?,?\s*[(\[]?\s*({YEARS})(?!\d)"
)
BRACKETS = re.compile(
    r"\[((?:\d{1,4}|[A-Za-z+]{1,8}\d{2}[a-z]?)(?:\s*[,;–—-]\s*(?:\d{1,4}|[A-Za-z+]{1,8}\d{2}[a-z]?))*)"
    r"(?:,\s*(?:[Ss]ec|pp?\.|[Cc]h|[Ff]ig|[Ee]q|[Tt]h|[Ll]em|[Aa]pp|§)[^\]]{0,25})?\]"
)
RANGE = re.compile(r"\[(\d{1,4})\]\s*[–—-]\s*\[(\d{1,4})\]")
"""[3]–[5] means [3–5]."""
SPAN = re.compile(r"(\d+)\s*[–—-]\s*(\d+)|(\d+)|([A-Za-z+]{1,8}\d{2}[a-z]?)")
WIDEST = 50
"""Maximum references in a range such as [1–50]."""


def entries(lines: Sequence[TextLine], words: Mapping[str, int]) -> list[str]:
    """The list's entries, in order: separated by labels, else by hanging indents or blank space, else by years."""
    lines = [one for one in lines if not re.fullmatch(r"\d{1,4}", one.text)]
    if not lines:
        return []
    labels = sum(bool(LABEL.match(one.text)) for one in lines)
    if labels >= 2 and labels >= 0.08 * len(lines) and LABEL.match(lines[0].text):
        starts = _labelled(lines)
    else:
        starts = max((_hanging(lines), _spaced(lines), _worded(lines)), key=lambda one: _worth(lines, one))
    return [joined((one.text for one in group), words) for group in _groups(lines, starts)]


def _groups(lines: Sequence[TextLine], starts: set[int]) -> list[list[TextLine]]:
    return [[*lines[start:end]] for start, end in pairwise((*sorted({0, *starts}), len(lines)))]


def _labelled(lines: Sequence[TextLine]) -> set[int]:
    """Lines with the next label's number: years and pages begin lines too."""
    starts, due = set[int](), None
    for number, line in enumerate(lines):
        if match := LABEL.match(line.text):
            label = match[1] or match[2] or match[3]
            if not label.isdigit() or due is None or int(label) == due or (match[1] and int(label) > due):
                starts.add(number)
                due = int(label) + 1 if label.isdigit() else None
    return starts


def _hanging(lines: Sequence[TextLine]) -> set[int]:
    """Lines at the left edge of their column, if others are indented."""
    edges: dict[tuple[int, int], float] = defaultdict(lambda: 9e9)
    for line in lines:
        place = line.page, line.column
        edges[place] = min(edges[place], line.x0)
    return {number for number, one in enumerate(lines) if one.x0 - edges[one.page, one.column] < 3}


def _spaced(lines: Sequence[TextLine]) -> set[int]:
    """Lines with more space above than others."""
    step = spacing(lines)
    tight = [b.base - a.base for a, b in pairwise(lines) if 0 < b.base - a.base < 1.02 * step]
    step = min(step, median(tight)) if tight else step
    return {
        number
        for number, (above, line) in enumerate(zip((lines[0], *lines), lines, strict=False))
        if not number
        or line.base - above.base > 1.2 * step
        or ((line.page, line.column) != (above.page, above.column) and above.text.endswith("."))
    }


def _worded(lines: Sequence[TextLine]) -> set[int]:
    """Lines that begin with a name, after the end of an entry."""
    name = re.compile(rf"^[{LETTER}][\w’'-]{{1,40}}(?:,|\s+[{LETTER}]|\s+and\b)")
    return {
        number
        for number, (above, line) in enumerate(zip((lines[0], *lines), lines, strict=False))
        if not number or (name.match(line.text) and re.search(r"(?:\.|\d|/\S+)$", above.text))
    }


def _worth(lines: Sequence[TextLine], starts: set[int]) -> float:
    """Number of pieces that look like an entry (a year, not too long, letters at its start) minus the others."""
    worth = 0.0
    for group in _groups(lines, starts):
        text = joined(one.text for one in group)
        years = {match[1] for match in YEAR.finditer(text)}
        if 1 <= len(years) <= 2 and 40 <= len(text) <= 700 and re.match(rf"[{LETTER}]|{NAME}", text):
            worth += 1 if len(years) == 1 else 0.5
        else:
            worth -= 1
    return worth


def reference(text: str) -> Reference:
    """An entry's label, authors, title, year, DOI and arXiv number."""
    number = ""
    if match := LABEL.match(text):
        number, text = match[1] or match[2] or match[3], text[match.end() :]
    doi = DOI.search(text)
    arxiv = ARXIV.search(text)
    cut = text
    for found in (doi, arxiv):
        cut = cut.replace(found[0], " ") if found else cut
    years = [*YEAR.finditer(re.sub(r"https?://\S+", " ", cut))]
    in_brackets = [one for one in years if cut[one.start() - 1 : one.start()] == "("]
    year = int((in_brackets or years)[0 if in_brackets else -1][1]) if years else None
    authors, title = _told(text)
    titled = re.search(r"[^\W\d_]{3}", title) and not JOURNAL.search(title)
    return Reference(
        text=text,
        title=title if titled else "",
        year=year,
        doi=doi[0].rstrip(".)]") if doi else None,
        arxiv=arxiv[1] if arxiv else None,
        authors=authors,
        number=number,
    )


def reference_of(
    text: str = "",
    *,
    people: Sequence[str] = (),
    families: Sequence[str] | None = None,
    title: str = "",
    venue: str = "",
    year: int | None = None,
    doi: str | None = None,
    arxiv: str | None = None,
    number: str = "",
) -> Reference:
    """An entry from the parts that a format knows; the others are read from its text.

    Args:
        text: as printed; made of the parts where it is unknown.
        families: the family names of `people`; where None, the last word of each.
    """
    told = ". ".join(filter(None, (", ".join(people), title, venue, str(year or ""))))
    read = reference(" ".join((text or told).split()))
    if families is None:
        families = [one.split()[-1] for one in people if one] or read.authors
    found = ARXIV.search(f"arXiv:{arxiv.casefold().removeprefix('arxiv:')}") if arxiv else None
    known = {"title": title, "year": year, "doi": doi, "arxiv": found and found[1], "number": number}
    authors = {"authors": tuple(filter(None, families))}
    return read.model_copy(update={key: one for key, one in known.items() if one} | authors)


STOP = re.compile(
    r"(?<!\b[A-Z])(?<!\b[A-Z]-[A-Z])(?<!\bet al)(?<!\bJr)(?<!\bSt)[.?!](?=\s)|(?<=\bal)\.(?=\s)"
)
"""The end of a sentence, not of an initial."""
AFTER_YEAR = re.compile(
    r"[(\[](?:19|20)\d\d[a-z]?(?:,[^)\]]*)?[)\]][.,:]?\s*|(?<=\.\s)(?:19|20)\d\d[a-z]?\.\s+"
)
NEXT = r"(?:,?\s*(?:and|&)\s+|[,;]\s+)?"
FAMILY = rf"{NAME}(?:\s[{LETTER}][\w’'-]{{1,40}})?"
OTHERS = r"(?:(?:,\s*|\s+)?et\s+al\.?)?(?=[\s.,:;(])"
AUTHORS = (
    re.compile(rf"^(?:{FAMILY},\s(?:[{LETTER}]\.[\s-]?)+(?:,?\sJr\.?)?{NEXT})+{OTHERS}"),
    re.compile(rf"^(?:(?:[{LETTER}]\.[\s-]?)+{FAMILY}{NEXT})+{OTHERS}"),
    re.compile(rf"^(?:{FAMILY}\s[A-Z]{{1,3}},\s)+(?:{FAMILY}\s[A-Z]{{1,3}}(?=\.)|et\s+al\.?)"),
)
"""Berg, A. and Lee, B.; A. Berg and B. Lee; Berg A, Lee B."""
VENUE = re.compile(
    r"(?i)^(?:In:?\s|Proc\b|Proceedings|arXiv|CoRR|Advances in|Journal of|Transactions|IEEE|ACM|URL|http|doi|pp\.|vol)"
)
JOURNAL = re.compile(r"\b[A-Z]?\d{1,5},\s*[a-z]?\d[\dA-Z–-]*(?:\s*\((?:19|20)\d\d[a-z]?\))?\.?$")
"""Volume and page: physicists omit the title."""


def _told(text: str) -> tuple[tuple[str, ...], str]:
    if ASIAN.match(text):
        text = KIND.sub("", text.translate(WIDE))
    quoted = QUOTED.search(text)
    if quoted:
        title = next(filter(None, quoted.groups())).strip().rstrip(",.")
        return family_names(text[: quoted.start()]), title
    for authors in AUTHORS:
        if (match := authors.match(text)) and len(text) - match.end() > 10:
            rest = re.sub(r"^[\s.,:;]*(?:[(\[]?(?:19|20)\d\d[a-z]?[)\]]?[\s.,:]+)?", "", text[match.end() :])
            title = _sentence(rest)
            return family_names(match[0]), "" if VENUE.match(title) else title
    stop = next((one for one in STOP.finditer(text) if one.start() > (1 if ASIAN.match(text) else 4)), None)
    dated = AFTER_YEAR.search(text)
    if dated and len(text) - dated.end() > 15 and 4 < dated.start() <= (stop.end() + 2 if stop else 300):
        return family_names(text[: dated.start()]), _sentence(text[dated.end() :])
    if (colon := re.match(r"^((?:[^:.]|\b[A-Z]\.){4,300}):\s+(?=[A-Z0-9])", text)) and re.search(
        r",\s*[A-Z]\.", colon[1]
    ):
        return family_names(colon[1]), _sentence(text[colon.end() :])
    if stop is None:
        return family_names(text[:80]), ""
    title = _sentence(text[stop.end() :])
    return family_names(text[: stop.start()]), "" if VENUE.match(title) else title


def _sentence(text: str) -> str:
    """The first sentence, without parts of a venue."""
    text = text.strip()
    stops = [one for one in STOP.finditer(text) if one.start() > 3]
    stop = stops[0] if stops else None
    if stop and stop[0] in "?!" and len(stops) > 1 and not VENUE.match(text[stop.end() :].strip()):
        stop = stops[1]
    sentence = text[: stop.end() if stop and stop[0] in "?!" else stop.start() if stop else len(text)]
    sentence = re.split(r",\s+(?=(?:in\b|arXiv|Proc|(?:19|20)\d\d\b))", sentence)[0]
    return sentence.strip().rstrip(".,")


def family_names(text: str) -> tuple[str, ...]:
    """The family names in a list of authors, with given names in any notation."""
    text = re.sub(r"\bet\s+al\.?|\([^)]*\)|等$|\b(?:eds?|editors?)\.?(?=\W|$)", " ", text).strip(" .,;:")
    text = re.sub(rf"({FAMILY})\s[A-Z]{{1,3}}(?=[,.;]|$)", r"\1", text)
    initials = re.compile(r"^(?:[A-Z]\.?[\s-]*){1,4}$|^(?:Jr|Sr|II|III)\.?$")
    pieces = [piece.strip() for piece in re.split(r"[,;、·・]|\s+and\s+|\s*&\s*", text)]
    pieces = [re.sub(r"^and\s+", "", piece) for piece in pieces if piece]
    names: list[str] = []
    inverted = len(pieces) > 1 and bool(initials.match(pieces[1]))
    for number, piece in enumerate(pieces):
        if initials.match(piece) and number:
            continue
        if inverted or re.search(r"\s(?:[A-Z]\.\s*)+$", piece):
            name = re.sub(r"(?:\s+[A-Z]\.?-?)+$", "", piece)
        else:
            match = re.search(r"((?:\b(?:van|von|de|der|den|del|da|di|la|le|ten|el|dos|al)\s+)*\S+)$", piece)
            name = match[1] if match and not ASIAN.match(piece) else piece
        name = name.strip(" .")
        if name and name[0].isalpha() and len(name) < 40:
            names.append(name)
    return tuple(names[:100])


class CitationFinder:
    """Finds the references cited by a text."""

    def __init__(self, references: Sequence[Reference]) -> None:
        self._references = references
        self._labels = {one.number.casefold(): index for index, one in enumerate(references) if one.number}
        self._names: dict[tuple[str, int], list[int]] = defaultdict(list)
        self._suffixes = [  # the letters after the entries' years: `b` of 2020b
            next((year[2] for year in YEAR.finditer(one.text) if year[2] and int(year[1]) == one.year), "")
            for one in references
        ]
        for index, one in enumerate(references):
            if one.authors and one.year:
                self._names[fold(one.authors[0]), one.year].append(index)

    def of(self, text: str) -> tuple[int, ...]:
        """Indices of the references, in order of first citation."""
        places: dict[int, int] = {}
        if self._labels:
            for match in BRACKETS.finditer(RANGE.sub(r"[\1–\2]", text)):
                for index in self._numbered(match[1]):
                    places.setdefault(index, match.start())
        else:
            for match in CITATION.finditer(text):
                for index in self._named(match):
                    places.setdefault(index, match.start())
        return tuple(sorted(places, key=lambda index: places[index]))

    def _numbered(self, text: str) -> list[int]:
        indices: list[int] = []
        for first, last, one, label in SPAN.findall(text):
            labels = [one or label]
            if first:
                low, high = int(first), int(last)
                labels = [str(each) for each in range(low, high + 1)] if low <= high < low + WIDEST else []
            indices += [self._labels[key.casefold()] for key in labels if key.casefold() in self._labels]
        return indices

    def _named(self, match: re.Match[str]) -> list[int]:
        others, second = match[2] or "", fold(match[3] or "")
        found: list[int] = []
        for year, letter in _years(match[4]):
            # A sentence may begin with a word before the name: "Following Berg (2020)".
            names = fold(match[1]), fold(match[1].rpartition(" ")[2])
            candidates = next((self._names[name, year] for name in names if (name, year) in self._names), [])
            if len(candidates) > 1 and letter:
                candidates = [index for index in candidates if self._suffixes[index] == letter] or candidates
            if len(candidates) > 1:
                candidates = [
                    index for index in candidates if self._fits(index, others, second)
                ] or candidates
            found += candidates
        return found

    def _fits(self, index: int, others: str, second: str) -> bool:
        authors = self._references[index].authors
        if second:
            return len(authors) == 1 + len(re.findall(NAME, others)) and second == fold(authors[-1])
        return len(authors) > 2 if "al" in others else len(authors) == 1


def _years(text: str) -> list[tuple[int, str]]:
    years: list[tuple[int, str]] = []
    for year, letter, lone in re.findall(r"((?:19|20)\d\d)([a-z])?|\b([a-z])\b", text):
        if year:
            years.append((int(year), letter))
        elif years:
            years.append((years[-1][0], lone))
    return years
