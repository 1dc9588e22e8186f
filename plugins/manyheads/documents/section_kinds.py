"""Subjects of sections, by their headings."""

import re
from typing import Literal

Kind = Literal[
    "introduction", "related", "method", "experiments", "results", "conclusion", "appendix", "other"
]
"""Subjects of sections, in the usual order."""
_HEADINGS: dict[Kind, str] = {
    "introduction": r"^(?:general )?introduction|^intro$|^motivation|^(?:our |main |key )?contributions?$",
    "related": r"related|(?:prior|previous|existing|earlier) |literature|background|state of the art|state-of-the-art",
    "method": r"method|approach|algorithm|framework|architecture|proposed|technique|^(?:the |our )?models?$|our model"
    r"|model (?:architecture|description|design|overview)|problem (?:definition|formulation|set|statement)|formulation|materials"
    r"|preliminar|notation|system (?:architecture|design|model|overview)|theoretical",
    "experiments": r"experiment|evaluat|set-?up|simulation|benchmark|baseline|data ?sets?|implementation|ablation|case stud"
    r"|empirical|comparison|metrics",
    "results": r"result|findings|^analysis|error analysis|qualitative|quantitative",
    "conclusion": r"conclu|discussion|summary|future|limitation|outlook|broader impact|ethic",
    "appendix": r"appendi|acknowledg|supplement|^references|bibliograph|author contribution|contribution of authors|conflict|funding"
    r"|availability|declaration|competing|about the author|^abstract",
}


def kind_of(title: str) -> Kind:
    """The subject of a heading (without its number), by the first known word."""
    title = " ".join(title.casefold().split())
    places: dict[Kind, int] = {
        kind: match.start() for kind, words in _HEADINGS.items() if (match := re.search(words, title))
    }
    return min(places, key=places.__getitem__) if places else "other"
