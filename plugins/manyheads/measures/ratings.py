"""Ratings of texts by people or models, from 1 to 10: read strictly, averaged over raters (VirSci 2025, App. C.4)."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev

from manyheads.errors import RatingError
from manyheads.measures.effects import student_interval
from manyheads.measures.sheets import excluded_rows, read_sheet, unusable

CRITERIA = ("novelty", "feasibility", "effectiveness")
"""What people rate (App. C.4)."""
LOWEST, HIGHEST = 1, 10
LEVEL = 0.95
"""Of every interval."""
FORM = "manyheads rating form"
"""Makes what is read here."""


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
    low, high = student_interval(mean, spread / n**0.5, n, LEVEL, (LOWEST, HIGHEST))
    return Mean(mean, spread, low, high, n)


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
        titles: of the texts, by item, as the raters were shown them.
    """

    given: tuple[Rating, ...]
    criteria: tuple[str, ...]
    excluded: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict[str, str])

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
    sheets = [read_sheet(path, (("rater",), ("id",), CRITERIA), FORM) for path in paths]
    excluded = excluded_rows(sheets, exclude)
    criteria = tuple(name for name in CRITERIA if all(name in sheet.header for sheet in sheets))
    problems, given, titles = list[str](), dict[tuple[str, str], Rating](), dict[str, str]()
    for place, row in ((place, row) for sheet in sheets for place, row in sheet.rows()):
        if place in excluded:
            continue
        wrong = list(_problems(row, criteria))
        pair = (row["rater"], row["id"])
        wrong += [f"{pair[0]} has rated {pair[1]} already"] if pair in given else []
        problems += [f"{place}: {each}" for each in wrong]
        if not wrong:
            given[pair] = Rating(*pair, {name: int(row[name]) for name in criteria})
            titles[row["id"]] = row.get("title", "")
    if problems:
        raise unusable(problems, "ratings")
    if not given:
        raise RatingError(f"{', '.join(map(str, paths))}: no ratings in it")
    return Ratings(tuple(given.values()), criteria, tuple(sorted(excluded)), titles)


def _problems(row: Mapping[str, str], criteria: Sequence[str]) -> Iterator[str]:
    for name in ("rater", "id"):
        if not row[name]:
            yield f"column {name}: empty"
    for name in criteria:
        if not row[name]:
            yield f"column {name}: empty"
        elif not re.fullmatch(r"[0-9]{1,9}", row[name]) or not LOWEST <= int(row[name]) <= HIGHEST:
            yield f"column {name}: {row[name]!r} is no whole number from {LOWEST} to {HIGHEST}"
