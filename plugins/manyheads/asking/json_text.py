"""JSON objects in a model's text, read strictly: syntax is repaired, a value is never guessed.

Quotes, commas, comments and brackets of inner lists are repaired. An unquoted value that is not one number or one
truth value is text, so `7 or 8` never becomes 7; an object left open is never closed.
Runs in time linear in the text.
"""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn, cast

from manyheads.base.resources import no_constant

DEEPEST = 50
"""Maximum nesting depth of objects."""
LONGEST = 200_000
"""Maximum characters of a reply."""
_FURTHER = 5_000
"""Characters searched beyond a string's likely end for a better one."""

_QUOTES = {'"': '"', "'": "'", "“": "”"}
_KEY = r"""(?:["'“][^"'“”\n]{1,60}["'”]|\w+)\s*:"""
_TAGS = r"(?:\w+[:_])?think(?:ing)?", r"thoughts?", r"reason(?:ing)?", r"reflection", r"scratchpad"
_THOUGHTS = (
    *((rf"<{name}(?:\s[^<>]*)?>", f"</{name}>") for name in _TAGS),
    (r"\[THINK\]", r"\[/THINK\]"),  # Magistral
    (r"◁think▷", r"◁/think▷"),  # Kimi
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),  # Command A
    (r"<\|(?:begin_of_thought|inner_prefix)\|>", r"<\|(?:end_of_thought|inner_suffix)\|>"),  # Sky-T1; Apertus
    (r"<\|channel>thought", r"<channel\|>"),  # Gemma
    (r"Here(?:'s| is) my thought process:", r"Here(?:'s| is) my response:"),  # Granite
    # gpt-oss; the second where a server drops its special tokens
    (r"<\|channel\|>\s*(?:analysis|commentary)", r"<\|channel\|>\s*final"),
    (r"(?-i:\Aanalysis(?=[A-Z]))", r"assistantfinal"),
)
"""The marks around a model's thinking."""
_MIND = "|".join(f"(?P<begin{at}>{begin})|(?P<end{at}>{end})" for at, (begin, end) in enumerate(_THOUGHTS))
_THOUGHT = re.compile(_MIND, re.IGNORECASE)
_MARK = re.compile(rf"""{_MIND}|(?:\[\s*)?\{{\s*(?:["'“]|\w+\s*:)""", re.IGNORECASE)
"""Marks of thinking, and the start of an object or a list of objects; a brace in prose, as in "the set {a, b}", is none."""
_ENDS = tuple(re.compile(end, re.IGNORECASE) for _, end in _THOUGHTS)
_TOKEN = re.compile(r"<\|\w+\|>")
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
    """The text has no readable object.

    Attributes:
        place: the line that is broken and what stands there, or 0 and a key given twice.
        closed: whether the object has its end.
    """

    closed = True

    def __init__(self, problem: str, place: tuple[int, str] = (0, ""), kind: str = "unreadable") -> None:
        super().__init__(problem)
        self.place, self.kind = place, kind


class Found(NamedTuple):
    """An object of a text, or a list that begins with one, and what stands between it and the one before."""

    value: Any
    before: str

    @property
    def dicts(self) -> list[dict[str, Any]]:
        """The object, or those of the list."""
        many = cast(list[Any], self.value) if isinstance(self.value, list) else [self.value]
        return [each for each in many if isinstance(each, dict)]


def objects(text: str) -> list[Found]:
    """The outermost JSON objects of a text, and lists that begin with one, in order, without those in its thinking.

    Raises:
        UnreadableError: too long, the last object is cut off or repeats a key, or no object is readable.
    """
    if len(text) > LONGEST:
        raise UnreadableError(f"it was longer than {LONGEST:,} characters; be briefer")
    found, problem, at, since = list[Found](), None, 0, 0
    while mark := _MARK.search(text, at):
        if mark.lastgroup:
            since = at = _outside(text, mark)
            if mark.lastgroup.startswith("end"):
                found, problem = list[Found](), None
            continue
        try:
            value, at = _value(text, mark.start())
        except UnreadableError as error:
            problem, at = error, _closing(text, mark.start())
            if not at:
                error.closed = False
                raise
        else:
            found.append(Found(value, text[since : mark.start()]))
            problem, since = None, at
    if problem:
        raise problem
    if "\\u" not in text:
        return found
    return [Found(json.loads(printable(json.dumps(each, ensure_ascii=False))), said) for each, said in found]


def prose(text: str) -> str:
    """A text without its thinking; raises `UnreadableError` if it ends while thinking."""
    parts, at = list[str](), 0
    while mark := _THOUGHT.search(text, at):
        ends = (mark.lastgroup or "").startswith("end")
        parts, at = [] if ends else [*parts, text[at : mark.start()]], _outside(text, mark)
    return _TOKEN.sub("", "".join((*parts, text[at:]))).strip()


def _outside(text: str, mark: re.Match[str]) -> int:
    """Where thinking ends, at its mark or behind it. Text before an end alone is thinking: its beginning may be in the prompt."""
    kind = mark.lastgroup or ""
    if kind.startswith("end"):
        return mark.end()
    if not (end := _ENDS[int(kind.removeprefix("begin"))].search(text, mark.end())):
        raise UnreadableError("it ended while thinking, before an answer", kind="none")
    return end.end()


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
        mender = _Mender(text, start)
        return mender.value("item", 0), mender.at


def _closing(text: str, start: int) -> int:
    """The position after the bracket that closes an unreadable part, ignoring strings; 0 if none does."""
    depth = 0
    for bracket in _BRACKET.finditer(text, start):
        depth += 1 if bracket[0] in "{[" else -1
        if depth == 0:
            return bracket.end()
    return 0


def unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as an object; raises `UnreadableError` if a key has two values."""
    fields = dict[str, Any]()
    for key, value in pairs:
        if fields.setdefault(key, value) != value or type(fields[key]) is not type(value):
            raise UnreadableError(f"it gave {key[:60]!r} twice, with different values", (0, key[:60]))
    return fields


_strict = json.JSONDecoder(strict=False, object_pairs_hook=unique, parse_constant=no_constant)


class CutOffError(UnreadableError):
    """The text ends within an object."""

    def __init__(self) -> None:
        super().__init__("its JSON object was cut off")


class _Mender:
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
        return unique(pairs)

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
        likely = first = 0
        while quote := inside.match(self.text, end):
            end = quote.end()
            first = first or end
            if certain.match(self.text, end):
                break
            if not likely and _LIKELY.match(self.text, end):
                likely = end
            if likely and end - likely > _FURTHER:
                end = likely
                break
        else:
            if not likely:
                self.at = first
                if first and where == "key":
                    self.refuse()
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
        line, letters = self.text.count("\n", 0, self.at) + 1, self.text[max(0, self.at - 20) : self.at + 20]
        raise UnreadableError(f"it was no valid JSON in line {line}, at {letters!r}", (line, letters))


def _unescaped(match: re.Match[str]) -> str:
    letter = match[1]
    if letter[0] in "ux" and len(letter) > 1:
        return chr(int(letter[1:], 16))
    return _ESCAPED.get(letter, letter if letter in "\"'\\/“”" else match[0])
