"""Ratings of texts by people or models, from 1 to 10: read strictly, averaged over raters (VirSci 2025, App. C.4)."""

import csv
import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from manyheads.errors import RatingError

CRITERIA = ("novelty", "feasibility", "effectiveness")
"""What people rate (App. C.4)."""
LOWEST, HIGHEST = 1, 10
LEVEL = 0.95
"""Of every interval."""
PROBLEMS_SHOWN = 8
UNQUOTED = "look for a quotation mark that is not closed"
DELIMITERS = (",", ";", "\t")
"""What spreadsheets part cells with, by the country they are set to."""


@dataclass(frozen=True)
class Mean:
    """A mean of ratings.

    Attributes:
        mean: on the scale of the ratings.
        spread: their standard deviation (n - 1); None of a single one.
        low, high: Student's t interval of the mean, cut at the ends of the scale, beyond which no mean can lie; None
            of a single rating, and where all are equal: ratings are whole numbers, so a spread of zero says that
            they agree to the point, and not that the mean is known exactly.
        n: how many ratings it is of.
        level: of the interval.
    """

    mean: float
    spread: float | None
    low: float | None
    high: float | None
    n: int
    level: float = LEVEL


def mean_of(ratings: Sequence[float]) -> Mean:
    """The mean of at least one rating, with its interval.

    Raises:
        RatingError: there is none.
    """
    if not ratings:
        raise RatingError("no ratings: there is no mean of nothing")
    mean, n = fmean(ratings), len(ratings)
    spread = stdev(ratings) if n > 1 else None
    if not spread:
        return Mean(mean, spread, None, None, n)
    from scipy.special import stdtrit

    half = float(stdtrit(n - 1, 0.5 + LEVEL / 2)) * spread / n**0.5
    return Mean(mean, spread, max(LOWEST, mean - half), min(HIGHEST, mean + half), n)


@dataclass(frozen=True)
class Rating:
    """One rater's judgement of one text, by criterion."""

    rater: str
    item: str
    scores: Mapping[str, int]


@dataclass(frozen=True)
class Ratings:
    """What some raters gave some texts.

    Attributes:
        given: one entry for each rater and text.
        criteria: rated by all of them.
        excluded: rows that were left out because the caller said so, as `file:row`.
    """

    given: tuple[Rating, ...]
    criteria: tuple[str, ...]
    excluded: tuple[str, ...] = ()

    @property
    def items(self) -> list[str]:
        """The rated texts, in the order in which they first come."""
        return list(dict.fromkeys(rating.item for rating in self.given))

    @property
    def raters(self) -> list[str]:
        return list(dict.fromkeys(rating.rater for rating in self.given))

    def of(self, criterion: str) -> dict[str, dict[str, int]]:
        """The ratings on one criterion, by text and rater.

        Raises:
            RatingError: nobody rated that.
        """
        if criterion not in self.criteria:
            raise RatingError(f"nobody rated {criterion!r}", tried=f"rated: {', '.join(self.criteria)}")
        found: dict[str, dict[str, int]] = {}
        for rating in self.given:
            found.setdefault(rating.item, {})[rating.rater] = rating.scores[criterion]
        return found

    def means(self, criterion: str) -> dict[str, float]:
        """The mean over raters of each text."""
        return {item: fmean(by_rater.values()) for item, by_rater in self.of(criterion).items()}


def read_ratings(paths: Sequence[Path], exclude: Collection[str] = ()) -> Ratings:
    """Ratings from filled-in forms: columns `rater`, `id` and at least one criterion, a whole number from 1 to 10.

    Args:
        paths: CSV files in UTF-8, parted by comma, semicolon or tab.
        exclude: rows to leave out, as `row` or `file:row`; row 1 is the header, as in a spreadsheet.

    Raises:
        RatingError: a file cannot be read, a column or a cell is missing, a rating is none, a rater rated a text
            twice, or a row to leave out is not there. All that is wrong is named by file, row and column.
    """
    sheets = [_sheet(path) for path in paths]
    excluded = _excluded(sheets, exclude)
    criteria = tuple(name for name in CRITERIA if all(name in sheet.header for sheet in sheets))
    problems, given = list[str](), dict[tuple[str, str], Rating]()
    for place, row in ((place, row) for sheet in sheets for place, row in sheet.rows()):
        if place in excluded:
            continue
        wrong = list(_problems(row, criteria))
        pair = (row["rater"], row["id"])
        wrong += [f"{pair[0]} has rated {pair[1]} already"] if pair in given else []
        problems += [f"{place}: {each}" for each in wrong]
        if not wrong:
            given[pair] = Rating(*pair, {name: int(row[name]) for name in criteria})
    if problems:
        raise _unusable(problems)
    if not given:
        raise RatingError(f"{', '.join(map(str, paths))}: no ratings in it")
    return Ratings(tuple(given.values()), criteria, tuple(sorted(excluded)))


def _unusable(problems: Sequence[str]) -> RatingError:
    more = len(problems) - PROBLEMS_SHOWN
    shown = "\n  ".join([*problems[:PROBLEMS_SHOWN], *([f"and {more} more"] if more > 0 else [])])
    return RatingError(
        f"{len(problems)} ratings cannot be used:\n  {shown}",
        hint="mend the cells, or leave a row out by its name: --exclude FILE:ROW",
    )


def _problems(row: Mapping[str, str], criteria: Sequence[str]) -> Iterator[str]:
    for name in ("rater", "id"):
        if not row[name]:
            yield f"column {name}: empty"
    for name in criteria:
        if not row[name]:
            yield f"column {name}: empty"
        elif not re.fullmatch(r"[0-9]{1,9}", row[name]) or not LOWEST <= int(row[name]) <= HIGHEST:
            yield f"column {name}: {row[name]!r} is no whole number from {LOWEST} to {HIGHEST}"


@dataclass(frozen=True)
class _Sheet:
    """A CSV file: header and records, all cells stripped."""

    path: Path
    header: tuple[str, ...]
    records: tuple[tuple[str, ...], ...]

    def rows(self) -> Iterator[tuple[str, dict[str, str]]]:
        """The rows with anything in them, each with its place."""
        for number, record in enumerate(self.records, 2):
            if any(record):
                yield f"{self.path}:{number}", dict(zip(self.header, record, strict=True))


def _sheet(path: Path) -> _Sheet:
    text = read_csv_text(path)
    if not text.strip():
        raise RatingError(f"{path}: empty", hint="fill in a form that manyheads rating form has made")
    # Strict: a quotation mark that is never closed would swallow the rows after it, ratings and all.
    rows = csv.reader(io.StringIO(text), delimiter=delimiter_of(text), strict=True)
    try:
        header, *records = [[cell.strip() for cell in row] for row in rows]
    except csv.Error as error:
        raise RatingError(f"{path}: not a CSV file: {error}", hint=UNQUOTED) from error
    names = tuple(name.lower() for name in header)
    _check_header(path, names)
    return _Sheet(path, names, tuple(_squared(path, names, record, n) for n, record in enumerate(records, 2)))


def _check_header(path: Path, names: Sequence[str]) -> None:
    missing = [name for name in ("rater", "id") if name not in names]
    missing += [" or ".join(CRITERIA)] if not set(CRITERIA) & set(names) else []
    if missing:
        raise RatingError(
            f"{path}: no column {', '.join(missing)}",
            tried=f"its columns: {', '.join(names)}",
            hint="fill in a form that manyheads rating form has made",
        )
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


def _excluded(sheets: Sequence[_Sheet], exclude: Collection[str]) -> set[str]:
    """Places to leave out, each of which must be there."""
    there = {place for sheet in sheets for place, _ in sheet.rows()}
    named = {_place(sheets, each) for each in exclude}
    if strange := sorted(named - there):
        raise RatingError(f"--exclude {', '.join(strange)}: no such row", hint="row 1 is the header")
    return named


def _place(sheets: Sequence[_Sheet], named: str) -> str:
    if not named.isdigit():
        return named
    if len(sheets) > 1:
        raise RatingError(f"--exclude {named}: of which file?", hint=f"--exclude {sheets[0].path}:{named}")
    return f"{sheets[0].path}:{named}"
