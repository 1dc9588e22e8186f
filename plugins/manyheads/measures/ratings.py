"""Ratings of texts from 1 to 10 by people or models, and their agreement with a measure (VirSci 2025, §4.2, App. C.4).

People rate on blind forms; reviews by `manyheads review` count as ratings, too. Scores come from `manyheads measure`,
tables and reviews; each is matched with its text.
"""

import math
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, cast

from pydantic import Field

from manyheads.core.results import RESULT, Part, result_data
from manyheads.disk import expanded
from manyheads.errors import RatingError
from manyheads.measures.forms import Filled, Form, Key, Layout, anonymous, judged_run, read_table, read_text
from manyheads.measures.statistics import FEW, Agreement, Correlation, agreement, krippendorff_alpha
from manyheads.papers import fold
from manyheads.prompts import Prompts
from manyheads.resources import Resources, parse_json
from manyheads.texts import Subject, count

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
        criteria: rated by all raters.
        scores: by text, in order of first appearance, then rater, then criterion.
        excluded: rows left out, as `file:row`.
    """

    criteria: tuple[str, ...]
    scores: Mapping[str, Mapping[str, Mapping[str, int]]]
    excluded: tuple[str, ...] = ()

    @property
    def raters(self) -> list[str]:
        return list(dict.fromkeys(rater for by_rater in self.scores.values() for rater in by_rater))

    def of(self, criterion: str) -> dict[str, dict[str, int]]:
        """The ratings on one criterion, by text and rater; raises `RatingError` if there are none."""
        if criterion not in self.criteria:
            raise RatingError(f"no ratings of {criterion!r}", tried=f"rated: {', '.join(self.criteria)}")
        return {
            item: {rater: each[criterion] for rater, each in by_rater.items()}
            for item, by_rater in self.scores.items()
        }

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
) -> Ratings:
    """Ratings from filled-in forms: columns `rater`, `id` and at least one criterion, a whole number from 1 to 10.

    Args:
        paths: CSV files in UTF-8, separated by comma, semicolon or tab.
        exclude: rows to leave out, as `row` or `file:row`; row 1 is the header, as in a spreadsheet.
        key: of the same form.
        columns: names of `rater`, `id` and the criteria in other tables.

    Raises:
        RatingError: a file cannot be read, a column or cell is missing, a rating is invalid, a rater rated a text twice, a
        text is not in the key or has another title there, or a row to leave out is missing. Lists all problems by file,
        row and column.
    """
    filled = Filled.read(paths, LAYOUT, exclude, columns or {})
    problems, scores = list[str](), dict[str, dict[str, dict[str, int]]]()
    for row in filled.rows:
        if row.place in filled.excluded:
            continue
        problems += [f"{row.place}: column {name}: empty" for name in ("rater", "id") if not row[name]]
        wrong = [problem for name in filled.answers for problem in row.problems_of(name, LOWEST, HIGHEST)]
        problems += [*wrong, *(key.problems_of(row) if key else ())]
        by_rater, rater = scores.setdefault(row["id"], {}), row["rater"]
        if rater in by_rater:
            problems.append(f"{row.place}: {rater} has already rated {row['id']}")
        by_rater[rater] = {} if wrong else {name: int(row[name]) for name in filled.answers}
    filled.refuse(problems)
    if not scores:
        raise RatingError(f"{', '.join(map(str, paths))}: no ratings")
    return Ratings(filled.answers, scores, filled.excluded)


Identity = Mapping[str, str]
"""Known identifiers of a text: some of `sha256`, `source`, `id`, `name`."""
FIELDS = ("sha256", "source", "id", "name")
"""Most reliable first."""


def identities(key: Key) -> dict[str, Identity]:
    """The texts of a form's anonymous ids."""
    return {row["id"]: _identity({**row.cells, "id": ""}) for row in key.rows.values()}


def read_reviews(folders: Sequence[Path]) -> tuple[Ratings, dict[str, Identity]]:
    """Finished reviews as ratings, each reviewer as a rater; and the reviewed texts.

    Raises:
        RatingError: a folder has no such run, two reviewed the same text, or on different forms.
    """
    scores, known = dict[str, dict[str, dict[str, int]]](), dict[str, Identity]()
    forms = dict[tuple[str, ...], Path]()
    for folder in folders:
        result = _review(folder)
        identity = _identity(result.subject)
        item = identity["source"]
        if item in known:
            raise RatingError(
                f"{folder}: {item} is reviewed in another of these runs, too", hint="name one of them"
            )
        known[item], criteria = identity, tuple(result.means)
        forms.setdefault(criteria, folder)
        scores[item] = {each["reviewer"]: {name: each[name] for name in criteria} for each in result.reviews}
    if len(forms) != 1:
        other = "; ".join(f"{folder} on {', '.join(names)}" for names, folder in forms.items())
        raise RatingError(f"reviews on different forms: {other}", hint="name reviews on one form")
    return Ratings(next(iter(forms)), scores), known


class _Mean(Part):
    mean: float


class _Reviews(Part):
    """The part of a review's result that is read."""

    subject: dict[str, Any]
    reviews: list[dict[str, Any]] = Field(min_length=1)
    means: dict[str, _Mean] = Field(min_length=1)


def _review(folder: Path) -> _Reviews:
    return judged_run(folder, _Reviews, {"reviews", "means"}, "reviews", "manyheads review")


# Scores of rated texts: read from `manyheads measure`, tables and reviews, and matched.


@dataclass(frozen=True)
class Score:
    """A score of a text. `place` is where it was read."""

    place: str
    identity: Identity
    value: float


@dataclass(frozen=True)
class Pairs:
    """Rated texts with their scores, in one order, by id; and the places of scores without a rated text."""

    items: tuple[str, ...]
    scores: tuple[float, ...]
    ratings: tuple[float, ...]
    unrated: tuple[str, ...]


def read_scores(paths: Sequence[Path], by: str) -> list[Score]:
    """Scores named `by`: a field of JSON Lines, a column of CSV, or a mean or score of a review's run folder.

    Raises:
        RatingError: a file cannot be read, or a text has no such score; it never counts as zero.
    """
    scores: list[Score] = []
    for path in paths:
        if not path.is_dir():
            scores += [Score(place, _identity(row), _number(place, row, by)) for place, row in _records(path)]
            continue
        identity, values = _scored(path)
        if by not in values:
            raise RatingError(
                f"{path}: these reviews have no {by!r}",
                hint=f"--by {' or '.join(values) or 'of a review with scores'}",
            )
        scores.append(Score(str(path), identity, values[by]))
    return scores


def _scored(folder: Path) -> tuple[Identity, dict[str, float]]:
    """A review's text and its scores: means of several reviewers, or the scores of one review of a paper."""
    if (folder / RESULT).is_file():
        result: dict[str, Any] = result_data(folder)["result"]
        paper, review = result.get("paper"), result.get("review")
        if isinstance(paper, dict) and isinstance(review, dict):
            known = cast(dict[str, Any], paper)
            told = {**known, "name": known.get("title"), "id": Path(str(known.get("source"))).stem}
            return _identity(told), cast(dict[str, Any], review).get("scores") or {}
    result_of = _review(folder)
    return _identity(result_of.subject), {name: each.mean for name, each in result_of.means.items()}


def pair(means: Mapping[str, float], scores: Sequence[Score], known: Mapping[str, Identity]) -> Pairs:
    """Match each rated text with its score.

    Args:
        means: mean rating by the raters' id.
        scores: in any order; those of unrated texts are listed separately.
        known: texts by id, from the key; other ids stand for themselves.

    Raises:
        RatingError: a rated text has no score, or several.
    """
    paired: list[Score] = []
    for item in means:
        matches = _matching(known.get(item) or dict.fromkeys(("id", "source", "name"), item), scores)
        if not matches:
            raise RatingError(
                f"{item}: a rating, but no score",
                hint="measure it, too, or name the form's key: --key form.key.csv",
            )
        if len(matches) > 1:
            places = ", ".join(score.place for score in matches)
            raise RatingError(f"{item}: several scores: {places}", hint="leave one of them out")
        paired += matches
    places = {score.place for score in paired}
    unrated = tuple(score.place for score in scores if score.place not in places)
    return Pairs(tuple(means), tuple(score.value for score in paired), tuple(means.values()), unrated)


def _records(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The lines of JSON Lines or the rows of a table, with their places."""
    if path.suffix not in (".jsonl", ".json"):
        yield from ((row.place, row.cells) for row in read_table(path, (), "name a table of scores"))
        return
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            try:
                record = parse_json(line)
            except ValueError as error:
                raise RatingError(f"{path}:{number}: not valid JSON: {error}") from error
            if not isinstance(record, dict):
                raise RatingError(f"{path}:{number}: not a JSON object")
            yield f"{path}:{number}", cast(dict[str, Any], record)


def _number(place: str, row: Mapping[str, Any], by: str) -> float:
    name = by if by in row else by.lower()
    if name not in row:
        raise RatingError(
            f"{place}: no {by!r}", tried=f"it has {', '.join(row)}", hint="--by names the score"
        )
    value, number = row[name], math.nan
    with suppress(TypeError, ValueError):
        number = math.nan if isinstance(value, bool) else float(value)
    if math.isfinite(number):
        return number
    missing = row.get("missing")  # the reason that `manyheads measure` gives
    why = f": {missing[name]}" if isinstance(missing, dict) and name in missing else ""
    raise RatingError(
        f"{place}: {by} is {value!r}, not a number{why}",
        hint="leave the text out, measure it, or name another score with --by",
    )


def _identity(row: Mapping[str, Any]) -> Identity:
    """The identifiers of a row's text; sources as absolute paths."""
    found = {name: str(row[name]).strip() for name in FIELDS if row.get(name)}
    if "source" in found:
        with suppress(OSError, ValueError):  # not a valid file name
            found["source"] = str(expanded(found["source"]).resolve())
    return found


def _matching(identity: Identity, scores: Sequence[Score]) -> list[Score]:
    """The scores of a text: by the most reliable identifier, then by the next ones if several match."""
    left, narrowed = scores, False
    for name in FIELDS:
        if name in identity:
            value = _identity({name: identity[name]})[name]
            hits = [score for score in left if score.identity.get(name) == value]
            if len(hits) == 1:
                return hits
            left, narrowed = (hits, True) if hits else (left, narrowed)
    return list(left) if narrowed else []


# Ratings of texts, the raters' agreement, and a measure's agreement with them.


@dataclass(frozen=True)
class Rated:
    """Ratings of texts on one criterion: the mean of their mean ratings, 1 to 10, and Krippendorff's alpha of the raters, None if
    undefined.
    """

    mean: float
    alpha: float | None


@dataclass(frozen=True)
class ScoreAgreement:
    """The agreement of the score `by` with the mean rating on a criterion."""

    by: str
    on: str
    pairs: Pairs
    agreement: Agreement


@dataclass(frozen=True)
class Comparison:
    """Ratings by criterion, and a score compared with them if there is one.

    Attributes:
        per_text: minimum and maximum number of ratings of a text.
        excluded: rows left out.
    """

    texts: int
    raters: int
    ratings: int
    per_text: tuple[int, int]
    excluded: tuple[str, ...]
    criteria: dict[str, Rated]
    held: ScoreAgreement | None = None


def compare(
    ratings: Ratings,
    scores: Sequence[Score] | None = None,
    by: str = "",
    on: str | None = None,
    known: Mapping[str, Identity] | None = None,
    *,
    seed: int = 0,
) -> Comparison:
    """Summarise ratings, and the agreement of the score `by`, if there are scores, with the mean rating on a criterion.

    Args:
        on: the criterion; default: novelty, or the first one if that was not rated.
        known: texts by id, from the key.
        seed: of the bootstrap.

    Raises:
        RatingError: no such ratings, a text has no score, or there are too few texts or too little variation.
    """
    counts, held = [len(by_rater) for by_rater in ratings.scores.values()], None
    if scores is not None:
        criterion = on or ("novelty" if "novelty" in ratings.criteria else ratings.criteria[0])
        pairs = pair(ratings.means(criterion), scores, known or {})
        try:
            correlations = agreement(pairs.scores, pairs.ratings, seed=seed)
        except RatingError as error:
            raise RatingError(
                f"{by} and {criterion}: {error.message}", tried=error.tried, hint=error.hint
            ) from error
        held = ScoreAgreement(by, criterion, pairs, correlations)
    return Comparison(
        texts=len(counts),
        raters=len(ratings.raters),
        ratings=sum(counts),
        per_text=(min(counts), max(counts)),
        excluded=ratings.excluded,
        criteria={
            name: Rated(fmean(ratings.means(name).values()), krippendorff_alpha(ratings.of(name)))
            for name in ratings.criteria
        },
        held=held,
    )


def as_lines(comparison: Comparison) -> Iterator[str]:
    """The comparison as text."""
    low, high = comparison.per_text
    each = f"{low}" if low == high else f"{low} to {high}"
    yield f"{count(comparison.texts, 'text')}, {count(comparison.raters, 'rater')}, ratings per text: {each}"
    if comparison.excluded:
        yield f"Left out    {', '.join(comparison.excluded)}"
    for name, rated in comparison.criteria.items():
        alpha = "undefined" if rated.alpha is None else f"{rated.alpha:.2f}"
        yield f"{name:13} mean {rated.mean:.2f}, agreement of raters (Krippendorff's alpha) {alpha}"
    if held := comparison.held:
        yield from ("", f"{held.by} against {held.on}, n = {held.agreement.n}")
        yield _correlation("Pearson r", held.agreement.pearson)
        yield _correlation("Spearman ρ", held.agreement.spearman)
        if held.agreement.n < FEW:  # Fisher's intervals are fine
            yield "The bootstrap intervals are too narrow, as there are few texts"
        if held.pairs.unrated:
            yield f"{len(held.pairs.unrated)} scores belong to texts without a rating"


def _correlation(name: str, found: Correlation) -> str:
    fisher, boot = found.fisher, found.bootstrap
    line = f"{name:11} {found.value:.2f}  {boot.level:.0%} interval "
    line += f"{fisher.low:.2f} to {fisher.high:.2f} (Fisher z), " if fisher else ""
    line += f"{boot.low:.2f} to {boot.high:.2f} (bootstrap)"
    constant = f", {found.unusable:.1%} of the resamples were constant and left out"
    return line + (constant if found.unusable else "")
