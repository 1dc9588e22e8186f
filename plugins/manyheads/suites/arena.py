"""The texts of a suite's runs as an arena, for a blind comparison of its conditions."""

from collections.abc import Collection, Sequence
from pathlib import Path

from manyheads.arena.blinding import ArenaConfig
from manyheads.arena.entries import TextSource
from manyheads.arena.items import read_form
from manyheads.arena.store import FILE, Arena
from manyheads.suites.cells import Cell
from manyheads.suites.spec import label_of

ARENA = "arena"


def write_arena(spec: ArenaConfig, cells: Sequence[Cell], failed: Collection[str], folder: Path) -> int:
    """Put the texts of finished runs into the arena of a folder, made at the first time; a text that is there stays one.

    Returns:
        Number of texts in it.
    """
    texts = [
        text
        for cell in cells
        for job in cell.runs
        if job.key not in failed
        for text in TextSource(label_of(cell.condition), case=cell.case, blinding=spec, own=True).texts(
            [job.folder]
        )
    ]
    made = (folder / FILE).is_file()
    with Arena.open(folder) if made else Arena.create(folder, read_form(spec.form)) as arena:
        arena.add(texts)
        return len(arena.texts())
