"""The texts and names of BibTeX entries as people read them: LaTeX decoded, names apart."""

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pylatexenc.latex2text import LatexNodes2Text

ESCAPED, BARE = re.compile(r"\\([%&_#])"), re.compile(r"(?<!\\)([%&#])")
PLAIN = str.maketrans({"~": " "})
NO_BRACES = str.maketrans("", "", "{}")
TRIPS = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)
"""What the decoder raises of text that is no LaTeX."""
OTHERS = "others"
"""BibTeX's "et al."."""


class NotTeXError(ValueError):
    """A text or a list of names that cannot be read."""


def decoded(text: str) -> str:
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
