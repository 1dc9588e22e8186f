"""The default store: the Qdrant engine inside the process, on disk (qdrant-edge-py), no server."""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from manyheads.bank.store import (
    EVERYTHING,
    PAGE,
    Filter,
    FolderLock,
    Found,
    Payload,
    Record,
    Schema,
    checked,
    own_payload,
    point_id,
    ranked,
    stored_payload,
)
from manyheads.disk import replace_text
from manyheads.errors import CorpusError

if TYPE_CHECKING:
    import qdrant_edge

    from manyheads.bank.vectors import Vectors

T = TypeVar("T")
META = "meta.json"
ROOM = 128 * 2**20


class EdgeStore:
    """A store in a folder: `meta.json` (model, dim, count), `shard/` (Qdrant's files), two lock files.

    One process may write, or several may read (`read_only=True`). The engine's own log locks readers out
    too, so it is off: each `upsert` is flushed to disk before it returns, which loses nothing either.

    Make one with `EdgeStore.create` or `EdgeStore.open`.
    """

    def __init__(
        self, folder: Path, shard: "qdrant_edge.EdgeShard", meta: dict[str, Any], lock: FolderLock
    ) -> None:
        self._folder, self._shard, self._meta, self._lock = folder, shard, meta, lock
        self._open = True

    @classmethod
    def create(cls, folder: Path, schema: Schema) -> "EdgeStore":
        """A new store; raises CorpusError where there is one already."""
        import qdrant_edge as edge

        if cls.exists(folder):
            raise CorpusError(
                f"{folder} holds a bank already", hint="open it, or remove the folder to build anew"
            )
        lock = FolderLock.writer(folder)
        with lock.released_on_error():
            _check_room(folder)
            shard_folder = folder / "shard"
            _said(
                folder, lambda: shutil.rmtree(shard_folder, ignore_errors=True)
            )  # of a build that never began
            _said(folder, lambda: shard_folder.mkdir(parents=True))
            vectors = edge.EdgeVectorParams(size=schema.dim, distance=edge.Distance.Cosine)
            config = edge.EdgeConfig(vectors=vectors, wal_enabled=False)
            shard = _said(folder, lambda: edge.EdgeShard.create(str(shard_folder), config))
            indexes = [(name, edge.PayloadSchemaType.Integer) for name in schema.integers]
            indexes += [(name, edge.PayloadSchemaType.Keyword) for name in schema.keywords]
            for name, kind in indexes:
                shard.update(edge.UpdateOperation.create_field_index(name, kind))
            _said(folder, shard.flush)
            store = cls(folder, shard, {"model": schema.model, "dim": schema.dim}, lock)
            store._write_meta()
        return store

    @classmethod
    def open(cls, folder: Path, *, read_only: bool = False) -> "EdgeStore":
        """An existing store; raises CorpusError when there is none or another process is writing to it."""
        import qdrant_edge as edge

        meta = _read_meta(folder)
        lock = FolderLock.reader(folder) if read_only else FolderLock.writer(folder)
        with lock.released_on_error(), lock.alone():
            shard = _said(folder, lambda: edge.EdgeShard.load(str(folder / "shard")))
        return cls(folder, shard, meta, lock)

    @staticmethod
    def exists(folder: Path) -> bool:
        """Whether `folder` holds a store."""
        return (folder / META).is_file()

    @property
    def model(self) -> str:
        return str(self._meta["model"])

    @property
    def dim(self) -> int:
        return int(self._meta["dim"])

    def upsert(self, ids: Sequence[str], vectors: "Vectors", payloads: Sequence[Payload]) -> None:
        import qdrant_edge as edge

        if self._lock.shared:
            raise CorpusError(f"{self._folder} was opened for reading only")
        checked(vectors, self.dim, len(ids))
        points = [
            edge.Point(point_id(one), vector.tolist(), stored_payload(one, payload))
            for one, vector, payload in zip(ids, vectors, payloads, strict=True)
        ]
        if points:
            _check_room(self._folder)
            _said(self._folder, lambda: self._shard.update(edge.UpdateOperation.upsert_points(points)))
            _said(self._folder, self._shard.flush)
            self._write_meta()

    def query(
        self, vectors: "Vectors", k: int, where: Filter = EVERYTHING, *, exact: bool = True
    ) -> list[list[Found]]:
        import qdrant_edge as edge

        checked(vectors, self.dim)
        if not len(vectors):
            return []
        condition, params = _condition(where), edge.SearchParams(exact=exact)
        requests = [
            edge.QueryRequest(
                limit=k,
                query=edge.Query.Nearest(one.tolist()),
                filter=condition,
                with_payload=True,
                params=params,
            )
            for one in vectors
        ]
        answers = _said(self._folder, lambda: self._shard.query_batch(edge.QueryBatchRequest(requests)))
        return [ranked((point.score, point.payload) for point in points) for points in answers]

    def get(self, ids: Sequence[str], *, vectors: bool = False) -> dict[str, Record]:
        points: list[Any] = [point_id(one) for one in ids]
        found = _said(self._folder, lambda: self._shard.retrieve(points, True, vectors))
        records = {record.id: record for record in map(_record, found)}
        return {one: records[one] for one in ids if one in records}

    def scroll(self, where: Filter = EVERYTHING, *, vectors: bool = False) -> Iterator[Record]:
        import qdrant_edge as edge

        condition, start = _condition(where), None
        while True:
            request = edge.ScrollRequest(
                offset=start, limit=PAGE, filter=condition, with_payload=True, with_vector=vectors
            )
            page, start = _said(self._folder, lambda request=request: self._shard.scroll(request))
            yield from map(_record, page)
            if start is None:
                return

    def count(self, where: Filter = EVERYTHING) -> int:
        import qdrant_edge as edge

        return _said(self._folder, lambda: self._shard.count(edge.CountRequest(filter=_condition(where))))

    def close(self) -> None:
        """Let other processes have the store; closing twice is allowed."""
        if self._open:
            self._open = False
            with self._lock.alone():
                _said(self._folder, self._shard.close)
            self._lock.release()

    def _write_meta(self) -> None:
        text = json.dumps({**self._meta, "count": self.count()})
        _said(self._folder, lambda: replace_text(self._folder / META, text))


def _said(folder: Path, call: Callable[[], T]) -> T:
    """Call the engine or the disk; its failures come out as CorpusError."""
    try:
        return call()
    except Exception as error:
        # the engine has no exception of its own: it raises the bare class
        if not isinstance(error, OSError) and type(error) is not Exception:
            raise
        raise CorpusError(
            f"the bank {folder} failed: {error}", hint="look at the disk's space and rights"
        ) from error


def _check_room(folder: Path) -> None:
    """The engine maps its files into memory, so that a full disk would end the process without a word."""
    free = shutil.disk_usage(folder).free
    if free < ROOM:
        raise CorpusError(
            f"the disk of {folder} is nearly full: {free >> 20} MB are free, {ROOM >> 20} MB are needed",
            hint="make room and run the same command again: what is stored already is kept",
        )


def _read_meta(folder: Path) -> dict[str, Any]:
    try:
        meta = json.loads((folder / META).read_text(encoding="utf-8"))
        return {"model": str(meta["model"]), "dim": int(meta["dim"])}
    except OSError as error:
        raise CorpusError(
            f"no bank in {folder}",
            tried=f"{folder / META}: {error.strerror}",
            hint="build one: manyheads corpus build",
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise CorpusError(f"{folder / META} is broken: {error}", hint="build the bank anew") from error


def _condition(where: Filter) -> "qdrant_edge.Filter | None":
    import qdrant_edge as edge

    if where == EVERYTHING:
        return None
    must: list[Any] = [
        edge.FieldCondition(key=key, match=edge.MatchValue(value)) for key, value in where.equals.items()
    ]
    must += [
        edge.FieldCondition(key=key, range=edge.RangeFloat(gte=low, lt=high))
        for key, (low, high) in where.ranges.items()
    ]
    barred: set[Any] = {point_id(one) for one in where.exclude}
    must_not: list[Any] = [edge.HasIdCondition(barred)] if barred else []
    return edge.Filter(must=must, must_not=must_not)


def _record(point: "qdrant_edge.Record") -> Record:
    import numpy as np

    record_id, payload = own_payload(point.payload)
    vector = None if point.vector is None else np.asarray(point.vector, dtype=np.float32)
    return Record(record_id, payload, vector)
