"""What changed between two texts, word by word, in pieces long enough to read."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

LONGEST = 3000
"""Words of a text beyond which words are no longer matched one by one: matching takes quadratic time."""

LONG, BESIDE = 120, 30
"""Words that stay in a row before a gap is made, and how many of them are kept on either side of it."""


class Piece(NamedTuple):
    """A stretch of text that stayed, came or went; a `gap` has stayed too, and is left out where it is shown."""

    kind: Literal["same", "ins", "del", "gap"]
    text: str


def word_diff(old: str, new: str) -> list[Piece]:
    """The pieces that lead from `old` to `new`; without `ins` they read as `old`, without `del` as `new`, up to white space.

    What stays between two changes and is no longer than either is counted as changed: confetti is hard to read.
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


def shortened(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces with a gap in each long stretch that stayed; the words beside a change are kept."""
    told: list[Piece] = []
    for number, piece in enumerate(pieces):
        words = _words(piece.text) if piece.kind == "same" else []
        if len(words) <= LONG:
            told.append(piece)
            continue
        # What a text begins with is kept too: it says which text this is.
        end = len(words) - BESIDE * (number < len(pieces) - 1)
        first, rest, last = words[:BESIDE], words[BESIDE:end], words[end:]
        told += [Piece("same", "".join(first)), Piece("gap", "".join(rest))]
        told += [Piece("same", "".join(last))] * bool(last)
    return told


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


def _smooth(codes: list[Opcode]) -> list[Opcode]:
    """Opcodes with neighbouring changes, and the islands between them, taken together."""
    kept: list[Opcode] = []
    for code in codes:
        kept.append(code)
        while len(kept) > 2 and _is_island(*kept[-3:]):
            before, _, after = kept[-3:]
            kept[-3:] = [("replace", before[1], after[2], before[3], after[4])]
    return kept


def _is_island(before: Opcode, stayed: Opcode, after: Opcode) -> bool:
    """Whether what stayed is a single word, or no longer than what has changed on either side of it."""
    if stayed[0] != "equal" or "equal" in (before[0], after[0]):
        return False
    return _length(stayed) < 2 or _length(stayed) <= min(_length(before), _length(after))


def _length(code: Opcode) -> int:
    """Words of the longer side."""
    return max(code[2] - code[1], code[4] - code[3])
