"""Word-by-word differences of two texts, in readable pieces."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

LONGEST = 3000
"""Maximum words of a text to compare word by word, which takes quadratic time."""

LONG, BESIDE = 120, 30
"""Unchanged words in a row that make a gap, and words kept on either side of it."""


Opcode = tuple[str, int, int, int, int]


class Piece(NamedTuple):
    """A stretch of text that was kept, added or removed; a `gap` was kept, and is not shown."""

    kind: Literal["same", "ins", "del", "gap"]
    text: str


def word_diff(old: str, new: str) -> list[Piece]:
    """The differences of `old` and `new`; without `ins` they read as `old`, without `del` as `new`, up to white space.

    Kept words between two changes, no longer than either, count as changed: fragments are hard to read.
    """
    a, b = _words(old), _words(new)
    if max(len(a), len(b)) > LONGEST:
        codes: list[Opcode] = [("equal" if a == b else "replace", 0, len(a), 0, len(b))]
    else:
        plain = ([word.rstrip() for word in a], [word.rstrip() for word in b])
        codes = list[Opcode](SequenceMatcher(None, *plain, autojunk=False).get_opcodes())
    pieces: list[Piece] = []
    for tag, i, j, k, m in _smooth(codes):
        if tag == "equal":
            pieces.append(Piece("same", "".join(b[k:m])))
        else:
            changes = (Piece("del", "".join(a[i:j])), Piece("ins", "".join(b[k:m])))
            pieces += [piece for piece in changes if piece.text]
    return pieces


def shortened(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces with a gap in each long unchanged stretch; the words next to a change are kept."""
    shown: list[Piece] = []
    for number, piece in enumerate(pieces):
        words = _words(piece.text) if piece.kind == "same" else []
        if len(words) <= LONG:
            shown.append(piece)
            continue
        # The beginning is kept too: it identifies the text.
        end = len(words) - BESIDE * (number < len(pieces) - 1)
        first, rest, last = words[:BESIDE], words[BESIDE:end], words[end:]
        shown += [Piece("same", "".join(first)), Piece("gap", "".join(rest))]
        shown += [Piece("same", "".join(last))] * bool(last)
    return shown


def changed_words(pieces: Sequence[Piece]) -> tuple[int, int]:
    """Numbers of added and removed words."""
    came, went = (sum(len(p.text.split()) for p in pieces if p.kind == kind) for kind in ("ins", "del"))
    return came, went


def _words(text: str) -> list[str]:
    return re.findall(r"\S+\s*|^\s+", text)


def _smooth(codes: list[Opcode]) -> list[Opcode]:
    """Opcodes with adjacent changes merged, and unchanged stretches between them that are too short to read."""
    smooth: list[Opcode] = []
    for code in codes:
        smooth.append(code)
        while len(smooth) > 2:
            before, stayed, after = smooth[-3:]
            length, *others = (max(each[2] - each[1], each[4] - each[3]) for each in (stayed, before, after))
            tags = [each[0] == "equal" for each in (before, stayed, after)]
            if tags != [False, True, False] or not (length < 2 or length <= min(others)):
                break
            smooth[-3:] = [("replace", before[1], after[2], before[3], after[4])]
    return smooth
