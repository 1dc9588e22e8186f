"""A model server that misbehaves in the way that the requested model's name says.

    with Misbehaving() as server:
        …  # `--model openai/badutf` with `models.default.base_url={server.base_url}`

`mutantN` changes one value of a good answer. `once:NAME` misbehaves in its first answer alone, `third:NAME` in every third; any other name behaves well.
As a process of its own (with `tests` on PYTHONPATH), printing its address: `python -m attack.server`.
"""

import asyncio
import gzip
import itertools
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from support.faults import Fault
from support.http import Connection
from support.http import RawAnswer as Answer
from support.llm import LLM
from support.requests import Request
from support.wires import whole

DIGITS = "9" * 6000
Body = dict[str, Any]


def with_message(**message: Any) -> Callable[[Body], Body]:
    def change(body: Body) -> Body:
        choice = {**body["choices"][0], "message": {"role": "assistant", "content": None, **message}}
        return {**body, "choices": [choice]}

    return change


def with_fields(**fields: Any) -> Callable[[Body], Body]:
    return lambda body: {**body, **fields}


def with_text(spoil: Callable[[str], str]) -> Callable[[Body], Body]:
    return lambda body: with_message(content=spoil(body["choices"][0]["message"]["content"] or "{}"))(body)


def with_tool(arguments: Any, name: Any = "search_papers") -> Callable[[Body], Body]:
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return with_message(tool_calls=[call])


def usage(**tokens: Any) -> Callable[[Body], Body]:
    return with_fields(usage=tokens)


def scores_as(literal: str) -> Callable[[str], str]:
    """The reply with each number replaced by a literal."""

    def spoil(text: str) -> str:
        value = json.loads(text)
        marked = json.dumps({key: "@@" if type(each) is int else each for key, each in value.items()})
        return marked.replace('"@@"', literal)

    return spoil


JSON: dict[str, Callable[[Body], Any]] = {
    # usage
    "usagenull": with_fields(usage=None), "usageempty": usage(), "usagepart": usage(prompt_tokens=5),
    "usagefloat": usage(prompt_tokens=12.5, completion_tokens=3.5, total_tokens=16.0),
    "usagestr": usage(prompt_tokens="12", completion_tokens="x", total_tokens="y"),
    "usageneg": usage(prompt_tokens=-1_000_000, completion_tokens=-5, total_tokens=-1_000_005),
    "usagehuge": usage(prompt_tokens=10**18, completion_tokens=10**18, total_tokens=2 * 10**18),
    "usagebool": usage(prompt_tokens=True, completion_tokens=False, total_tokens=True),
    "usagelist": with_fields(usage=[1, 2]), "usagetext": with_fields(usage="many"),
    "usagefew": usage(prompt_tokens=1, completion_tokens=0, total_tokens=1),
    "usagezero": usage(prompt_tokens=0, completion_tokens=0, total_tokens=0),
    "usagenan": usage(prompt_tokens=float("nan"), completion_tokens=float("nan"), total_tokens=float("nan")),
    # the frame
    "modelnum": with_fields(model=5), "modelnull": with_fields(model=None), "modellist": with_fields(model=["a"]),
    "modelesc": with_fields(model="\x1b[2Jm\x00"), "idnum": with_fields(id=7), "createdtext": with_fields(created="now"),
    "choicesnull": with_fields(choices=None), "choicesempty": with_fields(choices=[]), "choicestext": with_fields(choices="no"),
    "choicenull": with_fields(choices=[None]), "nochoices": lambda body: {"id": "x"}, "nothing": lambda body: {},
    "list": lambda body: [body], "null": lambda body: None, "number": lambda body: 5, "text": lambda body: "hello",
    "errorbody": lambda body: {"error": {"message": "the model is overloaded", "code": 502}},
    "errortext": lambda body: {"error": "no capacity"}, "detail": lambda body: {"detail": "Not Found"},
    # the message
    "funcall": with_message(function_call={"name": "search_papers", "arguments": "{}"}),
    "contentnull": with_message(), "contentnum": with_message(content=5), "contentlist": with_message(content=["a", "b"]),
    "contentparts": with_message(content=[{"type": "text", "text": "hello"}]), "contentbool": with_message(content=True),
    "refusal": with_message(refusal="I cannot help with that."), "roleuser": with_message(role="user", content="hi"),
    "messagenull": lambda body: {**body, "choices": [{**body["choices"][0], "message": None}]},
    # tool calls
    "tool_null": with_tool(None), "tool_bigint": with_tool('{"query": ' + "9" * 5000 + "}"), "tool_list": with_tool("[1]"),
    "tool_deep": with_tool('{"query": ' + "[" * 50_000 + "]" * 50_000 + "}"), "tool_text": with_tool("owls"),
    "tool_number": with_tool(5), "tool_object": with_tool({"query": "owls"}), "tool_empty": with_tool(""),
    "tool_surrogate": with_tool('{"query": "\\ud800"}'), "tool_unnamed": with_tool("{}", None),
    "tool_unknown": with_tool("{}", "launch"), "tool_nan": with_tool('{"query": NaN}'), "tool_cut": with_tool('{"query": "ow'),
    "tools_null": with_message(tool_calls=[None]), "tools_text": with_message(tool_calls="search"),
    "tools_many": with_message(tool_calls=[{"id": f"c{i}", "type": "function",
                                            "function": {"name": "search_papers", "arguments": '{"query": "owls"}'}} for i in range(300)]),
    # the text
    "scale": with_text(scores_as("1 (very strong reject) to 10 (award quality)")), "minus": with_text(scores_as("−7")),
    "alternatives": with_text(scores_as("7 or 8")), "uniform": with_text(scores_as("10")),
    "thinkonly": with_text(lambda text: f"<think>maybe {text} or not</think> I cannot decide."),
    "thinkfirst": with_text(lambda text: f"<think>Hm. {{}}</think>\n{text}"),
    "escapes": with_text(lambda text: text.replace('": "', '": "\\u001b[2J\\u001b]0;OWNED\\u0007\\u202e')),
    "surrogates": with_text(lambda text: text.replace('": "', '": "\\ud800')), "nul": with_text(lambda text: text.replace('": "', '": "\\u0000')),
    "script": with_text(lambda text: text.replace('": "', '": "<script>alert(1)</script><img src=x onerror=alert(1)>')),
    "prose": with_text(lambda text: "I would rather talk about this."), "emptytext": with_text(lambda text: ""),
    "spaces": with_text(lambda text: " " * 100_000), "deeptext": with_text(lambda text: '{"a":' * 20_000),
    "hugetext": with_text(lambda text: text[:-1] + ', "more": "' + "a" * 3_000_000 + '"}'),
    "quotes": with_text(lambda text: '{"summary": "' + 'he said "no" ' * 40_000 + '"}'),
    "manywrong": with_text(lambda text: '{"strengths": [' + "1, " * 5000 + '1], "weaknesses": 5}'),
    "bigscore": with_text(scores_as(DIGITS)), "cuttext": with_text(lambda text: text[: len(text) // 2]),
}  # fmt: skip
"""What becomes of a good body, by the model's name."""


Raw = Callable[[Request, bytes], Answer]
GZIP = {"Content-Encoding": "gzip"}


def endless() -> Iterator[bytes]:
    yield b'{"id": "'
    yield from itertools.repeat(b"a" * 65536)


def error(status: int, message: str, headers: Mapping[str, str] = {}) -> Raw:
    body = json.dumps({"error": {"message": message}}).encode()
    return lambda request, good: Answer(body, status, headers)


def sent(body: bytes, status: int = 200, headers: Mapping[str, str] = {}) -> Raw:
    return lambda request, good: Answer(body, status, headers)


def changed(old: str, new: bytes) -> Raw:
    """A good answer with something put behind each place of a text."""
    return lambda request, good: Answer(good.replace(old.encode(), old.encode() + new))


def _away(request: Request) -> str:
    """The same path at this machine's name, which is another host than 127.0.0.1."""
    return f"http://localhost:{request.headers['host'].rpartition(':')[2]}{request.path}"


RAW: dict[str, Raw] = {
    "badutf": changed('": "', b"\xff\xfe"),
    "latin": changed('": "', b"\xe9"),
    "deepbody": sent(b'{"choices": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"),
    "hugeint": changed('"created": ', DIGITS.encode()),
    "hugeintusage": changed('"prompt_tokens": ', DIGITS.encode()),
    "emptybody": sent(b""),
    "html": sent(b"<html><body>Bad gateway</body></html>", headers={"Content-Type": "text/html"}),
    "plain": sent(b"hello"),
    "halfbody": lambda request, good: Answer(good[: len(good) // 2]),
    "sse": lambda request, good: Answer(
        b"data: " + good + b"\n\ndata: [DONE]\n\n", headers={"Content-Type": "text/event-stream"}
    ),
    "bom": lambda request, good: Answer(b"\xef\xbb\xbf" + good),
    "utf16": lambda request, good: Answer(good.decode().encode("utf-16")),
    "longlength": lambda request, good: Answer(good, length=len(good) + 1000),
    "shortlength": lambda request, good: Answer(good, length=10),
    "nolength": lambda request, good: Answer(good, length=None),
    "falsegzip": lambda request, good: Answer(good, headers=GZIP),
    "endless": lambda request, good: Answer(endless(), length=None),
    "gzbomb": lambda request, good: Answer(
        gzip.compress(b'{"id": "' + b"a" * 300_000_000 + b'"}', 9), headers=GZIP
    ),
    "drip": lambda request, good: Answer(
        (good[at : at + 1] for at in range(len(good))), length=len(good), pause=0.2
    ),
    "manyheaders": lambda request, good: Answer(good, headers={f"X-{i}": "a" * 100 for i in range(2000)}),
    "s204": sent(b"", 204),
    "s301": sent(b"", 301, {"Location": "/v1/elsewhere"}),
    "saykey": lambda request, good: Answer(
        good.replace(rb"\": \"", rb"\": \"" + request.headers["authorization"].encode() + b" ", 1)
    ),
    "s307": lambda request, good: Answer(b"", 307, {"Location": request.path}),
    "s307away": lambda request, good: Answer(b"", 307, {"Location": _away(request)}),
    "s308away": lambda request, good: Answer(b"", 308, {"Location": _away(request).removeprefix("http:")}),
    **{f"s{status}": error(status, "no") for status in (400, 401, 403, 404, 418, 500, 999)},
    "s429": error(429, "slow down", {"Retry-After": "0"}),
    "s429never": error(429, "slow down", {"Retry-After": "1e9"}),
    "s502html": sent(b"<html>Bad gateway</html>", 502),
    "s503echo": lambda request, good: error(503, f"no: {request.headers.get('authorization')}")(
        request, good
    ),
    "s400echo": lambda request, good: error(400, f"bad headers {dict(request.headers)}")(request, good),
    "s500esc": error(500, "\x1b[2J\x1b]0;OWNED\x07 oops"),
    "s500huge": error(500, "a" * 3_000_000),
    "s500utf": sent(b"\xff\xfe\xff", 500),
    "s500deep": sent(b"[" * 50_000, 500),
}
"""What goes out in place of a good body, by the model's name. Those `away` send the client to another host."""
BEHAVIOURS = (*JSON, *RAW, "drop", "silent")
ODD: tuple[Any, ...] = (
    None, 5, -1, 1.5, float("nan"), 10**18, int("9" * 300), True, "x", "", [], [None], ["x"], {}, {"a": 1}, json.loads("[" * 900 + "]" * 900),
    GONE := object(),
)  # fmt: skip
"""What stands in a mutant in place of a value, on any provider's wire."""


def mutant(body: Body, number: int) -> Body:
    """A body with one value, at whatever depth, replaced by an odd one, or gone; by number, round and round."""
    changed = json.loads(json.dumps(body))
    places = list(_places(changed))
    holder, key = places[number % len(places)]
    odd = ODD[number // len(places) % len(ODD)]
    if odd is GONE:
        del holder[key]
    else:
        holder[key] = odd
    return changed


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from _places(value[key])


class Misbehaving(LLM):
    """The server. `counts` says how often each behaviour was asked for, and `strangers` at another host."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.counts, self.strangers = Counter[str](), Counter[str]()

    async def _respond(self, connection: Connection, request: Request, fault: Fault | None) -> None:
        name = str(request.body.get("model"))
        when, colon, inner = name.partition(":")
        behaviour = inner if colon else name
        self.counts[name] += 1
        self.strangers[name] += "127.0.0.1" not in request.headers["host"]
        count = self.counts[name]
        if colon and ((when == "once" and count > 1) or (when == "third" and count % 3)):
            behaviour = "good"
        if behaviour == "drop":
            connection.drop()
        elif behaviour == "silent":
            await asyncio.sleep(3600)
        elif behaviour in JSON or behaviour in RAW or behaviour.startswith("mutant"):
            await self._misbehave(connection, request, behaviour)
        else:
            await super()._respond(connection, request, fault)

    async def _misbehave(self, connection: Connection, request: Request, behaviour: str) -> None:
        good = whole(self._answer(request, None))
        if behaviour not in RAW:
            number = behaviour.removeprefix("mutant")
            body = JSON[behaviour](good) if behaviour in JSON else mutant(good, int(number))
            await connection.send_raw(Answer(json.dumps(body).encode("utf-8", "surrogatepass")))
        else:
            await connection.send_raw(RAW[behaviour](request, json.dumps(good).encode()))


def main() -> None:
    with Misbehaving() as server:
        print(server.base_url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
