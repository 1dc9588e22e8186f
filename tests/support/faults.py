"""Misbehaviours of the fake model server, each for the first few requests that it fits, or for all."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from support.fill import bounded, resolve
from support.requests import Request
from support.wires import Finish

Kind = Literal[
    # the answer's text
    "fenced", "chatter", "single_quotes", "trailing_comma",
    "missing", "wrong_type", "out_of_range", "truncated", "cut", "empty", "prose",
    # the transport
    "status", "refuse_format", "refuse_schema", "slow", "drop", "drop_body", "malformed",
]  # fmt: skip
OF_TEXT: frozenset[Kind] = frozenset({
    "fenced", "chatter", "single_quotes", "trailing_comma",
    "missing", "wrong_type", "out_of_range", "truncated", "cut", "empty", "prose",
})  # fmt: skip


@dataclass
class Fault:
    """One way to misbehave.

    Args:
        kind: what goes wrong. `truncated` says so (finish reason `length`), `cut` does not; `status` answers with
            an error; `refuse_format` does so whenever the request sends a schema beside the prompt; `slow` waits
            before it answers; `drop` closes the connection instead of answering, `drop_body` within the answer;
            `malformed` sends half of the JSON body as if it were all.
        times: how many of the requests that it fits, None for all.
        when: which requests it fits, all when left out.
        key: for `missing` and `wrong_type` the property, the schema's first when left out.
        status: for `status`, `refuse_format` and `refuse_schema`, which refuses `json_schema` alone.
        message: what a `status` says; the fault itself when left out.
        retry_after: seconds named in the Retry-After header of a `status`.
        seconds: for `slow`.
    """

    kind: Kind
    times: int | None = 1
    when: Callable[[Request], bool] | None = None
    key: str | None = None
    status: int = 500
    message: str = ""
    retry_after: float | None = None
    seconds: float = 30.0
    done: int = field(default=0, init=False)
    """How often it has happened."""

    def takes(self, request: Request) -> bool:
        """Whether this request shall suffer; counts it if so."""
        if self.times is not None and self.done >= self.times:
            return False
        taken = self._fits(request) and (self.when is None or self.when(request))
        self.done += taken
        return taken

    def _fits(self, request: Request) -> bool:
        if self.kind == "refuse_format":
            return request.has_form
        if self.kind == "refuse_schema":
            return (request.body.get("response_format") or {}).get("type") == "json_schema"
        if self.kind == "out_of_range":
            return request.schema is not None and bounded(request.schema) is not None
        return self.kind not in OF_TEXT or request.schema is not None


def refuses_format(status: int = 400) -> Fault:
    """A server that refuses `response_format` every time."""
    return Fault("refuse_format", times=None, status=status)


def spoil(fault: Fault, value: dict[str, Any], schema: dict[str, Any]) -> tuple[str, Finish]:
    """A good answer's text made bad, and the finish reason that goes with it."""
    text = json.dumps(value, ensure_ascii=False)
    match fault.kind:
        case "fenced":
            return f"```json\n{text}\n```", "stop"
        case "chatter":
            return f"Sure! Here is my answer:\n\n{text}\n\nLet me know if you need more.", "stop"
        case "single_quotes":
            return repr(value), "stop"
        case "trailing_comma":
            return f"{text[:-1]},}}", "stop"
        case "missing" | "wrong_type" | "out_of_range":
            return json.dumps(_spoilt(fault, value, schema), ensure_ascii=False), "stop"
        case "truncated":
            return text[: len(text) // 2], "length"
        case "cut":
            return text[: len(text) * 2 // 3], "stop"
        case "empty":
            return "", "stop"
        case _:
            return "I would rather talk about this than fill in a form.", "stop"


def _spoilt(fault: Fault, value: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    name = fault.key or bounded(schema) if fault.kind == "out_of_range" else fault.key or next(iter(value))
    assert name is not None, "the fault was given to a request that it does not fit"
    if fault.kind == "missing":
        return {key: part for key, part in value.items() if key != name}
    if fault.kind == "wrong_type":
        return {**value, name: {"unexpected": "object"}}
    limits = resolve(schema["properties"][name], schema)
    return {**value, name: limits["maximum"] + 1 if "maximum" in limits else limits["minimum"] - 1}
