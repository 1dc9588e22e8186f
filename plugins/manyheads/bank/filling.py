"""Filling a corpus's two banks: papers with their vectors, imported or made, and the scientists' profiles."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from manyheads.bank.collection import Collection, Item
from manyheads.bank.knowledge import KnowledgeBank
from manyheads.bank.meta import AUTHORS
from manyheads.bank.profiles import profile_text
from manyheads.bank.records import Paper, Period, Scientist
from manyheads.bank.vector_files import ImportedVectors, import_vectors
from manyheads.bank.vectors import Embedder
from manyheads.errors import EmbeddingError

Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Told the step, how much of it is done and, where known, of how many."""
PAPERS_STEP, SCIENTISTS_STEP = "storing papers", "storing scientists"
BATCH = 64
"""Texts embedded between two reports of progress; what a kill can cost."""


def fill_papers(
    folder: Path,
    papers: dict[Period, list[Paper]],
    model: Embedder,
    vectors: tuple[Path, Path] | None,
    tell: Progress,
) -> int:
    """Write the knowledge bank of papers; the number whose vectors were imported.

    Raises:
        EmbeddingError: the vectors do not fit, belong to none of the papers, or texts cannot be embedded.
    """
    imported = _imported([one.id for group in papers.values() for one in group], model, vectors)
    rows = {} if imported is None else {one: row for row, one in enumerate(imported.ids)}
    count = _Counter(tell, PAPERS_STEP, sum(map(len, papers.values())))
    with KnowledgeBank.create(folder, model) as bank:
        for period, group in papers.items():
            known = [one for one in group if one.id in rows]
            if imported is not None:
                bank.add(known, imported.vectors[[rows[one.id] for one in known]], count, period=period)
            rest = [one for one in group if one.id not in rows]
            for start in range(0, len(rest), BATCH):
                bank.add(rest[start : start + BATCH], progress=count, period=period)
    return len(rows)


def fill_scientists(folder: Path, scientists: Sequence[Scientist], model: Embedder, tell: Progress) -> None:
    """Write the author knowledge bank."""
    count = _Counter(tell, SCIENTISTS_STEP, len(scientists))
    items = [
        Item(one.name, profile_text(one), one.model_dump(mode="json", exclude={"collaborators"}))
        for one in scientists
    ]
    with Collection.create(folder, model, name=AUTHORS) as authors:
        for start in range(0, len(items), BATCH):
            authors.add(items[start : start + BATCH], progress=count)


def _imported(
    wanted: Sequence[str], model: Embedder, vectors: tuple[Path, Path] | None
) -> ImportedVectors | None:
    if vectors is None:
        return None
    imported = import_vectors(*vectors, wanted, dim=model.dim)
    if not imported.ids:
        raise EmbeddingError(
            f"{vectors[1]}: none of its ids is that of a paper",
            hint="name the ids of this corpus, or leave out --vectors",
        )
    return imported


class _Counter:
    """Adds up what each batch reports."""

    def __init__(self, tell: Progress, step: str, total: int) -> None:
        self._tell, self._step, self._total, self._done = tell, step, total, 0
        tell(step, 0, total)

    def __call__(self, more: int) -> None:
        self._done += more
        self._tell(self._step, self._done, self._total)
