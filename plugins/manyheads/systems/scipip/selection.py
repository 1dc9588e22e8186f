"""Which ideas are one, and which are kept: the rules that turn similarities and judgements into decisions (SciPIP, §3.3)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from manyheads.systems.scipip.result import Candidate, Screening, Twin

if TYPE_CHECKING:
    from manyheads.bank.vectors import Vectors


def merge(ideas: Sequence[Candidate], vectors: "Vectors", same: float) -> list[Candidate]:
    """Let one idea stand for all that say nearly the same.

    Ideas from the literature come first, as they are worked out and name their papers; then they go by their numbers. Each
    joins the most similar of those before it that stand for themselves, if their cosine similarity is at least `same`;
    that one keeps its text and takes over the papers.

    Args:
        vectors: (n, dim) float32 of length one, a row an idea.

    Returns:
        Those that stand for themselves, in the order of their numbers.
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
            first.origin = "both"
    return [ideas[at] for at in sorted(standing, key=lambda at: ideas[at].number)]


def keep_best(ideas: Sequence[Candidate], share: float, least: int) -> list[Candidate]:
    """Keep about a share of the ideas that have a screening, and say of each why it was kept, or not.

    The order is that of the fit to the problem, which comes first (§3.3.1, Table 12); among equals that of novelty and
    feasibility together; among equals again that of the numbers. The first of that order are kept: the share rounded to
    the nearest whole number, halves up, but at least `least`.

    Returns:
        Those that are kept, the best first.
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
