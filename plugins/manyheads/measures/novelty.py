"""HD, CD, CI, ON and RND: the novelty of an abstract, from its nearest papers (VirSci 2025, §4.1; arXiv 2503.01508)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from manyheads.base.errors import MeasureError
from manyheads.measures.papers import Floats, Means, Neighbours, Papers, nearest
from manyheads.measures.statistics import UNKNOWN, enough

Normalise = Literal["year", "database", "none"]
Density = Literal["paper", "abstract"]
"""How RND is measured: as in its paper, by cosine distances of title and abstract, or by Euclidean distances of abstracts."""
NEIGHBOURS = 5
"""VirSci 2025, §4.1."""
AROUND, OWN = 100, 50
"""P and Q of arXiv 2503.01508."""
TIMELESS = "papers of the services are not split into past and contemporary ones"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A paper and its Euclidean distance to a text: 0 for the same direction, 2 for the opposite one."""

    id: str
    title: str
    year: int
    citations: int | None
    distance: float


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The papers nearest to a text: their mean distance and citations, or why there are none.

    Attributes:
        known: how many citation counts the impact rests on, and of how many: of `neighbours`, of `papers` of the reference means.
    """

    neighbours: tuple[Neighbour, ...] = ()
    dissimilarity: float | str = TIMELESS
    impact: float | str = TIMELESS
    known: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])


def surroundings(
    vectors: Floats, papers: Papers, k: int, normalise: Normalise, name: str
) -> list[Surroundings]:
    """The k nearest papers of each of q texts.

    Args:
        name: of the papers, in messages.

    Raises:
        MeasureError: there are fewer than k papers, or the vectors have another size.
    """
    groups = reference_groups(papers, normalise)
    near = nearest(vectors, papers.vectors, k, groups)
    counts = np.array([np.nan if one is None else one for one in papers.citations], dtype=np.float64)
    mean_distances = mean_counts = np.ones(near.rows.shape)
    which, sizes = np.zeros(near.rows.shape, dtype=np.intp), list[tuple[int, int]]()
    if groups:
        which, mean_distances = means_of(near, groups)
        sizes = [(int((~np.isnan(counts[group])).sum()), len(counts[group])) for group in groups]
        pairs = zip(groups, sizes, strict=True)
        means = [np.nanmean(counts[group]) if enough(*size) else np.nan for group, size in pairs]
        mean_counts = np.array(means)[which]

    def mean(row: int, what: str, values: NDArray[Any], means: Means) -> float | str:
        """The mean of the known values, each divided by its reference mean; or why there is none."""
        if (zero := np.flatnonzero(means == 0)).size:
            year = papers.years[int(near.rows[row][zero[0]])]
            return f"the mean {what} of the {name} papers for its neighbour of {year} is 0"
        relative = values / means
        if enough(int((~np.isnan(relative)).sum()), len(values)):
            return float(np.nanmean(relative))
        if lost := np.isnan(values).sum():
            return f"the {what}s of {lost} of its {len(values)} neighbours are unknown"
        return f"the {what}s of more than {UNKNOWN:.0%} of the {name} papers to compare with are unknown"

    def shares(row: int) -> dict[str, tuple[int, int]]:
        own = ~np.isnan(counts[near.rows[row]] + mean_counts[row])
        found = {"neighbours": (int(own.sum()), len(own))}
        if sizes:
            some, number = map(sum, zip(*(sizes[at] for at in {*which[row]}), strict=True))
            found["papers"] = some, number
        return found

    return [
        Surroundings(
            tuple(
                Neighbour(papers.ids[at], papers.titles[at], papers.years[at], papers.citations[at], far)
                for at, far in zip(near.rows[row].tolist(), near.distances[row].tolist(), strict=True)
            ),
            mean(row, "distance", near.distances[row], mean_distances[row]),
            mean(row, "citation count", counts[near.rows[row]], mean_counts[row]),
            shares(row),
        )
        for row in range(len(vectors))
    ]


def reference_groups(papers: Papers, normalise: Normalise) -> list[slice]:
    """The papers that each reference mean is taken over, see `novelty`."""
    return {"year": [*papers.by_year.values()], "database": [slice(0, len(papers))], "none": []}[normalise]


def means_of(near: Neighbours, groups: Sequence[slice]) -> tuple[NDArray[np.intp], Means]:
    """The group of each neighbour (q, k), and the mean distance of its text to that group's papers (q, k)."""
    which = np.searchsorted([group.start for group in groups], near.rows, side="right") - 1
    return which, np.take_along_axis(near.means, which, axis=1)


@dataclass(frozen=True)
class Novelty:
    """The measures of a text. A missing measure is None, with the reason in `missing`.

    Attributes:
        hd: historical dissimilarity: distance to the nearest past papers; larger is newer.
        cd: contemporary dissimilarity: distance to the nearest contemporary papers; smaller is more timely.
        ci: contemporary impact: citations of these contemporary papers.
        on: overall novelty, HD × CI / CD.
        known: of how many citation counts CI and ON rest on known ones, see `Surroundings`.
    """

    hd: float | None
    cd: float | None
    ci: float | None
    on: float | None
    past: tuple[Neighbour, ...]
    contemporary: tuple[Neighbour, ...]
    missing: Mapping[str, str] = field(default_factory=dict[str, str])
    known: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])


def novelty(
    vectors: Floats,
    past: Papers,
    contemporary: Papers,
    *,
    neighbours: int = NEIGHBOURS,
    normalise: Normalise = "year",
) -> list[Novelty]:
    """The measures of q texts with embeddings `vectors` (q, dim).

    HD is the mean over the `neighbours` nearest papers x of B_past of the Euclidean distance d(a, x) to the text
    a; CD the same in B_con; CI the mean citation count of those of B_con; ON = HD × CI / CD.

    Each neighbour's value is divided by a reference mean before averaging. The papers say over which papers it is
    taken, but not of which quantity. We compare like with like: *this* text's distances to its neighbours with *this*
    text's distances to all papers:

    - `year` (VirSci 2025, §4.1): over the papers of that database published in x's year: for HD and CD the mean of
      d(a, ·) over them, for CI the mean of their citation counts. A recent paper had less time to be cited, and
      a field drifts away from its old papers: both effects cancel.
    - `database` (VirSci 2024, §4.1): the same over all papers of that database. HD is then the mean distance to
      the nearest divided by the mean distance to all.
    - `none`: no division; HD and CD are distances, CI counts citations.

    Normalised distances have no unit, do not change when all distances grow by a factor, and are about 1 or less:
    0 for a text that is one of the papers, 1 for one as far from its nearest papers as from all.

    If a reference mean is zero (every paper of that year uncited, or a copy of the text), the measure is None, not
    infinite. Where citation counts are unknown, CI is over the neighbours, and the reference means over the papers, with known
    ones; `known` says how many. If more than `UNKNOWN` of the neighbours are left out, CI and ON are None; a neighbour is left out, too,
    if more than `UNKNOWN` of its reference mean are unknown.

    There is no interval: a text always measures the same, and its nearest papers are not a random sample. For several
    texts, see `measures.statistics`.

    Raises:
        MeasureError: a database has fewer papers than `neighbours`, or the vectors have another size.
    """
    old = surroundings(vectors, past, neighbours, normalise, "past")
    new = surroundings(vectors, contemporary, neighbours, normalise, "contemporary")
    return [novelty_of(*both) for both in zip(old, new, strict=True)]


def novelty_of(old: Surroundings, new: Surroundings) -> Novelty:
    """The measures of one text from its past and contemporary neighbours."""
    hd, cd, ci = old.dissimilarity, new.dissimilarity, new.impact
    measures = {"hd": hd, "cd": cd, "ci": ci}
    if isinstance(hd, str) or isinstance(cd, str) or isinstance(ci, str):
        lacking = [name.upper() for name, value in measures.items() if isinstance(value, str)]
        measures["on"] = f"no {', '.join(lacking)}"
    elif cd == 0:
        measures["on"] = "CD is 0: the text is a copy of its nearest contemporary papers"
    else:
        measures["on"] = hd * ci / cd
    missing = {name: value for name, value in measures.items() if isinstance(value, str)}
    values = {name: None if isinstance(value, str) else value for name, value in measures.items()}
    near, more = old.neighbours, new.neighbours
    return Novelty(**values, past=near, contemporary=more, missing=missing, known=new.known)


def need_counts(papers: Papers, normalise: Normalise) -> None:
    """Raises `MeasureError` if no text can have CI and ON: nowhere are enough citation counts known."""
    groups = [papers.citations[group] for group in reference_groups(papers, normalise) or [slice(None)]]
    known = [sum(count is not None for count in group) for group in groups]
    if not any(
        some and (normalise == "none" or enough(some, len(of)))
        for some, of in zip(known, groups, strict=True)
    ):
        what = f"citation counts are known of {sum(known)} of the corpus's {len(papers)} contemporary papers"
        hint = "use papers with citation counts, or leave ci and on out of the measures"
        raise MeasureError(f"CI and ON: {what}, too few", hint=hint)


def need_field(papers: Papers, around: int, own: int, whose: str = "the corpus") -> None:
    """Raises `MeasureError` if there are too few papers for RND; `whose` they are is said."""
    if len(papers) < around or len(papers) <= own:
        # Sizes in the paper's proportion that leave most of the field outside a neighbourhood.
        fitting, larger = min(around, len(papers) // 3), "measure against a larger corpus"
        smaller = f"--rnd-papers {fitting} --rnd-neighbours {min(own, max(1, fitting // 2))}"
        raise MeasureError(
            f"RND: the {around} papers nearest to a text (P), each with the {own} nearest to it (Q), "
            f"need {max(around, own + 1)} past papers; {whose} has {len(papers)}",
            hint=f"{smaller} fit this corpus, but give other values; or {larger}" if fitting else larger,
        )


def relative_neighbour_density(
    vectors: Floats, papers: Papers, *, around: int = AROUND, own: int = OWN, density: Density = "paper"
) -> list[float]:
    """RND of q texts, (q, dim), each 0…1.

    The share of the text's `around` (P) nearest papers that lie no more thinly than the text does: whose mean
    distance to their own `own` (Q) nearest papers, themselves left out, is no larger than the text's mean
    distance to its Q nearest. 1: all around it is denser, the text is new; 0: it sits in the thick of it.

    HD and CD are absolute, so that in a field with many papers no text looks new; RND compares a text with the
    field that it is in.

    Args:
        density: `paper` takes cosine distances, as arXiv 2503.01508 does; vectors should be those of title and abstract.
            `abstract` takes Euclidean distances, as HD does, of the vectors of abstracts.

    Raises:
        MeasureError: there are fewer than P papers, or not more than Q.
    """
    need_field(papers, around, own)
    cosine = density == "paper"
    among = _of_length_one(papers.vectors) if cosine else papers.vectors

    def thinness_of(distances: Floats) -> NDArray[np.float64]:
        """Mean distance; between vectors of length one, half the squared distance is the cosine distance."""
        return (distances**2 / 2 if cosine else distances).mean(axis=1, dtype=np.float64)

    near = nearest(_of_length_one(vectors) if cosine else vectors, among, max(around, own))
    rows = near.rows[:, :around]
    thinness = thinness_of(near.distances[:, :own])
    needed, where = np.unique(rows, return_inverse=True)
    theirs = thinness_of(nearest(among[needed], among, own, without=needed).distances)
    return (theirs[where.reshape(rows.shape)] <= thinness[:, None]).mean(axis=1).tolist()


def _of_length_one(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if np.allclose(lengths, 1, atol=1e-3):
        return vectors
    return (vectors / np.where(lengths == 0, 1, lengths)).astype(np.float32)
