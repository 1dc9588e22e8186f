"""The year of a paper, as its first page tells it."""

import re

_TOLD = re.compile(
    r"(?:published as|accepted (?:at|to|as|for|by)|under review|proceedings of|\bproc\.|copyright|©|received|available online"
    r"|\d(?:st|nd|rd|th) (?:\w+ ){0,5}(?:conference|workshop|symposium|meeting))[^.]{0,120}?(?<!\d)((?:19|20)\d\d)(?!\d)",
    re.IGNORECASE,
)
"""What publishers and conferences print; a year alone may be that of a paper cited."""
_ARXIV = re.compile(r"arXiv:\s?(\d\d)\d\d\.\d{4,5}")


def year_told(text: str) -> int | None:
    """The year of the conference or the journal, else that of the number on arXiv; None where neither is told."""
    if told := _TOLD.search(text):
        return int(told[1])
    return 2000 + int(number[1]) if (number := _ARXIV.search(text)) else None
