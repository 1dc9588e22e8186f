"""The works that the paper cites."""

from manyheads.systems.mamorx.paper import MamorxRun
from manyheads.systems.mamorx.result import CitedWork


async def look_up(run: MamorxRun) -> None:
    """Each reference of the paper, looked up."""
    run.result.references = [
        CitedWork(name=name, text=one.text, title=one.title, year=one.year)
        for name, one in run.material.references.items()
    ]
