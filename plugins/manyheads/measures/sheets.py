"""Tables that people fill in: written so that spreadsheets show what stands there, read strictly."""

import csv
import io
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from manyheads.errors import RatingError

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet would calculate instead of show."""
PROBLEMS_SHOWN = 8
UNQUOTED = "look for a quotation mark that is not closed"
DELIMITERS = (",", ";", "\t")
"""What spreadsheets part cells with, by the country they are set to."""


def csv_text(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """CSV that spreadsheets show as it is: with a mark that it is UTF-8, and no cell that they would calculate."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows([_shown(cell) for cell in row] for row in rows)
    return "\ufeff" + text.getvalue()


def write_forms(out: Path, tables: Sequence[str], guide: str, key: str) -> list[Path]:
    """Write a table for each rater, the guideline and the key; raters must be given their table and the guideline only.

    Several raters get a table each, `form-1.csv` and so on for `form.csv`, so that nobody sees what another wrote.

    Returns:
        What was written: the tables, `form.guide.md`, `form.key.csv`.

    Raises:
        RatingError: a file is there already, which may have been filled in, or cannot be written.
    """
    numbered = len(tables) > 1
    files = [
        (out.with_name(f"{out.stem}-{rater}{out.suffix}") if numbered else out, table)
        for rater, table in enumerate(tables, 1)
    ]
    files += [(out.with_name(f"{out.stem}.guide.md"), guide), (out.with_name(f"{out.stem}.key.csv"), key)]
    if there := [path for path, _ in files if path.exists()]:
        raise RatingError(f"{there[0]}: is there already, and may hold ratings", hint="name another --out")
    for path, text in files:
        _write(path, text)
    return [path for path, _ in files]


@dataclass(frozen=True)
class Sheet:
    """A CSV file: header and records, all cells stripped."""

    path: Path
    header: tuple[str, ...]
    records: tuple[tuple[str, ...], ...]

    def rows(self) -> Iterator[tuple[str, dict[str, str]]]:
        """The rows with anything in them, each with its place."""
        for number, record in enumerate(self.records, 2):
            if any(record):
                yield f"{self.path}:{number}", dict(zip(self.header, record, strict=True))


def read_sheet(path: Path, needed: Sequence[Sequence[str]], form: str) -> Sheet:
    """A filled-in table.

    Args:
        path: a CSV file in UTF-8, parted by comma, semicolon or tab.
        needed: columns, of each group at least one.
        form: the command that makes such tables, for hints.

    Raises:
        RatingError: it cannot be read, is empty or no CSV, or a column is missing or stands there twice.
    """
    text, hint = read_csv_text(path), f"fill in a form that {form} has made"
    if not text.strip():
        raise RatingError(f"{path}: empty", hint=hint)
    # Strict: a quotation mark that is never closed would swallow the rows after it, ratings and all.
    rows = csv.reader(io.StringIO(text), delimiter=delimiter_of(text), strict=True)
    try:
        header, *records = [[cell.strip() for cell in row] for row in rows]
    except csv.Error as error:
        raise RatingError(f"{path}: not a CSV file: {error}", hint=UNQUOTED) from error
    names = tuple(name.lower() for name in header)
    _check_header(path, names, needed, hint)
    return Sheet(path, names, tuple(_squared(path, names, record, n) for n, record in enumerate(records, 2)))


def read_csv_text(path: Path) -> str:
    """A CSV file's text.

    Raises:
        RatingError: it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise RatingError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RatingError(f"{path}: not UTF-8", hint="save it as “CSV UTF-8”") from error


def delimiter_of(text: str) -> str:
    """What parts the cells of a CSV text, by its header."""
    return max(DELIMITERS, key=text.partition("\n")[0].count)


def excluded_rows(sheets: Sequence[Sheet], exclude: Collection[str]) -> set[str]:
    """The places of rows that are left out, `row` or `file:row`, where row 1 is the header.

    Raises:
        RatingError: there is no such row, or of several files it is not said in which.
    """
    there = {place for sheet in sheets for place, _ in sheet.rows()}
    named = {_place(sheets, each) for each in exclude}
    if strange := sorted(named - there):
        raise RatingError(f"--exclude {', '.join(strange)}: no such row", hint="row 1 is the header")
    return named


def unusable(problems: Sequence[str], what: str, hint: str = "leave a row out by its name") -> RatingError:
    """All that is wrong with what people filled in, or the first of it.

    Args:
        what: ratings, or whatever they gave.
        hint: what leaving out a row does.
    """
    more = len(problems) - PROBLEMS_SHOWN
    shown = "\n  ".join([*problems[:PROBLEMS_SHOWN], *([f"and {more} more"] if more > 0 else [])])
    return RatingError(
        f"{len(problems)} {what} cannot be used:\n  {shown}",
        hint=f"mend the cells, or {hint}: --exclude FILE:ROW",
    )


def _check_header(path: Path, names: Sequence[str], needed: Sequence[Sequence[str]], hint: str) -> None:
    if missing := [" or ".join(group) for group in needed if not set(group) & set(names)]:
        tried = f"its columns: {', '.join(names)}"
        raise RatingError(f"{path}: no column {', '.join(missing)}", tried=tried, hint=hint)
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise RatingError(f"{path}: the column {', '.join(twice)} stands there twice")


def _squared(path: Path, names: Sequence[str], record: Sequence[str], row: int) -> tuple[str, ...]:
    """A record as long as the header: spreadsheets leave out empty cells at the end of a row."""
    if any(record[len(names) :]):
        raise RatingError(
            f"{path}:{row}: more cells than the header has columns", hint="put texts with commas in quotes"
        )
    return (*record[: len(names)], *[""] * (len(names) - len(record)))


def _place(sheets: Sequence[Sheet], named: str) -> str:
    if not named.isdigit():
        return named
    if len(sheets) > 1:
        raise RatingError(f"--exclude {named}: of which file?", hint=f"--exclude {sheets[0].path}:{named}")
    return f"{sheets[0].path}:{named}"


def _shown(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise RatingError(
            f"{path}: cannot be written: {error.strerror}", hint="name another --out"
        ) from error
