"""Text of papers, models, servers and users, made safe and plain."""

import csv
import hashlib
import html
import io
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from html.parser import HTMLParser
from math import floor, log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pylatexenc.latex2text import LatexNodes2Text


UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""First characters of a cell that a spreadsheet would evaluate as a formula."""
ABSENT = "–"
NOTHING = 1e-12
"""Absolute tolerance for sums that should be 0."""
LONGEST_WORD = 250
"""Maximum characters of a path or word in a message."""
LONGEST = 1_200
"""Maximum characters of a part of a message."""


def plain(text: object) -> str:
    """A text on one line, without control characters or changes of writing direction."""
    return " ".join(UNPRINTABLE.sub(" ", str(text)).split())


def printable(text: str) -> str:
    """Lines with their layout kept, each as safe to print as in `plain`."""
    return "\n".join(UNPRINTABLE.sub(" ", line) for line in text.split("\n"))


def printable_json(text: str) -> str:
    """The same JSON value with control characters escaped as `\\u001b`."""
    return "\n".join(
        UNPRINTABLE.sub(lambda run: "".join(f"\\u{ord(each):04x}" for each in run[0]), line)
        for line in text.split("\n")
    )


def hash_of(text: str) -> str:
    """The SHA-256 of a text, in 64 letters; also of one that no file can hold."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def csv_text(rows: Iterable[Sequence[object]], *, newline: str = "\n") -> str:
    """CSV without formulas: a text that a spreadsheet would evaluate begins with an apostrophe."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=newline).writerows([*map(_cell, row)] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    if not isinstance(value, str) or not value.strip():
        return value
    # Spreadsheets skip blanks, and some skip controls, in front of a formula.
    start = UNPRINTABLE.sub("", value[:LONGEST]).lstrip()[:1]
    formula = start in FORMULA or value[:1] in FORMULA
    return f"'{value}" if formula else value


def decimals_of(*errors: float | None) -> int | None:
    """Decimals of figures with these standard errors: down to the first digit of the largest, or its second if it begins with less
    than 3.55, as particle physicists round. None without an error."""
    largest = max((abs(each) for each in errors if each), default=0.0)
    return max(0, -floor(log10(largest / 3.55))) if largest > NOTHING else None


def rounded(value: float | None, decimals: int | None = None) -> str:
    """A figure with these decimals; with none given, three significant digits and all before the point."""
    if value is None:
        return ABSENT
    if decimals is not None or abs(value) < NOTHING:
        return f"{value:z.{decimals or 0}f}"
    return f"{value:.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:.3g}"


def first_few(texts: Sequence[str], most: int, between: str = ", ") -> str:
    """The first of some texts, and the number of the others: `a, b and 3 more`, `a; b; and 3 more`."""
    more = f"{between.removeprefix(',')}and {len(texts) - most:,} more" if len(texts) > most else ""
    return f"{between.join(texts[:most])}{more}"


def shortened(text: str, most: int = LONGEST) -> str:
    """A text shortened for a message."""
    text = re.sub(rf"\S{{{LONGEST_WORD},}}", lambda word: _cut(word[0], LONGEST_WORD), text)
    return _cut(text, most)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 40]}…{text[-39:]}"


# Titles and abstracts without the HTML, JATS and MathML of publishers, and without LaTeX's letters.

_INLINE = (
    "a abbr b big bold break cite code em ext-link font i inline-formula italic kbd monospace named-content overline "
    "s sc scp small span strike strong styled-content sub sup tt u underline uri xref"
)
_BLOCK = "br div disp-formula h[1-6] hr li list list-item ol p sec section td th title tr ul"
_MATH = (
    "alternatives annotation annotation-xml math menclose merror mfenced mfrac mi mn mo mover mpadded mphantom mroot mrow "
    "mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover semantics tex-math"
)
_TAG = re.compile(
    rf"(</?(?:(?:jats|mml|m|ns\d*):[a-z][a-z-]*|{'|'.join(f'{_INLINE} {_BLOCK} {_MATH}'.split())})(?:\s[^<>]*)?/?>)",
    re.IGNORECASE,
)
"""What is a tag; any other `<` is a sign of the text."""
_SPACED = re.compile(rf"(?:{'|'.join(_BLOCK.split())})")
_BETWEEN = {
    "msup": "^", "mover": "^", "msub": "_", "munder": "_", "mfrac": "/", "msubsup": "_^", "munderover": "_^",
}  # fmt: skip
"""What stands between the parts of a formula."""
_FORMULAS = ("math", "alternatives", "inline-formula", "disp-formula")
_HEADINGS = ("abstract", "summary")
_DOCUMENT = re.compile(r"\\begin\{document\}(.*?)\\end\{document\}", re.DOTALL)
_LATEX = re.compile(
    r"\\(?:[\"'`^~=.%&_#]|(?:emph|text(?:it|bf|sc|tt|rm|sf)|url|mbox|[uvHckr]\s*\{|ss|ae|oe|aa|AE|OE|AA|[oOlLij])(?![A-Za-z]))"
)
_BROKEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def has_markup(text: str) -> bool:
    """Whether a text may contain markup; quick, for millions of texts."""
    if "&" in text or "<" in text or "\\" in text:
        return True
    return not text.isprintable() and _BROKEN.search(text) is not None


def plain_text(text: str) -> str:
    """The text without markup, its entities and accents as letters; formulas in LaTeX stay between their dollars."""
    if not has_markup(text):
        return text.strip()
    if "&" in text:
        text = html.unescape(html.unescape(text))  # some publishers escape what is escaped already
    if _TAG.search(text):
        reader = _MarkupReader()
        # Between tags, a sign is a sign: `p < 0.05`.
        pieces = enumerate(_TAG.split(text))
        reader.feed("".join(one if at % 2 else html.escape(one, False) for at, one in pieces))
        reader.close()
        text = " ".join("".join(reader.parts).split())
    if _LATEX.search(text):
        with suppress(NotTeXError):
            text = from_latex(text).replace(r"\&", "&").replace(r"\%", "%")
    return _BROKEN.sub("", text).strip()


class _MarkupReader(HTMLParser):
    """Collects the text of a title or an abstract in `parts`."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts = list[str]()
        self._open = list[tuple[str, int, int]]()
        """Of each open element its name, the number of its children so far, and where its text begins."""
        self._formula_end = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        name = tag.rpartition(":")[2]
        if self._open:
            above, children, start = self._open[-1]
            self._open[-1] = above, children + 1, start
            if 0 < children <= len(signs := _BETWEEN.get(above, "")):
                self.parts.append(signs[children - 1])
        if _SPACED.fullmatch(name):
            self.parts.append(" ")
        elif name == "sup" and "".join(self.parts)[-1:].isdigit():
            self.parts.append("^")
        if name not in ("br", "hr", "break", "mspace"):
            tex = name == "annotation" and "tex" in (dict(attrs).get("encoding") or "")
            self._open.append(("tex" if tex else name, 0, len(self.parts)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        names = [{"tex": "annotation"}.get(one, one) for one, _, _ in self._open]
        if name not in names:
            return
        place = len(names) - 1 - names[::-1].index(name)
        opened, _, start = self._open[place]
        del self._open[place:]
        said = "".join(self.parts[start:]).strip()
        if opened in ("tex", "tex-math"):
            self._formula(said, start)
        elif opened in ("annotation", "annotation-xml"):
            del self.parts[start:]
        elif opened in _FORMULAS and start < self._formula_end:
            del self.parts[self._formula_end :]
        elif opened == "title":
            usual = said.casefold().rstrip(":.") in _HEADINGS
            self.parts[start:] = [] if usual else [said, "" if said[-1:] in ".:?!" else ":"]
        if _SPACED.fullmatch(name):
            self.parts.append(" ")

    def _formula(self, said: str, begin: int) -> None:
        """A formula in LaTeX stands for the same formula in MathML, before it or after it."""
        if found := _DOCUMENT.search(said):
            said = found[1]
        places = [start for name, _, start in self._open if name in _FORMULAS]
        self.parts[min([*places, begin]) :] = [f"${said.strip().strip('$').strip()}$"]
        self._formula_end = len(self.parts)

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


# LaTeX.

_ESCAPED, _BARE = re.compile(r"\\([%&_#])"), re.compile(r"(?<!\\)([%&#])")
_TIES, BRACES = str.maketrans({"~": " "}), str.maketrans("", "", "{}")
_SYMBOLS = {
    "textless": "<", "textgreater": ">", "textbar": "|", "textunderscore": "_", "textasciicircum": "^"
}  # fmt: skip
"""Symbols, as Zotero writes them, that the decoder drops."""
TRIPS = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)
"""The decoder's errors on text that is not LaTeX."""


class NotTeXError(ValueError):
    """A text or a list of names that cannot be read."""


def from_latex(text: str) -> str:
    """A text with accents as letters, on one line, without the braces that protect capitals; formulas stay. Raises
    `NotTeXError` if it is not LaTeX."""
    parts = latex_letters(text).split("$")
    parts[::2] = (part.translate(BRACES) for part in parts[::2])
    return " ".join("$".join(parts).split())


def latex_letters(text: str) -> str:
    """LaTeX as Unicode with its braces, which group names of several words. Raises `NotTeXError`."""
    bare = _ESCAPED.sub(r"\1", text)
    if "\\" not in bare:  # the decoder is slow: it reads letter by letter
        return bare.translate(_TIES)
    try:
        return _decoder().latex_to_text(_BARE.sub(r"\\\1", text))
    except TRIPS as wrong:
        raise NotTeXError(f"not LaTeX: {text[:60]!r}") from wrong


@cache
def _decoder() -> "LatexNodes2Text":
    from pylatexenc.latex2text import LatexNodes2Text, MacroTextSpec, get_default_latex_context_db

    known = get_default_latex_context_db()
    symbols = [MacroTextSpec(name, simplify_repl=symbol) for name, symbol in _SYMBOLS.items()]
    known.add_context_category("symbols", prepend=True, macros=symbols)
    return LatexNodes2Text(latex_context=known, keep_braced_groups=True, math_mode="verbatim")


def count(things: int, word: str) -> str:
    """`1 vote`, `20 votes`."""
    return f"{things:,} {word}{'' if things == 1 else 's'}"
