"""Ratings of texts by people or models, from 1 to 10: read strictly, averaged over raters (VirSci 2025, App. C.4)."""

import csv
import io
import json
import math
import random
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, cast

from manyheads.core.results import result_data
from manyheads.errors import RatingError, SubjectError
from manyheads.measures.sheets import (
    UNQUOTED,
    csv_text,
    delimiter_of,
    excluded_rows,
    read_csv_text,
    read_sheet,
    unusable,
    write_forms,
)
from manyheads.measures.statistics import student_interval
from manyheads.papers import fold
from manyheads.resources import Resources
from manyheads.roles import Prompts
from manyheads.texts import Subject

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


# The rating form: blind tables for people to fill in, the key to them, and what the scale means (App. C.4).

COLUMNS = ("rater", "id", "title", "abstract", *CRITERIA, "comment")
KEY = ("id", "source", "title", "sha256")
GUIDE = "partials/rating_guide.md.j2"


@dataclass(frozen=True)
class Form:
    """What is rated and by how many.

    Attributes:
        entries: the texts by anonymous id, in an order that tells nothing.
        orders: for each rater the ids in an order of their own.
    """

    entries: dict[str, Subject]
    orders: tuple[tuple[str, ...], ...]


def make_form(subjects: Sequence[Subject], raters: int, seed: int) -> Form:
    """Shuffle the texts, once for their ids and once more for each rater; the same seed gives the same form.

    Raises:
        RatingError: no texts, no raters, or the same text twice: it would be rated twice and counted twice.
    """
    if not subjects or raters < 1:
        raise RatingError("a form needs at least one text and one rater")
    seen: dict[str, Subject] = {}
    for subject in subjects:
        if other := seen.get(subject.sha256):
            raise RatingError(f"{subject.source}: the same text as {other.source}", hint="name it once")
        seen[subject.sha256] = subject
    rng = random.Random(seed)
    # The files' order must not show in the ids: what depends on the texts alone is what gets shuffled.
    shuffled = [seen[digest] for digest in sorted(seen)]
    rng.shuffle(shuffled)
    width = len(str(len(shuffled)))
    entries = {f"T{number:0{width}}": subject for number, subject in enumerate(shuffled, 1)}
    return Form(entries, tuple(tuple(rng.sample(list(entries), len(entries))) for _ in range(raters)))


def write_form(form: Form, out: Path) -> list[Path]:
    """Write a table for each rater, the key and the guideline; raters must be given their table and the guideline only.

    Returns and raises as `write_forms`.
    """
    tables = [_table(form, rater) for rater in range(1, len(form.orders) + 1)]
    rows = ((item, str(Path(s.source).resolve()), s.title, s.sha256) for item, s in form.entries.items())
    return write_forms(out, tables, Prompts(Resources.of()).render(GUIDE, {}), csv_text(KEY, map(list, rows)))


def _table(form: Form, rater: int) -> str:
    rows = ((item, form.entries[item]) for item in form.orders[rater - 1])
    empty = [""] * (len(CRITERIA) + 1)
    return csv_text(COLUMNS, ([f"R{rater}", item, s.title, s.text, *empty] for item, s in rows))


# Scores of the texts that raters have rated: read from `manyheads measure`, tables and reviews, and paired.

Identity = Mapping[str, str]
"""What a text is known by: some of `sha256`, `source`, `id`, `name`."""
FIELDS = ("sha256", "source", "id", "name")
"""The surest first."""
REVIEWS = "conference-review"


@dataclass(frozen=True)
class Score:
    """One text's score. `place` says where it was read."""

    place: str
    identity: Identity
    value: float


@dataclass(frozen=True)
class Pairs:
    """Texts with score and rating.

    Attributes:
        items: ids as the raters know them.
        scores, ratings: of these, in the same order.
        unrated: places of scores that belong to no rated text.
    """

    items: tuple[str, ...]
    scores: tuple[float, ...]
    ratings: tuple[float, ...]
    unrated: tuple[str, ...]


def read_scores(paths: Sequence[Path], by: str) -> list[Score]:
    """The scores called `by`: a field of JSON Lines, a column of CSV, or a mean of a review's run folder.

    Raises:
        RatingError: a file cannot be read, or a text has no such score: it is named, and never counted as zero.
    """
    return [score for path in paths for score in _scores(path, by)]


def pair(means: Mapping[str, float], scores: Sequence[Score], known: Mapping[str, Identity]) -> Pairs:
    """Each rated text with its one score.

    Args:
        means: mean rating by the raters' id.
        scores: in any order; those of unrated texts are told apart.
        known: what the ids stand for, as the key says; an id that is not in it stands for itself.

    Raises:
        RatingError: a rated text has no score, or more than one.
    """
    found: dict[str, Score] = {}
    for item in means:
        identity = known.get(item) or dict.fromkeys(("id", "source", "name"), item)
        found[item] = _the_one(item, _matching(identity, scores))
    used = {score.place for score in found.values()}
    return Pairs(
        items=tuple(means),
        scores=tuple(score.value for score in found.values()),
        ratings=tuple(means.values()),
        unrated=tuple(score.place for score in scores if score.place not in used),
    )


def read_key(path: Path, ratings: Ratings) -> dict[str, Identity]:
    """What the anonymous ids of a form stand for.

    Raises:
        RatingError: it cannot be read, or a rated id is not in it, or stands for a text of another title.
    """
    rows = list(_score_table(path))
    if not rows or "id" not in rows[0][1]:
        raise RatingError(f"{path}: no key: it has no column id", hint="name the .key.csv of the form")
    known = {row["id"]: _identity({**row, "id": ""}) for _, row in rows}
    titles = {row["id"]: row.get("title", "") for _, row in rows}
    if strange := [item for item in ratings.items if item not in known]:
        raise RatingError(f"{path}: does not know {', '.join(strange)}", hint="name the key of the same form")
    if other := [item for item, title in ratings.titles.items() if _differ(title, titles[item])]:
        raise RatingError(
            f"{path}: {', '.join(other)} were rated under other titles", hint="name the key of the same form"
        )
    return known


def _differ(title: str, other: str) -> bool:
    """Whether two titles are there and are not the same, whatever a spreadsheet has done to them."""
    return bool(title and other) and fold(title) != fold(other)


def read_reviews(folders: Sequence[Path]) -> tuple[Ratings, dict[str, Identity]]:
    """Finished runs of conference-review as ratings, a rater each reviewer; and what they are of.

    Raises:
        RatingError: a folder holds no such run, two are of the same text, or of different forms.
    """
    given, known, forms = list[Rating](), dict[str, Identity](), dict[tuple[str, ...], Path]()
    for folder in folders:
        result = _review(folder)
        identity = _identity(result["subject"])
        item = identity["source"]
        if item in known:
            raise RatingError(
                f"{folder}: {item} has been reviewed in another of these runs", hint="name one of them"
            )
        known[item] = identity
        criteria = tuple(result["means"])
        forms.setdefault(criteria, folder)
        for each in result["reviews"]:
            given.append(Rating(each["reviewer"], item, {name: each[name] for name in criteria}))
    if len(forms) != 1:
        other = "; ".join(f"{folder} on {', '.join(names)}" for names, folder in forms.items())
        raise RatingError(f"reviews on different forms: {other}", hint="name those of one form")
    return Ratings(tuple(given), next(iter(forms))), known


def _scores(path: Path, by: str) -> Iterator[Score]:
    if path.is_dir():
        result = _review(path)
        means = result["means"]
        if by not in means:
            raise RatingError(f"{path}: these reviews have no {by!r}", hint=f"--by {' or '.join(means)}")
        yield Score(str(path), _identity(result["subject"]), float(means[by]["mean"]))
        return
    for place, row in _lines(path) if path.suffix in (".jsonl", ".json") else _score_table(path):
        yield Score(place, _identity(row), _number(place, row, by))


def _number(place: str, row: Mapping[str, Any], by: str) -> float:
    if by not in row:
        raise RatingError(
            f"{place}: no {by!r}", tried=f"it has {', '.join(row)}", hint="--by names the score"
        )
    value = row[by]
    try:
        number = math.nan if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise RatingError(
            f"{place}: {by} is {value!r}, which is no number{_why(row, by)}",
            hint="take the text out, measure it, or name another score with --by",
        )
    return number


def _why(row: Mapping[str, Any], by: str) -> str:
    """What `manyheads measure` says of a measure that it could not take."""
    missing = row.get("missing")
    return f": {missing[by]}" if isinstance(missing, dict) and by in missing else ""


def _identity(row: Mapping[str, Any]) -> Identity:
    """What a row says of its text; sources as full paths, so that it does not matter from where they were named."""
    found = {name: str(row[name]).strip() for name in FIELDS if row.get(name)}
    if "source" in found:
        found["source"] = str(Path(found["source"]).expanduser().resolve())
    return found


def _matching(identity: Identity, scores: Sequence[Score]) -> list[Score]:
    """The scores of a text: by what is surest, and where that is not enough to tell them apart, by the next."""
    left, narrowed = scores, False
    for name in FIELDS:
        if name in identity:
            wanted = _identity({name: identity[name]})[name]
            hits = [score for score in left if score.identity.get(name) == wanted]
            if len(hits) == 1:
                return hits
            left, narrowed = (hits, True) if hits else (left, narrowed)
    return list(left) if narrowed else []


def _the_one(item: str, found: Sequence[Score]) -> Score:
    if not found:
        raise RatingError(
            f"{item}: rated, but there is no score of it",
            hint="measure it too, or name the form's key: --key form.key.csv",
        )
    if len(found) > 1:
        places = ", ".join(score.place for score in found)
        raise RatingError(f"{item}: more than one score: {places}", hint="leave one of them out")
    return found[0]


def _review(folder: Path) -> dict[str, Any]:
    try:
        run = result_data(folder)
    except SubjectError as error:
        begun = (folder / "config.yaml").is_file()
        raise RatingError(
            error.message, hint=error.hint if begun else "name a run folder of manyheads review"
        ) from error
    if run.get("system") != REVIEWS:
        raise RatingError(
            f"{folder}: a run of {run.get('system')}, not of {REVIEWS}", hint="manyheads review"
        )
    return run["result"]


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    lines = read_csv_text(path).split("\n")
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                raise RatingError(f"{path}:{number}: not valid JSON: {error}") from error
            if not isinstance(row, dict):
                raise RatingError(f"{path}:{number}: not a JSON object")
            yield f"{path}:{number}", cast(dict[str, Any], row)


def _score_table(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    text = read_csv_text(path)
    rows = csv.DictReader(io.StringIO(text), restval="", delimiter=delimiter_of(text), strict=True)
    try:
        for number, row in enumerate(rows, 2):
            yield f"{path}:{number}", {str(name).strip(): str(cell).strip() for name, cell in row.items()}
    except csv.Error as error:
        raise RatingError(f"{path}: not a CSV file: {error}", hint=UNQUOTED) from error
