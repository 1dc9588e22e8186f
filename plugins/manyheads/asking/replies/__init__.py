"""The typed replies of tasks; `prompts/replies/` describes their fields.

Those that several systems share stand here, those of one system in its module `replies`, as those of a pack do: a role card
names ours `Reply`, a pack's `pack.Reply`. Scales and the order of fields (reasons before decisions) follow the papers.
Scores are never clipped or filled in: a value out of range is asked for again.
"""

# ruff: noqa: F401, I001
# pyright: reportUnusedImport=false

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# fmt: off
from manyheads.asking.replies.base import (
    Choice, Percent, PlainText, R, ReplyModel, Score, Text, label, limited, mixed, numbered, of, open_ended,
    sent, uniform_score, whole_number,
)
from manyheads.asking.replies.own import OwnReply, from_schema, imported, module_of, read_as
from manyheads.asking.replies.shared import (
    Abstract, Action, Advice, Doubts, Judgement, OwnText,
    Progress, Ratings, Remark, Seeks, Steering, Summary, own, prefilled, seeking, steering_among,
)
# fmt: on
from manyheads.base.errors import BugError, ConfigError, did_you_mean
from manyheads.base.resources import packs

SHARED = {
    kind.__name__: kind
    for kind in (Remark, Summary, Progress, Advice, Abstract, Steering, OwnText)
}  # fmt: skip
"""Replies of tasks that belong to no system alone."""


class _Replies(Mapping[str, type[ReplyModel]]):
    """The shipped replies, by name; those of all systems are imported when one is named that is neither shared nor of a system
    that is imported."""

    def __getitem__(self, name: str) -> type[ReplyModel]:
        loaded = (sys.modules.get(module) for module in _modules())
        kinds = (kind for module in loaded for kind in getattr(module, "REPLIES", ()))
        return (
            SHARED.get(name)
            or next((kind for kind in kinds if kind.__name__ == name), None)
            or _shipped()[name]
        )

    def __iter__(self) -> Iterator[str]:
        return iter(_shipped())

    def __len__(self) -> int:
        return len(_shipped())


REPLIES: Mapping[str, type[ReplyModel]] = _Replies()
TEXT = "text"
"""Name of a plain-text reply in a role card."""


def reply_type(name: str) -> type[ReplyModel]:
    """The reply type that a role card names.

    One of ours, `text` for plain text, `pack.Reply` of an installed pack, or `package.module:Class` for a pydantic class,
    whose module is imported.

    Example:
        >>> list(reply_type("Advice").model_fields)
        ['advice']

    Raises:
        ConfigError: no such type.
    """
    if ":" in name:
        return imported(name)
    pack, dot, _ = name.partition(".")
    if dot and pack not in packs():
        raise ConfigError(
            f"no such reply type {name!r}: no pack {pack!r} is installed",
            tried=f"packs: {', '.join(packs()) or 'none'}",
            hint=did_you_mean(pack, packs()),
        )
    if name == TEXT:
        return PlainText
    kinds = _of_pack(pack, name) if dot else REPLIES
    if name in kinds:
        return kinds[name]
    names = [*kinds] if dot else [TEXT, *kinds]
    otherwise = None if dot else "write pack.Reply for a pack's type, package.module:Class for your own"
    tried, hint = ", ".join(names) or "none", did_you_mean(name, names, otherwise)
    raise ConfigError(f"no such reply type {name!r}", tried=tried, hint=hint)


@cache
def _shipped() -> Mapping[str, type[ReplyModel]]:
    """By name, the shared replies and the `REPLIES` of the modules `replies` of systems and judges."""
    kinds = dict[str, type[ReplyModel]](SHARED)
    for module in map(import_module, _modules()):
        for kind in module.REPLIES:
            if kinds.setdefault(kind.__name__, kind) is not kind:
                raise BugError(f"two replies are called {kind.__name__}: see {module.__name__}")
    return kinds


@cache
def _modules() -> Sequence[str]:
    root = Path(__file__).parents[2]
    files = [*sorted(root.glob("systems/*/replies.py")), root / "judges/replies.py"]
    return [".".join(("manyheads", *file.relative_to(root).with_suffix("").parts)) for file in files]


def _of_pack(pack: str, name: str) -> dict[str, type[ReplyModel]]:
    package = module_of(name, packs()[pack])
    there = hasattr(package, "__path__") and find_spec(f"{package.__name__}.replies")
    theirs = vars(module_of(name, there.name)) if there else {}
    found = {name: kind for name, kind in theirs.items() if isinstance(kind, type)}
    kinds = {name: kind for name, kind in found.items() if issubclass(kind, ReplyModel)}
    return {f"{pack}.{name}": kind for name, kind in kinds.items() if kind is not ReplyModel}
