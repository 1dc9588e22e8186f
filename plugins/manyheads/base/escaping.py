"""Text of papers, models, servers and users, made safe for a terminal, a spreadsheet or a message."""

import csv
import io
import re
from collections.abc import Iterable, Sequence

UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""First characters of a cell that a spreadsheet would evaluate as a formula."""
LONGEST_WORD = 250
"""Maximum characters of a path or word in a message."""
LONGEST = 1_200
"""Maximum characters of a part of a message."""
_CREDENTIALS = re.compile(
    r"(?i)\b(?:Bearer|Basic)\s+[\w.~+/=-]{4,}|\bsk-[\w-]{6,}|(?<=//)(?!\$\{\w+\}@)[^/@\s]+(?=@)"
    r"|([?&](?:api[-_]?|access[-_]?)?(?:key|token)=)(?!\$\{|…)[^&\s\"']+"
)
_SECRET = re.compile(r"(?i)(?:^|[._-])(?:api_?key|key|secret|password|passwd|token|authorization)(?:_env)?$")


def plain(text: object) -> str:
    """A text on one line, without control characters or changes of writing direction."""
    return " ".join(UNPRINTABLE.sub(" ", str(text)).split())


def printable(text: str) -> str:
    """Lines with their layout kept, each as safe to print as in `plain`."""
    return "\n".join(UNPRINTABLE.sub(" ", line) for line in text.split("\n"))


def printable_json(text: str) -> str:
    """The same JSON value with control characters escaped as `\\u001b`."""
    return "\n".join(
        UNPRINTABLE.sub(lambda run: "".join(f"\\u{ord(each):04x}" for each in run[0]), line)
        for line in text.split("\n")
    )


def csv_text(rows: Iterable[Sequence[object]], *, newline: str = "\n") -> str:
    """CSV without formulas: a text that a spreadsheet would evaluate begins with an apostrophe."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=newline).writerows([*map(_cell, row)] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    if not isinstance(value, str) or not value.strip():
        return value
    # Spreadsheets skip blanks, and some skip controls, in front of a formula.
    start = UNPRINTABLE.sub("", value[:LONGEST]).lstrip()[:1]
    formula = start in FORMULA or value[:1] in FORMULA
    return f"'{value}" if formula else value


def shortened(text: str, most: int = LONGEST) -> str:
    """A text shortened for a message."""
    text = re.sub(rf"\S{{{LONGEST_WORD},}}", lambda word: _cut(word[0], LONGEST_WORD), text)
    return _cut(text, most)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 40]}…{text[-39:]}"


def scrubbed(text: str, *secrets: str) -> str:
    """A message of a server, a user or an error without keys and credentials."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "…")
    return _CREDENTIALS.sub(lambda match: f"{match[1] or ''}…", text)


def is_secret(key: str) -> bool:
    """Whether a config key names a secret, which must not be shown."""
    return _SECRET.search(key) is not None
