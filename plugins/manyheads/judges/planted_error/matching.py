"""Find the points of a review that name a planted fault, by rule, from the words and the sources of the point.

A point names a fault if it names an end of the contradiction and says that something is wrong with it. The same rule
is applied to reviews of the paper without the fault: matches there are false alarms.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from manyheads.base.errors import SubjectError
from manyheads.base.papers import fold
from manyheads.core.results import result_data
from manyheads.core.texts import read_subject
from manyheads.judges.planted_error.planted import Fault, Kind, sentences
from manyheads.systems.results import in_full, load

WHERE: Mapping[Kind, re.Pattern[str]] = {
    "wrong-number": re.compile(r"\btab(?:le|\.)", re.IGNORECASE),
    "caption": re.compile(r"\bcaption|\bfig(?:ure|\.)", re.IGNORECASE),
    "missing-baseline": re.compile(r"\btab(?:le|\.)|\brows?\b", re.IGNORECASE),
    "broken-reference": re.compile(r"\[\d+\]|\b[A-Z]\w+(?: et al\.?)?,? \(?(?:19|20)\d\d|\b[Cc]itation"),
    "swapped-columns": re.compile(r"\bcolumns?\b", re.IGNORECASE),
}
"""Subjects of points that allege a fault of a kind anywhere in the paper; a section that lacks details is not a fault."""
DIFFERS = (
    r"contradict|inconsisten|not consistent|(?:do|does|did)(?: not|n[’']t) (?:match|agree|correspond|fit|add up)|mismatch|disagree"
    r"|conflict|discrepan|at odds|differ(?:s|ent)? (?:from|between|number|value)|(?:is|are|be|seems?|appears?) (?:wrong|incorrect|false)"
    r"|\bwrong(?:ly)?\b|\bincorrect|\berroneous|\btypo|\bcontrary\b|\bopposite\b|not the same|not supported by|instead of|rather than"
    r"|\bmis(?:stat|report|quot|label|print)"
)
LACKS = (
    r"\bmissing\b|\blacks?\b|\blacking\b|\babsen(?:t|ce)\b|\bomit|\bomission|left out|leaves? out|not (?:in|among|listed|included|reported"
    r"|shown|present|given|part of)\b|(?:do|does|did)(?: not|n[’']t) (?:include|contain|report|show|list|appear|exist|have|hold|give)"
    r"|no (?:row|result|number|entry|such|matching|corresponding|value|figure)|never (?:reported|shown|listed)|without (?:a row|an entry"
    r"|results?)|nowhere|\bwithheld|\bdropped\b|\bdisappear|not compared"
)
BROKEN = (
    rf"{LACKS}|dangling|unresolved|undefined|points? to nothing|broken|beyond|out of range|only \w+ (?:references|entries)"
    r"|cannot be found|(?:ends?|stops?) (?:at|with)|goes? (?:only )?(?:up )?to"
)
SWAPPED = r"\bswap|interchang|\bexchang|\breversed?\b|\bswitch|\bmix(?:ed)?[- ]up|transpos|the wrong (?:column|head)|mislabel"
SIGNS: Mapping[Kind, re.Pattern[str]] = {
    "wrong-number": re.compile(DIFFERS, re.IGNORECASE),
    "caption": re.compile(f"{DIFFERS}|{SWAPPED}", re.IGNORECASE),
    "missing-baseline": re.compile(LACKS, re.IGNORECASE),
    "broken-reference": re.compile(BROKEN, re.IGNORECASE),
    "swapped-columns": re.compile(f"{SWAPPED}|{DIFFERS}", re.IGNORECASE),
}
"""Words by which a point alleges a fault of a kind."""
RESULTS = re.compile(r"\b(?:results?|rows?|tables?|numbers?|scores?|reported|listed)\b", re.IGNORECASE)
"""Words for a row of a table that is not named."""
SWAPPED_RE = re.compile(SWAPPED, re.IGNORECASE)
BOTH: frozenset[Kind] = frozenset(("wrong-number", "caption", "swapped-columns"))
"""Kinds for which naming both values, the wrong and the right one, is enough."""
QUOTED = 20
"""Minimum letters of a quote that identifies its place by itself."""
LONG = 60
"""Points with more words are checked two sentences at a time."""


class Point(NamedTuple):
    """A point of a review, with the names and quotes of its sources."""

    text: str
    sources: tuple[str, ...] = ()


class Review(NamedTuple):
    """A review of a document.

    Attributes:
        source: the run or file it was read from.
        document: the file of the reviewed paper, if the review names it; else the review's own name.
        sha256: of that file; empty if unknown.
    """

    source: str
    document: str
    sha256: str
    points: tuple[Point, ...]


def read_review(named: str) -> Review:
    """The review that a finished run wrote, or the one in a text file named after its document.

    Raises:
        SubjectError: it is missing, cannot be read, or contains no review.
    """
    path = Path(named)
    if not path.is_dir():
        return Review(named, path.name, "", tuple(points_of(read_subject(path).text)))
    result: dict[str, Any] = result_data(path).get("result") or {}
    paper, review = result.get("paper") or {}, result.get("review")
    if not isinstance(review, dict):
        raise SubjectError(
            f"{named}: this run wrote no review of a paper", hint="name a run of a reviewer of papers"
        )
    points = tuple(_points(cast(dict[str, Any], review))) or tuple(
        points_of("\n\n".join(in_full(load(path))))
    )
    return Review(named, str(paper.get("source", "")), str(paper.get("sha256", "")), points)


def _points(review: Mapping[str, Any]) -> Iterator[Point]:
    """The claims of a review with their sources, and the paragraphs of its texts."""
    for claim in review.get("claims") or ():
        sources = claim.get("sources") or ()
        told = (each[part] for each in sources for part in ("name", "quote", "found") if each.get(part))
        yield Point(str(claim["text"]), tuple(map(str, told)))
    for entry in review.get("entries") or ():
        if isinstance(entry.get("value"), str):
            yield from points_of(entry["value"])


def points_of(text: str) -> Iterator[Point]:
    """The paragraphs and list items of a text."""
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*+•]|\d{1,2}[.)])\s)", text):
        if words := " ".join(part.split()).lstrip("-*+•# "):
            yield Point(words)


def names(point: Point, fault: Fault) -> bool:
    """Whether a point names a fault: an end of the contradiction, and that something is wrong there."""
    return any(_names(part, point.sources, fault) for part in _parts(point))


def alleges(point: Point, kind: Kind) -> bool:
    """Whether a point alleges a fault of a kind anywhere in the paper."""
    return any(
        (SWAPPED_RE if kind == "swapped-columns" else SIGNS[kind]).search(part)
        and any(map(WHERE[kind].search, (part, *point.sources)))
        for part in _parts(point)
    )


def _parts(point: Point) -> Sequence[str]:
    """A point, or its sentences two at a time if it is long."""
    if len(point.text.split()) <= LONG:
        return [point.text]
    said = sentences(point.text)
    return [" ".join(said[place : place + 2]) for place in range(max(1, len(said) - 1))]


def _names(text: str, sources: Sequence[str], fault: Fault) -> bool:
    everything = " ".join((text, *sources))
    values = [_stands(value, everything) for value in fault.values]
    place = sum(_placed(place, everything, sources) for place in fault.places)
    if fault.kind in BOTH and all(values) and (place or fault.kind == "wrong-number"):
        return True
    if not SIGNS[fault.kind].search(text):
        return False
    quoted = any(_quoted(quote, each) for quote in fault.quotes for each in (text, *sources))
    subjects = [_stands(subject, everything) for subject in fault.subjects]
    match fault.kind:
        case "wrong-number":
            return any(values) or bool(place and (quoted or place > 1 or subjects[0]))
        case "caption":
            return bool(place or quoted) and (any(values) or quoted or any(subjects))
        case "missing-baseline":
            return any(_stands(each, text) for each in fault.subjects) and bool(place or RESULTS.search(text))
        case "broken-reference":
            return bool(place or quoted)
        case "swapped-columns" if SWAPPED_RE.search(text):
            return all(subjects) or bool(place)
        case "swapped-columns":
            return bool(place) and (any(values) or all(subjects))


def _stands(part: str, text: str) -> bool:
    """Whether a text contains a value or a label, ignoring case."""
    return bool(re.search(rf"(?<![\w.])(?<!\d,){re.escape(part)}s?(?![\w]|[.,]\d)", text, re.IGNORECASE))


def _placed(place: str, text: str, sources: Sequence[str]) -> bool:
    """Whether a place is named: `Table 1` also as `Tab. 1`, a heading only where it is used as one."""
    kind, _, number = place.partition(" ")
    if kind in ("Table", "Figure", "Section") and number:
        short = {"Table": "Tab", "Figure": "Fig", "Section": "Sec"}[kind]
        return bool(
            re.search(
                rf"\b(?:{kind}s?|{short}s?\.?|§)\s*(?:[\w.]+(?:,|\s+and|\s*&)\s*)?{re.escape(number)}(?!\w|\.\d)",
                text,
                re.IGNORECASE,
            )
        )
    if place.startswith("["):
        number = place.strip("[]")
        return bool(
            re.search(
                rf"\[[^\]]*\b{number}\b[^\]]*\]|\b(?:reference|citation|ref\.?)\s+{number}\b",
                text,
                re.IGNORECASE,
            )
        )
    if re.search(r"\d", place):  # author and year
        return fold(place) in fold(text)
    title = re.escape(place)
    heading = rf"\b(?:section\W+{title}|{title}\W+section|(?:the|in) {title}\b(?! of))"
    return any(fold(each).lstrip("section0123456789") == fold(place) for each in sources) or bool(
        re.search(heading, text, re.IGNORECASE) and place[:1].isupper()
    )


def _quoted(quote: str, text: str) -> bool:
    """Whether a text repeats a passage or a large part of it."""
    quote, text = fold(quote), fold(text)
    if len(text) >= QUOTED and text in quote:
        return True
    pieces = [
        quote[start : start + 2 * QUOTED] for start in range(0, max(1, len(quote) - 2 * QUOTED + 1), QUOTED)
    ]
    return any(len(piece) >= QUOTED and piece in text for piece in pieces)
