"""What a review of a paper comes to in words."""

from collections.abc import Iterator

from manyheads.systems.mamorx.result import MamorxResult


def essence(result: MamorxResult) -> Iterator[tuple[str, str]]:
    """What was reviewed, on which form, and what came of it."""
    if result.title:
        yield "Paper", result.title
    if review := result.review:
        grounded = sum(claim.grounded for claim in review.claims)
        yield "Review", f"{review.title}; {len(review.claims)} points, {grounded} with sources that are there"
    if result.novelty:
        yield "Novelty", result.novelty.verdict
    if result.partial:
        yield "Partial", result.partial


def details(result: MamorxResult) -> Iterator[str]:
    """The review in full."""
    if result.review:
        yield result.review.text


def work(result: MamorxResult) -> Iterator[str]:
    """The same."""
    yield from details(result)
