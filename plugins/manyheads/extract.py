"""JSON objects in a model's text: untidy ones are mended, but one that the model left open is never closed for it."""

import json
import re
from collections.abc import Iterator
from typing import Any

import json_repair

START = re.compile(r"""\{\s*(?:["'“]|\w+\s*:)""")
"""What begins an object; a brace in prose, as in "the set {a, b}", does not."""
_INSIDE = {
    opening: re.compile(rf"(?:\\.|[^\\{closing}])*+{closing}", re.DOTALL)
    for opening, closing in {'"': '"', "'": "'", "“": "”"}.items()
}
"""The rest of a string up to its next quote, by the quote that opened it."""
_AFTER_STRING = re.compile(r"\s*(?:[,:}\]]|\Z)")
_decoder = json.JSONDecoder(strict=False)


class CutOffError(ValueError):
    """The text ends within an object."""


def objects(text: str) -> list[dict[str, Any]]:
    """The outermost JSON objects of a text, in order.

    Raises:
        CutOffError: the last one does not end.
    """
    return [value for value in _values(text) if isinstance(value, dict)]


def _values(text: str) -> Iterator[Any]:
    at = 0
    while found := START.search(text, at):
        try:
            value, at = _decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            at = _end(text, found.start())
            value = _mended(text[found.start() : at])
        yield _encodable(value) if "\\u" in text else value


def _end(text: str, start: int) -> int:
    """Where an object ends that is not valid JSON: at the brace that closes it, outside of any string."""
    depth, at, last = 0, start, ""
    while at < len(text):
        letter = text[at]
        if letter in _INSIDE and last in "{[,:":
            at = _string_end(text, at)
        elif letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
            if depth == 0:
                return at + 1
        last = last if letter.isspace() else letter
        at += 1
    raise CutOffError


def _string_end(text: str, start: int) -> int:
    """Where a string's last quote stands: one not escaped, before something that may follow a string."""
    inside, at = _INSIDE[text[start]], start
    while found := inside.match(text, at + 1):
        at = found.end() - 1
        if _AFTER_STRING.match(text, at + 1):
            return at
    raise CutOffError


def printable(text: str) -> str:
    """The text with halves of characters, which no file or terminal takes, as question marks."""
    return text.encode("utf-8", "replace").decode()


def _mended(span: str) -> Any:
    try:
        return json_repair.loads(span)
    except (ValueError, RecursionError):
        return None


def _encodable(value: Any) -> Any:
    return json.loads(printable(json.dumps(value, ensure_ascii=False)))
