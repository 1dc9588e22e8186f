"""A model server with the batch interfaces of OpenAI and Anthropic, whose batches end after some polls, shuffled and with gaps.

with BatchLLM(polls=2, troubles=["expired", "lost"]) as llm: ...
"""

import asyncio
import json
import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from typing import Any, Literal, cast

from support.http import Connection, Incoming
from support.llm import LLM
from support.requests import Request
from support.wires import error_body, whole

Trouble = Literal["expired", "lost", "refused", "failing"]
"""What happens to a line: its batch expires before it, nothing comes back of it, its request is an error of the client or the server's."""
COUNTS = {"openai": ("completed", "failed"), "anthropic": ("succeeded", "errored")}
ROUTE = re.compile(r"/v1/(messages/batches|batches|files)(?:/([\w-]+))?(?:/(results|content))?")


@dataclass
class Sent:
    """A batch that was sent: the bodies of its requests by id, and its results by name of the file once it has ended."""

    id: str
    bodies: dict[str, dict[str, Any]]
    results: dict[str, str] = field(default_factory=dict[str, str])
    polls: int = 0


class BatchLLM(LLM):
    """Args:
        polls: looks at a batch before it has ended.
        troubles: of the first lines that are asked, in any batch.
        busy: looks that are answered with 429.
        failure: the code with which batches fail as a whole.
        without: whether it has no batches.
        slow: seconds until it answers that it has a batch.

    Attributes:
        batches: those that were sent.
        singles: requests that came by themselves.
    """

    def __init__(
        self,
        *,
        polls: int = 2,
        troubles: Sequence[Trouble] = (),
        busy: int = 0,
        failure: str = "",
        without: bool = False,
        slow: float = 0,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self.troubles: list[Trouble] = [*troubles]
        self.polls, self.busy, self.failure, self.without = polls, busy, failure, without
        self.slow = slow
        self.batches, self.singles, self._files = list[Sent](), 0, dict[str, str]()

    async def handle(self, connection: Connection, incoming: Incoming) -> None:
        route = ROUTE.fullmatch(incoming.path)
        if not route or self.without:
            self.singles += incoming.path in ("/v1/chat/completions", "/v1/messages")
            return await super().handle(connection, incoming)
        status, told = self._told(incoming, *route.groups(""))
        if incoming.method == "POST" and route[1] != "files":
            await asyncio.sleep(self.slow)
        await connection.send(status, told)

    def _told(self, incoming: Incoming, kind: str, name: str, part: str) -> tuple[int, Any]:
        assert any(incoming.headers.get(name) for name in ("authorization", "x-api-key"))
        batch = next((each for each in self.batches if each.id == name), None)
        match incoming.method, kind, part:
            case "POST", "files", "":
                name = f"file-{len(self._files)}"
                self._files[name] = _uploaded(incoming)
                return 200, {"id": name, "object": "file", "purpose": "batch"}
            case "GET", "files", "content" if name in self._files:
                return 200, self._files[name].encode()
            case "POST", _, "":
                return 200, self._state(self._begin(kind, json.loads(incoming.body)), kind)
            case "GET", _, "" if batch and self.busy:
                self.busy -= 1
                return 429, error_body("openai", 429, "too many looks")
            case "GET", _, "" if batch:
                batch.polls += 1
                if batch.polls >= self.polls and not batch.results and not self.failure:
                    self._end(batch, kind)
                return 200, self._state(batch, kind)
            case "GET", "messages/batches", "results" if batch and batch.results:
                return 200, "\n".join(batch.results.values()).encode()
            case _:
                return 404, error_body("openai", 404, "no such batch or file")

    def _begin(self, kind: str, order: Mapping[str, Any]) -> Sent:
        if kind == "batches":
            assert (order["endpoint"], order["completion_window"]) == ("/v1/chat/completions", "24h")
            lines = [json.loads(line) for line in self._files[order["input_file_id"]].splitlines()]
            assert {(line["method"], line["url"]) for line in lines} == {("POST", "/v1/chat/completions")}
            bodies = {line["custom_id"]: line["body"] for line in lines}
            assert len({body["model"] for body in bodies.values()}) == 1, "of one model"
        else:
            lines = order["requests"]
            bodies = {line["custom_id"]: line["params"] for line in lines}
        assert len(bodies) == len(lines) > 0, "each id once"
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in bodies)
        assert not any(body.get("stream") for body in bodies.values())
        self.batches.append(sent := Sent(f"batch_{len(self.batches)}", bodies))
        return sent

    def _end(self, batch: Sent, kind: str) -> None:
        """Answer the lines, in another order."""
        path = "/v1/chat/completions" if kind == "batches" else "/v1/messages"
        parts: dict[str, list[str]] = {"output_file_id": [], "error_file_id": []}
        for name, body in batch.bodies.items():
            request = Request(path, {}, body, time.monotonic())
            self.requests.append(request)
            trouble = self.troubles.pop(0) if self.troubles else None
            if trouble != "lost":
                line = _line(request, trouble, whole(self._answer(request, None)))
                parts["error_file_id" if trouble else "output_file_id"].append(
                    json.dumps({"custom_id": name, **line})
                )
        for part, lines in parts.items():
            random.Random(1).shuffle(lines)
            if lines:
                batch.results[part] = "\n".join(lines)
                self._files[f"file-{batch.id}-{part}"] = batch.results[part]

    def _state(self, batch: Sent, kind: str) -> dict[str, Any]:
        ended = batch.polls >= self.polls
        if kind == "messages/batches":
            counts = {
                "processing": len(batch.bodies),
                "succeeded": 0,
                "errored": 0,
                "canceled": 0,
                "expired": 0,
            }
            return {
                "id": batch.id, "type": "message_batch", "processing_status": "ended" if ended else "in_progress",
                "request_counts": counts, "results_url": f"{self.url}/v1/messages/batches/{batch.id}/results",
            }  # fmt: skip
        files = {part: f"file-{batch.id}-{part}" for part in batch.results}
        running = ("validating", "in_progress")[min(batch.polls, 1)]
        errors = {"data": [{"code": self.failure, "message": "it is too long", "line": None}]}
        return {
            "id": batch.id, "object": "batch", "output_file_id": None, "error_file_id": None, **files,
            "status": "failed" if ended and self.failure else "completed" if ended else running,
            "errors": errors if self.failure else None,
            "request_counts": {"total": len(batch.bodies), "completed": 0, "failed": 0},
        }  # fmt: skip


def _line(request: Request, trouble: Trouble | None, answer: dict[str, Any]) -> dict[str, Any]:
    """A line of results without its id."""
    status = {"refused": 400, "failing": 500}.get(trouble or "", 200)
    if request.wire == "anthropic":
        kind = {"refused": "invalid_request_error", "failing": "api_error"}.get(trouble or "", "")
        error = {"type": "error", "error": {"type": kind, "message": "no such parameter"}}
        result = {"type": "errored", "error": error} if kind else {"type": trouble or "succeeded"}
        return {"result": result | ({} if trouble else {"message": answer})}
    if trouble == "expired":
        error = {"code": "batch_expired", "message": "The completion window has passed."}
        return {"id": "batch_req_1", "response": None, "error": error}
    body = error_body("openai", status, "no such parameter") if trouble else answer
    return {
        "id": "batch_req_1",
        "response": {"status_code": status, "request_id": "r", "body": body},
        "error": None,
    }


def _uploaded(incoming: Incoming) -> str:
    """The file of a form for batches."""
    head = f"Content-Type: {incoming.headers['content-type']}\r\n\r\n".encode()
    form = message_from_bytes(head + incoming.body)
    parts = {
        each.get_param("name", header="content-disposition"): each
        for each in cast(list[Message], form.get_payload())
    }
    assert cast(bytes, parts["purpose"].get_payload(decode=True)) == b"batch"
    return cast(bytes, parts["file"].get_payload(decode=True)).decode()
