"""Votes of raters on pairs of texts (MAMORX, §5)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

Answer: TypeAlias = Literal["left", "right", "tie", "poor"]
"""Which of two texts is better: the left one, the right one, neither, or both are poor."""
ANSWERS: tuple[Answer, ...] = get_args(Answer)
RaterKind: TypeAlias = Literal["person", "model"]
STYLE = ("words", "lines", "headings", "lists")
"""Signs of style of a text; MAMORX adjusts ratings for lines, headings and lists (§5)."""


@dataclass(frozen=True, slots=True)
class Vote:
    """A rater's answers about two texts on one case.

    Attributes:
        left, right: the makers of the texts, by the side on which the rater saw them.
        answers: by question.
        rater: empty if it is not known; `case` too.
        left_style, right_style: signs of style of the texts, as in `STYLE`; empty if they are not known.
        seconds: time from the pair being shown to the vote; None if it is not known.
    """

    left: str
    right: str
    answers: Mapping[str, Answer]
    rater: str = ""
    case: str = ""
    kind: RaterKind = "person"
    left_style: Mapping[str, int] = field(default_factory=dict[str, int])
    right_style: Mapping[str, int] = field(default_factory=dict[str, int])
    seconds: float | None = None


def style_of(text: str) -> Mapping[str, int]:
    """Numbers of words, lines, headings and list items."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return {
        "words": len(text.split()),
        "lines": len(lines),
        "headings": sum(bool(re.match(r"#{1,6}\s|\*\*[^*]+\*\*:?$", line)) for line in lines),
        "lists": sum(bool(re.match(r"(?:[-*+•]|\d{1,2}[.)])\s", line)) for line in lines),
    }
