"""Text addressed to a paper's reviewer or to a model that reads it; and invisible letters.

The patterns are in `speech.yaml`. Visible text is marked; hidden text is separated.
"""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from manyheads.base.resources import parse_yaml
from manyheads.documents.document import Document, Speech

LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁһӏАВЕКМНОРСТУХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧοаν", "aeopcyxijsdhlABEKMHOPCTYXIJSABEZHIKMNOPTYXoav"
) | {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
UNSEEN = re.compile(
    "[\u200b\u200e\u200f\u2060-\u2064\u206a-\u206f\u00ad\u034f\u180e\ufeff\u202a-\u202e\u2066-\u2069]"
    "|(?<=[ -~])[\u200c\u200d]|[\u200c\u200d](?=[ -~])"
)
"""Zero-width letters and direction marks; joiners count unless they join Persian or Hindi letters."""
TAGS = re.compile("[\U000e0000-\U000e007f]+|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")
"""Unicode tags that spell invisible ASCII, and variant selectors, which can do the same."""
BLANKS = re.compile(r"\(\?<![^)]*\)| \??")
AROUND = 160
"""Letters of context on each side of a match."""


class Span(NamedTuple):
    """Words addressed to a reviewer or a model: their position and request."""

    start: int
    end: int
    why: str


def speech(text: str) -> tuple[Span, ...]:
    """Where a text addresses its reviewer or a model, in order; () if nowhere."""
    plain = text.translate(LOOKALIKES)
    spans = sorted(
        Span(*match.span(), why) for why, pattern in _patterns() for match in pattern.finditer(plain)
    )
    apart: list[Span] = []
    for span in spans:
        if not apart or span.start >= apart[-1].end:
            apart.append(span)
        elif span.end > apart[-1].end:
            apart[-1] = apart[-1]._replace(end=span.end)
    return tuple(apart)


def seen(text: str) -> tuple[str, tuple[str, ...]]:
    """A text without invisible letters, and the text that those spell."""
    if text.isascii():
        return text, ()
    spelled = list[str]()

    def spell(run: re.Match[str]) -> str:
        bases = (0xE00F0 if one >= "\U000e0100" else 0xE0000 if one > "\uffff" else 0xFE00 for one in run[0])
        codes = (ord(one) - base for one, base in zip(run[0], bases, strict=True))
        spelled.append("".join(chr(code) for code in codes if 0x20 <= code < 0x7F))
        return ""

    return UNSEEN.sub("", TAGS.sub(spell, text)), tuple(filter(None, spelled))


def heard(document: Document) -> tuple[Speech, ...]:
    """Each sentence of a document addressed to a reviewer or a model, with its requests and location."""
    sentences: dict[tuple[str, str, int | None], list[str]] = {}
    for unit in document.units():
        for span in speech(unit.text):
            place = _sentence(unit.text, span), unit.where, unit.page(span.start)
            sentences.setdefault(place, []).append(span.why)
    return tuple(
        Speech(text=text, why=", ".join(dict.fromkeys(asked)), where=where, page=page)
        for (text, where, page), asked in sentences.items()
    )


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    blanks = {" ?": r"\s*", " ": r"\s+"}
    kinds = parse_yaml(Path(__file__).with_name("speech.yaml").read_text(encoding="utf-8"))
    return tuple(
        # Look-behinds have a fixed width, so their blanks stay.
        (
            kind,
            re.compile(
                BLANKS.sub(lambda one: blanks.get(one[0], one[0]), f"(?:{')|(?:'.join(patterns)})"), re.I
            ),
        )
        for kind, patterns in kinds.items()
    )


def _sentence(text: str, span: Span) -> str:
    """The words with their context, to the ends of the sentence or line."""
    before = re.split(r"(?<=[.!?])\s|\n", text[max(0, span.start - AROUND) : span.start])[-1]
    behind = re.split(r"(?<=[.!?])\s|\n", text[span.end : span.end + AROUND])[0]
    return " ".join((before + text[span.start : span.end] + behind).split())
