"""The two stores, both Qdrant's: its engine inside the process, on disk (the default; qdrant-edge-py), and its client.

The client (qdrant-client) has a store on a server, by address, or in memory.
"""

import json
import os
import shutil
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from manyheads.bank.store import (
    EVERYTHING,
    MEMORY,
    PAGE,
    Filter,
    FolderLock,
    Found,
    Payload,
    Record,
    Schema,
    best_first,
    check_vectors,
    own_payload,
    point_id,
    stored_payload,
)
from manyheads.disk import replace_text
from manyheads.errors import CorpusError, EmbeddingError

if TYPE_CHECKING:
    import qdrant_edge
    from qdrant_client import QdrantClient, models

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
            # of a build that never began
            _engine(folder, lambda: shutil.rmtree(shard_folder, ignore_errors=True))
            _engine(folder, lambda: shard_folder.mkdir(parents=True))
            vectors = edge.EdgeVectorParams(size=schema.dim, distance=edge.Distance.Cosine)
            config = edge.EdgeConfig(vectors=vectors, wal_enabled=False)
            shard = _engine(folder, lambda: edge.EdgeShard.create(str(shard_folder), config))
            indexes = [(name, edge.PayloadSchemaType.Integer) for name in schema.integers]
            indexes += [(name, edge.PayloadSchemaType.Keyword) for name in schema.keywords]
            for name, kind in indexes:
                shard.update(edge.UpdateOperation.create_field_index(name, kind))
            _engine(folder, shard.flush)
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
            shard = _engine(folder, lambda: edge.EdgeShard.load(str(folder / "shard")))
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
        check_vectors(vectors, self.dim, len(ids))
        points = [
            edge.Point(point_id(one), vector.tolist(), stored_payload(one, payload))
            for one, vector, payload in zip(ids, vectors, payloads, strict=True)
        ]
        if points:
            _check_room(self._folder)
            _engine(self._folder, lambda: self._shard.update(edge.UpdateOperation.upsert_points(points)))
            _engine(self._folder, self._shard.flush)
            self._write_meta()

    def query(
        self, vectors: "Vectors", k: int, where: Filter = EVERYTHING, *, exact: bool = True
    ) -> list[list[Found]]:
        import qdrant_edge as edge

        check_vectors(vectors, self.dim)
        if not len(vectors):
            return []
        condition, params = _edge_filter(where), edge.SearchParams(exact=exact)
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
        answers = _engine(self._folder, lambda: self._shard.query_batch(edge.QueryBatchRequest(requests)))
        return [best_first((point.score, point.payload) for point in points) for points in answers]

    def get(self, ids: Sequence[str], *, vectors: bool = False) -> dict[str, Record]:
        points: list[Any] = [point_id(one) for one in ids]
        found = _engine(self._folder, lambda: self._shard.retrieve(points, True, vectors))
        records = {record.id: record for record in map(_record, found)}
        return {one: records[one] for one in ids if one in records}

    def scroll(self, where: Filter = EVERYTHING, *, vectors: bool = False) -> Iterator[Record]:
        import qdrant_edge as edge

        condition, start = _edge_filter(where), None
        while True:
            request = edge.ScrollRequest(
                offset=start, limit=PAGE, filter=condition, with_payload=True, with_vector=vectors
            )
            page, start = _engine(self._folder, lambda request=request: self._shard.scroll(request))
            yield from map(_record, page)
            if start is None:
                return

    def count(self, where: Filter = EVERYTHING) -> int:
        import qdrant_edge as edge

        return _engine(self._folder, lambda: self._shard.count(edge.CountRequest(filter=_edge_filter(where))))

    def close(self) -> None:
        """Let other processes have the store; closing twice is allowed."""
        if self._open:
            self._open = False
            with self._lock.alone():
                _engine(self._folder, self._shard.close)
            self._lock.release()

    def _write_meta(self) -> None:
        text = json.dumps({**self._meta, "count": self.count()})
        _engine(self._folder, lambda: replace_text(self._folder / META, text))


def _engine(folder: Path, call: Callable[[], T]) -> T:
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


def _edge_filter(where: Filter) -> "qdrant_edge.Filter | None":
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


def _record(point: "qdrant_edge.Record | models.Record") -> Record:
    import numpy as np

    record_id, payload = own_payload(point.payload)
    vector = None if point.vector is None else np.asarray(point.vector, dtype=np.float32)
    return Record(record_id, payload, vector)


# A server, or memory.

API_KEY = "QDRANT_API_KEY"
SECONDS = 30


class ClientStore:
    """One collection of a server or of memory. The model's name is kept in the collection's metadata.

    The key of a server that wants one is read from the environment: `QDRANT_API_KEY`.
    Make one with `ClientStore.create` or `ClientStore.open`.
    """

    def __init__(self, client: "QdrantClient", address: str, collection: str, model: str, dim: int) -> None:
        self._client, self._address, self._collection = client, address, collection
        self.model, self.dim = model, dim

    @classmethod
    def create(cls, address: str, collection: str, schema: Schema) -> "ClientStore":
        """A new collection at `address`, a URL or `:memory:`; raises CorpusError where there is one already."""
        from qdrant_client import models

        client = _connect(address)
        with _server_errors(address):
            if client.collection_exists(collection):
                raise CorpusError(
                    f"{address} holds a collection {collection} already",
                    hint="open it, or choose another name",
                )
            vectors = models.VectorParams(size=schema.dim, distance=models.Distance.COSINE)
            client.create_collection(collection, vectors_config=vectors, metadata={"model": schema.model})
            if address != MEMORY:  # which has no indexes
                kind = models.PayloadSchemaType
                for name in (*schema.integers, *schema.keywords):
                    type_ = kind.INTEGER if name in schema.integers else kind.KEYWORD
                    client.create_payload_index(collection, name, type_, wait=True)
        return cls(client, address, collection, schema.model, schema.dim)

    @classmethod
    def open(cls, address: str, collection: str) -> "ClientStore":
        """An existing collection; raises CorpusError when there is none, or none of ours."""
        client = _connect(address)
        with _server_errors(address):
            if not client.collection_exists(collection):
                raise CorpusError(
                    f"{address} has no collection {collection}", hint="build one: manyheads corpus build"
                )
            config = client.get_collection(collection).config
        vectors, model = config.params.vectors, (config.metadata or {}).get("model")
        size = getattr(vectors, "size", None)
        if not isinstance(size, int) or not isinstance(model, str):
            raise EmbeddingError(f"the collection {collection} at {address} was not made by manyheads")
        return cls(client, address, collection, model, size)

    @staticmethod
    def exists(address: str, collection: str) -> bool:
        """Whether the server has the collection."""
        client = _connect(address)
        with _server_errors(address):
            return client.collection_exists(collection)

    def upsert(self, ids: Sequence[str], vectors: "Vectors", payloads: Sequence[Payload]) -> None:
        from qdrant_client import models

        check_vectors(vectors, self.dim, len(ids))
        if not ids:
            return
        batch = models.Batch(
            ids=[point_id(one) for one in ids],
            vectors=vectors.tolist(),
            payloads=[stored_payload(one, payload) for one, payload in zip(ids, payloads, strict=True)],
        )
        with _server_errors(self._address):
            self._client.upsert(self._collection, points=batch, wait=True)

    def query(
        self, vectors: "Vectors", k: int, where: Filter = EVERYTHING, *, exact: bool = True
    ) -> list[list[Found]]:
        from qdrant_client import models

        check_vectors(vectors, self.dim)
        if not len(vectors):
            return []
        condition = _client_filter(where)
        # in memory every search is exact, and saying so draws a warning
        params = None if self._address == MEMORY else models.SearchParams(exact=exact)
        requests = [
            models.QueryRequest(query=one, filter=condition, limit=k, with_payload=True, params=params)
            for one in vectors.tolist()
        ]
        with _server_errors(self._address):
            answers = self._client.query_batch_points(self._collection, requests=requests)
        return [best_first((point.score, point.payload) for point in answer.points) for answer in answers]

    def get(self, ids: Sequence[str], *, vectors: bool = False) -> dict[str, Record]:
        points: list[Any] = [point_id(one) for one in ids]
        with _server_errors(self._address):
            found = self._client.retrieve(
                self._collection, ids=points, with_payload=True, with_vectors=vectors
            )
        records = {record.id: record for record in map(_record, found)}
        return {one: records[one] for one in ids if one in records}

    def scroll(self, where: Filter = EVERYTHING, *, vectors: bool = False) -> Iterator[Record]:
        condition, start = _client_filter(where), None
        while True:
            with _server_errors(self._address):
                page, start = self._client.scroll(
                    self._collection,
                    scroll_filter=condition,
                    limit=PAGE,
                    offset=start,
                    with_payload=True,
                    with_vectors=vectors,
                )
            yield from map(_record, page)
            if start is None:
                return

    def count(self, where: Filter = EVERYTHING) -> int:
        with _server_errors(self._address):
            return self._client.count(self._collection, count_filter=_client_filter(where), exact=True).count

    def close(self) -> None:
        """Close the connections; what was in memory is gone."""
        self._client.close()


def _connect(address: str) -> "QdrantClient":
    from qdrant_client import QdrantClient

    if address == MEMORY:
        return QdrantClient(MEMORY)
    key = os.environ.get(API_KEY) or None
    return QdrantClient(url=address, api_key=key, timeout=SECONDS, check_compatibility=False)


@contextmanager
def _server_errors(address: str) -> Generator[None]:
    """The server's failures come out as CorpusError."""
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except ResponseHandlingException as error:
        raise CorpusError(
            f"the Qdrant server {address} does not answer: {error}",
            hint="start it, mend the address, or use a folder instead of a server",
        ) from error
    except UnexpectedResponse as error:
        hint = f"set {API_KEY} in the environment" if error.status_code in (401, 403) else None
        raise CorpusError(
            f"the Qdrant server {address} answers {error.status_code} {error.reason_phrase}",
            tried=error.content.decode(errors="replace")[:300],
            hint=hint,
        ) from error
    except QdrantException as error:
        raise CorpusError(f"the Qdrant server {address} refuses: {error}", hint="try again later") from error


def _client_filter(where: Filter) -> "models.Filter | None":
    from qdrant_client import models

    if where == EVERYTHING:
        return None
    must: list[Any] = [
        models.FieldCondition(key=key, match=models.MatchValue(value=value))
        for key, value in where.equals.items()
    ]
    must += [
        models.FieldCondition(key=key, range=models.Range(gte=low, lt=high))
        for key, (low, high) in where.ranges.items()
    ]
    barred: list[Any] = [point_id(one) for one in sorted(where.exclude)]
    return models.Filter(must=must, must_not=[models.HasIdCondition(has_id=barred)] if barred else None)
