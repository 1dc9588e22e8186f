"""Blind forms for people: tables, guideline and key, written and read.

A rater gets the guideline and a table with one row per item, each with an anonymous id. The key maps the ids to items, and is
not for raters. Tables are written for spreadsheets and read strictly.
"""

import csv
import io
import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path
from typing import TypeVar

from manyheads.base import files as disk
from manyheads.base.errors import RatingError, SubjectError
from manyheads.base.files import make_folder
from manyheads.base.text import csv_text
from manyheads.core.results import Part, read_result, result_data

T = TypeVar("T")
P = TypeVar("P", bound=Part)
DELIMITERS = (",", ";", "\t")
"""Delimiters of CSV files, by the country that a spreadsheet is set to."""
LARGEST = 50_000_000
"""Maximum bytes of a table."""
LISTED = 8
"""Maximum problems in a message."""
MISSING = ("", "na", "n/a", "n.a.", "nan", "null", "none", "-", "–", "?", ".")
"""Cells without an answer in other tables, in lower case."""


@dataclass(frozen=True)
class Layout:
    """The columns of a kind of form.

    Attributes:
        command: the command that writes such forms, for hints.
        table: columns of a rater's table.
        key: columns of the key.
        names: columns of both that name an item.
        answers: columns that raters fill in.
        optional: whether a table may lack some answers' columns, and a key the columns that name an item.
        proof: a column of the table and one of the key that must match, and the comparison of their cells, as spreadsheets
        change white space.
        answer: the raters' answers, in the plural.
        exclusion: the effect of leaving out a row.
    """

    command: str
    table: tuple[str, ...]
    key: tuple[str, ...]
    names: tuple[str, ...]
    answers: tuple[str, ...]
    proof: tuple[str, str, Callable[[str, str], bool]]
    answer: str
    optional: bool = False
    exclusion: str = "leave a row out"


@dataclass(frozen=True)
class Form:
    """A form: its items, and their order for each rater.

    Attributes:
        items: cells by column, of the tables and of the key; answers are empty.
        orders: for each rater, the numbers of the items.
        guide: the guideline, Markdown.
    """

    layout: Layout
    items: tuple[Mapping[str, str], ...]
    orders: tuple[tuple[int, ...], ...]
    guide: str

    def write(self, out: Path) -> list[Path]:
        """Write a table for each rater, the guideline and the key. Do not give the key to raters.

        Several raters get a table each, such as `form-1.csv` for `form.csv`, so that none sees another's answers.

        Returns:
            The tables, `form.guide.md` and `form.key.csv`.

        Raises:
            RatingError: a file exists already, as it may be filled in, or cannot be written.
        """
        if not out.name or out.is_dir():
            raise RatingError(f"{out}: a folder", hint="name a file by --out, such as form.csv")
        numbered = len(self.orders) > 1
        files = {
            out.with_name(f"{out.stem}-{rater}{out.suffix}") if numbered else out: _table(
                self.layout.table, ({**self.items[item], "rater": f"R{rater}"} for item in order)
            )
            for rater, order in enumerate(self.orders, 1)
        }
        files[out.with_name(f"{out.stem}.guide.md")] = self.guide
        files[out.with_name(f"{out.stem}.key.csv")] = _table(self.layout.key, self.items)
        if present := next((path for path in files if path.exists()), None):
            raise RatingError(
                f"{present}: exists already, and may contain answers", hint="name another --out"
            )
        try:
            make_folder(out.parent)
            for path, text in files.items():
                with path.open("x", encoding="utf-8", newline="") as file:
                    file.write(text)
        except OSError as error:
            raise RatingError(
                f"{error.filename or out}: cannot be written: {error.strerror}", hint="name another --out"
            ) from error
        return list(files)


def anonymous(things: Mapping[str, T], letter: str, rng: random.Random) -> dict[str, T]:
    """Things by an id such as `T07`, shuffled by the digests of their content, independent of the order of files."""
    shuffled = [things[digest] for digest in sorted(things)]
    rng.shuffle(shuffled)
    width = len(str(len(shuffled)))
    return {f"{letter}{number:0{width}}": thing for number, thing in enumerate(shuffled, 1)}


def _table(header: Sequence[str], rows: Iterable[Mapping[str, str]]) -> str:
    """CSV with a byte order mark."""
    cells = ([row.get(column, "") for column in header] for row in rows)
    return "\ufeff" + csv_text([header, *cells], newline="\r\n")


def judged_run(folder: Path, kind: type[P], parts: Set[str], what: str, command: str) -> P:
    """The part `kind` of the result of a finished run of `command`; raises `RatingError` for other runs."""
    try:
        run = result_data(folder)
        if not parts <= run["result"].keys():
            raise RatingError(f"{folder}: a run of {run.get('system')}, not of {what}", hint=command)
        return read_result(folder, kind).result
    except SubjectError as error:
        begun = (folder / "config.yaml").is_file()
        raise RatingError(
            error.message, hint=error.hint if begun else f"name a run folder of {command}"
        ) from error


@dataclass(frozen=True)
class Row:
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

    def problems_of(self, column: str, lowest: float, highest: float, *, whole: bool = True) -> Iterator[str]:
        """What is wrong with a cell that should hold a number, as a rule a whole one."""
        cell, number = self[column], self.number(column)
        if not cell:
            yield f"{self.place}: column {column}: empty"
        elif not lowest <= number <= highest or (whole and not number.is_integer()):
            ends = f" from {lowest:g} to {highest:g}" if isfinite(lowest) else ""
            yield f"{self.place}: column {column}: {cell!r} is not a {'whole ' * whole}number{ends}"


@dataclass(frozen=True)
class Key:
    """The rows of a form's key, by the cells that name an item."""

    layout: Layout
    path: Path
    rows: Mapping[tuple[str, ...], Row]

    @classmethod
    def read(cls, path: Path, layout: Layout) -> "Key":
        """The key of a form; raises `RatingError` if it cannot be read, lacks columns, is empty, or has duplicates."""
        hint = f"name the .key.csv of a form made by {layout.command}"
        rows: dict[tuple[str, ...], Row] = {}
        needed = layout.names if layout.optional else layout.key
        for row in read_table(path, [(name,) for name in needed], hint):
            item = tuple(row[name] for name in layout.names)
            if item in rows:
                raise RatingError(f"{row.place}: the key is damaged: {' '.join(item)} twice", hint=hint)
            rows[item] = row
        if not rows:
            raise RatingError(f"{path}: empty", hint=hint)
        return cls(layout, path, rows)

    def problems_of(self, row: Row) -> Iterator[str]:
        """Signs that a row is not of this key's form."""
        column, proof, same = self.layout.proof
        known = self.rows.get(tuple(row[name] for name in self.layout.names))
        item = ", ".join(f"{name} {row[name]!r}" for name in self.layout.names)
        if known is None:
            yield f"{row.place}: {item} is not in the key {self.path}"
        elif row[column] and known[proof] and not same(row[column], known[proof]):
            yield f"{row.place}: column {column}: differs from {item} in {self.path}; is it the key of this form?"


@dataclass(frozen=True)
class Filled:
    """The answers of raters.

    Attributes:
        rows: of all tables.
        answers: columns that all tables have.
        excluded: places of rows left out.
    """

    layout: Layout
    rows: tuple[Row, ...]
    answers: tuple[str, ...]
    excluded: tuple[str, ...]

    @classmethod
    def read(
        cls,
        paths: Sequence[Path],
        layout: Layout,
        exclude: Collection[str] = (),
        columns: Mapping[str, str] | None = None,
    ) -> "Filled":
        """Filled-in tables: CSV files in UTF-8, separated by comma, semicolon or tab.

        Args:
            exclude: rows to leave out, as `row` or `file:row`.
            columns: names that other tables give the columns of a form; None for tables of a form.

        Raises:
            RatingError: a file cannot be read, is empty or not CSV, a column is missing or duplicate, or a row to leave out
            is missing.
        """
        asked = [layout.answers] if layout.optional else [(name,) for name in layout.answers]
        hint = f"fill in a form made by {layout.command}"
        if columns is not None:
            wanted = ",".join(f"{name}=COLUMN" for name in ("rater", *layout.names, layout.answers[0]))
            hint += f", or name the columns of your table: --columns {wanted}"
        needed = [("rater",), *((name,) for name in layout.names), *asked]
        tables = [read_table(path, needed, hint, columns) for path in paths]
        rows = tuple(row for table in tables for row in table)
        answers = tuple(name for name in layout.answers if all(name in row.cells for row in rows))
        if not answers:
            raise RatingError(f"the tables have no common column of {', '.join(layout.answers)}", hint=hint)
        numbers = [each for each in exclude if each.isdigit()]
        if numbers and len(paths) > 1:
            raise RatingError(
                f"--exclude {numbers[0]}: name the file, too", hint=f"--exclude {paths[0]}:{numbers[0]}"
            )
        places = {f"{paths[0]}:{each}" if each in numbers else each for each in exclude}
        if strange := sorted(places - {row.place for row in rows}):
            raise RatingError(f"--exclude {', '.join(strange)}: no such row", hint="row 1 is the header")
        return cls(layout, rows, answers, tuple(sorted(places)))

    def refuse(self, problems: Sequence[str]) -> None:
        """Raises `RatingError` with all problems, or the first of them."""
        if not problems:
            return
        empty = sum(problem.endswith(": empty") for problem in problems)
        listed = "\n  ".join(problems[:LISTED])
        more = f"\n  and {len(problems) - LISTED} more" if len(problems) > LISTED else ""
        raise RatingError(
            f"{len(problems)} {self.layout.answer} cannot be used, {empty} for an empty cell:\n  {listed}{more}",
            hint=f"fix the cells, or {self.layout.exclusion}: --exclude FILE:ROW",
        )


def columns_named(text: str, names: Collection[str], others: bool = False) -> dict[str, str]:
    """The columns of `--columns rater=who,id=paper`; with `others`, further names are allowed.

    Raises:
        RatingError: for anything else.
    """
    columns = {
        name.strip(): column.strip() for name, _, column in (each.partition("=") for each in text.split(","))
    }
    if wrong := [
        name for name, column in columns.items() if not name or not column or not (others or name in names)
    ]:
        raise RatingError(
            f"--columns: {wrong[0]!r} names no column",
            tried=f"columns of a form: {', '.join(names)}",
            hint=f"--columns {','.join(f'{name}=COLUMN' for name in [*names][:3])}",
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
) -> list[Row]:
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
    rows: list[Row] = []
    for number, record in enumerate(rest, 2):
        if any(record[len(names) :]):
            raise RatingError(
                f"{path}:{number}: more cells than the header has columns",
                hint="put texts with commas in quotes",
            )
        if any(record):  # spreadsheets drop empty cells at the end of a row
            cells = dict(zip(names, [*record, *[""] * len(names)], strict=False))
            rows.append(Row(f"{path}:{number}", cells))
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
