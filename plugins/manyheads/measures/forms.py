"""Blind forms for people: items × columns, with one writer, one reader and one key.

A rater gets a table with a row for each item, named by an anonymous id, and the guideline. The key says what the ids
stand for, and is not for raters. Tables are written so that spreadsheets show what stands there, and read strictly.
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

from manyheads import disk
from manyheads.core.results import Part, read_result, result_data
from manyheads.errors import RatingError, SubjectError
from manyheads.escaping import csv_text

T = TypeVar("T")
P = TypeVar("P", bound=Part)
DELIMITERS = (",", ";", "\t")
"""Between the cells of a spreadsheet's CSV, by the country that it is set to."""
LARGEST = 50_000_000
"""Bytes of a table."""
LISTED = 8
"""Problems of a message, at most."""
MISSING = ("", "na", "n/a", "n.a.", "nan", "null", "none", "-", "–", "?", ".")
"""Cells of other people's tables in which nothing was answered, in lower case."""


@dataclass(frozen=True)
class Layout:
    """The columns of one kind of form.

    Attributes:
        command: what makes such forms, for hints.
        table: columns of a rater's table.
        key: columns of the key.
        names: columns of both that name an item.
        answers: columns that raters fill in.
        optional: whether a table may lack some of the answers' columns, not all, and a key what names no item.
        proof: the column of the table and that of the key by which they are known to be of one form, and whether two
            cells of these are of the same item, for spreadsheets change blanks.
        answer: what raters give for an item, in the plural.
        exclusion: what leaving out a row does.
    """

    command: str
    table: tuple[str, ...]
    key: tuple[str, ...]
    names: tuple[str, ...]
    answers: tuple[str, ...]
    proof: tuple[str, str, Callable[[str, str], bool]]
    answer: str
    optional: bool = False
    exclusion: str = "leave a row out by its name"


@dataclass(frozen=True)
class Form:
    """What is asked, and in which order of whom.

    Attributes:
        items: each with its cells by column, of the tables and of the key; what raters fill in is left empty.
        orders: for each rater, the items by number.
        guide: the guideline, Markdown.
    """

    layout: Layout
    items: tuple[Mapping[str, str], ...]
    orders: tuple[tuple[int, ...], ...]
    guide: str

    def write(self, out: Path) -> list[Path]:
        """Write a table for each rater, the guideline and the key; raters must get their table and the guideline only.

        Several raters get a table each, `form-1.csv` and so on for `form.csv`, so that nobody sees what another wrote.

        Returns:
            What was written: the tables, `form.guide.md`, `form.key.csv`.

        Raises:
            RatingError: a file is there already, which may have been filled in, or cannot be written.
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
            raise RatingError(f"{present}: is there already, and may hold answers", hint="name another --out")
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            for path, text in files.items():
                with path.open("x", encoding="utf-8", newline="") as file:
                    file.write(text)
        except OSError as error:
            raise RatingError(
                f"{error.filename or out}: cannot be written: {error.strerror}", hint="name another --out"
            ) from error
        return list(files)


def anonymous(things: Mapping[str, T], letter: str, rng: random.Random) -> dict[str, T]:
    """Things by an id such as `T07`, shuffled from the digests of their content, not from the order of files."""
    shuffled = [things[digest] for digest in sorted(things)]
    rng.shuffle(shuffled)
    width = len(str(len(shuffled)))
    return {f"{letter}{number:0{width}}": thing for number, thing in enumerate(shuffled, 1)}


def _table(header: Sequence[str], rows: Iterable[Mapping[str, str]]) -> str:
    """CSV with a mark that it is UTF-8."""
    cells = ([row.get(column, "") for column in header] for row in rows)
    return "\ufeff" + csv_text([header, *cells], newline="\r\n")


def judged_run(folder: Path, kind: type[P], parts: Set[str], what: str, command: str) -> P:
    """What `kind` reads of a finished run of `command` whose result has these parts; raises `RatingError` for others."""
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
        """Whether a cell of somebody else's table holds no answer."""
        return self[column].lower() in MISSING

    def number(self, column: str) -> float:
        """The number in a cell, not a number where there is none; a comma is read as a point."""
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
            yield f"{self.place}: column {column}: {cell!r} is no {'whole ' * whole}number{ends}"


@dataclass(frozen=True)
class Key:
    """What the ids of a form stand for: the rows of its key, by the cells that name an item."""

    layout: Layout
    path: Path
    rows: Mapping[tuple[str, ...], Row]

    @classmethod
    def read(cls, path: Path, layout: Layout) -> "Key":
        """The key of a form; raises `RatingError` where it cannot be read, lacks columns, is empty, or has an item twice."""
        hint = f"name the .key.csv of a form that {layout.command} has made"
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
        """What shows that a row is not of this key's form."""
        column, proof, same = self.layout.proof
        known = self.rows.get(tuple(row[name] for name in self.layout.names))
        item = ", ".join(f"{name} {row[name]!r}" for name in self.layout.names)
        if known is None:
            yield f"{row.place}: {item} is not in the key {self.path}"
        elif row[column] and known[proof] and not same(row[column], known[proof]):
            yield f"{row.place}: column {column}: not that of {item} in {self.path}; is it the key of this form?"


@dataclass(frozen=True)
class Filled:
    """What raters have filled in.

    Attributes:
        rows: of all tables.
        answers: columns that all tables have.
        excluded: places of rows that the caller named to be left out.
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
        """Filled-in tables: CSV files in UTF-8, parted by comma, semicolon or tab.

        Args:
            exclude: rows to leave out, as `row` or `file:row`.
            columns: what tables of another origin call the columns of a form; None where they have to be a form's own.

        Raises:
            RatingError: a file cannot be read, is empty or no CSV, a column is missing or stands there twice, or a row
                to leave out is not there.
        """
        asked = [layout.answers] if layout.optional else [(name,) for name in layout.answers]
        hint = f"fill in a form that {layout.command} has made"
        if columns is not None:
            wanted = ",".join(f"{name}=COLUMN" for name in ("rater", *layout.names, layout.answers[0]))
            hint += f", or say what yours calls its columns: --columns {wanted}"
        needed = [("rater",), *((name,) for name in layout.names), *asked]
        tables = [read_table(path, needed, hint, columns) for path in paths]
        rows = tuple(row for table in tables for row in table)
        answers = tuple(name for name in layout.answers if all(name in row.cells for row in rows))
        if not answers:
            raise RatingError(f"the tables have none of {', '.join(layout.answers)} in common", hint=hint)
        numbers = [each for each in exclude if each.isdigit()]
        if numbers and len(paths) > 1:
            raise RatingError(
                f"--exclude {numbers[0]}: of which file?", hint=f"--exclude {paths[0]}:{numbers[0]}"
            )
        places = {f"{paths[0]}:{each}" if each in numbers else each for each in exclude}
        if strange := sorted(places - {row.place for row in rows}):
            raise RatingError(f"--exclude {', '.join(strange)}: no such row", hint="row 1 is the header")
        return cls(layout, rows, answers, tuple(sorted(places)))

    def refuse(self, problems: Sequence[str]) -> None:
        """Raises `RatingError` where there are problems: all of them, or the first."""
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
    """What `--columns rater=who,id=paper` says, of these names of columns; of `others` too, if allowed.

    Raises:
        RatingError: it says anything else.
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
    """The rows of a CSV file that have anything in them; columns are known by their names in lower case.

    Args:
        needed: columns, of each group at least one.
        hint: what to do with a file that is none of these.
        columns: what this table calls some of them.

    Raises:
        RatingError: it cannot be read, is empty or no CSV, or a column is missing or stands there twice.
    """
    text = read_text(path)
    if not text.strip():
        raise RatingError(f"{path}: empty", hint=hint)
    delimiter = max(DELIMITERS, key=text.partition("\n")[0].count)
    # Strict: a quotation mark that is never closed would swallow the rows after it, answers and all.
    records = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    try:
        header, *rest = [[cell.strip() for cell in record] for record in records]
    except csv.Error as error:
        raise RatingError(
            f"{path}: not a CSV file: {error}", hint="look for a quotation mark that is not closed"
        ) from error
    ours = {column.lower(): name for name, column in (columns or {}).items()}
    names = [ours.get(name.lower(), name.lower()) for name in header]
    called = {name: f"{column!r} ({name})" for name, column in (columns or {}).items()}
    if missing := [
        " or ".join(called.get(name, name) for name in group)
        for group in needed
        if not set(group) & set(names)
    ]:
        present = f"its columns: {', '.join(names)}"
        raise RatingError(f"{path}: no column {', '.join(missing)}", tried=present, hint=hint)
    if twice := sorted(name for name, number in Counter(names).items() if name and number > 1):
        raise RatingError(f"{path}: the column {', '.join(twice)} stands there twice")
    rows: list[Row] = []
    for number, record in enumerate(rest, 2):
        if any(record[len(names) :]):
            raise RatingError(
                f"{path}:{number}: more cells than the header has columns",
                hint="put texts with commas in quotes",
            )
        if any(record):  # spreadsheets leave out empty cells at the end of a row
            cells = dict(zip(names, [*record, *[""] * len(names)], strict=False))
            rows.append(Row(f"{path}:{number}", cells))
    return rows


def read_text(path: Path) -> str:
    """The text of a file that a spreadsheet may have written; raises `RatingError`."""
    try:
        return disk.read_text(path, LARGEST, "utf-8-sig")
    except OSError as error:
        raise RatingError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RatingError(f"{path}: not UTF-8", hint="save it as “CSV UTF-8”") from error
