"""Headings and labels of captions of papers in many languages: what each names. The words of headings are data, in `headings.yaml`."""

import re
from pathlib import Path
from typing import get_args

from manyheads.base.resources import parse_yaml
from manyheads.documents.document import Kind

_WORDS = parse_yaml(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


def _any(*names: str) -> str:
    """One of the words; signs of East Asia may stand apart."""
    words = "|".join(word for name in names for word in _WORDS[name])
    return "(?:" + re.sub(r"(?<=[^\W\x00-\u0fff])(?=[^\W\x00-\u0fff])", r"\\s*", words) + ")"


ABSTRACT = re.compile(rf"[\[【〔]?{_any('abstract')}(?!\w)(?P<mark>[\s.:：\]】〕—–-]*)", re.I)
REFERENCES = re.compile(rf"^{_any('references')}\W*$", re.I)
CONTENTS = re.compile(rf"^{_any('contents')}$", re.I)
PLAIN = re.compile(rf"^{_any('plain', 'abstract', 'references', 'contents')}$", re.I)
ASIDE = re.compile(_any("aside"), re.I)
_KINDS: dict[Kind, re.Pattern[str]] = {one: re.compile(_any(one)) for one in get_args(Kind) if one in _WORDS}


FLOAT = (
    r"(?:(?:Supplementary|Extended Data)\s+)?"
    r"(FIGURE|FIG\.?|Figure|Fig\.?|Abbildung|Abb\.|TABLE|Table|Tab\.|Tabelle|[图圖図表]|그림|표)"
)
"""How a caption's label begins."""


def is_table(label: str) -> bool:
    """Whether a caption's label is that of a table, else of a figure."""
    return label.casefold().startswith(("tab", "表", "표"))


def kind_of(title: str) -> Kind:
    """The subject of a heading (without its number), by the first known word."""
    title = " ".join(title.casefold().split())
    places: dict[Kind, int] = {
        kind: match.start() for kind, words in _KINDS.items() if (match := words.search(title))
    }
    return min(places, key=places.__getitem__) if places else "other"
