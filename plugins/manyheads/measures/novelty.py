"""HD, CD, CI and ON: how new an abstract is, by its nearest past and contemporary papers (VirSci 2025, §4.1)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from manyheads.bank.records import Period
from manyheads.measures.nearest import Floats
from manyheads.measures.papers import Papers
from manyheads.measures.side import Neighbour, Normalise, Side, look

Find: TypeAlias = Callable[[Period, Floats, int], Sequence[Sequence[str]]]
"""Another search: of a period, the ids of the k papers that it holds to be nearest to each of (q, dim) vectors."""
NEIGHBOURS = 5
"""VirSci 2025, §4.1."""


@dataclass(frozen=True)
class Novelty:
    """What one text measures. A measure that cannot be had is None, and `missing` says why.

    Attributes:
        hd: historical dissimilarity: how far the text is from its nearest past papers; larger is newer.
        cd: contemporary dissimilarity: how far from its nearest contemporary papers; smaller is more timely.
        ci: contemporary impact: how much cited these contemporary papers are.
        on: overall novelty, HD × CI / CD.
    """

    hd: float | None
    cd: float | None
    ci: float | None
    on: float | None
    past: tuple[Neighbour, ...]
    contemporary: tuple[Neighbour, ...]
    missing: Mapping[str, str] = field(default_factory=dict[str, str])


def novelty(
    vectors: Floats,
    past: Papers,
    contemporary: Papers,
    *,
    neighbours: int = NEIGHBOURS,
    normalise: Normalise = "year",
    find: Find | None = None,
) -> list[Novelty]:
    """The measures of q texts, whose embeddings are `vectors` (q, dim), by exact search unless `find` is given.

    HD is the mean over the `neighbours` nearest papers x of B_past of the Euclidean distance d(a, x) to the text
    a; CD the same in B_con; CI the mean citation count of those of B_con; ON = HD × CI / CD.

    Each neighbour's value is divided by a mean value before the mean is taken. The papers say of which papers,
    not of what. We take it that like is compared with like, *this* text's distance to its neighbours with *this*
    text's distance to the papers at large:

    - `year` (VirSci 2025, §4.1): of the papers of that database published in x's year: for HD and CD the mean of
      d(a, ·) over them, for CI the mean of their citation counts. A recent paper had less time to be cited, and
      a field drifts away from its old papers: both cancel.
    - `database` (VirSci 2024, §4.1): the same over all papers of that database. HD is then the mean distance to
      the nearest divided by the mean distance to all.
    - `none`: no division; HD and CD are distances, CI counts citations.

    So normalised distances have no unit, do not change when all distances grow alike, and are at most about 1:
    0 for a text that is one of the papers many times over, 1 for one as far from its nearest as from all.

    A mean that is zero (every paper of that year uncited, or each a copy of the text) divides nothing: the measure
    is None, not infinite. CI needs the citations of the neighbours and, to normalise, of all papers that the
    mean is over: where the corpus does not know one of them, CI and ON are None. No mean is taken over the known
    ones alone.

    There is no interval here: a text measures the same each time, and its nearest papers are not a sample of
    anything that could be drawn again. What varies is the text, see `measures.bootstrap`.

    Raises:
        MeasureError: a database has fewer papers than `neighbours`, or vectors are of another size.
    """
    databases: tuple[tuple[Period, Papers], ...] = (("past", past), ("contemporary", contemporary))
    old, new = (
        look(vectors, papers, neighbours, normalise, called=period, ask=find and partial(find, period))
        for period, papers in databases
    )
    return [_novelty(old, new, row) for row in range(len(vectors))]


def _novelty(old: Side, new: Side, row: int) -> Novelty:
    found: dict[str, float | str] = {
        "hd": old.dissimilarity(row), "cd": new.dissimilarity(row), "ci": new.impact(row),
    }  # fmt: skip
    found["on"] = _overall(found)
    missing = {name: value for name, value in found.items() if isinstance(value, str)}
    values = {name: None if isinstance(value, str) else value for name, value in found.items()}
    return Novelty(**values, past=old.papers_near(row), contemporary=new.papers_near(row), missing=missing)


def _overall(found: Mapping[str, float | str]) -> float | str:
    hd, cd, ci = found["hd"], found["cd"], found["ci"]
    if isinstance(hd, str) or isinstance(cd, str) or isinstance(ci, str):
        return f"no {', '.join(name.upper() for name, value in found.items() if isinstance(value, str))}"
    if cd == 0:
        return "CD is 0: the text is a copy of its nearest contemporary papers"
    return hd * ci / cd
