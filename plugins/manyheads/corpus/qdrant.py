"""The two stores, both Qdrant's: its engine in this process, on disk (the default; qdrant-edge-py), and its client.

The client (qdrant-client) stores on a server, by address, or in memory.
"""

import json
import shutil
from collections.abc import Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manyheads.base.errors import CorpusError, CorpusServerError, EmbeddingError
from manyheads.base.files import CHECKSUMS, FileLock, replace_text
from manyheads.config.environment import secret
from manyheads.corpus.meta import AUTHORS, Meta
from manyheads.corpus.stores import (
    EVERYTHING,
    MEMORY,
    Filter,
    Payload,
    Points,
    Schema,
    VectorStore,
    filter_of,
    lock_folder,
)

if TYPE_CHECKING:
    import qdrant_edge
    from qdrant_client import QdrantClient


META = "meta.json"
PAGE = 1000
ROOM = 128 * 2**20


class EdgeStore(VectorStore):
    """A store in a folder: `meta.json` (model, dim, count), `shard/` (Qdrant's files), two lock files.

    One process may write, or several may read (`read_only=True`). The engine's log would lock readers out, so it is off: each
    `upsert` is flushed to disk before it returns, so nothing is lost.

    Create with `EdgeStore.create` or `EdgeStore.open`.
    """

    def __init__(self, schema: Schema, folder: Path, shard: "qdrant_edge.EdgeShard", lock: FileLock) -> None:
        super().__init__(schema)
        self._folder, self._shard, self._lock = folder, shard, lock
        self._open, self._changed = True, False

    @classmethod
    def create(cls, folder: Path, schema: Schema) -> "EdgeStore":
        """A new store; raises CorpusError if it exists."""
        import qdrant_edge as edge

        if (folder / META).is_file():
            hint = "open it, or remove the folder to build again"
            raise CorpusError(f"{folder} already contains a bank", hint=hint)
        lock = lock_folder(folder)
        try:
            _check_room(folder)
            # with several vectors per record, most are seldom read: their pages are loaded on demand
            lazily = True if schema.names else None
            vectors = edge.EdgeVectorParams(size=schema.dim, distance=edge.Distance.Cosine, on_disk=lazily)
            named = dict.fromkeys(schema.names, vectors)
            config = edge.EdgeConfig(vectors=named or vectors, wal_enabled=False)
            with _engine_errors(folder):
                shutil.rmtree(folder / "shard", ignore_errors=True)  # remains of a build
                (folder / "shard").mkdir(parents=True)
                shard = edge.EdgeShard.create(str(folder / "shard"), config)
                for name in (*schema.integers, *schema.keywords):
                    kind = edge.PayloadSchemaType
                    type_ = kind.Integer if name in schema.integers else kind.Keyword
                    shard.update(edge.UpdateOperation.create_field_index(name, type_))
                shard.flush()
                store = cls(schema, folder, shard, lock)
                store._write_meta()
        except BaseException:
            lock.release()
            raise
        return store

    @classmethod
    def open(cls, folder: Path, *, read_only: bool = False) -> "EdgeStore":
        """An existing store; raises CorpusError if it does not exist or another process is writing to it."""
        import qdrant_edge as edge

        try:
            meta: Any = json.loads((folder / META).read_text(encoding="utf-8"))
            names = tuple(map(str, meta.get("names", ())))
            schema = Schema(str(meta["model"]), int(meta["dim"]), names=names)
        except OSError as error:
            tried, hint = f"{folder / META}: {error.strerror}", "build one: manyheads corpus build"
            raise CorpusError(f"no bank in {folder}", tried=tried, hint=hint) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CorpusError(f"{folder / META} is broken: {error}", hint="build the bank again") from error
        lock = lock_folder(folder, shared=read_only)
        try:
            if not read_only:  # checksums do not cover new records
                (folder.parent / CHECKSUMS).unlink(missing_ok=True)
            with _engine_errors(folder), loading(folder):
                shard = edge.EdgeShard.load(str(folder / "shard"))
        except BaseException:
            lock.release()
            raise
        return cls(schema, folder, shard, lock)

    def close(self) -> None:
        """Release the store for other processes; may be called twice."""
        if self._open:
            self._open = False
            with self._errors(), loading(self._folder):
                if self._changed:  # not per batch: the engine counts its points one by one
                    self._write_meta()
                self._shard.close()
            self._lock.release()

    def _write(self, points: Sequence[str], vectors: list[Any], payloads: Sequence[Payload]) -> None:
        import qdrant_edge as edge

        if self._lock.shared:
            raise CorpusError(f"{self._folder} was opened for reading only")
        _check_room(self._folder)
        new = [edge.Point(*one) for one in zip(points, vectors, payloads, strict=True)]
        self._shard.update(edge.UpdateOperation.upsert_points(new))
        self._shard.flush()
        self._changed = True

    def _count(self, where: Filter) -> int:
        import qdrant_edge as edge

        return self._shard.count(edge.CountRequest(filter=_edge_filter(where)))

    def _nearest(self, vectors: list[Any], k: int, where: Filter, using: str | None) -> Iterable[Points]:
        import qdrant_edge as edge

        requests = [
            edge.QueryRequest(
                limit=k,
                query=edge.Query.Nearest(one, using),
                filter=_edge_filter(where),
                with_payload=True,
                params=edge.SearchParams(exact=True),
            )
            for one in vectors
        ]
        return self._shard.query_batch(edge.QueryBatchRequest(requests))

    def _retrieve(self, points: list[Any], vectors: bool | list[str]) -> Points:
        return self._shard.retrieve(points, True, vectors)

    def _page(self, where: Filter, start: Any, vectors: bool) -> tuple[Points, Any]:
        import qdrant_edge as edge

        request = edge.ScrollRequest(
            offset=start, limit=PAGE, filter=_edge_filter(where), with_payload=True, with_vector=vectors
        )
        return self._shard.scroll(request)

    def _write_meta(self) -> None:
        meta = {"model": self.model, "dim": self.dim, "count": self._count(EVERYTHING)}
        text = json.dumps({**meta, "names": self.names} if self.names else meta)
        replace_text(self._folder / META, text)

    def _errors(self) -> AbstractContextManager[None]:
        return _engine_errors(self._folder)


def loading(folder: Path) -> FileLock:
    """One reader at a time: the engine rewrites small files when it loads and closes a shard."""
    return FileLock(folder / "loading.lock", wait=True)


@contextmanager
def _engine_errors(folder: Path) -> Generator[None]:
    """Turns failures of the engine and of the disk into CorpusError."""
    try:
        yield
    except BaseException as error:
        # The engine has no exceptions of its own: it raises the base class, and panics on damaged files.
        panic = type(error).__name__ == "PanicException"
        if not panic and not isinstance(error, OSError) and type(error) is not Exception:
            raise
        broken = "its files are damaged: " if panic else ""
        hint = "build it again" if panic else "check the disk's space and permissions, or build it again"
        raise CorpusError(f"the bank {folder} failed: {broken}{str(error)[:300]}", hint=hint) from error


def _check_room(folder: Path) -> None:
    """Checks for free space: the engine maps its files into memory, so a full disk would end the process silently."""
    free = shutil.disk_usage(folder).free
    if free < ROOM:
        raise CorpusError(
            f"the disk of {folder} is nearly full: {free >> 20} MB are free, {ROOM >> 20} MB are needed",
            hint="free some space and run the same command again: stored records are kept",
        )


def _edge_filter(where: Filter) -> "qdrant_edge.Filter | None":
    import qdrant_edge as edge

    return filter_of(where, edge, edge.RangeFloat, lambda points: edge.HasIdCondition({*points}))


# A server, or memory.

API_KEY = "QDRANT_API_KEY"
SECONDS = 30


class ClientStore(VectorStore):
    """One collection of a server or of memory. The model's name is stored in the collection's metadata.

    A server's key is read from the environment: `QDRANT_API_KEY`. Create with `ClientStore.create` or `ClientStore.open`.
    """

    def __init__(self, schema: Schema, client: "QdrantClient", address: str, collection: str) -> None:
        super().__init__(schema)
        self._client, self._address, self._collection = client, address, collection

    @classmethod
    def create(cls, address: str, collection: str, schema: Schema, *, again: bool = False) -> "ClientStore":
        """A new collection at `address`, a URL or `:memory:`; one that exists is opened `again`, else raises CorpusError."""
        from qdrant_client import models

        client = _connect(address)
        with _server_errors(address):
            if client.collection_exists(collection):
                if again:
                    return cls.open(address, collection)
                hint = "use another name"
                raise CorpusError(f"{address} already has a collection {collection}", hint=hint)
            vectors = models.VectorParams(size=schema.dim, distance=models.Distance.COSINE)
            config = dict.fromkeys(schema.names, vectors) or vectors
            client.create_collection(collection, vectors_config=config, metadata={"model": schema.model})
            if address != MEMORY:  # no indexes in memory
                kind = models.PayloadSchemaType
                for name in (*schema.integers, *schema.keywords):
                    type_ = kind.INTEGER if name in schema.integers else kind.KEYWORD
                    client.create_payload_index(collection, name, type_, wait=True)
        return cls(schema, client, address, collection)

    @classmethod
    def open(cls, address: str, collection: str) -> "ClientStore":
        """An existing collection; raises CorpusError if it does not exist or is not ours."""
        client = _connect(address)
        with _server_errors(address):
            if not client.collection_exists(collection):
                hint = "build one: manyheads corpus build"
                raise CorpusError(f"{address} has no collection {collection}", hint=hint)
            config = client.get_collection(collection).config
        model, vectors = (config.metadata or {}).get("model"), config.params.vectors
        named = vectors if isinstance(vectors, dict) else {}
        sizes = {getattr(one, "size", None) for one in named.values() or [vectors]}
        size = sizes.pop() if len(sizes) == 1 else None
        if not isinstance(size, int) or not isinstance(model, str):
            raise EmbeddingError(f"the collection {collection} at {address} was not made by manyheads")
        return cls(Schema(model, size, names=tuple(named)), client, address, collection)

    def close(self) -> None:
        """Close the connections; a collection in memory is lost."""
        self._client.close()

    def _write(self, points: Sequence[str], vectors: list[Any], payloads: Sequence[Payload]) -> None:
        from qdrant_client import models

        new = [
            models.PointStruct(id=one, vector=vector, payload=payload)
            for one, vector, payload in zip(points, vectors, payloads, strict=True)
        ]
        self._client.upsert(self._collection, points=new, wait=True)

    def _count(self, where: Filter) -> int:
        return self._client.count(self._collection, count_filter=_client_filter(where), exact=True).count

    def _nearest(self, vectors: list[Any], k: int, where: Filter, using: str | None) -> Iterable[Points]:
        from qdrant_client import models

        # in memory every search is exact, and asking for it draws a warning
        params = None if self._address == MEMORY else models.SearchParams(exact=True)
        condition = _client_filter(where)
        requests = [
            models.QueryRequest(
                query=one, using=using, filter=condition, limit=k, with_payload=True, params=params
            )
            for one in vectors
        ]
        answers = self._client.query_batch_points(self._collection, requests=requests)
        return [answer.points for answer in answers]

    def _retrieve(self, points: list[Any], vectors: bool | list[str]) -> Points:
        return self._client.retrieve(self._collection, points, with_payload=True, with_vectors=vectors)

    def _page(self, where: Filter, start: Any, vectors: bool) -> tuple[Points, Any]:
        condition = _client_filter(where)
        return self._client.scroll(
            self._collection, condition, PAGE, offset=start, with_payload=True, with_vectors=vectors
        )

    def _errors(self) -> AbstractContextManager[None]:
        return _server_errors(self._address)


def _connect(address: str) -> "QdrantClient":
    from qdrant_client import QdrantClient

    if address == MEMORY:
        return QdrantClient(MEMORY)
    key = secret(API_KEY, address, address)
    return QdrantClient(url=address, api_key=key, timeout=SECONDS, check_compatibility=False)


@contextmanager
def _server_errors(address: str) -> Generator[None]:
    """Turns the server's failures into CorpusError."""
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except ResponseHandlingException as error:
        hint = "start it, fix the address, or use a folder instead of a server"
        raise CorpusServerError(f"the Qdrant server {address} does not answer: {error}", hint=hint) from error
    except UnexpectedResponse as error:
        hint = f"set {API_KEY} in the environment" if error.status_code in (401, 403) else None
        raise CorpusServerError(
            f"the Qdrant server {address} answers {error.status_code} {error.reason_phrase}",
            tried=error.content.decode(errors="replace")[:300],
            hint=hint,
        ) from error
    except QdrantException as error:
        hint = "try again later"
        raise CorpusServerError(f"the Qdrant server {address} refuses: {error}", hint=hint) from error


def _client_filter(where: Filter) -> Any:
    from qdrant_client import models

    return filter_of(where, models, models.Range, lambda points: models.HasIdCondition(has_id=[*points]))


def open_bank(folder: Path, meta: Meta, bank: str) -> VectorStore:
    """A bank of a built corpus for reading: in its folder, or on its server. Raises `CorpusError`."""
    if meta.server is None:
        return EdgeStore.open(folder / bank, read_only=True)
    store = ClientStore.open(meta.server.address, f"{meta.server.collections}-{bank}")
    expected = meta.counts.scientists if bank == AUTHORS else meta.counts.past + meta.counts.contemporary
    if (there := store.count()) != expected:
        store.close()
        raise CorpusServerError(
            f"{meta.server.address} has {there:,} of {expected:,} records of {folder} ({bank})",
            hint=f"upload the corpus again: manyheads corpus upload CORPUS {meta.server.address}",
        )
    return store
