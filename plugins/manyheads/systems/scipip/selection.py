"""The rules for merging and keeping ideas, from similarities and judgements (SciPIP, §3.3)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from manyheads.systems.scipip.result import Candidate, Screening, Twin

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors


def merge(ideas: Sequence[Candidate], vectors: "Vectors", same: float) -> list[Candidate]:
    """Merge ideas that say nearly the same.

    Ideas from the literature come first, because they are worked out and name their papers; then numbers decide. Each
    idea is merged into the most similar earlier idea that is not merged itself, if their cosine similarity is at least
    `same`. That idea keeps its text and takes over the papers.

    Args:
        vectors: (n, dim) float32 of length one, one row per idea.

    Returns:
        The ideas that were not merged, in the order of their numbers.
    """
    similarities = vectors @ vectors.T
    order = sorted(range(len(ideas)), key=lambda at: (ideas[at].origin == "brainstorm", ideas[at].number))
    standing = list[int]()
    for at in order:
        idea = ideas[at]
        nearest = max(standing, key=lambda other: (similarities[at, other], -other), default=at)
        similarity = round(float(similarities[at, nearest]), 4)
        if nearest == at or similarity < same:
            standing.append(at)
            continue
        first = ideas[nearest]
        first.merged.append(Twin(**idea.model_dump(exclude={"merged", "screening"}), similarity=similarity))
        first.references = list(dict.fromkeys([*first.references, *idea.references]))
        if idea.origin != first.origin:
            first.origin = "person" if "person" in (idea.origin, first.origin) else "both"
    return [ideas[at] for at in sorted(standing, key=lambda at: ideas[at].number)]


def keep_best(ideas: Sequence[Candidate], share: float, least: int) -> list[Candidate]:
    """Keep about a share of the screened ideas, and record the reason for each.

    Ideas are sorted by fit to the problem (§3.3.1, Table 12), then by novelty plus feasibility, then by number. The
    first ones are kept: the share rounded to the nearest whole number, halves up, but at least `least`.

    Returns:
        The ideas kept, the best first.
    """

    def rank(idea: Candidate, screening: Screening) -> tuple[int, int, int]:
        return -screening.fit, -(screening.novelty + screening.feasibility), idea.number

    screened = [(idea, idea.screening) for idea in ideas if idea.screening]
    screened.sort(key=lambda each: rank(*each))
    count = min(len(screened), max(int(share * len(screened) + 0.5), least))
    for place, (_, screening) in enumerate(screened, 1):
        screening.place, screening.kept = place, place <= count
        screening.why = (
            f"place {place} of {len(screened)}, and the first {count} are kept: fit {screening.fit}, then novelty "
            f"{screening.novelty} and feasibility {screening.feasibility}"
        )
    return [idea for idea, _ in screened[:count]]
