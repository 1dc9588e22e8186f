"""Validates answers of model servers before a framework's client reads them: bounded, readable, without secrets.

The frameworks' clients trust a server: a body that is not UTF-8, a number of 6,000 digits or a usage of −10 breaks each
in its own way. Here an invalid body becomes an error with a message, which is retried like any other failure; an untidy
one is repaired; invalid token counts are left to our own estimate.
"""

import json
import re
from base64 import b64decode
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from typing import Any, cast

from manyheads.asking.json_text import printable
from manyheads.base import text as escaping
from manyheads.base.errors import scrubbed
from manyheads.base.http import (
    GarbledError,
    RefusedError,
    SpentError,
    is_failure,
    is_garbled,
    retry_after,
    seconds_of,
    status_of,
)

MOST_BYTES = 16_000_000
"""Maximum bytes of an unpacked answer: the longest replies of today's models have 500 kB, literature services 10 MB."""
MOST_ARGUMENTS, MOST_CALLS, MOST_REDIRECTIONS = 100_000, 100, 3
"""Maximum characters of a tool call's arguments, tool calls in one answer, and redirections of one request."""
MOST_TOKENS = 100_000_000
"""Maximum tokens of one answer: more than any model supports."""
SHORTEST_KEY = 16
"""Minimum characters of a key to be removed from answers: shorter ones may be words."""
_SPENT = re.compile(
    r"insufficient_quota|exceeded your current quota|credit balance|insufficient (credit|balance|fund)", re.I
)
"""A server's message for an account without quota, sent with the status of a rate limit."""
_JSON = {"content-type": "application/json"}
_ENDINGS = ("finish_reason", "stop_reason", "done_reason")
_KEY_HEADERS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")

_UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError)
"""Errors of a user's own client on JSON without the documented shape."""

Object = dict[str, Any]
Steer = Callable[[Object], AbstractContextManager[Object]]
"""Adds fields to a request's body, for as long as the request is under way."""
STEERED = ("prompt_cache_key", "cache_control")


Cache = tuple[int, int]
"""Input tokens read from the provider's cache, and written to it."""
HEARD: ContextVar[list[tuple[str, bool, Cache]]] = ContextVar("heard")
"""Of each answer to the current request, what the frameworks' clients drop: its model, whether it was cut off, the cache."""


class SoundTransport:
    """A transport to a model server that bounds and validates answers; every SDK takes one when it is made.

    Args:
        client: the client of httpx, or of a package of the same shape, that sends the requests; it knows the proxies.
        provider: the provider whose format the answers have.
        steer: adds fields to the bodies of requests; a server that refuses one of them gets none from then on.
    """

    def __init__(self, client: Any, provider: str, steer: Steer | None = None) -> None:
        self.client, self._tidy, self._steer = client, _FORMATS.get(provider, _completion), steer

    async def __aenter__(self) -> "SoundTransport":
        return self

    async def __aexit__(self, *failure: Any) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self.client.aclose()

    async def handle_async_request(self, request: Any) -> Any:
        """Send a request; raises `RefusedError` for an error status, and `GarbledError` for an invalid answer."""
        request.headers["accept-encoding"] = "gzip"
        with self._steered(request) as sent:
            return await self._exchange(request, sent)

    async def _exchange(self, request: Any, sent: Any) -> Any:
        response = await self.response(sent)
        try:
            status = response.status_code
            if status in (301, 302, 303, 307, 308):
                return _redirection(request, response)
            try:
                body = await self.body(request, response)
            except RefusedError as error:
                if sent is request or not any(name in str(error) for name in STEERED):
                    raise
                self._steer = None
                return await self._exchange(request, request)
            tidy = self._tidy(json_of(body))
            content = json.dumps(tidy)
            for secret in _secrets_of(request.headers):  # a text with the key would be in the journal
                content = content.replace(secret, "…") if len(secret) >= SHORTEST_KEY else content
            end = tidy["choices"][0] if "choices" in tidy else tidy
            cut = any(end.get(name) in ("length", "max_tokens") for name in _ENDINGS)
            HEARD.get([]).append((tidy["model"], cut, _cache(fields_of(tidy.get("usage")))))
            return type(response)(status, headers=_JSON, content=content, request=request)
        finally:
            await response.aclose()

    async def response(self, request: Any) -> Any:
        """The unread answer to a request."""
        return await self.client.send(request, stream=True, follow_redirects=False)

    async def body(self, request: Any, response: Any, most: int = MOST_BYTES) -> bytes:
        """The bytes of an unread answer; raises as `handle_async_request`."""
        if response.status_code >= 400:
            words, wait = await refusal_of(response), seconds_of(response.headers.get("retry-after"))
            raise _refusal(response.status_code, wait, words, *_secrets_of(request.headers))
        try:
            return await body_of(response, most)
        except GarbledError as error:
            raise GarbledError(f"its answer is {error}") from error

    @contextmanager
    def _steered(self, request: Any) -> Generator[Any]:
        """The request to send: the same one, or one with further fields in its body."""
        is_json = self._steer and request.headers.get("content-type") == _JSON["content-type"]
        body = cast(Object, json.loads(request.content)) if is_json else {}
        if self._steer is None or "messages" not in body:
            return (yield request)
        with self._steer(body) as steered:
            headers = [(name, value) for name, value in request.headers.items() if name != "content-length"]
            more: Object = {"headers": headers, "content": json.dumps(steered)}
            yield type(request)(request.method, request.url, extensions=request.extensions, **more)


def _redirection(request: Any, response: Any) -> Any:
    """A redirection of the same request within its server, which the client follows.

    Raises `RefusedError` for one to another server, which must not get the prompt and the key, and for one too many.
    """
    status, place = response.status_code, response.headers.get("location", "nowhere")
    to, number = request.url.join(place), request.extensions.get("redirections", 0) + 1
    at_home = (to.scheme, to.host, to.port) == (request.url.scheme, request.url.host, request.url.port)
    if status in (307, 308) and at_home and number <= MOST_REDIRECTIONS:
        request.extensions["redirections"] = number  # the client copies it into the next request
        return type(response)(status, headers=response.headers, content=b"", request=request)
    raise RefusedError(status, text=f"to {scrubbed(place)[:200]}: use that as base_url")


def plain(error: Exception) -> Exception | None:
    """The server's fault behind an exception of a provider's SDK, or of a framework over it; None for other exceptions."""
    for each in (error, error.__cause__):
        if isinstance(each, RefusedError | GarbledError):
            return each
    if (status := status_of(error)) is not None:
        words = _message(getattr(error, "body", None)) or getattr(error, "error", None) or str(error)
        return _refusal(status, retry_after(error), str(words))
    if is_garbled(error):
        return GarbledError("its answer is not JSON")
    unreadable = isinstance(error, _UNREADABLE) and not is_failure(error)
    return GarbledError("its answer is not a chat completion") if unreadable else None


async def body_of(response: Any, most: int = MOST_BYTES) -> bytes:
    """The bytes of an unread answer, unpacked as a stream; the request accepts only gzip.

    Raises `GarbledError` beyond `most` bytes, and for another compression, of which a piece may unpack to any size.
    """
    packing, body = response.headers.get("content-encoding", "").strip().lower(), bytearray()
    if packing not in ("", "identity", "gzip"):
        raise GarbledError(f"compressed in an unexpected way, {packing[:40]!r}")
    try:
        async for piece in response.aiter_bytes():
            if max(len(body) + len(piece), response.num_bytes_downloaded) > most:
                raise GarbledError(f"longer than {most / 1_000_000:g} MB")
            body += piece
    except Exception as error:
        if type(error).__name__ == "DecodingError":
            raise GarbledError("labelled as gzip, but it is not") from error
        raise
    return bytes(body)


async def refusal_of(response: Any) -> str:
    """An error's message in any format; empty if it is too long."""
    try:
        text = (await body_of(response, 100_000)).decode("utf-8", "replace")
    except GarbledError:
        return ""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return re.sub(r"<[^>]*>", " ", text)[:2000]
    return _message(value) or text[:2000]


def _secrets_of(headers: Any) -> Iterator[str]:
    """The keys of a request and its login, each whole and in parts."""
    for value in filter(None, map(headers.get, _KEY_HEADERS)):
        scheme, _, key = value.partition(" ")
        yield from (value, key)
        if scheme == "Basic":
            login = b64decode(key).decode("utf-8", "replace")
            yield from (login, login.partition(":")[2])


def _refusal(status: int, wait: float | None, words: str, *secrets: str) -> RefusedError:
    """A server's error in its own words, without the secrets of the request."""
    text = escaping.plain(scrubbed(words, *secrets))
    spent = status == 402 or (status in (403, 429) and _SPENT.search(text))
    return (SpentError if spent else RefusedError)(status, wait, text[:500])


def _message(value: Any) -> str:
    """The message in an error's JSON, `error.message`, `error`, `message` or `detail`, with the error's code, if it is a name."""
    code = None
    while isinstance(value, dict):
        fields = cast(Object, value)
        code = fields.get("code", code)
        value = next((fields[name] for name in ("error", "message", "detail") if fields.get(name)), None)
    if not isinstance(value, str):
        return ""
    named = isinstance(code, str) and code.isidentifier() and code not in value
    return f"{value} [{code}]" if named else value


def json_of(body: bytes) -> Any:
    try:
        text = body.decode("utf-8-sig")
        # NaN and Infinity, which JSON does not have: unknown
        return json.loads(text, parse_constant=lambda word: None) if text.strip() else None
    except UnicodeDecodeError as error:
        raise GarbledError("its answer is not UTF-8 text") from error
    except (ValueError, RecursionError) as error:
        start = escaping.plain(body[:60].decode("utf-8", "replace"))
        raise GarbledError(f"its answer is not JSON; it begins: {start!r}") from error


def _completion(value: Any) -> Object:
    """OpenAI's chat completion, validated."""
    body, choices = fields_of(value), fields_of(value).get("choices")
    first = fields_of(cast(list[Any], choices)[0]) if isinstance(choices, list) and choices else {}
    message = _message_of(body, first.get("message"))
    tidy = _texts(message, "refusal", "reasoning", "reasoning_content")
    tidy |= {"role": "assistant", "content": _text(message.get("content"))}
    if calls := _calls(message):
        tidy["tool_calls"] = [
            {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}
            for identity, name, arguments in calls
        ]
    spent = fields_of(body.get("usage"))
    read, written = _counts(spent, "prompt_tokens", "completion_tokens")
    cached, stored = _cache(spent)
    details = {"cached_tokens": cached, "cache_write_tokens": stored}
    usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    finish = "tool_calls" if calls else _word(first.get("finish_reason"), "stop")
    return {
        "id": _word(body.get("id")),
        "object": "chat.completion",
        "created": 0,
        "model": _word(body.get("model")),
        "choices": [{"index": 0, "message": tidy, "finish_reason": finish}],
        "usage": usage | ({"prompt_tokens_details": details} if 0 < cached + stored <= read else {}),
    }


def _chat(value: Any) -> Object:
    """Ollama's chat, validated."""
    body = fields_of(value)
    message = _message_of(body, body.get("message"))
    tidy = _texts(message, "thinking") | {"role": "assistant", "content": _text(message.get("content")) or ""}
    if calls := _calls(message):
        tidy["tool_calls"] = [
            {"function": {"name": name, "arguments": _object(name, arguments)}}
            for _, name, arguments in calls
        ]
    read, written = _counts(body, "prompt_eval_count", "eval_count")
    return {
        "model": _word(body.get("model")),
        "done": True,
        "done_reason": _word(body.get("done_reason"), "stop"),
        "message": tidy,
        "prompt_eval_count": read,
        "eval_count": written,
    }


def _blocks(value: Any) -> Object:
    """Anthropic's message, validated, with the blocks that clients read here: text, thinking, tool calls."""
    body, blocks = fields_of(value), list[Object]()
    content = _message_of(body, body if body.get("content") is not None else None)["content"]
    content = [{"type": "text", "text": content}] if isinstance(content, str) else _list(content)
    for number, block in enumerate(map(fields_of, content), start=1):
        match block.get("type"):
            case "tool_use":
                name, identity = block.get("name"), _word(block.get("id"), f"call_{number}")
                arguments = _object(str(name), sound_arguments(name, block.get("input")))
                blocks.append({"type": "tool_use", "id": identity, "name": name, "input": arguments})
            case "thinking" if isinstance(block.get("thinking"), str):
                signature = _word(block.get("signature"))
                blocks.append({"type": "thinking", "thinking": block["thinking"], "signature": signature})
            case "text":
                blocks.append({"type": "text", "text": _text([block]) or ""})
            case _:
                pass
    spent = fields_of(body.get("usage"))
    cached, stored = _cache(spent)
    if cached + stored and type(spent.get("input_tokens")) is int:  # which are those behind the last mark
        spent = {**spent, "input_tokens": max(spent["input_tokens"], 0) + cached + stored}
    read, written = _counts(spent, "input_tokens", "output_tokens")
    cache = {"cache_read_input_tokens": cached, "cache_creation_input_tokens": stored}
    return {
        "id": _word(body.get("id")),
        "type": "message",
        "role": "assistant",
        "model": _word(body.get("model")),
        "content": blocks or [{"type": "text", "text": ""}],
        "stop_reason": _word(body.get("stop_reason"), "end_turn"),
        "stop_sequence": None,
        "usage": {"input_tokens": read, "output_tokens": written} | (cache if cached + stored else {}),
    }


_FORMATS = {"openai": _completion, "ollama": _chat, "anthropic": _blocks}


def _message_of(body: Object, message: Any) -> Object:
    """The message of an answer; raises `GarbledError` if it has none, with the server's own message, if any."""
    if isinstance(message, dict):
        return cast(Object, message)
    said = _message({name: body.get(name) for name in ("error", "message", "detail")})
    code = fields_of(body.get("error")).get("code", body.get("code"))
    if said and type(code) is int and 400 <= code < 600:
        raise _refusal(code, None, said)  # as gateways do after the answer has begun
    if said:
        raise GarbledError(f"it says: {escaping.plain(scrubbed(said))[:500]}")
    missing = "contains no choice" if body.get("choices") == [] else "is not a chat completion"
    raise GarbledError(f"its answer {missing}")


def fields_of(value: Any) -> Object:
    return cast(Object, value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    if value and not isinstance(value, list):
        raise GarbledError("its answer is not a chat completion: a list is missing")
    return cast(list[Any], value or [])


def _word(value: Any, other: str = "") -> str:
    return value if value and isinstance(value, str) else other


def _texts(message: Object, *names: str) -> Object:
    return {name: message[name] for name in names if isinstance(message.get(name), str)}


def _text(content: Any) -> str | None:
    if content is None or isinstance(content, str):
        return content
    texts = [fields_of(part).get("text") for part in (content if isinstance(content, list) else [None])]
    if not all(isinstance(text, str) for text in texts):
        raise GarbledError("its message is not text")
    return "".join(map(str, texts))


def _calls(message: Object) -> list[tuple[str, str, str]]:
    """The tool calls of a message: id, name, arguments as JSON."""
    calls = [fields_of(each) for each in _list(message.get("tool_calls"))]
    if len(calls) > MOST_CALLS:
        raise GarbledError(f"it calls {len(calls):,} tools at once")
    uses = [fields_of(call.get("function")) for call in calls]
    return [
        (_word(call.get("id"), f"call_{number}"), _word(use.get("name")), sound_arguments(use.get("name"), use.get("arguments")))
        for number, (call, use) in enumerate(zip(calls, uses, strict=True), start=1)
    ]  # fmt: skip


def _object(name: str, arguments: str) -> Object:
    with suppress(ValueError):
        if isinstance(value := json.loads(arguments), dict):
            return cast(Object, value)
    raise GarbledError(f"it calls the tool {name[:60]} with arguments that are not a JSON object")


def sound_arguments(name: Any, arguments: Any) -> str:
    """A tool call's arguments as JSON that every framework and file accepts; the model is told about other errors in them.

    Raises `GarbledError` for a call without a name, and for arguments that no framework could read.
    """
    if not isinstance(name, str) or not name:
        raise GarbledError("it calls a tool without a name")
    if not isinstance(arguments, str):
        arguments = json.dumps({} if arguments is None else arguments)
    arguments = printable(arguments).strip() or "{}"
    if len(arguments) > MOST_ARGUMENTS:
        problem = f"of {len(arguments):,} characters"
    elif re.search(r"\d{400}", arguments):
        problem = "with a number of hundreds of digits"
    else:
        try:
            value = json.loads(arguments)
            return printable(json.dumps(value, ensure_ascii=False)) if "\\u" in arguments else arguments
        except RecursionError:
            problem = "that are nested too deeply"
        except ValueError:
            return arguments
    raise GarbledError(f"it calls the tool {name[:60]} with arguments {problem}")


def _counts(usage: Object, read: str, written: str) -> tuple[int, int]:
    """The token counts of an answer; 0 and 0, which no answer has, if the server's are missing or invalid."""
    reads, writes = count_of(usage.get(read), 1), count_of(usage.get(written))
    return (0, 0) if reads is None or writes is None else (reads, writes)


def _cache(usage: Object) -> Cache:
    """The cache's token counts in any format; 0 if missing or invalid."""
    details = fields_of(usage.get("prompt_tokens_details"))
    names = ("prompt_cache_hit_tokens", "cache_read_input_tokens")  # DeepSeek's, Anthropic's
    cached = next((usage[name] for name in names if name in usage), details.get("cached_tokens"))
    stored = usage.get("cache_creation_input_tokens", details.get("cache_write_tokens"))
    return count_of(cached) or 0, count_of(stored) or 0


def count_of(value: Any, least: int = 0) -> int | None:
    """A token count, None if invalid: a wrong number must not earn credit or use up a budget."""
    return value if type(value) is int and least <= value <= MOST_TOKENS else None
