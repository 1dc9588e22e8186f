"""Agreement of raters with each other, and of a measure with the raters (VirSci 2025, §4.2, App. C.4).

Scores come from `manyheads measure`, tables and reviews; each is matched with its text.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, cast

from manyheads.base.errors import RatingError
from manyheads.base.resources import parse_json
from manyheads.core.results import RESULT, result_data
from manyheads.core.texts import count
from manyheads.measures.forms import read_table, read_text
from manyheads.measures.ratings import FIELDS, Identity, Ratings, identity_of, review_of
from manyheads.measures.statistics import FEW, Agreement, Correlation, agreement, krippendorff_alpha

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
            scores += [
                Score(place, identity_of(row), _number(place, row, by)) for place, row in _records(path)
            ]
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
            data = cast(dict[str, Any], paper)
            row = {**data, "name": data.get("title"), "id": Path(str(data.get("source"))).stem}
            return identity_of(row), cast(dict[str, Any], review).get("scores") or {}
    result_of = review_of(folder)
    return identity_of(result_of.subject), {name: each.mean for name, each in result_of.means.items()}


def pair(means: Mapping[str, float], scores: Sequence[Score], texts: Mapping[str, Identity]) -> Pairs:
    """Match each rated text with its score.

    Args:
        means: mean rating by the raters' id.
        scores: in any order; those of unrated texts are listed separately.
        texts: identities by id, from the key; other ids stand for themselves.

    Raises:
        RatingError: a rated text has no score, or several.
    """
    paired: list[Score] = []
    for item in means:
        matches = _matching(texts.get(item) or dict.fromkeys(("id", "source", "name"), item), scores)
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


def _matching(identity: Identity, scores: Sequence[Score]) -> list[Score]:
    """The scores of a text: by the most reliable identifier, then by the next ones if several match."""
    left, narrowed = scores, False
    for name in FIELDS:
        if name in identity:
            value = identity_of({name: identity[name]})[name]
            hits = [score for score in left if score.identity.get(name) == value]
            if len(hits) == 1:
                return hits
            left, narrowed = (hits, True) if hits else (left, narrowed)
    return list(left) if narrowed else []


# Ratings of texts, the raters' agreement, and a measure's agreement with them.


@dataclass(frozen=True)
class Rated:
    """Ratings of texts on one criterion.

    Attributes:
        mean: of the texts' mean ratings.
        alpha: Krippendorff's alpha of the raters; None if undefined.
        texts: with a rating.
        ratings: of all of them.
        missing: cells without a rating.
        ends: the lowest and the highest rating that was given.
    """

    mean: float
    alpha: float | None
    texts: int
    ratings: int
    missing: int
    ends: tuple[float, float]


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
        per_text: fewest and most ratings of a text.
        excluded: rows that were left out on demand.
        scale: the lowest and the highest rating that can be given, where it is known.
        unread: columns of the tables that were not read.
    """

    texts: int
    raters: int
    ratings: int
    per_text: tuple[int, int]
    excluded: tuple[str, ...]
    criteria: dict[str, Rated]
    held: ScoreAgreement | None = None
    scale: tuple[float, float] | None = None
    unread: tuple[str, ...] = ()


def compare(
    ratings: Ratings,
    scores: Sequence[Score] | None = None,
    by: str = "",
    on: str | None = None,
    texts: Mapping[str, Identity] | None = None,
    *,
    seed: int = 0,
) -> Comparison:
    """Summarise ratings, and the agreement of the score `by`, if there are scores, with the mean rating on a criterion.

    Args:
        on: the criterion; default: novelty, or the first one if that was not rated.
        texts: identities by id, from the key.
        seed: of the bootstrap.

    Raises:
        RatingError: no such ratings, a text has no score, or there are too few texts or too little variation.
    """
    counts, held = [len(by_rater) for by_rater in ratings.scores.values()], None
    if scores is not None:
        criterion = on or ("novelty" if "novelty" in ratings.criteria else ratings.criteria[0])
        pairs = pair(ratings.means(criterion), scores, texts or {})
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
        criteria={name: _rated(ratings, name) for name in ratings.criteria},
        held=held,
        scale=ratings.scale,
        unread=ratings.unread,
    )


def _rated(ratings: Ratings, criterion: str) -> Rated:
    by_text = ratings.of(criterion)
    every = [rating for by_rater in by_text.values() for rating in by_rater.values()]
    return Rated(
        mean=fmean(ratings.means(criterion).values()),
        alpha=krippendorff_alpha(by_text),
        texts=len(by_text),
        ratings=len(every),
        missing=ratings.missing.get(criterion, 0),
        ends=(min(every), max(every)),
    )


def as_lines(comparison: Comparison) -> Iterator[str]:
    """The comparison as text."""
    low, high = comparison.per_text
    each = f"{low}" if low == high else f"{low} to {high}"
    yield f"{count(comparison.texts, 'text')}, {count(comparison.raters, 'rater')}, ratings per text: {each}"
    if comparison.excluded:
        yield f"Left out    {', '.join(comparison.excluded)}"
    if comparison.unread:
        yield f"Not read    {', '.join(comparison.unread)} (name a criterion with --columns)"
    scale = comparison.scale
    yield (
        f"Scale       {scale[0]:g} to {scale[1]:g}"
        if scale
        else "Scale       not given (--scale LOWEST-HIGHEST); the ratings found are shown with each mean"
    )
    for name, rated in comparison.criteria.items():
        alpha = "undefined" if rated.alpha is None else f"{rated.alpha:.2f}"
        found = f" between {rated.ends[0]:g} and {rated.ends[1]:g}" * (not scale)
        missing = f", {rated.missing} missing" * bool(rated.missing)
        yield (
            f"{name:13} mean {rated.mean:.2f} of {count(rated.texts, 'text')}, agreement of raters "
            f"(Krippendorff's alpha) {alpha}; {count(rated.ratings, 'rating')}{found}{missing}"
        )
    yield "A mean is over texts, each with the mean of its raters."
    if held := comparison.held:
        yield from ("", f"{held.by} against {held.on}, n = {held.agreement.n}")
        yield _correlation("Pearson r", held.agreement.pearson)
        yield _correlation("Spearman ρ", held.agreement.spearman)
        if held.agreement.n < FEW:  # Fisher's intervals are fine
            yield "The bootstrap intervals are too narrow, as there are few texts"
        if held.pairs.unrated:
            yield f"{len(held.pairs.unrated)} scores belong to texts without a rating"


def _correlation(name: str, correlation: Correlation) -> str:
    fisher, boot = correlation.fisher, correlation.bootstrap
    line = f"{name:11} {correlation.value:.2f}  {boot.level:.0%} interval "
    line += f"{fisher.low:.2f} to {fisher.high:.2f} (Fisher z), " if fisher else ""
    line += f"{boot.low:.2f} to {boot.high:.2f} (bootstrap)"
    constant = f", {correlation.unusable:.1%} of the resamples were constant and left out"
    return line + (constant if correlation.unusable else "")
