"""Papers as LaTeX: the source with the files that it includes; white and commented-out text is separated."""

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from manyheads.base.errors import DocumentError
from manyheads.base.files import inside
from manyheads.documents.document import Document, Hidden, letter_count
from manyheads.documents.draft import Block, draft_of, speech
from manyheads.documents.pictures import beside

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
    """The entries of a BibTeX file by key, each as a line of a list."""
    from bibtexparser.entrypoint import parse_string

    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)
    for entry in parse_string(text).entries:
        fields = {one.key.casefold(): " ".join(str(one.value).split()) for one in entry.fields}
        people = re.split(r"\s+and\s+", fields.get("author", ""))
        names = ", ".join(" ".join(reversed(one.split(", ", 1))) for one in people if one)
        venue = next((fields[key] for key in ("journal", "booktitle", "publisher") if key in fields), "")
        doi = f"doi:{fields['doi']}" if "doi" in fields else ""
        arxiv = f"arXiv:{fields.get('eprint')}" * ("arxiv" in fields.get("archiveprefix", "").casefold())
        told = (names, fields.get("title", ""), venue, fields.get("year", ""), doi, arxiv)
        yield entry.key, ". ".join(part.rstrip(".") for part in told if part) + "."


INPUT = re.compile(r"\\(?:input|include|subfile)\s*\{\s*([^{}]+?)\s*\}")
LEVELS = {"part": 1, "chapter": 1, "section": 1, "subsection": 2, "subsubsection": 3}
"""Of headings; a smaller one is part of its paragraph."""
FIGURES = ("figure", "wrapfigure", "SCfigure", "sidewaysfigure", "teaserfigure")
TABLES = ("table", "wraptable", "sidewaystable", "longtable")
ASIDE = ("tikzpicture", "CCSXML", "filecontents", "thebibliography")
PIECE = re.compile(
    r"\\(?P<heading>(?:sub){0,2}section|part|chapter|(?:sub)?paragraph)(?P<star>\*?)\s*(?:\[[^\]]*\]\s*)?(?=\{)"
    r"|\\begin\s*\{(?P<environment>[A-Za-z]+)\*?\}|\\(?P<appendix>appendix|appendices)\b"
    r"|\\bibliography\s*\{(?P<bibliography>[^{}]*)\}|\\printbibliography|\\(?P<abstract>abstract)\s*(?=\{)"
)
HEADING = re.compile(r"\\(?:sub){0,2}section\*?\s*[{[]|\\chapter\*?\s*[{[]|\\begin\s*\{thebibliography\}")
COMMAND = re.compile(
    r"\\(?:begin|end|label|[A-Za-z]*[cC]ite[A-Za-z]*|[A-Za-z]*ref|includegraphics|href|input|[A-Za-z]*color)\*?\s*"
    r"(?:\[[^\]]*\]\s*){0,2}(?:\{[^{}]*\}\s*){1,3}|\\[A-Za-z]+\*?"
)
"""Commands with arguments that are not printed, and the names of all others."""
LABEL = re.compile(r"\\label\s*\{([^{}]*)\}")
CITE = re.compile(r"\\(?:[A-Za-z]*[cC]ite[a-zA-Z]*|citeauthor)\*?\s*((?:\[[^\]]*\]\s*){0,2})\{([^{}]*)\}")
REF = re.compile(r"\\(?:eq|auto|c|C|page|v|name)?ref\*?\s*\{([^{}]*)\}")
WHITE = re.compile(
    r"\\(?:textcolor|color)\s*(?:\[[^\]]*\])?\s*\{\s*(?:white|1,\s*1,\s*1|FFFFFF|255,\s*255,\s*255)\s*\}",
    re.I,
)
MARKS = re.compile(
    r"\\(?:thanks|footnotemark|inst|affmark|textsuperscript)\s*(?:\[[^\]]*\])?\s*(\{[^{}]*\})?|\$\^.*?\$"
)
"""Beside the names of authors."""
GRAPHICS = re.compile(r"\\includegraphics\*?\s*(?:\[[^\]]*\]\s*){0,2}\{([^{}]*)\}")
RULES = re.compile(
    r"\\(?:top|mid|bottom|h|c)(?:rule|line|midrule)\b(?:\s*\([^)]*\))?(?:\s*\[[^\]]*\])?(?:\s*\{[^{}]*\})?"
    r"|\\multi(?:column|row)\s*(?:\[[^\]]*\])?\s*\{[^{}]*\}\s*(?:\[[^\]]*\])?\s*\{[^{}]*\}"
)
"""In a table: rules, and how many columns or rows a cell has."""
MATH = re.compile(
    r"(?<!\\)\$\$.{1,3000}?(?<!\\)\$\$|(?<!\\)\$.{1,3000}?(?<!\\)\$|\\\(.{1,3000}?\\\)|\\\[.{1,3000}?\\\]",
    re.S,
)
DISPLAYS = re.findall(r"\w+", "equation align gather eqnarray multline displaymath math flalign alignat")
COUNTED = {"figure": FIGURES, "table": TABLES, "equation": DISPLAYS}


def read_latex(path: Path, text: str) -> Document:
    """A paper's source.

    Raises:
        DocumentError: its included files are too large.
    """
    return _Source(path, text).document()


class _Source:
    def __init__(self, path: Path, text: str) -> None:
        self._folder = path.parent
        self.hidden: list[Hidden] = []
        self.faults: list[str] = []
        self._inputs = self._letters = 0
        whole = self._whole(text, 0)
        preamble, begin, body = whole.partition("\\begin{document}")
        body = body.partition("\\end{document}")[0] if begin else whole
        self._macros = dict(macros_of(preamble + body))
        self._preamble = preamble
        self._body = expanded(body, self._macros)
        self._blocks: list[Block] = []
        self._counts = [0, 0, 0]
        self._lettered = False
        self._names: dict[str, str] = {}
        self._keys: dict[str, int] = {}
        self._entries: list[str] = []

    def document(self) -> Document:
        self._read_bibliography()
        for name in ("title", "author"):
            preamble = expanded(self._preamble, self._macros)
            source = argument(self._body, name) or argument(preamble, name)
            if source and name == "title":
                self._blocks.append(Block("title", self._plain(re.sub(r"\\\\", " ", source))))
            elif source:
                for one in re.split(r"\\and\b|\\And\b|\\AND\b", source):
                    first = re.split(r"\\\\", one.strip())[0]
                    if people := self._plain(MARKS.sub("", first)):
                        self._blocks.append(Block("authors", people))
        for name in ("title", "author", "date", "thanks", "affil", "email"):
            self._body = without(self._body, name)
        self._labels = Counter(LABEL.findall(self._body))
        self._number(self._body)
        self._walk(self._body)
        if self._entries:
            self._blocks.append(Block("heading", "References"))
            self._blocks += [
                Block("reference", self._plain(one), number=str(number))
                for number, one in enumerate(self._entries, 1)
            ]
        draft = draft_of(self._blocks)
        draft.hidden += self.hidden
        draft.faults += self.faults
        draft.letters = self._letters + sum(letter_count(one.text) for one in draft.references)
        return draft.document()

    def _whole(self, text: str, depth: int) -> str:
        """The source with included files, without comments."""
        text, comments = read_source(text)
        for pattern in (r"\\iffalse\b(.*?)\\fi\b", r"\\begin\s*\{comment\}(.*?)\\end\s*\{comment\}"):
            comments += re.findall(pattern, text, re.S)
            text = re.sub(pattern, "", text, flags=re.S)
        self.hidden += [
            Hidden(text=" ".join(one.split()), page=0, why="comment") for one in comments if speech(one)
        ]

        def put(match: re.Match[str]) -> str:
            name = match[1] if match[1].endswith((".tex", ".bbl")) else f"{match[1]}.tex"
            source = beside_text(self._folder, name) if depth < 6 and self._inputs < MOST_INPUTS else None
            self._inputs += 1
            if source is None:
                self.faults.append(
                    f"`{match[1]}` was not included: it is outside the paper's folder, or too large"
                )
                return ""
            return self._whole(source, depth + 1)

        whole = INPUT.sub(put, text)
        if len(whole) > LARGEST:
            raise DocumentError(
                f"{self._folder}: the source with its included files is too large", hint="use the PDF"
            )
        return whole

    def _read_bibliography(self) -> None:
        """The entries of `thebibliography`, of a `.bbl` file, or of the named `.bib`, in the order of the keys."""
        source = self._body
        if "\\begin{thebibliography}" not in source:
            named = re.search(r"\\(?:bibliography|addbibresource)\s*\{([^{}]*)\}", self._preamble + source)
            files = sorted(self._folder.glob("*.bbl"))
            if files:
                source = beside_text(self._folder, files[0].name) or ""
                source = expanded(source, self._macros)
            elif named:
                self._read_bib([one.strip() for one in named[1].split(",")])
                return
        part = re.search(
            r"\\begin\s*\{thebibliography\}(.*?)(?:\\end\s*\{thebibliography\}|\Z)", source, re.S
        )
        if not part:
            return
        items = re.split(r"\\bibitem\b", part[1])[1:]
        for item in items:
            place = 0
            if (option := re.match(r"\s*\[", item)) is not None:
                place = closing_at(item, option.end() - 1, "[", "]")
            group = group_at(item, place)
            if group:
                self._keys.setdefault(group[0].strip(), len(self._entries) + 1)
                self._entries.append(re.sub(r"\\newblock\b", " ", item[group[1] :]))

    def _read_bib(self, names: list[str]) -> None:
        cited = dict.fromkeys(key.strip() for _, keys in CITE.findall(self._body) for key in keys.split(","))
        for name in names:
            source = beside_text(self._folder, name if name.endswith(".bib") else f"{name}.bib")
            if source is None:
                self.faults.append(f"the bibliography `{name}` is not in the paper's folder")
                continue
            for key, entry in bib_entries(source):
                if key in cited and key not in self._keys:
                    self._keys[key] = len(self._entries) + 1
                    self._entries.append(entry)

    def _number(self, text: str) -> None:
        """Assign the printed numbers to labels."""
        counts, lettered = [0, 0, 0], False
        floats = {"figure": 0, "table": 0, "equation": 0}
        current = ""
        inside: list[str] = []
        pattern = re.compile(
            rf"{PIECE.pattern}|\\end\s*\{{(?P<end>[A-Za-z]+)\*?\}}|\\(?P<caption>caption)\b|{LABEL.pattern}"
        )
        for match in pattern.finditer(text):
            if match["heading"]:
                if not match["star"]:
                    current = _counted(counts, LEVELS.get(match["heading"], 4), lettered) or current
            elif match["appendix"]:
                counts, lettered = [0, 0, 0], True
            elif match["environment"]:
                inside.append(match["environment"])
                if match["environment"] in DISPLAYS:
                    floats["equation"] += 1
            elif match["end"]:
                if match["end"] in inside:
                    del inside[len(inside) - 1 - inside[::-1].index(match["end"]) :]
            elif match["caption"]:
                kind = _float_of(inside)
                if kind in ("figure", "table") and not inside[-1].startswith(("sub", "minipage")):
                    floats[kind] += 1
            elif label := LABEL.match(match[0]):
                kind = _float_of(inside)
                self._names.setdefault(label[1], str(floats[kind]) if kind else current)

    def _walk(self, text: str) -> None:
        place = 0
        for match in PIECE.finditer(text):
            if match.start() < place:
                continue
            self._paragraphs(text[place : match.start()])
            place = match.end()
            if match["heading"]:
                group = group_at(text, place)
                if group is None:
                    continue
                place = group[1]
                level = LEVELS.get(match["heading"], 4)
                number = "" if match["star"] else _counted(self._counts, level, self._lettered)
                title = self._plain(group[0])
                if level < 4:
                    self._blocks.append(Block("heading", title, number, level, appendix=self._lettered))
                else:
                    self._blocks.append(Block("paragraph", title))
            elif match["appendix"]:
                self._counts, self._lettered = [0, 0, 0], True
            elif match["abstract"]:
                group = group_at(text, place)
                if group:
                    self._blocks.append(Block("abstract", self._plain(group[0])))
                    place = group[1]
            elif name := match["environment"]:
                end = self._end(text, name, place)
                inner = text[place : end[0]]
                if name == "abstract":
                    self._blocks.append(Block("abstract", self._plain(inner)))
                elif name in FIGURES or name in TABLES:
                    self._float(inner, "figure" if name in FIGURES else "table")
                elif name in DISPLAYS:
                    self._paragraphs(f"$${LABEL.sub('', inner)}$$")
                elif name not in ASIDE:
                    self._walk(re.sub(r"^\s*(?:\[[^\]]*\])?", "", inner))
                place = end[1]
        self._paragraphs(text[place:])

    def _end(self, text: str, name: str, place: int) -> tuple[int, int]:
        """The end of an environment; without one, or with a heading before that of a float, the heading."""
        end = end_of(text, name, place)
        if end and name not in (*FIGURES, *TABLES, "abstract"):
            return end
        heading = HEADING.search(text, place, end[0] if end else len(text))
        if end and not heading:
            return end
        self.faults.append(
            f"the environment `{name}` is not closed" + (": it was ended at the next heading" * bool(heading))
        )
        stop = heading.start() if heading else len(text)
        return stop, stop

    def _float(self, inner: str, kind: str) -> None:
        self._letters += letter_count(COMMAND.sub(" ", inner))
        captions = [*arguments(inner, "caption"), *arguments(inner, "captionof", skip=1)]
        caption = self._plain(captions[-1]) if captions else ""
        # The captions of its parts come before it. A label that is used twice names neither.
        labels = (one for one in reversed(LABEL.findall(inner)) if self._labels[one] == 1)
        number = next((self._names[one] for one in labels if self._names.get(one)), "")
        parts = [*captions[:-1], *arguments(inner, "subcaption")]
        parts += [*options(inner, "subfloat"), *options(inner, "subfigure")]
        told = enumerate(filter(None, map(self._plain, parts)))
        caption = " ".join(filter(None, (caption, *(f"({chr(97 + n % 26)}) {part}" for n, part in told))))
        if kind == "figure":
            files = tuple(name for one in GRAPHICS.findall(inner) if (name := self._graphic(one)))
            self._blocks.append(Block("figure", caption or " ", number, files=files))
        else:
            self._blocks.append(Block("table", caption, number, rows=self._rows(inner)))

    def _graphic(self, name: str) -> str | None:
        folders = re.findall(r"\{([^{}]+)\}", argument(self._preamble, "graphicspath") or "")
        return next(filter(None, (beside(self._folder, one + name) for one in ("", *folders))), None)

    def _rows(self, inner: str) -> tuple[tuple[str, ...], ...]:
        match = re.search(r"\\begin\s*\{(tabular[xy*]?|longtable|array|tblr)\*?\}", inner)
        if not match:
            return ()
        place = match.end()
        for _ in range(3):
            if (group := group_at(inner, place)) is None:
                break
            place = group[1]
        end = end_of(inner, match[1], place)
        body = inner[place : end[0] if end else None]
        body = RULES.sub("", body)
        rows = (
            re.split(r"(?<!\\)&", row) for row in re.split(r"\\\\(?:\s*\[[^\]]*\])?|\\tabularnewline\b", body)
        )
        cells = (tuple(self._plain(cell) for cell in row) for row in rows)
        return tuple(row for row in cells if any(row))

    def _paragraphs(self, text: str) -> None:
        if not text.strip():
            return
        self._letters += letter_count(COMMAND.sub(" ", text))
        text = re.sub(r"\\item\b\s*(?:\[([^\]]*)\])?", r"\n\n\1 ", text)
        text = re.sub(r"\\par\b", "\n\n", text)
        for part in re.split(r"\n\s*\n", text):
            for note in arguments(part, "footnote"):
                if plain := self._plain(note):
                    self._blocks.append(Block("note", plain))
            if plain := self._plain(without(part, "footnote")):
                self._blocks.append(Block("paragraph", plain))

    def _plain(self, text: str) -> str:
        """Text as printed: citations as `[3]`, references by number, formulas as source."""
        text = self._unwhite(text)
        text = CITE.sub(self._cited, LABEL.sub("", text))
        text = REF.sub(
            lambda one: ", ".join(self._names.get(key.strip(), "??") for key in one[1].split(",")), text
        )
        pieces, place = list[str](), 0
        for math in MATH.finditer(text):
            pieces += (printed(text[place : math.start()]), " ".join(math[0].split()))
            place = math.end()
        return " ".join("".join((*pieces, printed(text[place:]))).split())

    def _cited(self, match: re.Match[str]) -> str:
        numbers = [self._keys.get(key.strip()) for key in match[2].split(",")]
        shown = [str(number) if number else "?" for number in numbers]
        return f"[{', '.join(shown)}]"

    def _unwhite(self, text: str) -> str:
        """The text without white parts."""
        while match := WHITE.search(text):
            group = group_at(text, match.end()) if "textcolor" in match[0] else None
            if group is None:
                # To the end of the enclosing group.
                end = closing_at("{" + text[match.end() :], 0, "{", "}") - 1 + match.end()
                group = text[match.end() : max(match.end(), end - 1)], max(match.end(), end - 1)
            if any(map(str.isalnum, group[0])):
                self.hidden.append(Hidden(text=" ".join(printed(group[0]).split()), page=0, why="invisible"))
            text = text[: match.start()] + text[group[1] :]
        return text


def _counted(counts: list[int], level: int, lettered: bool) -> str:
    if level > 3:
        return ""
    counts[level - 1] += 1
    counts[level:] = [0] * (3 - level)
    first = chr(64 + min(26, max(1, counts[0]))) if lettered else str(counts[0])
    return ".".join((first, *map(str, counts[1:level])))


def _float_of(inside: Iterable[str]) -> str:
    """What counts the place within some environments: `figure`, `table`, `equation`, or nothing."""
    return next((kind for name in inside for kind, names in COUNTED.items() if name in names), "")
