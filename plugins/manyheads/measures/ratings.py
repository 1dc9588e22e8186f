"""Ratings of texts by people or models (VirSci 2025, §4.2, App. C.4).

People rate on blind forms, from 1 to 10, or in their own tables, with any criteria and scale; reviews by `manyheads review`
count as ratings, too.
"""

import math
import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import Field

from manyheads.asking.prompts import Prompts
from manyheads.base.errors import RatingError
from manyheads.base.files import expanded
from manyheads.base.papers import fold
from manyheads.base.resources import Resources
from manyheads.core.results import Part
from manyheads.core.texts import Subject
from manyheads.measures.forms import Filled, Form, Key, Layout, anonymous, judged_run

CRITERIA = ("novelty", "feasibility", "effectiveness")
"""Rating criteria (App. C.4)."""
LOWEST, HIGHEST = 1, 10
COLUMNS = ("rater", "id", *CRITERIA)
"""Columns of a table of ratings."""
GUIDE = "partials/rating_guide.md.j2"
LAYOUT = Layout(
    command="manyheads rating form",
    table=("rater", "id", "title", "abstract", *CRITERIA, "comment"),
    key=("id", "source", "title", "sha256"),
    names=("id",),
    answers=CRITERIA,
    optional=True,
    proof=("title", "title", lambda cell, title: fold(cell) == fold(title)),
    answer="ratings",
)


@dataclass(frozen=True)
class Ratings:
    """Ratings of texts.

    Attributes:
        criteria: what the texts were rated on.
        scores: by text, in the order in which they first come, then rater, then criterion, as far as there is a rating.
        excluded: rows, as `file:row`, that were left out on demand.
        scale: the lowest and the highest rating that can be given; None where nobody said so.
        missing: by criterion, the number of cells without a rating.
        unread: columns of the tables that are none of these criteria.
    """

    criteria: tuple[str, ...]
    scores: Mapping[str, Mapping[str, Mapping[str, float]]]
    excluded: tuple[str, ...] = ()
    scale: tuple[float, float] | None = None
    missing: Mapping[str, int] = field(default_factory=dict[str, int])
    unread: tuple[str, ...] = ()

    @property
    def raters(self) -> list[str]:
        return list(dict.fromkeys(rater for by_rater in self.scores.values() for rater in by_rater))

    def of(self, criterion: str) -> dict[str, dict[str, float]]:
        """The ratings on one criterion, by text and rater; raises `RatingError` if there are none."""
        rated = {
            item: {rater: each[criterion] for rater, each in by_rater.items() if criterion in each}
            for item, by_rater in self.scores.items()
        }
        if not any(rated.values()):
            raise RatingError(f"no ratings of {criterion!r}", tried=f"rated: {', '.join(self.criteria)}")
        return {item: by_rater for item, by_rater in rated.items() if by_rater}

    def means(self, criterion: str) -> dict[str, float]:
        """The mean rating of each text."""
        return {item: fmean(by_rater.values()) for item, by_rater in self.of(criterion).items()}


def rating_form(subjects: Sequence[Subject], raters: int, seed: int) -> Form:
    """Shuffle the texts, once for their ids and once per rater; the same seed gives the same form.

    Raises:
        RatingError: no texts, no raters, or a duplicate text.
    """
    if not subjects or raters < 1:
        raise RatingError("a form needs at least one text and one rater")
    texts: dict[str, Subject] = {}
    for subject in subjects:
        if other := texts.get(subject.sha256):
            raise RatingError(
                f"{subject.source}: the same text as {other.source}", hint="name only one of them"
            )
        texts[subject.sha256] = subject
    rng = random.Random(seed)
    items = tuple(
        {"id": item, "title": text.title, "abstract": text.text, "sha256": text.sha256,
         "source": str(Path(text.source).resolve())}
        for item, text in anonymous(texts, "T", rng).items()
    )  # fmt: skip
    orders = tuple(tuple(rng.sample(range(len(items)), len(items))) for _ in range(raters))
    return Form(LAYOUT, items, orders, Prompts(Resources.of()).render(GUIDE, {}))


def read_ratings(
    paths: Sequence[Path],
    exclude: Collection[str] = (),
    key: Key | None = None,
    columns: Mapping[str, str] | None = None,
    scale: tuple[float, float] | None = None,
) -> Ratings:
    """Ratings from filled-in forms: columns `rater`, `id` and at least one criterion, a whole number from 1 to 10.

    Tables of another origin, those with `columns` or a `scale`, may have other criteria, any numbers, and cells
    without a rating, which are counted.

    Args:
        paths: CSV files in UTF-8, separated by comma, semicolon or tab.
        exclude: rows to leave out, as `row` or `file:row`; row 1 is the header, as in a spreadsheet.
        key: of the same form.
        columns: what tables of another origin call `rater`, `id` and the criteria.
        scale: the lowest and the highest rating of such tables.

    Raises:
        RatingError: a file cannot be read, a column or cell is missing, a rating is invalid, a rater rated a text twice, a
        text is not in the key or has another title there, or a row to leave out is missing. Lists all problems by file,
        row and column.
    """
    foreign, columns = bool(columns or scale), columns or {}
    criteria = tuple(name for name in columns if name not in LAYOUT.table or name in CRITERIA)
    layout = replace(LAYOUT, answers=criteria, optional=False) if criteria else LAYOUT
    filled = Filled.read(paths, layout, exclude, columns)
    ends = scale or ((-math.inf, math.inf) if foreign else (LOWEST, HIGHEST))
    problems, missing = list[str](), Counter[str]()
    scores = dict[str, dict[str, dict[str, float]]]()
    for row in filled.rows:
        if row.place in filled.excluded:
            continue
        problems += [f"{row.place}: column {name}: empty" for name in ("rater", "id") if not row[name]]
        rated = [name for name in filled.answers if not (foreign and row.missing(name))]
        missing.update(set(filled.answers) - set(rated))
        wrong = [each for name in rated for each in row.problems_of(name, *ends, whole=not foreign)]
        problems += [*wrong, *(key.problems_of(row) if key else ())]
        by_rater, rater = scores.setdefault(row["id"], {}), row["rater"]
        if rater in by_rater:
            problems.append(f"{row.place}: {rater} has already rated {row['id']}")
        by_rater[rater] = {} if wrong else {name: row.number(name) for name in rated}
    filled.refuse(problems)
    if not any(each for by_rater in scores.values() for each in by_rater.values()):
        raise RatingError(f"{', '.join(map(str, paths))}: no ratings")
    known = {*LAYOUT.table, *filled.answers}
    unread = dict.fromkeys(name for row in filled.rows for name in row.cells if name not in known)
    return Ratings(
        filled.answers,
        scores,
        filled.excluded,
        scale=None if foreign and not scale else (ends[0], ends[1]),
        missing=missing,
        unread=tuple(unread) if foreign else (),
    )


Identity = Mapping[str, str]
"""Known identifiers of a text: some of `sha256`, `source`, `id`, `name`."""
FIELDS = ("sha256", "source", "id", "name")
"""Most reliable first."""


def identities(key: Key) -> dict[str, Identity]:
    """The texts of a form's anonymous ids."""
    return {row["id"]: identity_of({**row.cells, "id": ""}) for row in key.rows.values()}


def identity_of(row: Mapping[str, Any]) -> Identity:
    """The identifiers of a row's text; sources as absolute paths."""
    identity = {name: str(row[name]).strip() for name in FIELDS if row.get(name)}
    if "source" in identity:
        with suppress(OSError, ValueError):  # not a valid file name
            identity["source"] = str(expanded(identity["source"]).resolve())
    return identity


def read_reviews(folders: Sequence[Path]) -> tuple[Ratings, dict[str, Identity]]:
    """Finished reviews as ratings, each reviewer as a rater; and the reviewed texts.

    Raises:
        RatingError: a folder has no such run, two reviewed the same text, or on different forms.
    """
    scores, texts = dict[str, dict[str, dict[str, float]]](), dict[str, Identity]()
    forms = dict[tuple[str, ...], Path]()
    for folder in folders:
        result = review_of(folder)
        identity = identity_of(result.subject)
        item = identity["source"]
        if item in texts:
            raise RatingError(
                f"{folder}: {item} is reviewed in another of these runs, too", hint="name one of them"
            )
        texts[item], criteria = identity, tuple(result.means)
        forms.setdefault(criteria, folder)
        scores[item] = {each["reviewer"]: {name: each[name] for name in criteria} for each in result.reviews}
    if len(forms) != 1:
        other = "; ".join(f"{folder} on {', '.join(names)}" for names, folder in forms.items())
        raise RatingError(f"reviews on different forms: {other}", hint="name reviews on one form")
    return Ratings(next(iter(forms)), scores), texts


class _Mean(Part):
    mean: float


class _Reviews(Part):
    """The part of a review's result that is read."""

    subject: dict[str, Any]
    reviews: list[dict[str, Any]] = Field(min_length=1)
    means: dict[str, _Mean] = Field(min_length=1)


def review_of(folder: Path) -> _Reviews:
    return judged_run(folder, _Reviews, {"reviews", "means"}, "reviews", "manyheads review")
