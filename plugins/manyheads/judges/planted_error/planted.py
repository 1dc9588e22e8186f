"""Known faults, planted into papers: the wrong text, its place, and what it contradicts.

A fault is planted only where the paper itself proves it: the text describes the table, figure or reference,
and the description no longer holds.
"""

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from pydantic import Field

from manyheads.core.results import Part
from manyheads.documents import Document, Figure, Section, Table
from manyheads.documents.bibliography import BRACKETS, CITATION, CitationFinder

Kind = Literal["wrong-number", "caption", "missing-baseline", "broken-reference", "swapped-columns"]
KINDS: tuple[Kind, ...] = get_args(Kind)
TITLES: Mapping[str, str] = {
    "wrong-number": "A number in the text differs from the table",
    "caption": "A caption contradicts the text",
    "missing-baseline": "A compared method has no row in the table",
    "broken-reference": "A citation has no entry in the list of references",
    "swapped-columns": "Two columns of a table are swapped",
}


class Fault(Part):
    """A planted fault, and the words a reviewer who finds it would use."""

    kind: Kind
    about: str
    """The wrong text, its place, and what it contradicts."""
    places: list[str]
    """Both ends of the contradiction, as a reviewer may name them: `Table 1`, `Section 5`, `Results`, `[19]`."""
    quotes: list[str] = Field(default_factory=list[str])
    """The passages at both ends, quoted from the paper with the fault."""
    values: list[str] = Field(default_factory=list[str])
    """The wrong value, then the right one."""
    subjects: list[str] = Field(default_factory=list[str])
    """The label of the row or the heads of the columns concerned."""


class PlantedPaper(NamedTuple):
    """A paper with a fault in it."""

    document: Document
    fault: Fault


OPPOSITES = (
    ("above", "below"), ("after", "before"), ("best", "worst"), ("decrease", "increase"), ("decreases", "increases"),
    ("earlier", "later"), ("fall", "rise"), ("falls", "rises"), ("faster", "slower"), ("fewer", "more"), ("first", "second"),
    ("grow", "shrink"), ("grows", "shrinks"), ("higher", "lower"), ("highest", "lowest"), ("improves", "worsens"),
    ("larger", "smaller"), ("largest", "smallest"), ("left", "right"), ("louder", "quieter"), ("most", "few"),
    ("negative", "positive"), ("stronger", "weaker"), ("thick", "thin"),
)  # fmt: skip
"""Pairs of opposite words in captions."""
NUMBER = re.compile(r"[-−+]?(\d[\d,]*(?:\.\d+)?) ?%?(?: ?(?:±|\+/-).*)?")
"""A cell with a number, with or without its spread."""
COMPARED = re.compile(r"\bcompar|\bbaseline|\bversus\b|\bagainst\b|\boutperform", re.IGNORECASE)
"""Words of a sentence that promises a row of a table."""
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9(\[“])|\n+")
ABBREVIATED = re.compile(r"(?:\b(?:Fig|Figs|Tab|Sec|Eq|et al|e\.g|i\.e|vs|cf|resp|approx|No)|\b[A-Z])\.$")
BEYOND = (2, 9)
"""Distance of a broken citation from the last reference number or from the year of its entry."""
ABSTRACT = "Abstract"


def plant(document: Document, kind: Kind, seed: int = 0) -> PlantedPaper | None:
    """The paper with one fault of a kind; None if nothing in the paper would prove such a fault.

    The same paper, kind and seed give the same fault.
    """
    said = [_Said(n, text) for n, each in enumerate(document.sections) for text in sentences(each.text)]
    return PLANTERS[kind](document, said, random.Random(f"{seed} {kind} {document.title}"))


def sentences(text: str) -> list[str]:
    """The sentences of a text, unchanged."""
    found = list[str]()
    start = 0
    for stop in SENTENCE.finditer(text):
        if "\n" in stop[0] or not ABBREVIATED.search(text[start : stop.start()]):
            found.append(text[start : stop.start()])
            start = stop.end()
    return [one for one in (*found, text[start:]) if one.strip()]


class _Said(NamedTuple):
    """A sentence of a section."""

    section: int
    text: str


def _holds(text: str, part: str) -> bool:
    """Whether a text contains a word or number as a whole."""
    return part.casefold() in text.casefold() and bool(re.search(_alone(part), text, re.IGNORECASE))


def _alone(part: str) -> str:
    return rf"(?<![\w.,-])(?<!\d[.,]){re.escape(part)}(?![\w-]|[.,]\d)"


def _names(section: Section) -> list[str]:
    return [*([f"Section {section.number}"] if section.number else []), *filter(None, [section.title])]


def _name(section: Section) -> str:
    return " ".join(_names(section)[:1]) or "the text"


def _with(document: Document, parts: str, place: int, **changes: Any) -> Document:
    """The paper with one of its sections, tables or figures changed."""
    some = [*getattr(document, parts)]
    some[place] = some[place].model_copy(update=changes)
    return document.model_copy(update={parts: tuple(some)})


def _with_sentence(document: Document, said: _Said, text: str) -> Document:
    whole = document.sections[said.section].text.replace(said.text, text, 1)
    return _with(document, "sections", said.section, text=whole)


def _with_rows(document: Document, place: int, rows: Iterable[Sequence[str]]) -> Document:
    return _with(document, "tables", place, rows=tuple(map(tuple, rows)))


def _changed(number: str, taken: set[str], rng: random.Random) -> str | None:
    """The number with one digit changed by at least two; the new number occurs nowhere in the paper."""
    free = [
        changed
        for place, each in enumerate(number)
        for digit in "123456789"
        if each.isdigit() and abs(int(digit) - int(each)) >= 2
        if (changed := f"{number[:place]}{digit}{number[place + 1 :]}") not in taken
    ]
    # A digit before the last makes a visible difference.
    early = [each for each in free if each[-1] == number[-1]] or free
    return rng.choice(early) if early else None


def _numbers(document: Document) -> set[str]:
    captions = (each.caption for each in (*document.figures, *document.tables))
    texts = (document.abstract, document.text(), *captions)
    cells = (cell for table in document.tables for row in table.rows for cell in row)
    return {each for text in (*texts, *cells) for each in re.findall(r"\d[\d,]*(?:\.\d+)?", text)}


class _Cell(NamedTuple):
    table: int
    row: int
    column: int
    value: str


def _cells(document: Document) -> Iterator[_Cell]:
    """The numbers of all tables, without column heads and row labels."""
    for place, table in enumerate(document.tables):
        for row, cells in enumerate(table.rows):
            for column, cell in enumerate(cells):
                head = table.rows[0][column : column + 1]
                if row and column and head and (match := NUMBER.fullmatch(cell.strip())):
                    yield _Cell(place, row, column, match[1])


def _wrong_number(document: Document, text: Sequence[_Said], rng: random.Random) -> PlantedPaper | None:
    """Change a number in the text that repeats one of a table."""
    taken, cells = _numbers(document), [*_cells(document)]
    counts = [each.value for each in cells]
    options = [
        (cell, said)
        for cell in cells
        if sum(map(str.isdigit, cell.value)) > 1 and counts.count(cell.value) == 1
        for said in text
        if _holds(said.text, cell.value)
    ]
    if not options:
        return None
    cell, said = rng.choice(options)
    if (value := _changed(cell.value, taken, rng)) is None:
        return None
    wrong = re.sub(_alone(cell.value), value, said.text, count=1)
    table, section = document.tables[cell.table], document.sections[said.section]
    label, head = table.rows[cell.row][0], table.rows[0][cell.column]
    others = [name for each in text if each != said and _holds(each.text, cell.value)
              for name in _names(document.sections[each.section])]  # fmt: skip
    others += [ABSTRACT] if _holds(document.abstract, cell.value) else []
    fault = Fault(
        kind="wrong-number",
        about=f"{_name(section)} says {value} where Table {table.number} has {cell.value} ({label}, {head})",
        places=_once(f"Table {table.number}", *_names(section), *others),
        quotes=[wrong],
        values=[value, cell.value],
        subjects=[label, head],
    )
    return PlantedPaper(_with_sentence(document, said, wrong), fault)


def _caption(document: Document, text: Sequence[_Said], rng: random.Random) -> PlantedPaper | None:
    """Make a caption contradict the sentence about its figure or table, by one word or number."""
    swaps = {one: other for pair in OPPOSITES for one, other in (pair, pair[::-1])}
    options = list[tuple[str, int, _Said, str, str]]()
    for kind, floats in (("Figure", document.figures), ("Table", document.tables)):
        for place, each in enumerate(floats):
            named = re.compile(rf"\b{kind[:3]}(?:{kind[3:]}|s?\.)? ?{re.escape(each.number)}(?!\w|\.\d)")
            spoken = [said for said in text if named.search(said.text)]
            for word in dict.fromkeys(re.findall(r"[a-z]+", each.caption)):
                options += [
                    (kind, place, said, word, swaps[word])
                    for said in spoken
                    if word in swaps and _holds(said.text, word)
                ]
    if not options:
        return None
    kind, place, said, word, other = rng.choice(options)
    parts = f"{kind.lower()}s"
    changed: Figure | Table = getattr(document, parts)[place]
    caption = re.sub(_alone(word), other, changed.caption, count=1)
    section, name = document.sections[said.section], f"{kind} {changed.number}"
    fault = Fault(
        kind="caption",
        about=f"the caption of {name} says “{other}” where {_name(section)} says “{word}”",
        places=_once(name, *_names(section)),
        quotes=[next(each for each in sentences(caption) if _holds(each, other)), said.text],
        values=[other, word],
        subjects=["caption"],
    )
    return PlantedPaper(_with(document, parts, place, caption=caption), fault)


def _missing_baseline(document: Document, text: Sequence[_Said], rng: random.Random) -> PlantedPaper | None:
    """Remove from the table the row of a compared method; the text repeats none of its numbers."""
    own, body = f"{document.title} {document.abstract}", f"{document.abstract}\n{document.text()}"
    options = [
        (place, row, said)
        for place, table in enumerate(document.tables)
        if len(table.rows) > 3
        for row, cells in enumerate(table.rows)
        if row and cells and re.search(r"[^\W\d_]{3}", cells[0]) and not re.search(r"\bours?\b", cells[0], re.IGNORECASE)
        if not _holds(own, cells[0]) and any(NUMBER.fullmatch(cell.strip()) for cell in cells[1:])
        for said in text
        if COMPARED.search(said.text) and (_holds(said.text, cells[0]) or _holds(said.text, f"{cells[0]}s"))
        if not any(_holds(body, match[1]) for cell in cells[1:] if (match := NUMBER.fullmatch(cell.strip())) and len(match[1]) > 2)
    ]  # fmt: skip
    if not options:
        return None
    place, row, said = rng.choice(options)
    table, section = document.tables[place], document.sections[said.section]
    label = table.rows[row][0]
    fault = Fault(
        kind="missing-baseline",
        about=f"{_name(section)} names {label} among what is compared, and Table {table.number} has no row of it",
        places=_once(f"Table {table.number}", *_names(section)),
        quotes=[said.text],
        subjects=[label],
    )
    rows = [each for number, each in enumerate(table.rows) if number != row]
    return PlantedPaper(_with_rows(document, place, rows), fault)


def _broken_reference(document: Document, text: Sequence[_Said], rng: random.Random) -> PlantedPaper | None:
    """Break a citation: a number beyond the list, or a year in which the author has no entry."""
    citations = CitationFinder(document.references)
    labels = [int(each.number) for each in document.references if each.number.isdigit()]
    options = list[tuple[_Said, int, int, str, str]]()
    for said in text:
        if not citations.of(said.text):
            continue
        if labels:
            for match in BRACKETS.finditer(said.text):
                for number in re.finditer(r"(?<![–—-])\b\d+\b(?!\s*[–—-])", match[1]):
                    start = match.start(1) + number.start()
                    beyond = str(max(labels) + rng.randint(*BEYOND))
                    options.append((said, start, start + len(number[0]), beyond, f"[{beyond}]"))
        else:
            for match in CITATION.finditer(said.text):
                year = re.match(r"\d{4}", match[4])
                if year and len(match[4]) == len(year[0]) and citations.of(match[0]):
                    before = str(int(year[0]) - rng.randint(*BEYOND))
                    words = f"{said.text[match.start() : match.start(4)]}{before}".replace("(", "")
                    options.append((said, match.start(4), match.end(4), before, " ".join(words.split())))
    rng.shuffle(options)
    broken = (
        (wrong, *option)
        for option in options
        if len(citations.of(wrong := option[0].text[: option[1]] + option[3] + option[0].text[option[2] :]))
        == len(citations.of(option[0].text)) - 1  # cited once in the sentence, and no longer
    )
    if (first := next(broken, None)) is None:
        return None
    wrong, said, start, end, value, name = first
    section = document.sections[said.section]
    fault = Fault(
        kind="broken-reference",
        about=f"{_name(section)} cites {name}, which is not in the list of references",
        places=_once(name, *([] if labels else [name.replace(",", "")])),
        quotes=[wrong],
        values=[value, said.text[start:end]],
        subjects=[name],
    )
    return PlantedPaper(_with_sentence(document, said, wrong), fault)


def _swapped_columns(document: Document, text: Sequence[_Said], rng: random.Random) -> PlantedPaper | None:
    """Swap two columns of numbers; the text repeats one number with the name of its head."""
    options = list[tuple[int, int, int, _Cell, _Said]]()
    for cell in _cells(document):
        rows = document.tables[cell.table].rows
        numeric = [
            column
            for column in range(1, len(rows[0]))
            if all(len(row) == len(rows[0]) and NUMBER.fullmatch(row[column].strip()) for row in rows[1:])
        ]
        if cell.column not in numeric or sum(map(str.isdigit, cell.value)) < 2:
            continue
        head = rows[0][cell.column]
        spoken = [one for one in text if _holds(one.text, cell.value) and _holds(one.text, head)]
        options += [
            (cell.table, cell.column, other, cell, one) for other in numeric if other != cell.column
            for one in spoken if not _holds(one.text, rows[0][other])
        ]  # fmt: skip
    if not options:
        return None
    place, one, other, cell, spoken = rng.choice(options)
    table, section = document.tables[place], document.sections[spoken.section]
    places = {one: other, other: one}
    rows = [table.rows[0], *([row[places.get(n, n)] for n in range(len(row))] for row in table.rows[1:])]
    heads = [table.rows[0][one], table.rows[0][other]]
    fault = Fault(
        kind="swapped-columns",
        about=f"the columns {heads[0]} and {heads[1]} of Table {table.number} are swapped: {_name(section)} says that "
        f"{table.rows[cell.row][0]} has {cell.value} for {heads[0]}",
        places=_once(f"Table {table.number}", *_names(section)),
        quotes=[spoken.text],
        values=[rows[cell.row][one], cell.value],
        subjects=heads,
    )
    return PlantedPaper(_with_rows(document, place, rows), fault)


def _once(*names: str) -> list[str]:
    return list(dict.fromkeys(names))


PLANTERS: Mapping[Kind, Callable[[Document, Sequence[_Said], random.Random], PlantedPaper | None]] = {
    "wrong-number": _wrong_number,
    "caption": _caption,
    "missing-baseline": _missing_baseline,
    "broken-reference": _broken_reference,
    "swapped-columns": _swapped_columns,
}


def as_json(document: Document) -> dict[str, Any]:
    """The paper as structured JSON, which can be read again; without pictures and pages."""
    parts: Any = {
        "sections": ("number", "title", "text"),
        "figures": ("number", "caption"),
        "tables": ("number", "caption", "rows"),
    }
    named = {part: {"__all__": {*names}} for part, names in parts.items()}
    data = document.model_dump(mode="json", include={"title": True, "abstract": True, "year": True, **named})
    return {**data, "references": [each.text for each in document.references]}
