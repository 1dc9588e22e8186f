"""Papers as LaTeX: the source with the files that it includes; white and commented-out text is separated."""

import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from manyheads.base.errors import DocumentError
from manyheads.base.files import inside
from manyheads.base.text import TRIPS
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
    r"\\(?:(?:re)?(?:newcommand|providecommand|DeclareRobustCommand)\*?|def)\s*\{?\s*(\\[A-Za-z]+)\s*\}?\s*(?:\[(\d)\])?\s*(\[[^\]]*\])?\s*(?=\{)"
)
LITERAL = re.compile(
    r"(?<!\\)(?P<slashes>(?:\\\\)*)%(?P<comment>.*)(?:\n[ \t]*)?"
    r"|\\begin\s*\{(?P<listing>(?:verbatim|Verbatim|lstlisting|minted)\*?)\}(?:\[[^\]\n]*\])?(?:\{\w*\})?"
    r"|\\(?:verb|lstinline)\*?(?P<mark>[^\w\s*{[])(?P<words>.*?)(?P=mark)"
)
"""Comments, and what is printed letter by letter."""
BRACE = re.compile(r"\\.|[{}]", re.S)


def macros_of(text: str) -> Iterator[tuple[str, tuple[int, str]]]:
    """The author's own commands: number of arguments and replacement."""
    for match in MACRO.finditer(text):
        group = group_at(text, match.end())
        if group and not match[3] and len(group[0]) < 2000 and match[1] not in group[0]:
            yield match[1], (int(match[2] or 0), group[0])


def text_beside(folder: Path, name: str) -> str | None:
    """A text in the paper's folder; None if missing or too large."""
    file = inside(folder, name)
    if file is None or file.stat().st_size > LARGEST:
        return None
    return file.read_text(encoding="utf-8", errors="replace")


def group_at(text: str, place: int) -> tuple[str, int] | None:
    """The content of the braces at a position, and their end: beyond the text's if they are not closed."""
    while place < len(text) and text[place].isspace():
        place += 1
    if text[place : place + 1] != "{":
        return None
    depth = 0
    for match in BRACE.finditer(text, place):
        depth += (match[0] == "{") - (match[0] == "}")
        if not depth and len(match[0]) == 1:
            return text[place + 1 : match.end() - 1], match.end()
    return text[place + 1 :], len(text) + 1


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


def uses(text: str, command: str) -> Iterator[tuple[str, int, int]]:
    """The argument of each use of a command (a regular expression), with start and end; not those inside of another."""
    place = 0
    for match in re.finditer(rf"\\{command}(?![A-Za-z])\*?\s*(?:\[[^\]]*\]\s*)?(?=\{{)", text):
        if match.start() >= place and (group := group_at(text, match.end())):
            yield group[0], match.start(), group[1]
            place = group[1]


def without(text: str, command: str) -> str:
    pieces, place = list[str](), 0
    for _, start, end in uses(text, command):
        pieces.append(text[place:start])
        place = end
    return "".join((*pieces, text[place:]))


def expanded(text: str, macros: Mapping[str, tuple[int, str]]) -> str:
    """The text with the author's simple commands expanded."""
    if not macros:
        return text
    names = re.compile(f"(?:{'|'.join(map(re.escape, sorted(macros, key=len, reverse=True)))})(?![A-Za-z])")
    for _ in range(4):
        pieces, place = list[str](), 0
        for match in names.finditer(text):
            before = text[max(0, match.start() - 24) : match.start()]
            if match.start() < place or re.search(r"(?:command|def)\*?\s*\{?\s*$", before):
                continue
            (count, made), end = macros[match[0]], match.end()
            for number in range(1, count + 1):
                if (group := group_at(text, end)) is None:
                    break
                made, end = made.replace(f"#{number}", group[0]), group[1]
            else:
                end += 2 * (not count and text[end : end + 2] == "{}")
                pieces += (text[place : match.start()], made)
                place = end
        if not pieces or sum(map(len, pieces)) > LARGEST:
            break
        text = "".join((*pieces, text[place:]))
    return text


QUOTES = (("``", "“"), ("''", "”"), ("---", "—"), ("--", "–"), ("~", " "))
DROPPED = re.compile(
    r"\\(?:vspace|hspace|vskip|hskip|setlength|bibliographystyle|usepackage|pagestyle|thispagestyle|includegraphics|resizebox|scalebox|phantom"
    r"|hphantom|vphantom|footnotemark|input|thanks|setcounter|addtocounter|addcontentsline|graphicspath|index|nocite)\*?\s*(?:\[[^\]]*\]\s*)*(?:\{[^{}]*\}\s*)*"
    r"|\\def\s*\\[A-Za-z]+\s*\{(?:[^{}]|\{[^{}]*\})*\}|\\penalty\s*-?\d+|\\(?:maketitle|tableofcontents|centering|clearpage|newpage|noindent|protect)(?![A-Za-z])|\\(?:begin|end)\s*\{[^{}]*\}(?:\[[^\]]*\])?"
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
CAPTIONS = ("caption", r"captionof\s*\{\w*\}")
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
    r"(?i)\\(?:textcolor|color)\s*(?:\[[^\]]*\])?\s*\{\s*(?:white|1,\s*1,\s*1|FFFFFF|255,\s*255,\s*255)\s*\}"
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
ITEM = re.compile(r"\\bibitem\s*(?:\[(?:[^\[\]]|\[[^\[\]]*\]){0,500}\]\s*)?\{([^{}]*)\}")
PART = re.compile(r"\\(?:subfloat|subfigure)\s*\[((?:[^\[\]]|\[[^\[\]]*\]){0,2000})\]")
"""A caption in brackets."""
MATH = re.compile(
    r"(?s)(?<!\\)\$\$.{1,3000}?(?<!\\)\$\$|(?<!\\)\$.{1,3000}?(?<!\\)\$|\\\(.{1,3000}?\\\)|\\\[.{1,3000}?\\\]"
)
DISPLAYS = re.findall(r"\w+", "equation align gather eqnarray multline displaymath math flalign alignat")
TARGET = re.compile("\ue000([^\ue001]*)\ue001")
"""A reference to a label, until all labels are numbered."""


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
        whole = self._with_inputs(text, 0)
        self._preamble, begin, body = whole.partition("\\begin{document}")
        body = body.partition("\\end{document}")[0] if begin else whole
        macros = dict(macros_of(self._preamble + body))
        self._preamble, self._body = expanded(self._preamble, macros), expanded(body, macros)
        self._macros = macros
        self._blocks: list[Block] = []
        self._counts = [0, 0, 0]
        self._lettered = False
        self._section = ""
        self._floats = Counter[str]()
        self._names: dict[str, str] = {}
        """The number of each label."""
        self._entries: dict[str, str] = {}

    def document(self) -> Document:
        self._read_bibliography()
        self._numbers = {key: number for number, key in enumerate(self._entries, 1)}
        for name in ("title", "author"):
            source = self._said(name)
            if source and name == "title":
                self._blocks.append(Block("title", self._plain(source.replace(r"\\", " "))))
            for one in re.split(r"\\(?:and|And|AND)\b", source) if name == "author" else ():
                if people := self._plain(MARKS.sub("", one.strip().partition(r"\\")[0])):
                    self._blocks.append(Block("authors", people))
        year = re.search(r"(?<!\d)(?:19|20)\d\d(?!\d)", self._said("date"))
        for name in ("title", "author", "date", "thanks", "affil", "email"):
            self._body = without(self._body, name)
        self._walk(self._body)
        if self._entries:
            self._blocks.append(Block("heading", "References"))
            self._blocks += [
                Block("reference", self._plain(one), number=str(number))
                for number, one in enumerate(self._entries.values(), 1)
            ]
        draft = draft_of([self._with_numbers(one) for one in self._blocks])
        draft.hidden += self.hidden
        draft.faults += self.faults
        draft.year = int(year[0]) if year else None
        draft.letters = self._letters + sum(letter_count(one.text) for one in draft.references)
        return draft.document()

    def _said(self, name: str) -> str:
        """The argument of the first use of a command, such as `title`."""
        return next((one for text in (self._body, self._preamble) for one, *_ in uses(text, name)), "")

    def _with_numbers(self, block: Block) -> Block:
        def resolve(text: str) -> str:
            return TARGET.sub(lambda one: self._names.get(one[1], "??"), text)

        rows = tuple(tuple(map(resolve, row)) for row in block.rows)
        return replace(block, text=resolve(block.text), rows=rows)

    def _with_inputs(self, text: str, depth: int) -> str:
        """The source with included files, without comments."""
        text, comments = read_source(text)
        for pattern in (r"\\iffalse\b(.*?)\\fi\b", r"\\begin\s*\{comment\}(.*?)\\end\s*\{comment\}"):
            comments += re.findall(pattern, text, re.S)
            text = re.sub(pattern, "", text, flags=re.S)
        spoken = (" ".join(one.split()) for one in comments if speech(one))
        self.hidden += [Hidden(text=one, page=0, why="comment") for one in spoken]

        def include(match: re.Match[str]) -> str:
            name = match[1] if match[1].endswith((".tex", ".bbl")) else f"{match[1]}.tex"
            source = text_beside(self._folder, name) if depth < 6 and self._inputs < MOST_INPUTS else None
            self._inputs += 1
            if source is None:
                why = "it is outside the paper's folder, or too large"
                self.faults.append(f"`{match[1]}` was not included: {why}")
                return ""
            return self._with_inputs(source, depth + 1)

        whole = INPUT.sub(include, text)
        if len(whole) > LARGEST:
            what = "the source with its included files"
            raise DocumentError(f"{self._folder}: {what} is too large", hint="use the PDF")
        return whole

    def _read_bibliography(self) -> None:
        """The entries of `thebibliography`, of a `.bbl` file, or of the named `.bib`, in the order of the keys."""
        source = self._body
        if "\\begin{thebibliography}" not in source:
            named = re.search(r"\\(?:bibliography|addbibresource)\s*\{([^{}]*)\}", self._preamble + source)
            if files := sorted(self._folder.glob("*.bbl")):
                source = expanded(text_beside(self._folder, files[0].name) or "", self._macros)
            elif named:
                self._read_bib([one.strip() for one in named[1].split(",")])
                return
        _, _, listed = re.sub(r"\\begin\s*\{", r"\\begin{", source).partition("\\begin{thebibliography}")
        listed = re.split(r"\\end\s*\{thebibliography\}", listed)[0]
        _, *items = ITEM.split(listed)
        for key, entry in zip(items[::2], items[1::2], strict=True):
            self._entries.setdefault(key.strip(), re.sub(r"\\newblock\b", " ", entry))

    def _read_bib(self, names: list[str]) -> None:
        cited = {key.strip() for _, keys in CITE.findall(self._body) for key in keys.split(",")}
        for name in names:
            source = text_beside(self._folder, name if name.endswith(".bib") else f"{name}.bib")
            if source is None:
                self.faults.append(f"the bibliography `{name}` is not in the paper's folder")
                continue
            for key, entry in bib_entries(source):
                if key in cited:
                    self._entries.setdefault(key, entry)

    def _walk(self, text: str) -> None:
        place = 0
        for match in PIECE.finditer(text):
            if match.start() < place:
                continue
            self._add_paragraphs(text[place : match.start()])
            place = match.end()
            if match["heading"] or match["abstract"]:
                if group := group_at(text, place):
                    place = group[1]
                    if match["abstract"]:
                        self._blocks.append(Block("abstract", self._plain(group[0])))
                    else:
                        self._add_heading(match["heading"], bool(match["star"]), group[0])
            elif match["appendix"]:
                self._counts, self._lettered = [0, 0, 0], True
            elif name := match["environment"]:
                end = self._end(text, name, place)
                inner = text[place : end[0]]
                if name == "abstract":
                    self._blocks.append(Block("abstract", self._plain(inner)))
                elif name in FIGURES or name in TABLES:
                    self._add_float(
                        text[match.start() : end[1]] if name == "longtable" else inner,
                        "figure" if name in FIGURES else "table",
                    )
                elif name in DISPLAYS:
                    self._floats["equation"] += 1
                    self._label(inner, str(self._floats["equation"]))
                    self._add_paragraphs(f"$${LABEL.sub('', inner)}$$")
                elif name not in ASIDE:
                    self._walk(re.sub(r"^\s*(?:\[[^\]]*\])?", "", inner))
                place = end[1]
        self._add_paragraphs(text[place:])

    def _end(self, text: str, name: str, place: int) -> tuple[int, int]:
        """The end of an environment; without one, or with a heading before that of a float, the heading."""
        end = end_of(text, name, place)
        if end and name not in (*FIGURES, *TABLES, "abstract"):
            return end
        heading = HEADING.search(text, place, end[0] if end else len(text))
        if end and not heading:
            return end
        ended = ": it was ended at the next heading" * bool(heading)
        self.faults.append(f"the environment `{name}` is not closed{ended}")
        stop = heading.start() if heading else len(text)
        return stop, stop

    def _label(self, text: str, number: str) -> None:
        for label in LABEL.findall(text):
            self._names.setdefault(label, number)

    def _add_heading(self, name: str, starred: bool, title: str) -> None:
        level = LEVELS.get(name, 4)
        if level > 3:
            self._blocks.append(Block("paragraph", self._plain(title)))
            return
        number = ""
        if not starred:
            self._counts[level - 1 :] = [self._counts[level - 1] + 1, *[0] * (3 - level)]
            first = chr(64 + min(26, max(1, self._counts[0]))) if self._lettered else str(self._counts[0])
            number = self._section = ".".join((first, *map(str, self._counts[1:level])))
        self._label(title, self._section)
        self._blocks.append(Block("heading", self._plain(title), number, level, appendix=self._lettered))

    def _add_float(self, inner: str, kind: Literal["figure", "table"]) -> None:
        self._letters += letter_count(COMMAND.sub(" ", inner))
        # The captions of its parts come before its own.
        *parts, caption = ["", *(one for name in CAPTIONS for one, *_ in uses(inner, name))]
        parts += [*(one for one, *_ in uses(inner, "subcaption")), *PART.findall(inner)]
        number = ""
        if caption:
            self._floats[kind] += 1
            number = str(self._floats[kind])
        self._label(inner, number)
        lettered = enumerate(filter(None, map(self._plain, parts)))
        texts = (self._plain(caption), *(f"({chr(97 + n % 26)}) {part}" for n, part in lettered))
        caption = " ".join(filter(None, texts))
        if kind == "figure":
            files = tuple(name for one in GRAPHICS.findall(inner) if (name := self._graphic(one)))
            self._blocks.append(Block("figure", caption or " ", number, files=files))
        else:
            self._blocks.append(Block("table", caption, number, rows=self._rows(inner)))

    def _graphic(self, name: str) -> str | None:
        paths = (one for one, *_ in uses(self._preamble, "graphicspath"))
        folders = ["", *re.findall(r"\{([^{}]+)\}", next(paths, ""))]
        return next(filter(None, (beside(self._folder, one + name) for one in folders)), None)

    def _rows(self, inner: str) -> tuple[tuple[str, ...], ...]:
        match = re.search(r"\\begin\s*\{(tabular[xy*]?|longtable|array|tblr)\*?\}\s*(?:\[[^\]]*\])?", inner)
        if not match:
            return ()
        place = match.end()
        for _ in range(3):
            if (group := group_at(inner, place)) is None:
                break
            place = group[1]
        end = end_of(inner, match[1], place)
        body = RULES.sub("", without(inner[place : end[0] if end else None], "caption"))
        # A long table has its head twice, and a foot for each page.
        *parts, body = re.split(r"\\end(firsthead|head|foot|lastfoot)\b", body)
        heads = dict(zip(parts[1::2], parts[::2], strict=True))
        body = heads.get("firsthead", heads.get("head", "")) + body
        rows = re.split(r"\\\\(?:\s*\[[^\]]*\])?|\\tabularnewline\b", body)
        cells = (tuple(map(self._plain, re.split(r"(?<!\\)&", row))) for row in rows)
        return tuple(filter(any, cells))

    def _add_paragraphs(self, text: str) -> None:
        if not text.strip():
            return
        self._letters += letter_count(COMMAND.sub(" ", text))
        self._label(text, self._section)
        text = re.sub(r"\\item\b\s*(?:\[([^\]]*)\])?", r"\n\n\1 ", text)
        for part in re.split(r"\n\s*\n|\\par\b", text):
            notes = (self._plain(note) for note, *_ in uses(part, "footnote"))
            self._blocks += [Block("note", note) for note in notes if note]
            if plain := self._plain(without(part, "footnote")):
                self._blocks.append(Block("paragraph", plain))

    def _plain(self, text: str) -> str:
        """Text as printed: citations as `[3]`, formulas as source; references are numbered later."""
        text = CITE.sub(self._cited, LABEL.sub("", self._unwhite(text)))
        text = REF.sub(lambda one: re.sub(r"\s*([^,]+)(,?)", "\ue000\\1\ue001\\2 ", one[1]).strip(), text)
        pieces, place = list[str](), 0
        for math in MATH.finditer(text):
            pieces += (printed(text[place : math.start()]), " ".join(math[0].split()))
            place = math.end()
        return " ".join("".join((*pieces, printed(text[place:]))).split())

    def _cited(self, match: re.Match[str]) -> str:
        keys = map(str.strip, match[2].split(","))
        return f"[{', '.join(str(self._numbers.get(key, '?')) for key in keys)}]"

    def _unwhite(self, text: str) -> str:
        """The text without white parts."""
        while match := WHITE.search(text):
            group = group_at(text, match.end()) if "textcolor" in match[0] else None
            if group is None:
                # To the end of the enclosing group, whose brace stays.
                words, end = group_at(f"{{{text[match.end() :]}", 0) or ("", 0)
                group = words, match.end() + end - 2
            if any(map(str.isalnum, group[0])):
                self.hidden.append(Hidden(text=" ".join(printed(group[0]).split()), page=0, why="invisible"))
            text = text[: match.start()] + text[group[1] :]
        return text
