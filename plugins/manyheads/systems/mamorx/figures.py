"""The figure critic."""

from manyheads.systems.mamorx.paper import MamorxRun
from manyheads.systems.mamorx.result import FigureNote


async def critique(run: MamorxRun) -> None:
    """Each figure of the paper, described and criticised."""
    run.result.figures = [
        FigureNote(
            name=f"Figure {one.number}", caption=one.caption, page=one.page or None, why="not assessed"
        )
        for one in run.material.document.figures
    ]
