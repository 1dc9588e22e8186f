"""How the fake model server writes answers: OpenAI's chat completions, Ollama's chat, Anthropic's messages."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from support.requests import Request, Wire

Finish = Literal["stop", "length", "tools"]
FINISH: dict[Wire, dict[Finish, str]] = {
    "openai": {"stop": "stop", "length": "length", "tools": "tool_calls"},
    "ollama": {"stop": "stop", "length": "length", "tools": "stop"},
    "anthropic": {"stop": "end_turn", "length": "max_tokens", "tools": "tool_use"},
}
STREAMED: dict[Wire, str] = {
    "openai": "text/event-stream",
    "ollama": "application/x-ndjson",
    "anthropic": "text/event-stream",
}


@dataclass(frozen=True)
class Call:
    """A tool call that the fake model makes."""

    name: str
    arguments: dict[str, Any]
    id: str = "call_1"


@dataclass(frozen=True)
class Answer:
    """What the fake model says to one request. Tokens are a quarter of the letters."""

    text: str
    request: Request
    calls: tuple[Call, ...] = ()
    finish: Finish = "stop"
    cache: tuple[int, int] | None = None
    """Input tokens read from a cache and written to it; None where the server has none."""

    @property
    def model(self) -> str:
        return self.request.body.get("model", "test-model")

    @property
    def input_tokens(self) -> int:
        return 1 + len(self.request.text) // 4

    @property
    def output_tokens(self) -> int:
        said = self.text + "".join(json.dumps(call.arguments) for call in self.calls)
        return 1 + len(said) // 4

    @property
    def finish_word(self) -> str:
        return FINISH[self.request.wire][self.finish]

    @property
    def pieces(self) -> list[str]:
        return [self.text[i : i + 40] for i in range(0, len(self.text), 40)]


def whole(answer: Answer) -> dict[str, Any]:
    """The body of an answer in one piece."""
    match answer.request.wire:
        case "openai":
            return _openai_whole(answer)
        case "ollama":
            return _ollama(answer, answer.text, done=True)
        case "anthropic":
            return _anthropic_whole(answer)


def streamed(answer: Answer) -> Iterator[bytes]:
    """The chunks of an answer in pieces."""
    match answer.request.wire:
        case "openai":
            yield from (f"data: {json.dumps(chunk)}\n\n".encode() for chunk in _openai_chunks(answer))
            yield b"data: [DONE]\n\n"
        case "ollama":
            yield from (json.dumps(line).encode() + b"\n" for line in _ollama_lines(answer))
        case "anthropic":
            for event in _anthropic_events(answer):
                yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def error_body(wire: Wire, status: int, message: str) -> dict[str, Any]:
    match wire:
        case "openai":
            return {"error": {"message": message, "type": "error", "code": status}}
        case "ollama":
            return {"error": message}
        case "anthropic":
            return {"type": "error", "error": {"type": "api_error", "message": message}}


def _openai_usage(answer: Answer) -> dict[str, Any]:
    usage: dict[str, Any] = {
        "prompt_tokens": answer.input_tokens,
        "completion_tokens": answer.output_tokens,
        "total_tokens": answer.input_tokens + answer.output_tokens,
    }
    if answer.cache:
        usage["prompt_tokens_details"] = {"cached_tokens": answer.cache[0], "audio_tokens": 0}
    return usage


def _anthropic_usage(answer: Answer) -> dict[str, int]:
    """Its input tokens are those behind the last mark."""
    usage = {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens}
    if answer.cache:
        usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"] = answer.cache
        usage["input_tokens"] -= sum(answer.cache)
    return usage


def _openai_calls(answer: Answer) -> list[dict[str, Any]]:
    return [
        {"index": i, "id": c.id, "type": "function",
         "function": {"name": c.name, "arguments": json.dumps(c.arguments)}}
        for i, c in enumerate(answer.calls)
    ]  # fmt: skip


def _openai_whole(answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": "assistant",
        "content": answer.text or ("" if not answer.calls else None),
    }
    if answer.calls:
        message["tool_calls"] = _openai_calls(answer)
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_word}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": answer.model}
    return {**head, "choices": [choice], "usage": _openai_usage(answer)}


def _openai_chunks(answer: Answer) -> Iterator[dict[str, Any]]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": answer.model}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    yield from (chunk({"content": piece}) for piece in answer.pieces)
    if answer.calls:
        yield chunk({"tool_calls": _openai_calls(answer)})
    yield chunk({}, answer.finish_word)
    if (answer.request.body.get("stream_options") or {}).get("include_usage"):
        yield {**head, "choices": [], "usage": _openai_usage(answer)}


def _ollama(answer: Answer, text: str, *, done: bool) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if answer.calls and done:
        calls = [{"function": {"name": call.name, "arguments": call.arguments}} for call in answer.calls]
        message["tool_calls"] = calls
    line = {"model": answer.model, "created_at": "2025-01-01T00:00:00Z", "message": message, "done": done}
    ending = {
        "done_reason": answer.finish_word,
        "total_duration": 1,
        "prompt_eval_count": answer.input_tokens,
        "eval_count": answer.output_tokens,
    }
    return {**line, **ending} if done else line


def _ollama_lines(answer: Answer) -> Iterator[dict[str, Any]]:
    yield from (_ollama(answer, piece, done=False) for piece in answer.pieces)
    yield _ollama(answer, "", done=True)


def _anthropic_blocks(answer: Answer) -> list[dict[str, Any]]:
    calls = [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments} for c in answer.calls]
    return ([{"type": "text", "text": answer.text}] if answer.text else []) + calls


def _anthropic_whole(answer: Answer) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": _anthropic_blocks(answer),
        "stop_reason": answer.finish_word,
        "stop_sequence": None,
        "usage": _anthropic_usage(answer),
    }


def _anthropic_events(answer: Answer) -> Iterator[dict[str, Any]]:
    start = {**_anthropic_whole(answer), "content": [], "stop_reason": None}
    start["usage"] = {"input_tokens": answer.input_tokens, "output_tokens": 0}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(_anthropic_blocks(answer)):
        yield from _anthropic_block(index, block, answer)
    usage = {"output_tokens": answer.output_tokens}
    delta = {"stop_reason": answer.finish_word, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": usage}
    yield {"type": "message_stop"}


def _anthropic_block(index: int, block: dict[str, Any], answer: Answer) -> Iterator[dict[str, Any]]:
    if block["type"] == "text":
        empty: dict[str, Any] = {"type": "text", "text": ""}
        deltas: list[dict[str, Any]] = [{"type": "text_delta", "text": piece} for piece in answer.pieces]
    else:
        empty = {**block, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    yield {"type": "content_block_start", "index": index, "content_block": empty}
    yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
    yield {"type": "content_block_stop", "index": index}
