"""BibTeX and BibLaTeX files, LaTeX accents decoded, read entry by entry."""

import logging
import re
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manyheads.bank.corpus import RawAuthor, RawPaper, Rejects, lines, sift
from manyheads.literature.readers.common import Record, each, first_of, one_line, paper, shards, terms

if TYPE_CHECKING:
    from bibtexparser.model import Entry
    from pylatexenc.latex2text import LatexNodes2Text


# The texts and names of BibTeX entries as people read them: LaTeX decoded, names apart.


ESCAPED, BARE = re.compile(r"\\([%&_#])"), re.compile(r"(?<!\\)([%&#])")
PLAIN = str.maketrans({"~": " "})
NO_BRACES = str.maketrans("", "", "{}")
TRIPS = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)
"""What the decoder raises of text that is no LaTeX."""
OTHERS = "others"
"""BibTeX's "et al."."""


class NotTeXError(ValueError):
    """A text or a list of names that cannot be read."""


def plain_text(text: str) -> str:
    """A text with its accents as letters, on one line, without the braces that protect capitals; formulas stay.

    Raises:
        NotTeXError: it is no LaTeX.
    """
    parts = _letters(text).split("$")
    parts[::2] = (part.translate(NO_BRACES) for part in parts[::2])
    return " ".join("$".join(parts).split())


def names(text: str) -> list[str]:
    """The names of an author field, each with the family name last; "and others" is no name.

    Raises:
        NotTeXError: a name has too many commas, or the text is no LaTeX.
    """
    from bibtexparser.middlewares.names import (
        InvalidNameError,
        parse_single_name_into_parts,
        split_multiple_persons_names,
    )

    try:
        people = [parse_single_name_into_parts(name) for name in split_multiple_persons_names(_letters(text))]
    except InvalidNameError as wrong:
        raise NotTeXError(" ".join(str(wrong).split())) from wrong
    parts = (" ".join((*one.first, *one.von, *one.last, *one.jr)) for one in people)
    return [name for part in parts if (name := " ".join(part.translate(NO_BRACES).split())) != OTHERS]


def _letters(text: str) -> str:
    """LaTeX as Unicode, its braces kept: they hold names of several words together."""
    plain = ESCAPED.sub(r"\1", text)
    if "\\" not in plain:  # the decoder reads letter by letter, which takes long
        return plain.translate(PLAIN)
    try:
        return _decoder().latex_to_text(BARE.sub(r"\\\1", text))
    except TRIPS as wrong:
        raise NotTeXError(f"no LaTeX: {text[:60]!r}") from wrong


@cache
def _decoder() -> "LatexNodes2Text":
    from pylatexenc.latex2text import LatexNodes2Text

    return LatexNodes2Text(keep_braced_groups=True, math_mode="verbatim")


BEGIN = re.compile(rb"\s*@\s*(\w+)\s*[{(]")
NO_ENTRY = frozenset((b"comment", b"preamble"))
EXAMPLE = "entries such as @article{key, title={…}, author={… and …}, year={2015}, abstract={…}}"
MOST_LINES = 5000
"""Of one entry: what is longer has lost its closing brace, or is none."""


class BibTeX:
    """A `Reader` of `.bib` files, one or a folder of them; a paper's id is its entry's key. No citation counts."""

    def __init__(self, path: Path) -> None:
        self.name, self._path = path.resolve().name, path

    def papers(self, rejects: Rejects) -> Iterator[tuple[int, RawPaper]]:
        """See `Reader.papers`; a record's number counts the entries of its file.

        Raises:
            CorpusError: a file cannot be read, or holds no or hardly any papers.
        """
        # The library logs what is returned here as a reject.
        logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)
        yield from sift(self._path, self._records(rejects), rejects, example=EXAMPLE)

    def _records(self, rejects: Rejects) -> Iterator[Record]:
        files = shards(self._path, (".bib", ".bib.gz"), "BibTeX")
        for file in each(self._path, files, rejects, "record"):
            macros = _Macros()
            with closing(_blocks(file)) as blocks:
                entries = (block for block in blocks if macros.is_entry(block))
                for number, block in enumerate(entries, 1):
                    yield number, _paper(block, macros)

    def authors(self, wanted: Collection[str]) -> Mapping[str, RawAuthor]:
        """Nothing but what the entries say."""
        return {}


@dataclass
class _Block:
    """What stands from one `@` at the beginning of a line to the next."""

    kind: bytes
    line: int
    source: list[bytes]

    def text(self) -> str:
        """Raises `UnicodeDecodeError`."""
        return b"".join(self.source).decode("utf-8")


def _blocks(file: Path) -> Generator[_Block]:
    block = None
    with closing(lines(file)) as found:
        for number, line in found:
            if begun := BEGIN.match(line):
                if block:
                    yield block
                block = _Block(begun[1].lower(), number, [line])
            elif block and len(block.source) <= MOST_LINES:
                block.source.append(line)
    if block:
        yield block


@dataclass
class _Macros:
    """The `@string` definitions of a file so far, by name."""

    known: dict[str, str] = field(default_factory=dict[str, str])

    def is_entry(self, block: _Block) -> bool:
        """Whether a block is an entry; what it defines is kept, what it comments is passed over."""
        if block.kind == b"string":
            text = b"".join(block.source).decode("utf-8", "replace")
            self.known[re.split(r"[{(]|=", text)[1].strip().lower()] = text
        return block.kind != b"string" and block.kind not in NO_ENTRY

    def used_in(self, text: str) -> str:
        low = text.lower()
        return "".join(text for name, text in self.known.items() if name and name in low)


def _paper(block: _Block, macros: _Macros) -> RawPaper | tuple[str, str]:
    try:
        text = block.text()
        found = _entry(macros.used_in(text) + text)
        made = found if isinstance(found, tuple) else paper(_fields(found))
    except UnicodeDecodeError as wrong:
        made = "encoding", f"byte {wrong.start} is not UTF-8"
    except NotTeXError as wrong:
        made = "entry", one_line(wrong)
    return made if isinstance(made, RawPaper) else (made[0], f"{made[1]} (line {block.line})")


def _entry(text: str) -> "Entry | tuple[str, str]":
    """The entry of a text with the macros that it uses, or what is wrong with it."""
    from bibtexparser.entrypoint import parse_string

    library = parse_string(text)
    if library.failed_blocks:
        error = str(library.failed_blocks[0].error).partition(". Note:")[0]
        return "entry", one_line(error) or "its braces do not close"
    if len(library.entries) > 1:
        return "entry", "another entry begins inside of it: begin each on a line of its own"
    return library.entries[0] if library.entries else ("entry", "no entry")


def _fields(entry: "Entry") -> dict[str, Any]:
    """Raises `NotTeXError`."""
    given = {name.lower(): one.value for name, one in entry.fields_dict.items() if isinstance(one.value, str)}
    return {
        "id": entry.key,
        "title": plain_text(given.get("title", "")),
        "abstract": plain_text(given.get("abstract", "")),
        "authors": names(given["author"]) if "author" in given else None,
        "year": first_of(given, ("year", "date")),
        "venue": plain_text(first_of(given, ("journal", "journaltitle", "booktitle")) or "") or None,
        "keywords": terms(plain_text(given.get("keywords", ""))),
    }
