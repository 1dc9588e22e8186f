"""A source of literature: two papers that the package brings."""

from manyheads.ext import Paper, Request, Source

PAPERS = (
    Paper(
        id="proceedings:1",
        source="proceedings",
        title="Sleep and motor memory",
        abstract="We sleep.",
        year=2015,
    ),
    Paper(
        id="proceedings:2",
        source="proceedings",
        title="Light without a medium",
        abstract="We see.",
        year=1905,
    ),
)


class Proceedings(Source):
    """Finds papers by the words of their titles; it can nothing else."""

    async def search(self, request: Request) -> list[Paper]:
        words = request.query.lower().split()
        found = [paper for paper in PAPERS if all(word in paper.title.lower() for word in words)]
        return [*filter(request.window.holds, found)][: request.limit]
