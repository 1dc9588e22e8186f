"""Reviews in full, as a host's team ends with them: while it runs, a reviewer says only score and summary."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from manyheads.replies import label
from manyheads.report.review import SYSTEM, Review, Reviewed


def reviews_in_full(result: Mapping[str, Any]) -> list[str]:
    """Each review of a result as Markdown, with all that its form asks for; nothing where nobody has reviewed."""
    if result.get("system") != SYSTEM:
        return []
    return ["\n\n".join(_told(review)) for review in Reviewed.model_validate(result).reviews]


def _told(review: Review) -> Iterator[str]:
    yield f"## {review.reviewer}"
    for name, points in review.points.items():
        yield f"**{label(name)}.**{_listed(points)}"


def _listed(points: Sequence[str]) -> str:
    return f" {points[0]}" if len(points) == 1 else "".join(f"\n- {point}" for point in points)
