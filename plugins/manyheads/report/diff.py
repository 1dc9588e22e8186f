"""What changed between two texts, word by word, in pieces long enough to read."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

LONGEST = 3000
"""Words of a text beyond which words are no longer matched one by one: matching takes quadratic time."""


class Piece(NamedTuple):
    """A stretch of text that stayed, came or went."""

    kind: Literal["same", "ins", "del"]
    text: str


def word_diff(old: str, new: str) -> list[Piece]:
    """The pieces that lead from `old` to `new`; without `ins` they read as `old`, without `del` as `new`, up to white space.

    Single unchanged words between two changes are counted as changed, since confetti is hard to read.
    """
    a, b = _words(old), _words(new)
    pieces: list[Piece] = []
    for tag, i, j, k, m in _smooth(_opcodes(a, b)):
        if tag == "equal":
            pieces.append(Piece("same", "".join(b[k:m])))
            continue
        changed = (Piece("del", "".join(a[i:j])), Piece("ins", "".join(b[k:m])))
        pieces += [piece for piece in changed if piece.text]
    return pieces


def changed_words(pieces: Sequence[Piece]) -> tuple[int, int]:
    """How many words came and went."""
    came, went = (sum(len(p.text.split()) for p in pieces if p.kind == kind) for kind in ("ins", "del"))
    return came, went


Opcode = tuple[str, int, int, int, int]


def _words(text: str) -> list[str]:
    return re.findall(r"\S+\s*|^\s+", text)


def _opcodes(a: list[str], b: list[str]) -> list[Opcode]:
    if max(len(a), len(b)) > LONGEST:
        return [("equal" if a == b else "replace", 0, len(a), 0, len(b))]
    stripped = ([w.rstrip() for w in a], [w.rstrip() for w in b])
    return list[Opcode](SequenceMatcher(None, *stripped, autojunk=False).get_opcodes())


def _smooth(codes: list[Opcode]) -> Iterator[Opcode]:
    """Opcodes with neighbouring changes, and single words that stayed between them, taken together."""
    held: Opcode | None = None
    for n, (tag, i, j, k, m) in enumerate(codes):
        between = 0 < n < len(codes) - 1 and j - i < 2
        if tag == "equal" and not between:
            if held:
                yield held
            held = None
            yield (tag, i, j, k, m)
        else:
            held = ("replace", held[1] if held else i, j, held[3] if held else k, m)
    if held:
        yield held
