"""A paper's year and identifiers, from its first page, and the day on which its file was made."""

import datetime as dt
import re
from contextlib import suppress

_TOLD = re.compile(
    r"(?:published as|accepted (?:at|to|as|for|by)|under review|proceedings of|\bproc\.|copyright|©|received|available online"
    r"|\d(?:st|nd|rd|th) (?:\w+ ){0,5}(?:conference|workshop|symposium|meeting))[^.]{0,120}?(?<!\d)((?:19|20)\d\d)(?!\d)",
    re.IGNORECASE,
)
"""Phrases of publishers and conferences; a year alone may be a cited paper's."""
_ARXIV = re.compile(r"arXiv:\s?(\d\d)\d\d\.\d{4,5}")
_STAMP = re.compile(r"arXiv:\s?(\d{4}\.\d{4,5})(?:v\d+)?\s*\[[a-z-]+(?:\.[A-Za-z-]+)?\]")
"""In the margin of a first page; a number alone may be a cited paper's."""
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s,;\"<>]+", re.ASCII)


def year_told(text: str) -> int | None:
    """The year of the conference or the journal, else of the arXiv number; None if unknown."""
    if told := _TOLD.search(text):
        return int(told[1])
    return 2000 + int(number[1]) if (number := _ARXIV.search(text)) else None


def numbers_told(text: str) -> tuple[str, ...]:
    """The paper's arXiv number, if stamped on the page, and its DOI, if it is the only one."""
    stamps = {match[1] for match in _STAMP.finditer(text)}
    dois = {match[0].rstrip(".)]").casefold() for match in _DOI.finditer(text)}
    return (*(stamps if len(stamps) == 1 else ()), *(dois if len(dois) == 1 else ()))


def day_made(text: str) -> dt.date | None:
    """The day of a date in a PDF's metadata, such as `D:20240131120000+01'00'`; None for anything else."""
    with suppress(ValueError):
        return dt.date.fromisoformat(text.removeprefix("D:")[:8])
    return None
