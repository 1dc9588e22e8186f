"""The language of LaTeX: groups, arguments, an author's own commands, and printed text."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from manyheads.base.files import inside

if TYPE_CHECKING:
    from pylatexenc.latex2text import LatexNodes2Text


MOST_INPUTS = 300
"""Maximum files that a source may include."""
LARGEST = 10_000_000
"""Maximum characters of a source with its included files."""
MACRO = re.compile(
    r"\\(?:re)?(?:newcommand|providecommand|DeclareRobustCommand)\*?\s*\{?\s*(\\[A-Za-z]+)\s*\}?\s*(?:\[(\d)\])?\s*(\[[^\]]*\])?\s*(?=\{)"
)
LITERAL = re.compile(
    r"(?<!\\)(?P<slashes>(?:\\\\)*)%(?P<comment>.*)(?:\n[ \t]*)?"
    r"|\\begin\s*\{(?P<listing>(?:verbatim|Verbatim|lstlisting|minted)\*?)\}(?:\[[^\]\n]*\])?(?:\{\w*\})?"
    r"|\\(?:verb|lstinline)\*?(?P<mark>[^\w\s*{[])(?P<words>.*?)(?P=mark)"
)
"""Comments, and what is printed letter by letter."""
DEF = re.compile(r"\\def\s*(\\[A-Za-z]+)\s*(?=\{)")


def macros_of(text: str) -> Iterator[tuple[str, tuple[int, str]]]:
    """The author's own commands: number of arguments and replacement."""
    for pattern in (MACRO, DEF):
        for match in pattern.finditer(text):
            group = group_at(text, match.end())
            optional = pattern is MACRO and match[3]
            if group and not optional and len(group[0]) < 2000 and match[1] not in group[0]:
                yield match[1], (int(match[2] or 0) if pattern is MACRO else 0, group[0])


def beside_text(folder: Path, name: str) -> str | None:
    """A text in the paper's folder; None if missing or too large."""
    file = inside(folder, name)
    if file is None or file.stat().st_size > LARGEST:
        return None
    return file.read_text(encoding="utf-8", errors="replace")


def group_at(text: str, place: int) -> tuple[str, int] | None:
    """The content of the braces at a position, and their end."""
    while place < len(text) and text[place].isspace():
        place += 1
    if text[place : place + 1] != "{":
        return None
    end = closing_at(text, place, "{", "}")
    return text[place + 1 : end - 1], end


def closing_at(text: str, place: int, opening: str, closing: str) -> int:
    depth = 0
    for match in re.compile(rf"\\.|[{re.escape(opening)}{re.escape(closing)}]", re.S).finditer(text, place):
        depth += (match[0] == opening) - (match[0] == closing)
        if not depth and len(match[0]) == 1:
            return match.end()
    return len(text) + 1


def end_of(text: str, name: str, place: int) -> tuple[int, int] | None:
    """The end of an environment, and the start of the text after it; None if it is not closed."""
    depth = 1
    for match in re.compile(rf"\\(begin|end)\s*\{{{name}\*?\}}").finditer(text, place):
        depth += 1 if match[1] == "begin" else -1
        if not depth:
            return match.span()
    return None


def read_source(text: str) -> tuple[str, list[str]]:
    """A source without its comments, and the comments; what it quotes letter by letter becomes common text."""
    pieces, comments, place, unclosed = list[str](), list[str](), 0, set[str]()
    for match in LITERAL.finditer(text):
        if match.start() < place:
            continue
        ending = f"\\end{{{match['listing']}}}"
        if match["comment"] is not None:
            comments.append(match["comment"])
            made, after = match["slashes"], match.end()
        elif match["words"] is not None:
            made, after = _escaped(match["words"]), match.end()
        elif ending in unclosed or (end := text.find(ending, match.end())) < 0:
            unclosed.add(ending)
            continue
        else:
            made, after = f"\n\n{_escaped(text[match.end() : end])}\n\n", end + len(ending)
        pieces += (text[place : match.start()], made)
        place = after
    return "".join((*pieces, text[place:])), comments


def _escaped(text: str) -> str:
    return re.sub(r"[%&_#${}]", r"\\\g<0>", text.replace("\\", r"\textbackslash "))


def arguments(text: str, command: str, skip: int = 0) -> list[str]:
    """The arguments of each use of a command; `skip` is the number of arguments before."""
    found: list[str] = []
    for match in re.finditer(rf"\\{command}\*?\s*(?:\[[^\]]*\]\s*)?(?=\{{)", text):
        group = group_at(text, match.end())
        for _ in range(skip):
            group = group_at(text, group[1]) if group else None
        if group:
            found.append(group[0])
            if group[1] > len(text):
                # It is never closed, nor is anything after it.
                break
    return found


def options(text: str, command: str) -> list[str]:
    """The captions in brackets after a command."""
    places = (match.end() - 1 for match in re.finditer(rf"\\{command}\s*\[", text))
    return [text[place + 1 : closing_at(text, place, "[", "]") - 1] for place in places]


def argument(text: str, command: str) -> str | None:
    return next(iter(arguments(text, command)), None)


def without(text: str, command: str) -> str:
    """The text without a command and its argument."""
    pieces, place = list[str](), 0
    for match in re.finditer(rf"\\{command}(?![A-Za-z])\*?\s*(?:\[[^\]]*\]\s*)?(?=\{{)", text):
        if match.start() >= place and (group := group_at(text, match.end())):
            pieces.append(text[place : match.start()])
            place = group[1]
            if place > len(text):
                break
    return "".join((*pieces, text[place:]))


def expanded(text: str, macros: Mapping[str, tuple[int, str]]) -> str:
    """The text with the author's simple commands expanded."""
    if not macros:
        return text
    names = re.compile(
        "(?:" + "|".join(map(re.escape, sorted(macros, key=len, reverse=True))) + r")(?![A-Za-z])"
    )
    for _ in range(4):
        pieces, place = list[str](), 0
        for match in names.finditer(text):
            count, body = macros[match[0]]
            before = text[max(0, match.start() - 24) : match.start()]
            if match.start() < place or re.search(r"(?:command|def)\*?\s*\{?\s*$", before):
                continue
            end, values = match.end(), list[str]()
            for _ in range(count):
                group = group_at(text, end)
                if group is None:
                    break
                values.append(group[0])
                end = group[1]
            if len(values) < count:
                continue
            made = body
            for number, value in enumerate(values, 1):
                made = made.replace(f"#{number}", value)
            if not count and text[end : end + 2] == "{}":
                end += 2
            pieces += (text[place : match.start()], made)
            place = end
        if not pieces or sum(map(len, pieces)) > LARGEST:
            break
        text = "".join((*pieces, text[place:]))
    return text


TRIPS = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)
"""The decoder's errors on text that is not LaTeX."""
QUOTES = (("``", "“"), ("''", "”"), ("---", "—"), ("--", "–"), ("~", " "))
DROPPED = re.compile(
    r"\\(?:vspace|hspace|vskip|hskip|setlength|bibliographystyle|usepackage|pagestyle|thispagestyle|includegraphics|resizebox|scalebox|phantom"
    r"|hphantom|vphantom|footnotemark|input|thanks|setcounter|addtocounter|addcontentsline|graphicspath|index|nocite)\*?\s*(?:\[[^\]]*\]\s*)*(?:\{[^{}]*\}\s*)*"
    r"|\\penalty\s*-?\d+|\\(?:maketitle|tableofcontents|centering|clearpage|newpage|noindent|protect)(?![A-Za-z])|\\(?:begin|end)\s*\{[^{}]*\}(?:\[[^\]]*\])?"
)
SPACE = re.compile(r"\\xspace(?![A-Za-z])(?:\{\})?\s*(?=(\w|\(|\\|\$)?)")
LINKS = re.compile(  # and boxes and fonts that the decoder drops with their words
    r"\\href\s*\{[^{}]*\}|\\(?:url|path|texttt|textsf|textmd|textup|mbox)(?=\s*\{)|\\makebox\s*(?:\[[^\]]*\]\s*){0,2}"
    r"|\\(?:raisebox|parbox)\s*(?:\[[^\]]*\]\s*){0,3}\{[^{}]*\}(?:\[[^\]]*\]\s*){0,2}|\\(?:textcolor|colorbox)\s*(?:\[[^\]]*\])?\s*\{[^{}]*\}|\\color\s*(?:\[[^\]]*\])?\s*\{[^{}]*\}"
)


def printed(text: str) -> str:
    """LaTeX without formulas as printed letters."""
    text = LINKS.sub("", DROPPED.sub(" ", text))
    text = SPACE.sub(lambda one: " " if one[1] else "", text.replace("\\\\", " "))
    for one, other in QUOTES:
        text = text.replace(one, other)
    if "\\" in text:
        try:
            text = _decoder().latex_to_text(text)
        except TRIPS:
            text = re.sub(r"\\([%&_#${}])|\\[A-Za-z]+\*?", r"\1", text)
    return re.sub(r"(?<!\\)[{}]", "", text)


@cache
def _decoder() -> "LatexNodes2Text":
    from pylatexenc.latex2text import LatexNodes2Text

    return LatexNodes2Text(math_mode="verbatim")


def bib_entries(text: str) -> Iterator[tuple[str, str]]:
    """The entries of a BibTeX file, each as a line of a list."""
    for match in re.finditer(r"@(\w+)\s*\{\s*([^,\s{}]+)\s*,", text):
        if match[1].lower() in ("comment", "string", "preamble"):
            continue
        body = text[match.end() : closing_at(text, text.index("{", match.start()), "{", "}") - 1]
        fields = dict[str, str]()
        for field in re.finditer(r"(\w+)\s*=\s*(?=[\"{\w])", body):
            start = body[field.end() : field.end() + 1]
            if start == "{":
                value = body[field.end() + 1 : closing_at(body, field.end(), "{", "}") - 1]
            elif start == '"':
                value = body[field.end() + 1 :].partition('"')[0]
            else:
                value = re.split(r"[,\n]", body[field.end() :])[0]
            fields.setdefault(field[1].lower(), " ".join(value.split()))
        people = ", ".join(
            " ".join(reversed(one.split(", ", 1)))
            for one in re.split(r"\s+and\s+", fields.get("author", ""))
            if one
        )
        venue = fields.get("journal") or fields.get("booktitle") or fields.get("publisher") or ""
        told = [people, fields.get("title", ""), venue, fields.get("year", "")]
        if doi := fields.get("doi"):
            told.append(f"doi:{doi}")
        if "arxiv" in fields.get("archiveprefix", "").lower() and fields.get("eprint"):
            told.append(f"arXiv:{fields['eprint']}")
        yield match[2], ". ".join(part.rstrip(".") for part in told if part) + "."
