"""Tables of people's answers, as spreadsheets write them, read strictly."""

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import inf, nan
from pathlib import Path
from typing import Any, TypeAlias, cast

from manyheads.base import files as disk
from manyheads.base.errors import RatingError
from manyheads.base.resources import parse_json
from manyheads.base.text import count, first_few

DELIMITERS = (",", ";", "\t")
"""Delimiters of CSV files, by the country that a spreadsheet is set to."""
JSON = (".json", ".jsonl")
"""Endings of tables of objects."""
LARGEST = 50_000_000
"""Maximum bytes of a table."""
LISTED = 8
"""Maximum problems in a message."""
MISSING = ("", "na", "n/a", "n.a.", "nan", "null", "none", "-", "–", "?", ".")
"""Cells without an answer, in lower case."""


@dataclass(frozen=True)
class TableRow:
    """A row of a table, its cells stripped; `place` is `file:row`, where row 1 is the header."""

    place: str
    cells: Mapping[str, str]

    def __getitem__(self, column: str) -> str:
        return self.cells.get(column, "")

    def missing(self, column: str) -> bool:
        """Whether a cell of another table has no answer."""
        return self[column].lower() in MISSING

    def number(self, column: str) -> float:
        """The number in a cell, else NaN; a comma is read as a point."""
        cell = self[column]
        plain = re.fullmatch(r"[+-]?[0-9]{1,15}([.,][0-9]{1,15})?", cell)
        return float(cell.replace(",", ".")) if plain else nan

    def problems_of(self, column: str, scale: tuple[float, float] | None = None) -> Iterator[str]:
        """What is wrong with a cell that should hold a number."""
        (low, high), number = scale or (-inf, inf), self.number(column)
        if not low <= number <= high:
            ends = f" from {low:g} to {high:g}" if scale else ""
            yield f"{self.place}: column {column}: {self[column]!r} is not a number{ends}"


def refuse(problems: Sequence[str]) -> None:
    """Raises `RatingError` with all problems of a table, or the first of them."""
    if problems:
        between = "\n  "
        told = f"{count(len(problems), 'problem')}:{between}{first_few(problems, LISTED, between)}"
        raise RatingError(told, hint="fix these rows, or remove them")


def columns_named(text: str, names: Sequence[str]) -> dict[str, str]:
    """The columns of `--columns rater=who,id=paper`, by our names of them, such as `names`.

    Raises:
        RatingError: for anything else.
    """
    pairs = (each.partition("=") for each in text.split(","))
    columns = {name.strip(): column.strip() for name, _, column in pairs}
    if wrong := [name for name, column in columns.items() if not name or not column]:
        tried = f"our names: {', '.join(names)}"
        hint = f"--columns {','.join(f'{name}=COLUMN' for name in names[:3])}"
        raise RatingError(f"--columns: {wrong[0]!r} names no column", tried=tried, hint=hint)
    return columns


def scales_named(text: str) -> dict[str, tuple[float, float]]:
    """What `--scale 0-100` says, or `1-10,clarity=1-5`: by criterion, "" for the others. Raises `RatingError` for anything else."""
    scales = dict[str, tuple[float, float]]()
    for part in text.split(","):
        ends = re.fullmatch(r"\s*(?:([^=]+?)\s*=)?\s*(-?[0-9.]+)\s*(?:-|–|to|:)\s*(-?[0-9.]+)\s*", part)
        with suppress(ValueError):
            if ends and (low := float(ends[2])) < (high := float(ends[3])):
                scales[ends[1] or ""] = low, high
                continue
        hint = "name the lowest and the highest: --scale 0-100, or --scale 1-10,clarity=1-5"
        raise RatingError(f"--scale {part!r}: no scale", hint=hint)
    return scales


def read_table(
    path: Path,
    needed: Sequence[Sequence[str]],
    hint: str,
    columns: Mapping[str, str] | None = None,
    answers: Collection[str] = (),
) -> list[TableRow]:
    """The non-empty rows of a CSV or JSON file, with column names in lower case.

    A name of several columns is a column a rater: such a row becomes one for each rater with a cell, called by the column if
    it is no number. Other raters are nobody in particular.

    Args:
        needed: columns, at least one of each group.
        hint: for other files.
        columns: names of columns in this table; `a+b` and `score_*` name several.
        answers: columns of answers without such a name. Objects inside an object, such as a paper's reviews, become rows if they
            have one of these, or of `columns`, that the object itself lacks.

    Raises:
        RatingError: it cannot be read, is empty or not CSV, or a column is missing or duplicate.
    """
    columns = columns or {}
    header, records = _records(path, hint, [*answers, *map(str.lower, columns.values())])
    renamed, wide = dict[str, str](), dict[str, list[str]]()
    for name, column in columns.items():
        several = [each for each in header if each.lower() == column.lower()] or [
            each for part in column.split("+") for each in header
            if fnmatchcase(each.lower(), part.strip().lower())
        ]  # fmt: skip
        if taken := next((each for each in several if each in renamed), None):
            both = f"{renamed[taken]} and {name}"
            hint = "name another column"
            raise RatingError(f"{path}: column {taken!r} is named twice, as {both}", hint=hint)
        renamed |= dict.fromkeys(several, name)
        wide |= {name: several} if several[1:] else {}
    names = [renamed.get(name, name.lower()) for name in header]
    called = {name: f"{column!r} ({name})" for name, column in columns.items()}
    there = {*names, *(["rater"] if wide else [])}
    groups = [group for group in (*needed, *([name] for name in columns)) if not there & {*group}]
    if missing := dict.fromkeys(" or ".join(called.get(name, name) for name in group) for group in groups):
        present = f"its columns: {', '.join(header)}"
        raise RatingError(f"{path}: no column {', '.join(missing)}", tried=present, hint=hint)
    if twice := sorted(name for name, n in Counter(names).items() if name and n > 1 and name not in wide):
        raise RatingError(f"{path}: duplicate column {', '.join(twice)}")
    if len({len(each) for each in wide.values()}) > 1:
        each = "; ".join(f"{name}: {', '.join(several)}" for name, several in wide.items())
        raise RatingError(f"{path}: criteria with different numbers of raters", tried=each, hint=hint)
    rows = list[TableRow]()
    for place, cells in records:
        plain = {name: cells[each] for name, each in zip(names, header, strict=True) if name not in wide}
        rated = [
            {"rater": f"{place}:column {raters[0]}" if raters[0].isdigit() else raters[0]}
            | {name: cells[each] for name, each in zip(wide, raters, strict=True)}
            for raters in zip(*wide.values(), strict=True)
        ]  # fmt: skip
        rows += [TableRow(place, each | plain) for each in rated if any(map(each.get, wide))] or [
            TableRow(place, dict.fromkeys(wide, "") | plain)
        ]
    return rows


def columns_of(path: Path) -> list[str]:
    """The columns of a CSV or JSON file. Raises `RatingError` as `read_table` does."""
    return _records(path, "name a table of answers")[0]


Records: TypeAlias = Iterator[tuple[str, dict[str, str]]]


def _records(path: Path, hint: str, named: Collection[str] | None = None) -> tuple[list[str], Records]:
    """The columns of a file, and its rows by their places."""
    return _csv(path, hint) if path.suffix not in JSON else _cells(read_objects(path), named)


def _csv(path: Path, hint: str) -> tuple[list[str], Records]:
    """The columns of a CSV file, and its non-empty rows by their places."""
    text = read_text(path)
    if not text.strip():
        raise RatingError(f"{path}: empty", hint=hint)
    delimiter = max(DELIMITERS, key=text.partition("\n")[0].count)
    # Strict: an unclosed quotation mark would swallow the rows after it.
    records = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    try:
        header, *rest = [[cell.strip() for cell in record] for record in records]
    except csv.Error as error:
        raise RatingError(
            f"{path}: not a CSV file: {error}", hint="look for a quotation mark without its end"
        ) from error

    def rows() -> Records:
        for number, record in enumerate(rest, 2):
            if any(record[len(header) :]):
                hint = "put texts with commas in quotes"
                raise RatingError(f"{path}:{number}: more cells than the header has columns", hint=hint)
            if any(record):  # spreadsheets drop empty cells at the end of a row
                cells = dict(zip(header, [*record, *[""] * len(header)], strict=False))
                yield f"{path}:{number}", cells

    return header, rows()


def _cells(
    objects: Iterator[tuple[str, Mapping[str, Any]]], named: Collection[str] | None
) -> tuple[list[str], Records]:
    """The keys of objects, and their values as the cells of a table."""
    rows = [
        (place, {key: "" if value is None else str(value).strip() for key, value in each.items()})
        for outer, whole in objects
        for place, each in _inner(outer, whole, named)
    ]
    header = list(dict.fromkeys(key for _, each in rows for key in each))
    return header, ((place, dict.fromkeys(header, "") | each) for place, each in rows)


def _inner(
    place: str, whole: Mapping[str, Any], named: Collection[str] | None
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """An object; of one with a list of answers, such as a paper with its reviews, each of these, with what stands around it.

    An answer is an object with a column that is named and that the outer object lacks: PeerRead has comments among its reviews.
    With `named` None, every list of objects is one of answers.
    """
    lists = {key: cast(list[Any], value) for key, value in whole.items() if value and isinstance(value, list)}
    own = {key.lower() for key, value in whole.items() if value is not None}
    answers = {
        key: [each for each in ({str(name).lower(): cell for name, cell in one.items()} for one in value)
              if named is None or any(cell is not None and name not in own and _is_named(name, named)
                                      for name, cell in each.items())]
        for key, value in lists.items() if all(isinstance(one, dict) for one in value)
    }  # fmt: skip
    several = [key for key, found in answers.items() if found]
    if len(several) != 1:
        yield place, whole
        return
    around = {key.lower(): value for key, value in whole.items() if key != several[0]}
    for number, each in enumerate(answers[several[0]], 1):
        yield f"{place}, {several[0]} {number}", around | each


def _is_named(column: str, named: Collection[str]) -> bool:
    """Whether a column is one of these, which may be patterns."""
    parts = (part.strip() for each in named for part in each.split("+"))
    return column in named or any(fnmatchcase(column, part) for part in parts)


def read_objects(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects of JSON Lines, of a list, or of an object with a list for each column; with their places."""
    text = read_text(path)
    with suppress(ValueError):
        whole: Any = parse_json(text)
        if isinstance(whole, dict) and whole:
            lists = [*cast(dict[str, Any], whole).values()]
            if all(isinstance(each, list) and len(each) == len(lists[0]) for each in lists):
                whole = [dict(zip(whole, values, strict=True)) for values in zip(*lists, strict=True)]
        if isinstance(whole, list) and all(isinstance(each, dict) for each in whole):
            yield from ((f"{path}:{number}", each) for number, each in enumerate(whole, 1))
            return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                record = parse_json(line)
            except ValueError as error:
                raise RatingError(f"{path}:{number}: not valid JSON: {error}") from error
            if not isinstance(record, dict):
                raise RatingError(f"{path}:{number}: not a JSON object")
            yield f"{path}:{number}", cast(dict[str, Any], record)


def read_text(path: Path) -> str:
    """The text of a file, maybe from a spreadsheet; raises `RatingError`."""
    try:
        return disk.read_text(path, LARGEST, "utf-8-sig")
    except OSError as error:
        hint = "name a file that exists and can be read"
        raise RatingError(f"{path}: {error.strerror}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise RatingError(f"{path}: not UTF-8", hint="save it as “CSV UTF-8”") from error
