"""What raters say of texts, how far they agree, and how far a measure agrees with them (VirSci 2025, §4.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any

from manyheads.errors import RatingError
from manyheads.measures.agreement import Agreement, agreement, krippendorff_alpha
from manyheads.measures.ratings import Identity, Pairs, Ratings, Score, pair


@dataclass(frozen=True)
class Rated:
    """How the texts did on one criterion.

    Attributes:
        mean: of the texts' mean ratings, 1 to 10.
        alpha: Krippendorff's alpha of the raters; None where nothing can be said of their agreement.
    """

    mean: float
    alpha: float | None


@dataclass(frozen=True)
class Held:
    """A score held against the mean rating on a criterion.

    Attributes:
        by, on: the score's name, and the criterion.
        pairs: the texts with score and mean rating.
        agreement: of the two.
    """

    by: str
    on: str
    pairs: Pairs
    agreement: Agreement


@dataclass(frozen=True)
class Comparison:
    """Ratings, and a score held against them where there is one.

    Attributes:
        texts, raters, ratings: how many.
        per_text: fewest and most ratings of a text.
        excluded: rows that were left out on demand.
        criteria: each criterion that was rated.
    """

    texts: int
    raters: int
    ratings: int
    per_text: tuple[int, int]
    excluded: tuple[str, ...]
    criteria: dict[str, Rated]
    held: Held | None = None

    def as_data(self) -> dict[str, Any]:
        """All of it as JSON data."""
        return asdict(self)


def describe_ratings(ratings: Ratings) -> Comparison:
    """The ratings alone."""
    counts = [len(by_rater) for by_rater in ratings.of(ratings.criteria[0]).values()]
    return Comparison(
        texts=len(counts),
        raters=len(ratings.raters),
        ratings=len(ratings.given),
        per_text=(min(counts), max(counts)),
        excluded=ratings.excluded,
        criteria={
            name: Rated(fmean(ratings.means(name).values()), krippendorff_alpha(ratings.of(name)))
            for name in ratings.criteria
        },
    )


def compare(
    ratings: Ratings,
    on: str,
    scores: Sequence[Score],
    by: str,
    known: Mapping[str, Identity],
    *,
    seed: int = 0,
) -> Comparison:
    """The ratings, and how the score `by` goes together with the mean rating on `on`.

    Raises:
        RatingError: nobody rated that, a text has no score, or there are too few texts or too little variation.
    """
    told = describe_ratings(ratings)
    pairs = pair(ratings.means(on), scores, known)
    try:
        found = agreement(pairs.scores, pairs.ratings, seed=seed)
    except RatingError as error:
        raise RatingError(f"{by} and {on}: {error.message}", tried=error.tried, hint=error.hint) from error
    return replace(told, held=Held(by, on, pairs, found))
