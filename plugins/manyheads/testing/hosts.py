"""Tests for hosts of other packages: `host_conformance(make_host)` names each broken clause of the contract."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pydantic import BaseModel

from manyheads.asking.replies import Remark
from manyheads.base.errors import BudgetError, CorpusError, ModelError, ReplyError
from manyheads.config import ModelConfig
from manyheads.core import (
    Image,
    ManagedHost,
    Message,
    Place,
    Recall,
    Reply,
    Speaker,
    Tool,
    Turn,
    recall_nothing,
)
from manyheads.testing.contract import clause_name, need_none, what_broke

HostFactory = Callable[[Mapping[str, ModelConfig], Recall, int], ManagedHost]
REMARK = Remark(remark=" ".join(["So it is, and so it was."] * 15), topic=" ".join(["Owls that plan."] * 4))
ANSWER = REMARK.model_dump_json()
SECONDS = 20
"""Time limit of a clause."""


@dataclass
class Server:
    """A local server of chat completions, which gives prepared answers in order and records requests.

    Attributes:
        answers: each a text, a status, or a message with its `finish_reason`; `ANSWER` when none is left.
    """

    answers: list[Any] = field(default_factory=list[Any])
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    url: str = ""

    def messages(self, number: int = -1) -> list[tuple[str, str]]:
        """The roles and texts of a request's messages, without pictures."""
        return [(each["role"], _text(each.get("content"))) for each in self.requests[number]["messages"]]

    def next(self, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The status and body of the next answer."""
        self.requests.append(request)
        answer = self.answers.pop(0) if self.answers else ANSWER
        if isinstance(answer, int):
            return answer, {"error": {"message": f"status {answer}"}}
        message, reason = answer if isinstance(answer, tuple) else ({"content": answer}, "stop")
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
        usage = {"prompt_tokens": 30, "completion_tokens": 12, "total_tokens": 42}
        whole = {"id": "1", "object": "chat.completion", "created": 1, "model": "conformance"}
        return 200, {**whole, "choices": [choice], "usage": usage}


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


@contextmanager
def _serving() -> Generator[Server]:
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # headers and body are written apart: the second would wait 40 ms

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, body = server.next(request)
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            with suppress(BrokenPipeError):  # the client has disconnected
                self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
            """Says nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    server.url = f"http://127.0.0.1:{listening.server_address[1]}/v1"
    thread = threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listening.shutdown()
        listening.server_close()


@dataclass
class HostBench:
    """The environment of a clause: a server, and hosts that use it, closed at the end."""

    make_host: HostFactory
    server: Server
    made: list[ManagedHost] = field(default_factory=list[ManagedHost])

    def host(self, recall: Recall = recall_nothing, attempts: int = 3, **settings: Any) -> ManagedHost:
        given: dict[str, Any] = {"base_url": self.server.url, "retries": 0, "timeout": 10, "tools": True}
        model = ModelConfig(provider="openai", name="conformance", **{**given, **settings})
        self.made.append(host := self.make_host({"default": model}, recall, attempts))
        return host

    async def ask(self, *thread: Message, on: ManagedHost | None = None, **more: Any) -> Reply[Remark]:
        speaker = Speaker("Scientist1", "scientist", "You are Scientist1.")
        asked = thread or (Message("What do you say?"),)
        turn = Turn(Place("topic", 1, speaker.name, "topic"), speaker, asked, Remark, **more)
        return await (on or self.host()).ask(turn)


class _Look(BaseModel):
    subject: str


def _tool(run: Callable[[_Look], Awaitable[str]], name: str = "look_up") -> Tool:
    return Tool(name, "Look something up.", _Look, run)


def _calls(*calls: tuple[str, str, str]) -> tuple[dict[str, Any], str]:
    """A model's answer that calls tools: ids, names and subjects."""
    made = [
        {
            "id": number,
            "type": "function",
            "function": {"name": name, "arguments": json.dumps({"subject": subject})},
        }
        for number, name, subject in calls
    ]
    return {"content": None, "tool_calls": made}, "tool_calls"


async def _found(look: _Look) -> str:
    return f"3 papers on {look.subject}"


async def _raises(kind: type[Exception], asking: Awaitable[Any], problem: str) -> None:
    try:
        await asking
    except kind:
        return
    raise AssertionError(problem)


async def _reply(bench: HostBench) -> None:
    reply = await bench.ask()
    assert reply.value == REMARK, f"the reply is {reply.value!r}"
    assert reply.model == "conformance", (
        f"the reply names the model {reply.model!r}, not the one that answered"
    )


async def _usage(bench: HostBench) -> None:
    usage = (await bench.ask(on=bench.host(price={"input": 1000.0, "output": 2000.0}))).usage
    counts = (usage.calls, usage.input_tokens, usage.output_tokens)
    assert counts == (1, 30, 12), f"calls, tokens read and written are {counts}, not (1, 30, 12)"
    assert usage.cost == 0.054, f"30 tokens at 0.001 and 12 at 0.002 cost {usage.cost}, not 0.054"


async def _thread(bench: HostBench) -> None:
    await bench.ask(Message("First."), Message("I said.", "assistant"), Message("And now?"))
    sent = bench.server.messages()
    starts = [
        ("system", "You are Scientist1."),
        ("user", "First."),
        ("assistant", "I said."),
        ("user", "And now?"),
    ]
    kept = len(sent) == len(starts) and all(
        role == as_role and text.startswith(start)
        for (role, text), (as_role, start) in zip(sent, starts, strict=True)
    )
    assert kept, f"the model was sent {sent!r}"


async def _stateless(bench: HostBench) -> None:
    host = bench.host()
    await bench.ask(Message("One?"), on=host, tools=(_tool(_found),))
    await bench.ask(Message("Two?"), on=host)
    assert "One?" not in str(bench.server.messages()), "the second turn knows the first"
    assert "tools" not in bench.server.requests[-1], "the second turn is offered the first one's tools"


async def _at_once(bench: HostBench) -> None:
    host = bench.host()
    await asyncio.gather(*(bench.ask(Message(f"Number {n}?"), on=host) for n in range(4)))
    mixed = [request for request in bench.server.requests if str(request["messages"]).count("Number ") != 1]
    assert not mixed, "turns that are asked at once see each other"


async def _settings(bench: HostBench) -> None:
    await bench.ask()
    await bench.ask(on=bench.host(temperature=0.3, max_tokens=99))
    bare, given = bench.server.requests
    assert not {"temperature", "max_tokens", "seed"} & bare.keys(), "settings are sent that nobody has set"
    assert given.get("temperature") == 0.3, "the temperature is not sent"
    limits = (given.get("max_tokens"), given.get("max_completion_tokens"))
    assert 99 in limits, "max_tokens is not sent"


async def _pictures(bench: HostBench) -> None:
    png = b"\x89PNG\r\n\x1a\n" + bytes(16)
    await bench.ask(Message("Look.", images=(Image(png), Image(png))))
    assert str(bench.server.requests[0]).count("data:image/png;base64,") == 2, "not every picture is sent"


async def _asked_again(bench: HostBench) -> None:
    bench.server.answers += ["no JSON", ANSWER]
    reply = await bench.ask()
    assert (reply.attempts, reply.usage.calls) == (2, 2), (
        "a reply that does not fit is not asked for again, and paid"
    )
    assert len(bench.server.messages()) > len(bench.server.messages(0)), (
        "the model is not told why it is asked again"
    )


async def _attempts(bench: HostBench) -> None:
    bench.server.answers += ["no JSON"] * 3
    await _raises(ReplyError, bench.ask(on=bench.host(attempts=2)), "no ReplyError after the last attempt")
    assert len(bench.server.requests) == 2, f"asked {len(bench.server.requests)} times, not `attempts` times"


async def _cut_off(bench: HostBench) -> None:
    bench.server.answers += [({"content": ANSWER}, "length")]
    reply = await bench.ask()
    assert reply.attempts == 2, "an answer that was cut off at the length limit is taken"


async def _refusal(bench: HostBench) -> None:
    bench.server.answers += [401]
    await _raises(ModelError, bench.ask(), "a server that refuses is no ModelError")
    assert len(bench.server.requests) == 1, "a refused request is sent again"


async def _retries(bench: HostBench) -> None:
    bench.server.answers += [429] * 9
    host = bench.host(retries=1, max_wait=0.1)
    await _raises(ModelError, bench.ask(on=host), "a server that is busy is no ModelError")
    sent = len(bench.server.requests)
    assert sent == 2, f"with retries: 1 a request is sent {sent} times: the framework's own retries are on"


async def _tools(bench: HostBench) -> None:
    bench.server.answers += [_calls(("1", "look_up", "owls"), ("2", "other", "bats"))]
    reply = await bench.ask(tools=(_tool(_found), _tool(_found, "other")))
    made = [(call.name, call.arguments, call.result, call.failed) for call in reply.tool_calls]
    due = [
        (name, {"subject": on}, f"3 papers on {on}", False)
        for name, on in (("look_up", "owls"), ("other", "bats"))
    ]
    assert made == due, f"the reply records the calls {made!r}"
    results = [text for role, text in bench.server.messages() if role == "tool"]
    assert results == [f"3 papers on {on}" for on in ("owls", "bats")], f"the model was told {results!r}"


async def _tool_that_fails(bench: HostBench) -> None:
    async def broken(look: _Look) -> str:
        raise ConnectionError("the archive is closed")

    bench.server.answers += [_calls(("1", "look_up", "owls"))]
    reply = await bench.ask(tools=(_tool(broken),))
    assert [call.failed for call in reply.tool_calls] == [True], "a tool's failure is not noted"
    assert "the archive is closed" in str(bench.server.messages()), (
        "the model is not told why a tool has failed"
    )


async def _error_of_a_user_in_a_tool(bench: HostBench) -> None:
    async def spend(look: _Look) -> str:
        raise BudgetError("the budget is spent")

    bench.server.answers += [_calls(("1", "look_up", "owls"))]
    asking = bench.ask(tools=(_tool(spend),))
    await _raises(BudgetError, asking, "a user's error in a tool is told to the model, not raised")
    assert len(bench.server.requests) == 1, "the model is asked again after a user's error in a tool"


async def _recall(bench: HostBench) -> None:
    async def recall(turn: Turn[Any]) -> str:
        return f"<bank>{turn.recall}</bank>"

    host = bench.host(recall)
    await bench.ask(on=host, recall="graphs")
    await bench.ask(on=host)
    [*_, (role, text)] = bench.server.messages(0)
    assert (role, text.count("<bank>graphs</bank>")) == ("user", 1), "it is not in the question's message"
    kept = text.startswith("What do you say?") and not text.rstrip().endswith("</bank>")
    assert kept, "what is recalled stands not between the question and the form of the reply"
    assert "<bank>" not in str(bench.server.messages()), (
        "something is recalled where the turn asks for nothing"
    )


async def _recall_that_fails(bench: HostBench) -> None:
    async def broken(turn: Turn[Any]) -> str:
        raise CorpusError("the bank is gone")

    asking = bench.ask(on=bench.host(broken), recall="graphs")
    await _raises(CorpusError, asking, "a failed look-up does not end the turn")


async def _cancellation(bench: HostBench) -> None:
    begun = asyncio.Event()

    async def linger(look: _Look) -> str:
        begun.set()
        await asyncio.sleep(SECONDS)
        return ""

    bench.server.answers += [_calls(("1", "look_up", "owls"))]
    asking = asyncio.ensure_future(bench.ask(tools=(_tool(linger),)))
    await begun.wait()
    asking.cancel()
    with suppress(asyncio.CancelledError):
        reply = await asking
        raise AssertionError(f"a cancelled turn gives {reply.text!r}")


async def _offline(bench: HostBench) -> None:
    host = bench.make_host({"default": ModelConfig()}, recall_nothing, 3)
    bench.made.append(host)
    first, second = await bench.ask(on=host), await bench.ask(on=host)
    offline = first.model == "offline" and first.text == second.text
    assert offline, "the offline model is not asked"


async def _name(bench: HostBench) -> None:
    name = getattr(bench.host(), "framework", None)
    assert name, "the host has no `framework`: its runs cannot say which host made them"


async def _closing(bench: HostBench) -> None:
    host = bench.host()
    host.open("default")
    await asyncio.wait_for(host.gate(), 1)
    await bench.ask(on=host)
    await host.close()
    await host.close()


_ALL: Sequence[Callable[[HostBench], Awaitable[None]]] = (
    _reply, _usage, _thread, _stateless, _at_once, _settings, _pictures, _asked_again, _attempts,
    _cut_off, _refusal, _retries, _tools, _tool_that_fails, _error_of_a_user_in_a_tool, _recall,
    _recall_that_fails, _cancellation, _offline, _name, _closing,
)  # fmt: skip
CLAUSES = {clause_name(clause): clause for clause in _ALL}
"""The clauses of a host's contract, see `manyheads.core.Host`."""


async def broken_clauses(make_host: HostFactory, clauses: Sequence[str] = ()) -> dict[str, str]:
    """The clauses of the contract that a host breaks, each with what it did instead.

    Args:
        make_host: of the entry point's module; takes models by alias, the retrieval hook, and the attempts.
        clauses: to test; all of `CLAUSES` when empty.
    """
    broken: dict[str, str] = {}
    for name in clauses or CLAUSES:
        with _serving() as server:
            bench = HostBench(make_host, server)
            try:
                await asyncio.wait_for(CLAUSES[name](bench), SECONDS)
                for host in bench.made:
                    await host.close()
            except Exception as error:  # noqa: BLE001 - any error is a result of the test
                broken[name] = what_broke(error)
    return broken


def host_conformance(make_host: HostFactory, clauses: Sequence[str] = ()) -> None:
    """Assert that a host keeps its contract, for the tests of its package; see `broken_clauses`.

        def test_conformance():
            host_conformance(make_host)

    Raises:
        AssertionError: it breaks clauses; the message names each.
    """
    need_none("the host", asyncio.run(broken_clauses(make_host, clauses)))
