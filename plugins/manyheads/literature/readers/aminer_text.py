"""AMiner's text files: blocks of lines that begin with a tag, each block with `#index`."""

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from manyheads.bank.files import lines
from manyheads.errors import CorpusError

TAG = re.compile(rb"#(?:([*@%!])|(index|upi|pc|cn|hi|pi|[notca])(?=\s|$))")
"""A sign may be followed by its value at once, a word may not."""
MOST_LINES = 100_000
"""Lines of one block above which a file is taken for something else."""
NOTHING = "-"
"""What stands for an affiliation that is not known."""


class Block:
    """A paper or an author: the values of each tag, in the order given."""

    def __init__(self) -> None:
        self.values: dict[str, list[str]] = defaultdict(list)
        self.undecodable = ""
        """Why a line of it is no text; empty where all are."""

    def __getitem__(self, tag: str) -> list[str]:
        return self.values.get(tag, [])

    def text(self, tag: str) -> str:
        """The value of a tag, "" where it is not there."""
        return " ".join(self[tag]).strip()

    def list(self, tag: str) -> list[str]:
        """The values between semicolons, "" where one is not known; [] where there is none at all."""
        whole = self.text(tag)
        parts = (part.strip() for part in whole.split(";")) if whole else ()
        return ["" if part == NOTHING else part for part in parts]


def blocks(file: Path) -> Iterator[tuple[int, Block]]:
    """The blocks of a file with their numbers from 1; lines without a tag go on with the value before.

    Raises:
        CorpusError: the file cannot be read, or does not begin with `#index`.
    """
    number, size, block, tag = 0, 0, Block(), ""
    with closing(lines(file)) as found:
        for line, raw in found:
            known = TAG.match(raw)
            if not tag and (not known or known[0] != b"#index"):
                raise CorpusError(
                    f"{file}: line {line} is no #index: not AMiner's format",
                    hint="name the academic network's AMiner-Paper.txt; its citation network's JSON files are read, too",
                )
            if known and known[0] == b"#index" and size:
                number += 1
                yield number, block
                size, block = 0, Block()
            size += 1
            if size > MOST_LINES:
                raise CorpusError(
                    f"{file}: no #index in the {MOST_LINES:,} lines before line {line:,}: not AMiner's format",
                    hint="name the folder that AMiner-Paper.txt is in",
                )
            tag = (known[1] or known[2]).decode() if known else tag
            _take(block, tag, line, raw[known.end() :] if known else raw, goes_on=not known)
    if size:
        yield number + 1, block


def _take(block: Block, tag: str, line: int, raw: bytes, *, goes_on: bool) -> None:
    try:
        text = raw.decode("utf-8").strip()
    except UnicodeDecodeError as wrong:
        block.undecodable = block.undecodable or f"line {line}: byte {wrong.start} of its text is not UTF-8"
        text = raw.decode("utf-8", errors="replace").strip()
    values = block.values[tag]
    if goes_on and values:
        values[-1] += f" {text}"
    else:
        values.append(text)
