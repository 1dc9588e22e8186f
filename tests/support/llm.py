"""A model server for tests: speaks OpenAI's, Ollama's and Anthropic's protocols and answers by the schema asked for.

    with LLM(answers={"choice": 2}, delay=0.05) as llm:
        ...  # give `llm.base_url` to a client, then read `llm.requests`

As a process of its own, for tests that kill or count (with `tests` on PYTHONPATH); prints its address:

    python -m support.llm --calls-file calls.jsonl --delay 0.05 --fault '{"kind": "status", "status": 429}'
"""

import argparse
import asyncio
import json
import threading
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

from manyheads.base.http import GarbledError, RefusedError
from support.caches import PromptCache
from support.faults import OF_TEXT, Fault, spoil
from support.fill import fill
from support.http import Connection, Incoming, Server
from support.requests import WIRES, Request
from support.wires import STREAMED, Answer, Call, error_body, streamed, whole

Given = Mapping[str, Any | Callable[[Request], Any]]
Arguments = dict[str, Any] | Callable[[Request], dict[str, Any]]

PROCEEDS: Given = {"accept": True, "stay": True, "agree": True, "another_turn": False}
"""So that a run goes through when a test does not say otherwise."""


REFUSALS = {
    "status": "fault {}",
    "refuse_format": "response_format is not supported",
    "refuse_schema": "body.response_format.type: Input should be 'text' or 'json_object'",
}
"""What it says with an error."""


class LLM(Server):
    """The server; its `url` is what Ollama's and Anthropic's clients take.

    Args:
        answers: value of a property by its name, or a function of the request that gives it; `improved` is what an area
            chair thinks of the later version, whichever way round it is shown the two.
        faults: how to misbehave; for each request the first that takes it. Faults may be added at any time.
        tool_calls: name and arguments of tools that are called, all at once, when first offered to a speaker.
        reply: the whole text of an answer; None from it leaves the answer to the schema.
        delay: seconds before each answer.
        seed: what an answer's hash is taken of, `Request.seed` when left out.
        calls_file: a file that gets one JSON line for each request to a model, when it arrives.
        cache: its cache of prompts, of which it tells in an answer's usage.
        port: one of the session's own when None; one of the system's when 0.

    Attributes:
        requests: the requests to a model, in the order of their arrival.
        peak: the most requests that were under way at once.
        listed: the models that it tells of.
        running: those of this process that serve, by their `base_url`.
        shown: what it tells of a model as Ollama does; None where it has none.
    """

    running: ClassVar[dict[str | None, "LLM"]] = {}

    def __init__(
        self,
        *,
        answers: Given | None = None,
        faults: Sequence[Fault] = (),
        tool_calls: Sequence[tuple[str, Arguments]] = (),
        reply: Callable[[Request], str | None] = lambda request: None,
        delay: float = 0.0,
        seed: Callable[[Request], str] = lambda request: request.seed,
        calls_file: Path | None = None,
        cache: PromptCache | None = None,
        port: int | None = None,
    ) -> None:
        self.answers, self.faults = dict(answers or {}), list(faults)
        self.tool_calls, self.reply = tool_calls, reply
        self.delay, self.seed, self.calls_file, self.cache = delay, seed, calls_file, cache
        self.requests: list[Request] = []
        self.peak = self._under_way = 0
        self.port = port
        self.listed: list[dict[str, Any]] = [{"id": "test-model", "object": "model"}]
        self.shown: dict[str, Any] | None = None

    @property
    def base_url(self) -> str:
        """What OpenAI's client takes."""
        return f"{self.url}/v1"

    @property
    def calls(self) -> int:
        """How many requests to a model have come."""
        return len(self.requests)

    async def handle(self, connection: Connection, incoming: Incoming) -> None:
        if incoming.path in WIRES and incoming.method == "POST":
            request = self._record(incoming)
            async with self._fault(request) as fault:
                await self._respond(connection, request, fault)
        elif incoming.path == "/v1/models":
            await connection.send(200, {"object": "list", "data": self.listed})
        elif incoming.path == "/api/show" and self.shown:
            await connection.send(200, self.shown)
        elif incoming.path == "/api/show":
            name = json.loads(incoming.body)["model"]
            await connection.send(404, {"error": f"model '{name}' not found"})
        elif incoming.path == "/api/tags":
            await connection.send(200, {"models": [{"model": "test-model", "name": "test-model"}]})
        else:
            await connection.send(404, {"error": {"message": f"no such path: {incoming.path}"}})

    def _record(self, incoming: Incoming) -> Request:
        request = Request(incoming.path, incoming.headers, json.loads(incoming.body), time.monotonic())
        self.requests.append(request)
        if self.calls_file:
            line = {"title": request.title, "seed": request.seed, "stream": request.stream}
            with self.calls_file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        return request

    def __enter__(self) -> Self:
        super().__enter__()
        self.running[self.base_url] = self
        return self

    def __exit__(self, *error: object) -> None:
        del self.running[self.base_url]
        super().__exit__(*error)

    async def asked(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a request of this process that goes over no wire, in OpenAI's format.

        Raises `RefusedError`, `GarbledError` or `ConnectionError` where the server would misbehave.
        """
        request = Request("/v1/chat/completions", {}, body, time.monotonic())
        self.requests.append(request)
        async with self._fault(request) as fault:
            match fault and fault.kind:
                case kind if fault and kind in REFUSALS:
                    message = fault.message or REFUSALS[kind].format(fault.status)
                    raise RefusedError(fault.status, fault.retry_after, message)
                case "drop" | "drop_body":
                    raise ConnectionResetError(kind)
                case "malformed":
                    raise GarbledError("its answer is not JSON")
                case _:
                    pass
            return whole(self._answer(request, fault))

    @asynccontextmanager
    async def _fault(self, request: Request) -> AsyncGenerator[Fault | None]:
        """What goes wrong with a request, if anything, after what it has to wait for."""
        self._under_way += 1
        self.peak = max(self.peak, self._under_way)
        try:
            await asyncio.sleep(self.delay)
            fault = next((fault for fault in self.faults if fault.takes(request)), None)
            if fault and fault.kind == "slow":
                await asyncio.sleep(fault.seconds)
            yield fault
        finally:
            self._under_way -= 1

    async def _respond(self, connection: Connection, request: Request, fault: Fault | None) -> None:
        kind = fault.kind if fault else None
        if fault and kind in REFUSALS:
            headers = {} if fault.retry_after is None else {"Retry-After": f"{fault.retry_after:g}"}
            message = fault.message or REFUSALS[kind].format(fault.status)
            await connection.send(fault.status, error_body(request.wire, fault.status, message), headers)
        elif kind == "drop":
            connection.drop()
        elif request.stream:
            answer = self._answer(request, fault)
            await connection.send_stream(STREAMED[request.wire], streamed(answer), cut=kind)
        else:
            answer = self._answer(request, fault)
            cached = replace(answer, cache=self.cache.take(request)) if self.cache else answer
            await connection.send(200, whole(cached), cut=kind)

    def _answer(self, request: Request, fault: Fault | None) -> Answer:
        if calls := self._calls(request):
            return Answer("", request, calls, "tools")
        if (said := self.reply(request)) is not None:
            return Answer(said, request)
        if request.schema is None:
            return Answer(fill({"type": "string"}, self.seed(request)), request)
        value = fill(request.schema, self.seed(request), self._given(request))
        if fault and fault.kind in OF_TEXT:
            text, finish = spoil(fault, value, request.schema)
            return Answer(text, request, finish=finish)
        return Answer(json.dumps(value, ensure_ascii=False), request)

    def _calls(self, request: Request) -> tuple[Call, ...]:
        if request.tools_answered:
            return ()
        wanted = [(name, made) for name, made in self.tool_calls if name in request.tools]
        return tuple(
            Call(name, made(request) if callable(made) else made, f"call_{i}")
            for i, (name, made) in enumerate(wanted, start=1)
        )

    def _given(self, request: Request) -> dict[str, Any]:
        answers = {**PROCEEDS, **self.answers}
        given = {name: value(request) if callable(value) else value for name, value in answers.items()}
        if request.title == "Verdict" and "improved" in given:
            difference = "significant" if given["improved"] else "small"
            given = {"better": self._later(request), "difference": difference, **given}
        return given

    def _later(self, request: Request) -> str:
        """Which of the two versions that an area chair is shown is the later: the other one was revised last, or condensed."""
        made = [each for each in self.requests if each.title in ("RevisedProposal", "Condensed")]
        shown = request.fenced("version_a") or ""
        if made and made[-1].title == "Condensed":
            fields = fill(made[-1].schema or {}, self.seed(made[-1]), self._given(made[-1]))
            return "B" if all(text in shown for text in fields.values()) else "A"
        return "B" if made and shown == made[-1].fenced("idea") else "A"


def main() -> None:
    parser = argparse.ArgumentParser(description="A model server for tests.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--answers", type=json.loads, default={}, help="JSON object: property to value")
    parser.add_argument(
        "--fault", type=json.loads, action="append", default=[], help="JSON object, see Fault"
    )
    parser.add_argument("--calls-file", type=Path, help="gets a JSON line for each request")
    given = parser.parse_args()
    faults = [Fault(**fault) for fault in given.fault]
    settings: dict[str, Any] = {"delay": given.delay, "calls_file": given.calls_file, "port": given.port}
    with LLM(answers=given.answers, faults=faults, **settings) as llm:
        print(llm.base_url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
