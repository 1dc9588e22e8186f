"""Layers over a corpus: what a society writes epoch by epoch, in its run's folder; the corpus under them stays as it is.

A layer's folder is a corpus like any other: opened, it shows the corpus and all layers up to this one. Its files: `meta.json`,
`changes.json`, the vectors of its papers and of the profiles that are new, and checksums.
"""

import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from manyheads.base.errors import CorpusError, EmbeddingError, describe
from manyheads.base.files import folder_beside, make_folder, writable
from manyheads.base.papers import Paper, Scientist, profile_text
from manyheads.corpus.meta import META, Frozen, LayerMeta, damaged, read_json, read_meta
from manyheads.corpus.stores import ID_FIELD, Filter, Payload, Points, Schema, VectorStore

if TYPE_CHECKING:
    from manyheads.corpus.ecosystem import Ecosystem
    from manyheads.corpus.vectors import Vectors

CHANGES, PAPERS, PROFILES = "changes.json", "papers.npy", "profiles.npy"
COPIES = dict[str, Path]()
"""Folders in this process of corpora that are elsewhere by their names, or by their fingerprints under a layer."""


def parts_of(folder: Path) -> list[Path]:
    """The folders that make up a corpus, lowest first: the built corpus, then each layer; of a built corpus, itself alone.

    Raises:
        CorpusError: the folder is no corpus, one under it is missing, or is another than when the layer was written.
    """
    parts, meta = [folder], read_meta(folder)
    while layer := meta.layer:
        top, name = parts[0], "corpus" if layer.below is None else "layer"
        there = Path(layer.base) if layer.below is None else Path(os.path.normpath(top / layer.below))
        under = COPIES.get(layer.below_fingerprint, there)
        if not (under / META).is_file():
            raise CorpusError(
                f"{top}: the {name} under this layer is missing", tried=str(under / META),
                hint=f"move the {name} back to {under}",
            )  # fmt: skip
        meta = read_meta(under)
        if meta.fingerprint != layer.below_fingerprint:
            raise CorpusError(
                f"{top}: the {name} under this layer is not the one that it was written over: {under}",
                hint=f"restore {under}, or run the society again",
            )
        parts.insert(0, under)
    return parts


class LayerChanges(Frozen):
    """What a layer adds: papers, scientists that are new or changed, and citations gained, by the paper's id."""

    papers: tuple[Paper, ...]
    scientists: tuple[Scientist, ...]
    profiles: tuple[str, ...]
    """Scientists with a new profile text, in the order of their vectors."""
    citations: dict[str, int]

    @classmethod
    def read(cls, folder: Path) -> "tuple[LayerChanges, Vectors, Vectors]":
        """With the vectors of the papers and of the profiles. Raises `CorpusError`."""
        import numpy as np

        try:
            changes = cls.model_validate(read_json(folder, CHANGES))
            papers, profiles = (
                np.load(folder / name, mmap_mode="r", allow_pickle=False) for name in (PAPERS, PROFILES)
            )
            if (len(papers), len(profiles)) != (len(changes.papers), len(changes.profiles)):
                raise ValueError(f"{len(papers)} vectors for {len(changes.papers)} papers")
        except (OSError, ValueError) as wrong:
            why = describe(wrong) if isinstance(wrong, ValidationError) else str(wrong)
            raise damaged(folder / CHANGES, why) from wrong
        return changes, papers, profiles


class Layers:
    """The layers of a corpus as one.

    Attributes:
        papers: by id, with their vector.
        scientists: by name, as the last layer has them.
        profiles: by name, the last vector of those with a new text.
        citations: gained in all layers, by id.
        last: gained in the last layer.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        self.papers = dict[str, "tuple[Paper, Vectors]"]()
        self.scientists, self.profiles = dict[str, Scientist](), dict[str, "Vectors"]()
        self.citations, self.last = Counter[str](), dict[str, int]()
        for folder in folders:
            changes, papers, profiles = LayerChanges.read(folder)
            self.papers |= {one.id: (one, row) for one, row in zip(changes.papers, papers, strict=True)}
            self.scientists |= {one.name: one for one in changes.scientists}
            self.profiles |= zip(changes.profiles, profiles, strict=True)
            self.citations.update(changes.citations)
            self.last = changes.citations


def write_layer(
    folder: Path,
    *,
    below: "Ecosystem",
    year: int,
    papers: Sequence[Paper],
    vectors: "Vectors",
    scientists: Sequence[Scientist],
    citations: Mapping[str, int],
) -> None:
    """Write a layer; one that is already in its place is replaced. What is under it is only read.

    Args:
        below: the open corpus, or the open layer, under it.
        year: of the papers.
        vectors: (n, dim) float32 of length one: the papers' abstracts by the corpus's model.
        scientists: new or changed profiles, whole.
        citations: gained, by the paper's id; of papers in any part of the corpus.

    Raises:
        CorpusError: the folder cannot be written.
        EmbeddingError: the vectors have another shape than the papers and the corpus.
    """
    import numpy as np

    meta, base, under = below.meta, below.base, os.path.abspath(below.folder)
    if vectors.shape != (shape := (len(papers), meta.embedding.dim)):
        raise EmbeddingError(f"vectors of shape {vectors.shape} do not fit the papers: expected {shape}")
    known = below.scientists
    fresh = [
        one for one in scientists
        if one.name not in known or profile_text(known.scientist(one.name)) != profile_text(one)
    ]  # fmt: skip
    texts, none = [profile_text(one) for one in fresh], np.zeros((0, meta.embedding.dim), dtype=np.float32)
    embedded = below.embedder.embed(texts) if texts else none
    changes = LayerChanges(
        papers=tuple(papers), scientists=tuple(scientists), profiles=tuple(one.name for one in fresh),
        citations=dict(citations),
    ).model_dump_json(exclude_defaults=True)  # fmt: skip
    digest = hashlib.blake2b(meta.fingerprint.encode(), digest_size=16)
    digest.update(changes.encode() + vectors.tobytes())
    more = {"past": len(papers), "scientists": sum(one.name not in known for one in scientists)}
    own = {
        "layer": LayerMeta(
            base=os.path.abspath(base.folder), base_fingerprint=base.meta.fingerprint,
            below=os.path.relpath(under, os.path.abspath(folder)) if meta.layer else None,
            below_fingerprint=meta.fingerprint, year=year,
        ),
        "counts": meta.counts.model_copy(update={key: getattr(meta.counts, key) + n for key, n in more.items()}),
        "past_years": (meta.past_years[0], year), "fingerprint": digest.hexdigest(), "rejects": (), "seconds": 0,
    }  # fmt: skip
    described = meta.model_copy(update=own)
    with writable(folder, CorpusError, "free some space, or run in another folder"):
        make_folder(folder.parent)
        shutil.rmtree(folder, ignore_errors=True)
        with folder_beside(folder, checked=True) as made:
            np.save(made / PAPERS, vectors)
            np.save(made / PROFILES, embedded)
            (made / CHANGES).write_text(changes + "\n", encoding="utf-8")
            (made / META).write_text(described.model_dump_json(indent=1) + "\n", encoding="utf-8")


class LayeredStore(VectorStore):
    """Two stores as one, for reading: the records of `upper` are before those of `base` with the same id. Both answer by the same
    exact search, so that scores and ties are those of one store with all records. Closing it closes neither.

    Args:
        gained: citations to be added to a record's own, by its id.
    """

    def __init__(self, base: VectorStore, upper: VectorStore, gained: Mapping[str, int]) -> None:
        super().__init__(Schema(base.model, base.dim))
        self._base, self._upper, self._gained = base, upper, gained
        self._hidden = frozenset(base.get([record.id for record in upper.scroll()]))

    def close(self) -> None:
        """No-op."""

    @contextmanager
    def _errors(self) -> Generator[None]:
        with self._base._errors(), self._upper._errors():
            yield

    def _count(self, where: Filter) -> int:
        return self._base._count(self._under(where)) + self._upper._count(where)

    def _write(self, points: Sequence[str], vectors: list[Any], payloads: Sequence[Payload]) -> None:
        raise CorpusError("a layer is not changed after it was written")

    def _nearest(self, vectors: list[Any], k: int, where: Filter, using: str | None) -> Iterable[Points]:
        base = self._base._nearest(vectors, k, self._under(where), using)
        upper = self._upper._nearest(vectors, k, where, using)
        for pair in zip(base, upper, strict=True):
            best = sorted((point for points in pair for point in points), key=lambda point: -point.score)
            yield self._raised(best[:k])

    def _retrieve(self, points: list[Any], vectors: bool | list[str]) -> Points:
        both = (self._base._retrieve(points, vectors), self._upper._retrieve(points, vectors))
        # of two with one id, the later counts
        return self._raised(point for found in both for point in found)

    def _page(self, where: Filter, start: Any, vectors: bool) -> tuple[Points, Any]:
        upper, position = start or (False, None)
        store, own = (self._upper, where) if upper else (self._base, self._under(where))
        page, following = store._page(own, position, vectors)
        last = None if upper else (True, None)
        return self._raised(page), last if following is None else (upper, following)

    def _under(self, where: Filter) -> Filter:
        """The filter of the base."""
        hidden = where.exclude | self._hidden
        return Filter(where.equals, where.ranges, hidden) if self._hidden else where

    def _raised(self, points: Points) -> list[Any]:
        return [self._with_citations(point) for point in points]

    def _with_citations(self, point: Any) -> Any:
        payload = dict(point.payload or {})
        if not (more := self._gained.get(payload.get(ID_FIELD, ""))):
            return point
        payload["citations"] = (payload.get("citations") or 0) + more
        vector, score = getattr(point, "vector", None), getattr(point, "score", 0.0)
        return SimpleNamespace(payload=payload, vector=vector, score=score)
