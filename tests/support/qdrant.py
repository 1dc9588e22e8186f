"""A Qdrant server's REST protocol, as far as qdrant-client asks for it, over the client's own engine in memory."""

import json
from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter
from qdrant_client import QdrantClient, models

from support.http import Connection, Incoming, Server

VECTORS = TypeAdapter[models.VectorParams | dict[str, models.VectorParams]](
    models.VectorParams | dict[str, models.VectorParams]
)
POINTS = TypeAdapter[list[models.PointStruct]](list[models.PointStruct])
CONDITION = TypeAdapter[models.Filter | None](models.Filter | None)


class QdrantServer(Server):
    """`with QdrantServer() as server:` listens at `server.url`; `asked` holds (method, path) of each request."""

    def __init__(self, api_key: str | None = None) -> None:
        self.engine, self.api_key = QdrantClient(":memory:"), api_key
        self.asked: list[tuple[str, str]] = []
        self.indexes: dict[str, str] = {}

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.engine.close()

    async def handle(self, connection: Connection, incoming: Incoming) -> None:
        self.asked.append((incoming.method, incoming.path))
        if self.api_key is not None and incoming.headers.get("api-key") != self.api_key:
            await connection.send(401, {"status": {"error": "Must provide an API key"}, "time": 0.0})
            return
        try:
            result = self.answer(incoming.method, incoming.path, json.loads(incoming.body or b"{}"))
        except ValueError as error:
            await connection.send(404, {"status": {"error": str(error)}, "time": 0.0})
        else:
            await connection.send(200, {"result": result, "status": "ok", "time": 0.001})

    def answer(self, method: str, path: str, body: dict[str, Any]) -> Any:
        _, root, collection, *rest = path.split("/")
        assert root == "collections", path
        routes: dict[tuple[str, str], Callable[[str, dict[str, Any]], Any]] = {
            ("GET", "exists"): lambda name, _: {"exists": self.engine.collection_exists(name)},
            ("GET", ""): lambda name, _: plain(self.engine.get_collection(name)),
            ("PUT", ""): self.create,
            ("PUT", "index"): self.index,
            ("PUT", "points"): self.upsert,
            ("POST", "points"): self.retrieve,
            ("POST", "points/query/batch"): self.query,
            ("POST", "points/scroll"): self.scroll,
            ("POST", "points/count"): self.count,
        }
        return routes[method, "/".join(rest)](collection, body)

    def create(self, name: str, body: dict[str, Any]) -> bool:
        vectors = VECTORS.validate_python(body["vectors"])
        return self.engine.create_collection(name, vectors_config=vectors, metadata=body.get("metadata"))

    def index(self, name: str, body: dict[str, Any]) -> Any:
        assert self.engine.collection_exists(name)
        self.indexes[body["field_name"]] = body["field_schema"]
        return {"operation_id": len(self.indexes), "status": "completed"}

    def upsert(self, name: str, body: dict[str, Any]) -> Any:
        return plain(self.engine.upsert(name, points=POINTS.validate_python(body["points"])))

    def retrieve(self, name: str, body: dict[str, Any]) -> Any:
        return plain(
            self.engine.retrieve(
                name, body["ids"], with_payload=body["with_payload"], with_vectors=body["with_vector"]
            )
        )

    def query(self, name: str, body: dict[str, Any]) -> Any:
        exact = {"params": None}  # which the engine in memory always is
        requests = [models.QueryRequest.model_validate({**one, **exact}) for one in body["searches"]]
        return plain(self.engine.query_batch_points(name, requests=requests))

    def scroll(self, name: str, body: dict[str, Any]) -> Any:
        points, following = self.engine.scroll(
            name,
            scroll_filter=CONDITION.validate_python(body.get("filter")),
            limit=body["limit"],
            offset=body.get("offset"),
            with_payload=body["with_payload"],
            with_vectors=body["with_vector"],
        )
        return {"points": plain(points), "next_page_offset": following}

    def count(self, name: str, body: dict[str, Any]) -> Any:
        condition = CONDITION.validate_python(body.get("filter"))
        return plain(self.engine.count(name, count_filter=condition, exact=body["exact"]))


def plain(value: Any) -> Any:
    """Pydantic models as JSON values."""
    return TypeAdapter[Any](Any).dump_python(value, mode="json")
