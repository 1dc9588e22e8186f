"""The questions of a form for people, from its JSON Schema: what a field asks for, and the value of what is typed.

A terminal, a page and an app put them, each in its own way.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import zip_longest
from typing import Any, cast

YES_OR_NO = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}
Part = Mapping[str, Any]
"""The schema of a field."""
_LIMITS = {
    "minimum": "at least", "exclusiveMinimum": "more than", "maximum": "at most", "exclusiveMaximum": "less than"
}  # fmt: skip


def bounds(part: Part) -> str:
    """The range of a number in words; empty without one."""
    if "minimum" in part and "maximum" in part:
        return f"{part['minimum']:,} to {part['maximum']:,}"
    return ", ".join(f"{words} {part[key]:,}" for key, words in _LIMITS.items() if key in part)


def meaning(part: Part) -> str:
    """A field in one line: its description, its choices or range, and the value that it has now."""
    parts = [str(part.get("description") or part.get("title", "")).rstrip("."), bounds(part)]
    if "enum" in part:
        texts = zip_longest(map(str, part["enum"]), part.get("x-texts", ()))
        parts.append(f"one of {', '.join(f'{each} ({text[:-1]})' if text else each for each, text in texts)}")
    if part.get("type") == "array" and part.get("items", {}).get("type") == "string":
        parts.append("one a line")
    if part.get("default") not in (None, "", []):
        parts.append(f"now: {json.dumps(part['default'], ensure_ascii=False)}")
    return "; ".join(filter(None, parts))


def value_of(text: str, part: Part) -> Any:
    """The value of a typed text; raises `ValueError` with what to type."""
    text, options = text.strip(), [each for each in part.get("anyOf", ()) if each.get("type") != "null"]
    part = options[0] if options else part
    match part:
        case {"enum": options}:
            exact = [each for each in options if str(each).lower() == text.lower()]
            near = [each for each in options if text and str(each).lower().startswith(text.lower())]
            if len(found := exact or near) == 1:
                return found[0]
            raise ValueError(f"type one of {', '.join(map(str, options))}")
        case {"type": "boolean"}:
            if text.lower() not in YES_OR_NO:
                raise ValueError("type y or n")
            return YES_OR_NO[text.lower()]
        case {"type": "integer" | "number" as kind}:
            return _number(text, part, int if kind == "integer" else float)
        case {"type": "array" | "object" as kind}:
            with suppress(ValueError, RecursionError):
                if isinstance(data := json.loads(text), list if kind == "array" else dict):
                    return cast(Any, data)
            if kind == "object":
                raise ValueError("type a JSON object")
            if (item := part.get("items", {})).get("type") == "integer":
                return [_number(each, item, int) for each in text.replace(",", " ").split()]
            return [line.strip() for line in text.splitlines() if line.strip()]
        case _:
            return text


def _number(text: str, part: Part, kind: Callable[[str], float]) -> float:
    try:
        number = kind(text)
    except ValueError:
        raise ValueError(f"{text}: not a number") from None
    if not part.get("minimum", number) <= number <= part.get("maximum", number):
        raise ValueError(f"{text}: {bounds(part)}")
    return number
