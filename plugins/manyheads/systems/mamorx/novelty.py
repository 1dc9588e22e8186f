"""The assessment of novelty."""

from manyheads.systems.mamorx.paper import MamorxRun
from manyheads.systems.mamorx.result import Novelty


async def assess(run: MamorxRun) -> None:
    """Whether the paper is novel beside what others have published."""
    run.result.novelty = Novelty(reason="not assessed")
