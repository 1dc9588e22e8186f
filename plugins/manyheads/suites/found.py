"""What stands where a measure's path leads in a result: a value, null, or nothing."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

LENGTH = "length"
SHOWN = 60
"""Letters of what stands in place of a number."""


@dataclass(frozen=True)
class Absent:
    """There is nothing.

    Attributes:
        why: in words.
        there: what is there instead, where the path ends at a mapping that lacks its next key.
        never: whether no result of the same form can have it: a list may be longer, a mapping has the keys it has.
    """

    why: str
    there: tuple[str, ...] = ()
    never: bool = True


Found: TypeAlias = float | bool | Absent | None
"""A number or truth value; None for null, there or on the way: it is unknown, such as a cost without prices."""


def at(result: Mapping[str, Any], path: Sequence[str]) -> Found:
    """What a result holds at the end of a path of keys, places in lists and, for how long a list is, `length`."""
    data: Any = result
    for key in path:
        if data is None:
            return None
        items = cast(list[Any], data) if isinstance(data, list) else None
        keys = cast(Mapping[str, Any], data) if isinstance(data, Mapping) else {}
        if items is not None and key == LENGTH:
            data = len(items)
        elif items is not None and key.isdecimal():
            if int(key) >= len(items):
                return Absent(f"the result has no {'.'.join(path)}", never=False)
            data = items[int(key)]
        elif key in keys:
            data = keys[key]
        else:
            return Absent(f"the result has no {'.'.join(path)}", tuple(keys))
    return _number(data, ".".join(path))


def _number(value: Any, path: str) -> Found:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Mapping):
        return Absent(f"{path} holds several values", tuple(cast(Mapping[str, Any], value)))
    if isinstance(value, list):
        return Absent(f"{path} is a list: {path}.{LENGTH} is how long it is")
    if not isinstance(value, int | float) or not math.isfinite(value):
        return Absent(f"{path} is {str(value)[:SHOWN]!r}, which is no number")
    return float(value)
