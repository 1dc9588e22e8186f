"""A store on a Qdrant server, by address, or in memory: both through qdrant-client."""

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from manyheads.bank.store import (
    EVERYTHING,
    MEMORY,
    PAGE,
    Filter,
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
from manyheads.errors import CorpusError, EmbeddingError

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

    from manyheads.bank.vectors import Vectors

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
        with _said(address):
            if client.collection_exists(collection):
                raise CorpusError(
                    f"{address} holds a collection {collection} already",
                    hint="open it, or choose another name",
                )
            vectors = models.VectorParams(size=schema.dim, distance=models.Distance.COSINE)
            client.create_collection(collection, vectors_config=vectors, metadata={"model": schema.model})
            if address != MEMORY:  # which has no indexes
                _create_indexes(client, collection, schema)
        return cls(client, address, collection, schema.model, schema.dim)

    @classmethod
    def open(cls, address: str, collection: str) -> "ClientStore":
        """An existing collection; raises CorpusError when there is none, or none of ours."""
        client = _connect(address)
        with _said(address):
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
        with _said(address):
            return client.collection_exists(collection)

    def upsert(self, ids: Sequence[str], vectors: "Vectors", payloads: Sequence[Payload]) -> None:
        from qdrant_client import models

        checked(vectors, self.dim, len(ids))
        if not ids:
            return
        batch = models.Batch(
            ids=[point_id(one) for one in ids],
            vectors=vectors.tolist(),
            payloads=[stored_payload(one, payload) for one, payload in zip(ids, payloads, strict=True)],
        )
        with _said(self._address):
            self._client.upsert(self._collection, points=batch, wait=True)

    def query(
        self, vectors: "Vectors", k: int, where: Filter = EVERYTHING, *, exact: bool = True
    ) -> list[list[Found]]:
        from qdrant_client import models

        checked(vectors, self.dim)
        if not len(vectors):
            return []
        condition = _condition(where)
        # in memory every search is exact, and saying so draws a warning
        params = None if self._address == MEMORY else models.SearchParams(exact=exact)
        requests = [
            models.QueryRequest(query=one, filter=condition, limit=k, with_payload=True, params=params)
            for one in vectors.tolist()
        ]
        with _said(self._address):
            answers = self._client.query_batch_points(self._collection, requests=requests)
        return [ranked((point.score, point.payload) for point in answer.points) for answer in answers]

    def get(self, ids: Sequence[str], *, vectors: bool = False) -> dict[str, Record]:
        points: list[Any] = [point_id(one) for one in ids]
        with _said(self._address):
            found = self._client.retrieve(
                self._collection, ids=points, with_payload=True, with_vectors=vectors
            )
        records = {record.id: record for record in map(_record, found)}
        return {one: records[one] for one in ids if one in records}

    def scroll(self, where: Filter = EVERYTHING, *, vectors: bool = False) -> Iterator[Record]:
        condition, start = _condition(where), None
        while True:
            with _said(self._address):
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
        with _said(self._address):
            return self._client.count(self._collection, count_filter=_condition(where), exact=True).count

    def close(self) -> None:
        """Close the connections; what was in memory is gone."""
        self._client.close()


def _connect(address: str) -> "QdrantClient":
    from qdrant_client import QdrantClient

    if address == MEMORY:
        return QdrantClient(MEMORY)
    key = os.environ.get(API_KEY) or None
    return QdrantClient(url=address, api_key=key, timeout=SECONDS, check_compatibility=False)


def _create_indexes(client: "QdrantClient", collection: str, schema: Schema) -> None:
    from qdrant_client import models

    for name in schema.integers:
        client.create_payload_index(collection, name, models.PayloadSchemaType.INTEGER, wait=True)
    for name in schema.keywords:
        client.create_payload_index(collection, name, models.PayloadSchemaType.KEYWORD, wait=True)


@contextmanager
def _said(address: str) -> Generator[None]:
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


def _condition(where: Filter) -> "models.Filter | None":
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


def _record(point: "models.Record") -> Record:
    import numpy as np

    record_id, payload = own_payload(point.payload)
    vector = None if point.vector is None else np.asarray(point.vector, dtype=np.float32)
    return Record(record_id, payload, vector)
