"""A model's JSON object under the names of its form, and the texts in it that say nothing."""

import re
from collections.abc import Collection, Mapping
from typing import Any, cast

from manyheads.asking.forms import Missing, Schema, resolved
from manyheads.asking.json_text import unique
from manyheads.base.errors import closest

_FILLERS = frozenset((
    "n/a", "n.a", "tbd", "tba", "todo", "placeholder", "lorem ipsum", "your text", "your answer", "your text here",
    "your answer here", "text here", "insert text here",
))  # fmt: skip
_NONE = frozenset(("none", "n/a", "-"))
_TERMS = frozenset(("text", "string", "str", "na"))
"""Names of types, which stand in a list of terms by right."""
_SLOT = re.compile(
    r"[\[({](?:your|insert|enter|write|add|fill|describe)\b[^\[\](){}]*[\])}]|[\[({][^\[\](){}]* here[\])}]|…( ×[\d–+]+)?", re.IGNORECASE,
)  # fmt: skip


def plain(name: str) -> str:
    """A name as it is compared: `Expected results`, `expected-results` and `ExpectedResults` are one."""
    return re.sub(r"[\s_-]+", "", name).casefold()


def says_nothing(text: str, *, term: bool = False) -> bool:
    """Whether a text stands where one should: `...`, `<your text>`, `N/A`; a `term` may be called text or string."""
    inside, word = text[1:-1], text.strip("<>[](){}\"'`*_ .…").casefold()
    slot = text.startswith("<") and text.endswith(">") and not {*"<>"} & {*inside} and not inside.isupper()
    filler = word in _FILLERS or (word in _TERMS and not term)
    return slot or filler or not any(map(str.isalnum, text)) or bool(_SLOT.fullmatch(text))


class Fitting:
    """Fits an object to a schema: keys and choices in any case, a list of one text for a text, null for `N/A`.

    Attributes:
        copied: the texts that say nothing, by path.
    """

    def __init__(self, schema: Schema, words: Collection[str], *, own: bool) -> None:
        self._schema, self._defs, self._words, self._own = schema, schema.get("$defs", {}), words, own
        self.copied, self.longest = dict[str, object](), 0
        self._unknown = dict[str, dict[str, Any]]()

    def _value(self, value: Any, part: Schema, path: str, *, term: bool = False) -> Any:
        part, optional = resolved(part, self._defs)
        match value:
            case dict() if "properties" in part:
                return self.fit(cast(dict[str, Any], value), part, f"{path}.")
            case [*items] if part.get("type") == "array":
                return self._items(items, part, path)
            case [str(only)] if part.get("type") == "string":
                return self._value(only, part, path)
            case str() if choices := part.get("enum", [part["const"]] if "const" in part else []):
                return choice(value, choices)
            case str() if part.get("type") == "string":
                free = not (self._own or "minLength" in part)
                return self._text(value, path, empty=None if optional else "" if free else value, term=term)
            case _:
                return value

    def fit(self, value: Mapping[str, Any], part: Schema | None = None, path: str = "") -> dict[str, Any]:
        """An object under the form's names; raises `UnreadableError` if one has two values."""
        parts = (part or self._schema)["properties"]
        names = {plain(name): name for name in parts}
        names = (names if len(names) == len(parts) else {}) | {name: name for name in parts}
        fitted = unique((names.get(key, names.get(plain(key), key)), each) for key, each in value.items())
        self._unknown[path] = {name: each for name, each in fitted.items() if name not in parts}
        return {name: self._value(fitted[name], parts[name], path + name) for name in parts if name in fitted}

    def fault(self, error: Any) -> tuple[str, object]:
        """The path of one of pydantic's errors and what stands there; of a missing field the key that looks like it."""
        *above, name = map(str, error["loc"])
        path = ".".join((*above, name))
        if error["type"] != "missing":
            return path, error["input"]
        unknown = self._unknown.get(path.removesuffix(name), {})
        inside = (f"{key}.{name}" for key, each in unknown.items() if isinstance(each, dict) and name in each)
        return path, Missing(next(inside, closest(name, unknown) or ""))

    def _items(self, items: list[Any], part: Schema, path: str) -> list[Any]:
        texts = [each.strip().casefold() for each in items if isinstance(each, str)]
        if len(texts) == len(items) == 1 and texts[0] in _NONE and not part.get("minItems"):
            return []
        term = not {*texts} <= _TERMS and all(len(each.split()) <= 4 for each in texts)
        return [self._value(each, part["items"], f"{path}.{at}", term=term) for at, each in enumerate(items)]

    def _text(self, text: str, path: str, *, empty: str | None, term: bool) -> str | None:
        """The text; `empty` for one that says nothing, where the form lets it be empty."""
        said, self.longest = text.strip(), max(self.longest, len(text))
        if said.strip("<>") in self._words:
            self.copied[path] = text
        elif said and says_nothing(said, term=term or self._own):
            if empty != text:
                return empty
            self.copied[path] = text
        return text


def choice(value: str, choices: list[Any]) -> str:
    """The choice that a text names: `Partly`, `NOT_NOVEL`, `Version A`."""
    bare = re.sub(r"^(?:version|option)\s+", "", value.strip(" \n*`\"'."), flags=re.IGNORECASE)
    named = [each for each in choices if each[:1].isalpha() and plain(each) in (plain(value), plain(bare))]
    return named[0] if len(named) == 1 and value not in choices else value
