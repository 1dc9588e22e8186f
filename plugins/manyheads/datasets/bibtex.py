"""BibTeX and BibLaTeX files, with LaTeX accents decoded, read entry by entry."""

import logging
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manyheads.base.errors import CorpusError
from manyheads.base.text import BRACES, NotTeXError, from_latex, latex_letters
from manyheads.corpus.files import lines
from manyheads.corpus.records import RawPaper, Reader, Record
from manyheads.datasets.common import paper, terms

if TYPE_CHECKING:
    from bibtexparser.model import Entry


OTHERS = "others"
"""BibTeX's "et al."."""


def names(text: str) -> list[str]:
    """The names of an author field, each with the family name last, without "and others". Raises `NotTeXError` if a name has
    too many commas, or the text is not LaTeX."""
    from bibtexparser.middlewares.names import (
        InvalidNameError,
        parse_single_name_into_parts,
        split_multiple_persons_names,
    )

    try:
        people = [
            parse_single_name_into_parts(name) for name in split_multiple_persons_names(latex_letters(text))
        ]
    except InvalidNameError as wrong:
        raise NotTeXError(" ".join(str(wrong).split())) from wrong
    parts = (" ".join((*one.first, *one.von, *one.last, *one.jr)) for one in people)
    return [name for part in parts if (name := " ".join(part.translate(BRACES).split())) != OTHERS]


BEGIN = re.compile(rb"\s*@\s*(\w+)\s*[{(]")
KEY = re.compile(rb"\s*@\s*\w+\s*[{(]\s*([^\s,={}()\"']{1,100})\s*,")
NO_ENTRY = frozenset((b"comment", b"preamble"))
MOST_LINES, MOST_BYTES = 5000, 2**20
"""Maximum bytes of an entry: a longer one has lost its closing brace."""


class BibTeX(Reader):
    """A `Reader` of `.bib` files; a paper's id is its entry's key. No citation counts."""

    kind = "BibTeX"
    endings = (".bib", ".bib.gz")
    unit = "record"
    example = "entries such as @article{key, title={…}, author={… and …}, year={2015}, abstract={…}}"

    def records_of(self, file: Path) -> Iterator[Record]:
        # the library logs entries that are rejects here
        logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)
        macros, number, size = dict[str, str](), 0, 0
        with closing(_blocks(file)) as blocks:
            for kind, line, source in blocks:
                if kind == b"string":
                    text = source.decode("utf-8", "replace")
                    if (size := size + len(text)) > MOST_BYTES:
                        raise CorpusError(
                            f"{file}: more than {MOST_BYTES >> 20} MB of @string",
                            hint="check that it is BibTeX",
                        )
                    macros[re.split(r"[{(]|=", text)[1].strip().lower()] = text
                elif kind not in NO_ENTRY:
                    number += 1
                    made = _paper(source, macros)
                    if isinstance(made, tuple):
                        key = KEY.match(source)
                        named = f"{_one_line(key[1].decode('utf-8', 'replace'))}, " if key else ""
                        made = made[0], f"{made[1]} ({named}line {line})"
                    yield number, made


def _blocks(file: Path) -> Generator[tuple[bytes, int, bytes]]:
    """The text from one `@` at the beginning of a line to the next: its kind, its first line's number, its text."""
    kind, first, source, size = b"", 0, list[bytes](), 0
    with closing(lines(file)) as stream:
        for number, line in stream:
            if begin := BEGIN.match(line):
                if source:
                    yield kind, first, b"".join(source)
                kind, first, source, size = begin[1].lower(), number, [line[: MOST_BYTES + 1]], len(line)
            elif 0 < len(source) <= MOST_LINES and size <= MOST_BYTES:
                source.append(line[: MOST_BYTES + 1])
                size += len(line)
    if source:
        yield kind, first, b"".join(source)


def _paper(source: bytes, macros: Mapping[str, str]) -> RawPaper | tuple[str, str]:
    """The paper of an entry, parsed with the `@string`s that it uses; or the faulty field and the reason."""
    from bibtexparser.entrypoint import parse_string

    if len(source) > MOST_BYTES:
        return "entry", f"longer than {MOST_BYTES >> 20} MB"
    try:
        text = source.decode("utf-8")
        low = text.lower()
        library = parse_string("".join(one for name, one in macros.items() if name and name in low) + text)
        if library.failed_blocks:
            error = str(library.failed_blocks[0].error).partition(". Note:")[0]
            return "entry", _one_line(error) or "its braces do not close"
        if len(library.entries) != 1:
            several = "another entry begins inside it: begin each entry on a new line"
            return "entry", several if library.entries else "no entry"
        return paper(_fields(library.entries[0]))
    except UnicodeDecodeError as wrong:
        return "encoding", f"byte {wrong.start} is not UTF-8"
    except NotTeXError as wrong:
        return "entry", _one_line(str(wrong))


def _one_line(text: str) -> str:
    """The library's message, on one line that is safe to print."""
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))[:300]


def _fields(entry: "Entry") -> dict[str, Any]:
    """Raises `NotTeXError`."""
    values = {
        name.lower(): one.value for name, one in entry.fields_dict.items() if isinstance(one.value, str)
    }
    venues = (values.get(name) for name in ("journal", "journaltitle", "booktitle"))
    return {
        "id": entry.key,
        "title": from_latex(values.get("title", "")),
        "abstract": from_latex(values.get("abstract", "")),
        "authors": names(values["author"]) if "author" in values else None,
        "year": values.get("year") or values.get("date"),
        "venue": from_latex(next(filter(None, venues), "")) or None,
        "keywords": terms(from_latex(values.get("keywords", ""))),
    }
