"""What model servers answer, made sound before a framework's client reads it: bounded, readable, without secrets.

Clients of the frameworks trust a server: a body that is no UTF-8, a number of 6,000 digits or a usage of −10 breaks
them in as many ways as there are clients. Here a body that is no answer becomes an error in words, which is sent again
like any other failure; what is only untidy is tidied; what cannot be counted is left to an estimate of ours.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NoReturn, cast

from manyheads.escaping import plain, scrubbed

MOST_BYTES = 16_000_000
"""Of an answer; the longest replies of today's models have some 500 kB."""
MOST_ARGUMENTS = 100_000
"""Characters of a tool call's arguments."""
MOST_TOKENS = 100_000_000
"""That one answer can have cost: more than any model reads and writes."""
UNSOUND = 502
"""The status of an answer that cannot be used, as a gateway would tell it."""
_DIGITS = re.compile(r"\d{400}")
_JSON = {"content-type": "application/json"}
_KEY_HEADERS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")

Object = dict[str, Any]


class UnsoundError(Exception):
    """An answer that is none, with the reason in words."""


class SoundTransport:
    """The way to a model server, on which answers are read to a bound and made sound.

    Requests and responses are those of the client that it is put into: httpx, or a package of the same shape.

    Args:
        inner: the client's own transport.
        openai: whether the server speaks OpenAI's chat completions, whose shape is then held to.
    """

    def __init__(self, inner: Any, *, openai: bool) -> None:
        self._inner, self._openai = inner, openai

    async def __aenter__(self) -> "SoundTransport":
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *failure: Any) -> None:
        await self._inner.__aexit__(*failure)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def handle_async_request(self, request: Any) -> Any:
        """Send a request; an answer that is none comes back as an error of the server, in words."""
        response = await self._inner.handle_async_request(request)
        try:
            return await self._sound(request, response)
        except UnsoundError as error:
            return _refusal(request, response, UNSOUND, str(error))
        finally:
            await response.aclose()

    async def _sound(self, request: Any, response: Any) -> Any:
        status = response.status_code
        if status in (301, 302, 303):
            place = scrubbed(response.headers.get("location", "nowhere"))[:200]
            raise UnsoundError(f"it sends requests elsewhere ({status}), to {place}: put that into base_url")
        body = await _read(response)
        if status in (307, 308):
            return type(response)(status, headers=response.headers, content=b"", request=request)
        if status >= 400:
            return _refusal(request, response, status, _words(body))
        value = _json(body)
        if self._openai:
            value = _completion(value)
        return type(response)(status, headers=_JSON, content=json.dumps(value), request=request)


async def _read(response: Any) -> bytes:
    body = bytearray()
    try:
        async for piece in response.aiter_bytes(65536):
            body += piece
            if len(body) > MOST_BYTES:
                raise UnsoundError(f"its answer was longer than {MOST_BYTES // 1_000_000} MB")
    except Exception as error:
        if type(error).__name__ != "DecodingError":
            raise
        raise UnsoundError(f"its answer is not in the encoding that it names: {error}") from error
    return bytes(body)


def _refusal(request: Any, response: Any, status: int, words: str) -> Any:
    """An error as every client reads it, without the secrets of the request."""
    secrets = [request.headers.get(name, "") for name in _KEY_HEADERS]
    secrets += [part for secret in secrets for part in secret.split()[1:]]
    message = plain(scrubbed(words, *secrets))
    kept = {name: response.headers[name] for name in ("retry-after",) if name in response.headers}
    error = {"error": {"message": message[:500] or "it says nothing", "type": "error", "code": None}}
    return type(response)(status, headers=kept, json=error, request=request)


def _words(body: bytes) -> str:
    """What an error says, whatever its form."""
    text = body[:100_000].decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return re.sub(r"<[^>]*>", " ", text)[:2000]
    return _message(value) or text[:2000]


def _message(value: Any) -> str:
    """The message in an error's JSON: `error.message`, `error`, `message` or `detail`."""
    while isinstance(value, dict):
        fields = cast(Object, value)
        value = next((fields[name] for name in ("error", "message", "detail") if fields.get(name)), None)
    return value if isinstance(value, str) else ""


def _json(body: bytes) -> Any:
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnsoundError("its answer is no UTF-8 text") from error
    if not text.strip():
        raise UnsoundError("its answer is empty")
    if _DIGITS.search(re.sub(r'"(?:[^"\\]|\\.)*"', "", text)):
        raise UnsoundError("its answer holds a number of hundreds of digits")
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        start = plain(text[:60])
        raise UnsoundError(f"its answer is no JSON; it begins: {start!r}") from error


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _completion(value: Any) -> Object:
    """A chat completion, tidied."""
    if not isinstance(value, dict):
        raise UnsoundError("its answer is no chat completion")
    body = cast(Object, value)
    choices = body.get("choices")
    first: Any = cast(list[Any], choices)[0] if isinstance(choices, list) and choices else None
    message: Any = cast(Object, first).get("message") if isinstance(first, dict) else None
    if not isinstance(message, dict):
        said = _message({name: body.get(name) for name in ("error", "message", "detail")})
        raise UnsoundError(f"it says: {said}" if said else "its answer is no chat completion")
    tidy = _tidy_message(cast(Object, message))
    finish = "tool_calls" if "tool_calls" in tidy else cast(Object, first).get("finish_reason")
    return {
        "id": str(body.get("id") or ""),
        "object": "chat.completion",
        "created": created if type(created := body.get("created")) is int else 0,
        "model": model if isinstance(model := body.get("model"), str) else "",
        "choices": [
            {"index": 0, "message": tidy, "finish_reason": finish if isinstance(finish, str) else "stop"}
        ],
        "usage": _usage(body.get("usage")),
    }


def _tidy_message(message: Object) -> Object:
    calls = message.get("tool_calls") or []
    tidy: Object = {"role": "assistant", "content": _text(message.get("content"))}
    if isinstance(message.get("refusal"), str):
        tidy["refusal"] = message["refusal"]
    for name in ("reasoning", "reasoning_content"):
        if isinstance(message.get(name), str):
            tidy[name] = message[name]
    if not isinstance(calls, list):
        raise UnsoundError("its tool calls are no list")
    if calls:
        tidy["tool_calls"] = [
            _call(call, number) for number, call in enumerate(cast(list[Any], calls), start=1)
        ]
    return tidy


def _text(content: Any) -> str | None:
    if content is None or isinstance(content, str):
        return content
    parts = cast(Sequence[Any], content) if isinstance(content, list) else [None]
    texts = [cast(Object, part).get("text") if isinstance(part, dict) else None for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise UnsoundError("its message is no text")
    return "".join(cast(list[str], texts))


def _call(call: Any, number: int) -> Object:
    function: Any = cast(Object, call).get("function") if isinstance(call, dict) else None
    name: Any = cast(Object, function).get("name") if isinstance(function, dict) else None
    if not isinstance(name, str) or not name:
        raise UnsoundError("it calls a tool without a name")
    arguments: Any = cast(Object, function).get("arguments")
    arguments = (
        arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
    )
    if problem := unsound_arguments(arguments):
        raise UnsoundError(f"it calls the tool {name[:60]} with arguments {problem}")
    identity = cast(Object, call).get("id")
    identity = identity if isinstance(identity, str) and identity else f"call_{number}"
    return {
        "id": identity,
        "type": "function",
        "function": {"name": name[:200], "arguments": arguments or "{}"},
    }


def unsound_arguments(arguments: str) -> str | None:
    """Why a tool call's arguments are not for a framework to read, None where they are; other errors it tells the model."""
    if len(arguments) > MOST_ARGUMENTS:
        return f"of {len(arguments):,} characters"
    if _DIGITS.search(arguments):
        return "with a number of hundreds of digits"
    try:
        json.loads(arguments or "{}")
    except RecursionError:
        return "that are nested too deep"
    except ValueError:
        pass
    return None


def _usage(usage: Any) -> Object | None:
    """The tokens of an answer; None where the server gives none that can be."""
    given = cast(Object, usage) if isinstance(usage, dict) else {}
    read, written = count_of(given.get("prompt_tokens"), 1), count_of(given.get("completion_tokens"))
    if read is None or written is None:
        return None
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def count_of(value: Any, least: int = 0) -> int | None:
    """A number of tokens, None for what cannot be one: no credit is earned, and no budget spent, by a wrong number."""
    return value if type(value) is int and least <= value <= MOST_TOKENS else None
