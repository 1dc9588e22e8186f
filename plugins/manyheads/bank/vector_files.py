"""Vectors made elsewhere: a NumPy matrix and the ids of its rows."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manyheads.bank.vectors import unit_rows
from manyheads.errors import EmbeddingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from manyheads.bank.vectors import Vectors


@dataclass(frozen=True, slots=True)
class ImportedVectors:
    """Row i of `vectors`, (n, dim) float32 of length one, belongs to `ids[i]`; `missing` have no vector."""

    ids: tuple[str, ...]
    vectors: "Vectors"
    missing: tuple[str, ...]


@dataclass(frozen=True)
class VectorFile:
    """A file of vectors and its ids, open: rows are read from the disk when they are asked for."""

    path: Path
    ids: Path
    _matrix: "NDArray[Any]"
    _rows: dict[str, int]

    @classmethod
    def open(cls, vectors: Path, ids: Path, *, dim: int) -> "VectorFile":
        """See `import_vectors`."""
        names, matrix = _read_ids(ids), _read_matrix(vectors)
        if matrix.shape != (len(names), dim):
            raise EmbeddingError(
                f"{vectors} has the shape {matrix.shape}, expected ({len(names)}, {dim})",
                tried=f"{len(names)} ids in {ids}, {dim} numbers a text by the embedding model",
            )
        return cls(vectors, ids, matrix, {name: row for row, name in enumerate(names)})

    def __contains__(self, one: object) -> bool:
        return one in self._rows

    def of(self, wanted: Collection[str]) -> ImportedVectors:
        """The vectors of the wanted ids, in their order; raises EmbeddingError for a zero or not finite row."""
        present = tuple(one for one in wanted if one in self._rows)
        chosen = self._matrix[[self._rows[one] for one in present]]
        _check_rows(self.path, chosen, present)
        missing = tuple(one for one in wanted if one not in self._rows)
        return ImportedVectors(present, unit_rows(chosen), missing)


def import_vectors(vectors: Path, ids: Path, wanted: Collection[str], *, dim: int) -> ImportedVectors:
    """Read the vectors of the wanted ids, in the order of `wanted`.

    Args:
        vectors: a `.npy` file of shape (n, dim), any float type; rows are brought to length one.
        ids: a text file, UTF-8, n lines, one id a line.
        dim: the size of the vectors of the model in use.

    Raises:
        EmbeddingError: a file cannot be read, shapes do not fit, an id stands twice, or a row is zero or not finite.
    """
    return VectorFile.open(vectors, ids, dim=dim).of(wanted)


def _read_ids(path: Path) -> list[str]:
    try:
        names = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise EmbeddingError(f"{path} cannot be read: {error}") from error
    seen: dict[str, int] = {}
    for line, name in enumerate(names, start=1):
        if (before := seen.setdefault(name, line)) != line:
            raise EmbeddingError(f"{path}, line {line}: the id {name!r} stands in line {before} already")
    return names


def _read_matrix(path: Path) -> "NDArray[Any]":
    import numpy as np

    try:
        matrix: Any = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise EmbeddingError(f"{path} cannot be read: {error}", hint="save it with numpy.save") from error
    if not isinstance(matrix, np.ndarray):
        raise EmbeddingError(f"{path} holds several arrays, not one", hint="save it with numpy.save")
    if not np.issubdtype(matrix.dtype, np.floating):
        raise EmbeddingError(f"{path} holds {matrix.dtype}, not floating point numbers")
    return matrix


def _check_rows(path: Path, rows: "NDArray[Any]", ids: tuple[str, ...]) -> None:
    import numpy as np

    lengths = np.linalg.norm(rows.astype(np.float32), axis=1)
    bad = np.flatnonzero(~np.isfinite(lengths) | (lengths == 0))
    if len(bad):
        raise EmbeddingError(
            f"{path}: the vector of {ids[int(bad[0])]!r} is zero or not finite ({len(bad)} such rows)"
        )
