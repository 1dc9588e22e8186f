"""The papers that texts are held against, with all their vectors: read from a corpus once, then mapped from disk."""

import json
import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from manyheads.bank.meta import Meta
from manyheads.bank.records import Period
from manyheads.bank.vectors import Embedder
from manyheads.errors import CorpusError
from manyheads.measures.nearest import Floats

if TYPE_CHECKING:
    from manyheads.bank.filling import Progress
    from manyheads.bank.store import Record

FOLDER = "measures"
"""Beside the corpus's banks."""
TABLE, VECTORS = "papers.json", "vectors.npy"
PERIODS: tuple[Period, Period] = ("past", "contemporary")
TOLD_EVERY = 1000
_COLUMNS = ("ids", "titles", "years", "citations")


@dataclass(frozen=True)
class Papers:
    """Papers of one period, ordered by year, then id: so equal distances go to the older paper, then by id.

    Attributes:
        vectors: (n, dim) float32 of length one, as the corpus holds them.
        citations: None where the corpus does not say.
    """

    ids: tuple[str, ...]
    titles: tuple[str, ...]
    years: tuple[int, ...]
    citations: tuple[int | None, ...]
    vectors: Floats

    @classmethod
    def of(
        cls,
        ids: Sequence[str],
        titles: Sequence[str],
        years: Sequence[int],
        citations: Sequence[int | None],
        vectors: Floats,
    ) -> "Papers":
        """From columns of equal length, in any order."""
        order = sorted(range(len(ids)), key=lambda row: (years[row], ids[row]))
        return cls(
            tuple(ids[row] for row in order),
            tuple(titles[row] for row in order),
            tuple(years[row] for row in order),
            tuple(citations[row] for row in order),
            np.ascontiguousarray(vectors[order], dtype=np.float32),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def without(self, ids: Collection[str]) -> "Papers":
        """The papers but for some; the same object where it has none of them."""
        rows = [row for row, one in enumerate(self.ids) if one not in ids]
        if len(rows) == len(self):
            return self
        return Papers.of(
            [self.ids[row] for row in rows],
            [self.titles[row] for row in rows],
            [self.years[row] for row in rows],
            [self.citations[row] for row in rows],
            self.vectors[rows],
        )

    @cached_property
    def by_year(self) -> dict[int, slice]:
        """The rows of each year, in order."""
        years = np.array(self.years)
        found, starts = np.unique(years, return_index=True)
        ends = [*starts[1:].tolist(), len(years)]
        return {
            int(year): slice(int(start), int(end))
            for year, start, end in zip(found, starts, ends, strict=True)
        }


def load_papers(
    folder: Path, meta: Meta, model: Embedder, progress: "Progress | None" = None
) -> dict[Period, Papers]:
    """B_past and B_con of a built corpus.

    The first time, all vectors are read out of its bank, which takes some seconds, and written beside it.

    Args:
        progress: told how many were read.

    Raises:
        CorpusError: the corpus cannot be read, has no papers of a period, or its folder cannot be written.
        EmbeddingError: `model` is not the corpus's own.
    """
    kept = folder / FOLDER
    if _fingerprint(kept) != meta.fingerprint:
        _keep(kept, _read_bank(folder, model, progress), meta.fingerprint)
    papers: dict[Period, Papers] = {period: _mapped(kept / period) for period in PERIODS}
    for period, some in papers.items():
        if not len(some):
            raise CorpusError(f"{folder}: the corpus has no {period} papers to measure against")
    return papers


def _read_bank(folder: Path, model: Embedder, progress: "Progress | None") -> dict[Period, Papers]:
    from manyheads.bank.knowledge import KnowledgeBank
    from manyheads.bank.store import Filter

    with KnowledgeBank.open(folder, model, read_only=True) as bank:
        found: dict[Period, Papers] = {}
        for period in PERIODS:
            where = Filter(equals={"period": period})
            records = bank.collection.scroll(where, vectors=True)
            found[period] = _table(
                _told(records, f"reading {period} papers", bank.collection.count(where), progress), model.dim
            )
        return found


def _told(
    records: "Iterable[Record]", step: str, total: int, progress: "Progress | None"
) -> "Iterator[Record]":
    for done, record in enumerate(records, 1):
        yield record
        if progress is not None and (done % TOLD_EVERY == 0 or done == total):
            progress(step, done, total)


def _table(records: "Iterable[Record]", dim: int) -> Papers:
    vectors: list[Floats] = []
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for record in records:
        if record.vector is None:
            raise CorpusError(f"the paper {record.id} has no vector", hint="build the corpus anew")
        vectors.append(record.vector)
        row = (record.id, record.payload["title"], record.payload["year"], record.payload.get("citations"))
        for name, value in zip(_COLUMNS, row, strict=True):
            columns[name].append(value)
    stacked = np.stack(vectors) if vectors else np.zeros((0, dim), dtype=np.float32)
    return Papers.of(**columns, vectors=stacked)


def _fingerprint(kept: Path) -> str | None:
    """Of the corpus that was read; None where nothing whole is kept."""
    try:
        return str(json.loads((kept / TABLE).read_text(encoding="utf-8"))["fingerprint"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(kept: Path, papers: dict[Period, Papers], fingerprint: str) -> None:
    """Write aside and move into place, whole: another process may do the same at the same time."""
    try:
        with tempfile.TemporaryDirectory(dir=kept.parent, prefix=f"{FOLDER}-") as workplace:
            made = Path(workplace) / FOLDER
            for period, some in papers.items():
                _write(made / period, some)
            (made / TABLE).write_text(json.dumps({"fingerprint": fingerprint}), encoding="utf-8")
            if _fingerprint(kept) != fingerprint:
                shutil.rmtree(kept, ignore_errors=True)
                os.replace(made, kept)
    except OSError as error:
        if _fingerprint(kept) != fingerprint:  # else another process was faster: the same papers
            raise CorpusError(
                f"{kept}: the papers' vectors cannot be kept: {error.strerror or error}",
                hint="make room, or copy the corpus to where you may write",
            ) from error


def _write(folder: Path, papers: Papers) -> None:
    folder.mkdir(parents=True)
    np.save(folder / VECTORS, papers.vectors)
    columns = {name: getattr(papers, name) for name in _COLUMNS}
    (folder / TABLE).write_text(json.dumps(columns, ensure_ascii=False), encoding="utf-8")


def _mapped(folder: Path) -> Papers:
    try:
        columns = json.loads((folder / TABLE).read_text(encoding="utf-8"))
        vectors = np.load(folder / VECTORS, mmap_mode="r", allow_pickle=False)
        if any(len(columns[name]) != len(vectors) for name in _COLUMNS):
            raise ValueError(f"{len(vectors)} vectors for {len(columns['ids'])} papers")
        return Papers(**{name: tuple(columns[name]) for name in _COLUMNS}, vectors=vectors)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorpusError(
            f"{folder}: damaged: {error}", hint=f"remove {folder.parent} and measure again"
        ) from error
