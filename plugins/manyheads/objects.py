"""JSON objects in a model's text, read strictly: syntax is repaired, a value is never guessed.

Quotes, commas, comments and brackets of inner lists are repaired. An unquoted value that is not one number or one
truth value is text, so `7 or 8` never becomes 7; an object left open is never closed.
Runs in time linear in the text.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NoReturn

DEEPEST = 50
"""Maximum nesting depth of objects."""
LONGEST = 200_000
"""Maximum characters of a reply."""
_FURTHER = 5_000
"""Characters searched beyond a string's likely end for a better one."""

_QUOTES = {'"': '"', "'": "'", "“": "”"}
_KEY = r"""(?:["'“][^"'“”\n]{1,60}["'”]|\w+)\s*:"""
_MARK = re.compile(
    r"""<(?P<close>/?)think(?:ing)?>|(?:\[\s*)?\{\s*(?:["'“]|\w+\s*:)""",
    re.IGNORECASE,
)
"""Marks of a model's thinking, and the start of an object or a list of objects. A brace in prose, as in
"the set {a, b}", is no start."""
_THOUGHT = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_NEXT = re.compile(r"\s*,\s*\{")
_BRACKET = re.compile(r"[{}\[\]]")
_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NAME = re.compile(r"(\w[\w -]*?)\s*:")
_BARE = re.compile(r"(?:(?!//|/\*)[^,{}\[\]\n])+")
_NUMBER = re.compile(
    rf"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])(?=\s*(?:[,}}\]\n]|//|/\*|\Z|{_KEY}))", re.ASCII
)
_WORDS = {"true": True, "false": False, "null": None, "none": None}
_INSIDE = {end: re.compile(rf"(?:\\.|[^\\{end}])*+{end}", re.DOTALL) for end in _QUOTES.values()}
_CERTAIN = {
    "key": re.compile(r"\s*:"),
    "value": re.compile(rf"\s*(?:[}}\]]|,\s*(?:[}}\]]|//|{_KEY})|//|{_KEY})"),
    "item": re.compile(r"""\s*(?:[}\]]|,\s*["'“{\[\]\d/-]|,\s*(?:true|false|null)\b|//|\n\s*["'“{])"""),
}
"""Characters that may follow a string's closing quote, by the string's position."""
_LIKELY = re.compile(r"\s*(?:[,:}\]]|\Z)")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""}


class UnreadableError(ValueError):
    """The text has no readable object; the message is for the model."""


def objects(text: str) -> list[dict[str, Any] | list[Any]]:
    """The outermost JSON objects of a text, and lists that begin with one, in order, without those in its thinking.

    Raises:
        UnreadableError: too long, the last object is cut off or repeats a key, or no object is readable.
    """
    if len(text) > LONGEST:
        raise UnreadableError(f"it was longer than {LONGEST:,} characters; be briefer")
    values, problem = list[Any](), None
    at = 0
    while mark := _MARK.search(text, at):
        at = mark.end()
        if mark["close"] == "":
            if not (end := _THOUGHT.search(text, at)):
                raise UnreadableError("it ended while thinking, before an answer")
            at = end.end()
        elif mark["close"]:  # text before it is thinking: a server may omit the opening mark
            values.clear()
        else:
            try:
                value, at = _value(text, mark.start())
            except UnreadableError as error:
                problem, at = error, _closing(text, mark.start())
            else:
                values.append(value)
                problem = None
    if problem:
        raise problem
    return json.loads(printable(json.dumps(values, ensure_ascii=False))) if "\\u" in text else values


def printable(text: str) -> str:
    """The text with lone surrogates, which no file or terminal accepts, as question marks."""
    return text.encode("utf-8", "replace").decode()


def _value(text: str, start: int) -> tuple[Any, int]:
    """The value that begins at `start` and its end: plain JSON, or repaired."""
    try:
        return _strict.raw_decode(text, start)
    except UnreadableError:
        raise
    except (ValueError, RecursionError):
        if text[start] == "[":  # if it is no list, the bracket is chatter before an object
            with suppress(ValueError, RecursionError):
                value, end = _strict.raw_decode(text, text.index("{", start))
                if not _NEXT.match(text, end):
                    return value, end
        reader = _Reader(text, start)
        return reader.value("item", 0), reader.at


def _closing(text: str, start: int) -> int:
    """The position after the bracket that closes an unreadable part, ignoring strings."""
    depth = 0
    for bracket in _BRACKET.finditer(text, start):
        depth += 1 if bracket[0] in "{[" else -1
        if depth == 0:
            return bracket.end()
    raise CutOffError


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict[str, Any]()
    for key, value in pairs:
        if fields.setdefault(key, value) != value or type(fields[key]) is not type(value):
            raise UnreadableError(f"it gave {key[:60]!r} twice, with different values")
    return fields


def _no_number(word: str) -> NoReturn:
    raise ValueError(word)


_strict = json.JSONDecoder(strict=False, object_pairs_hook=_unique, parse_constant=_no_number)


class CutOffError(UnreadableError):
    """The text ends within an object."""

    def __init__(self) -> None:
        super().__init__("its JSON object was cut off")


class _Reader:
    """Reads an untidy value from `at`, and leaves `at` behind it."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at = text, at

    def value(self, where: str, depth: int) -> Any:
        if depth > DEEPEST:
            raise UnreadableError("its JSON was nested too deep")
        match self.peek():
            case "{":
                return self.object(depth)
            case "[":
                return list(self.items(depth))
            case quote if quote in _QUOTES:
                return self.string(where)
            case _:
                return self.bare()

    def peek(self) -> str:
        """The next character that is neither space nor comment."""
        self.at = _SPACE.match(self.text, self.at).end()  # pyright: ignore[reportOptionalMemberAccess]
        if self.at >= len(self.text):
            raise CutOffError
        return self.text[self.at]

    def object(self, depth: int) -> dict[str, Any]:
        self.at += 1
        pairs = list[tuple[str, Any]]()
        while (letter := self.peek()) != "}":
            if letter == ",":
                self.at += 1
                continue
            pairs.append((self.key(letter), self.value("value", depth + 1)))
        self.at += 1
        return _unique(pairs)

    def key(self, letter: str) -> str:
        if letter in _QUOTES:
            key = self.string("key")
            if self.peek() != ":":
                self.refuse()
            self.at += 1
            return key
        if not (name := _NAME.match(self.text, self.at)):
            self.refuse()
        self.at = name.end()
        return name[1]

    def items(self, depth: int) -> Iterator[Any]:
        self.at += 1
        while (letter := self.peek()) not in "]}":
            if letter == ",":
                self.at += 1
            else:
                yield self.value("item", depth + 1)
        self.at += letter == "]"  # a brace closes the list too, and the object around it

    def string(self, where: str) -> str:
        """A text up to its closing quote: one followed by a character that may follow a text here."""
        inside, certain = _INSIDE[_QUOTES[self.text[self.at]]], _CERTAIN[where]
        start = end = self.at + 1
        likely = 0
        while quote := inside.match(self.text, end):
            end = quote.end()
            if certain.match(self.text, end):
                break
            if not likely and _LIKELY.match(self.text, end):
                likely = end
            if likely and end - likely > _FURTHER:
                end = likely
                break
        else:
            if not likely:
                raise CutOffError
            end = likely
        self.at = end
        text = _ESCAPE.sub(_unescaped, self.text[start : end - 1])
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")

    def bare(self) -> Any:
        """An unquoted number or JSON keyword; anything else is text."""
        if number := _NUMBER.match(self.text, self.at):
            self.at = number.end()
            try:
                return json.loads(number[0])
            except ValueError:  # more digits than Python parses
                return number[0]
        if not (run := _BARE.match(self.text, self.at)):
            self.refuse()
        self.at = run.end()
        text = run[0].strip()
        return _WORDS.get(text.lower(), text)

    def refuse(self) -> NoReturn:
        raise UnreadableError(f"it was no valid JSON at {self.text[self.at : self.at + 40]!r}")


def _unescaped(match: re.Match[str]) -> str:
    letter = match[1]
    if letter[0] in "ux" and len(letter) > 1:
        return chr(int(letter[1:], 16))
    return _ESCAPED.get(letter, letter if letter in "\"'\\/“”" else match[0])
