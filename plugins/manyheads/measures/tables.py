"""Tables of people's answers, as spreadsheets write them, read strictly."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf, nan
from pathlib import Path

from manyheads.base import files as disk
from manyheads.base.errors import RatingError
from manyheads.base.text import count

DELIMITERS = (",", ";", "\t")
"""Delimiters of CSV files, by the country that a spreadsheet is set to."""
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


def refuse(problems: Sequence[str], hint: str = "fix these rows, or remove them") -> None:
    """Raises `RatingError` with all problems of a table, or the first of them."""
    if problems:
        listed = "\n  ".join(problems[:LISTED])
        more = f"\n  and {len(problems) - LISTED} more" if len(problems) > LISTED else ""
        raise RatingError(f"{count(len(problems), 'problem')}:\n  {listed}{more}", hint=hint)


def columns_named(text: str, names: Sequence[str]) -> dict[str, str]:
    """The columns of `--columns rater=who,id=paper`, by our names of them, such as `names`.

    Raises:
        RatingError: for anything else.
    """
    columns = {
        name.strip(): column.strip() for name, _, column in (each.partition("=") for each in text.split(","))
    }
    if wrong := [name for name, column in columns.items() if not name or not column]:
        raise RatingError(
            f"--columns: {wrong[0]!r} names no column",
            tried=f"our names: {', '.join(names)}",
            hint=f"--columns {','.join(f'{name}=COLUMN' for name in names[:3])}",
        )
    return columns


def scale_named(text: str) -> tuple[float, float]:
    """What `--scale 0-100` says. Raises `RatingError` for anything else."""
    if ends := re.fullmatch(r"\s*(-?[0-9.]+)\s*(?:-|–|to|:)\s*(-?[0-9.]+)\s*", text):
        with suppress(ValueError):
            low, high = map(float, ends.groups())
            if low < high:
                return low, high
    raise RatingError(f"--scale {text!r}: no scale", hint="name the lowest and the highest: --scale 0-100")


def read_table(
    path: Path, needed: Sequence[Sequence[str]], hint: str, columns: Mapping[str, str] | None = None
) -> list[TableRow]:
    """The non-empty rows of a CSV file, with column names in lower case.

    Args:
        needed: columns, at least one of each group.
        hint: for other files.
        columns: names of columns in this table.

    Raises:
        RatingError: it cannot be read, is empty or not CSV, or a column is missing or duplicate.
    """
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
            f"{path}: not a CSV file: {error}", hint="look for an unclosed quotation mark"
        ) from error
    ours = {column.lower(): name for name, column in (columns or {}).items()}
    names = [ours.get(name.lower(), name.lower()) for name in header]
    called = {name: f"{column!r} ({name})" for name, column in (columns or {}).items()}
    if missing := [
        " or ".join(called.get(name, name) for name in group)
        for group in needed
        if not set(group) & set(names)
    ]:
        present = f"its columns: {', '.join(header)}"
        raise RatingError(f"{path}: no column {', '.join(missing)}", tried=present, hint=hint)
    if twice := sorted(name for name, number in Counter(names).items() if name and number > 1):
        raise RatingError(f"{path}: duplicate column {', '.join(twice)}")
    rows: list[TableRow] = []
    for number, record in enumerate(rest, 2):
        if any(record[len(names) :]):
            raise RatingError(
                f"{path}:{number}: more cells than the header has columns",
                hint="put texts with commas in quotes",
            )
        if any(record):  # spreadsheets drop empty cells at the end of a row
            cells = dict(zip(names, [*record, *[""] * len(names)], strict=False))
            rows.append(TableRow(f"{path}:{number}", cells))
    return rows


def read_text(path: Path) -> str:
    """The text of a file, maybe from a spreadsheet; raises `RatingError`."""
    try:
        return disk.read_text(path, LARGEST, "utf-8-sig")
    except OSError as error:
        hint = "name a file that exists and can be read"
        raise RatingError(f"{path}: {error.strerror}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise RatingError(f"{path}: not UTF-8", hint="save it as “CSV UTF-8”") from error
