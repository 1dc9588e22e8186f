"""Scores of the texts that raters have rated: read from `manyheads measure`, tables and reviews, and paired."""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from manyheads.errors import RatingError, SubjectError
from manyheads.literature.publication import fold
from manyheads.measures.ratings import Rating, Ratings
from manyheads.measures.sheets import UNQUOTED, delimiter_of, read_csv_text
from manyheads.subjects import read_result

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
    rows = list(_table(path))
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
    for place, row in _lines(path) if path.suffix in (".jsonl", ".json") else _table(path):
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
        result = read_result(folder)
    except SubjectError as error:
        begun = (folder / "config.yaml").is_file()
        raise RatingError(
            error.message, hint=error.hint if begun else "name a run folder of manyheads review"
        ) from error
    if result.get("system") != REVIEWS:
        raise RatingError(
            f"{folder}: a run of {result.get('system')}, not of {REVIEWS}", hint="manyheads review"
        )
    return result


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


def _table(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    text = read_csv_text(path)
    rows = csv.DictReader(io.StringIO(text), restval="", delimiter=delimiter_of(text), strict=True)
    try:
        for number, row in enumerate(rows, 2):
            yield f"{path}:{number}", {str(name).strip(): str(cell).strip() for name, cell in row.items()}
    except csv.Error as error:
        raise RatingError(f"{path}: not a CSV file: {error}", hint=UNQUOTED) from error
