"""A server of HTTP/1.1, as much as the fakes need: keep-alive, chunked streams, and connections that break."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from queue import SimpleQueue
from typing import Any, Self

from support.ports import bound_socket


@dataclass(frozen=True)
class Incoming:
    """A request as it came; header names in lower case, the path without its query."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    query: str = ""


@dataclass(frozen=True)
class RawAnswer:
    """An answer as it goes out.

    Attributes:
        body: its bytes; or pieces, which may never end.
        length: what the header says of them, -1 for the truth; None leaves the header out, and the connection's end is
            the body's.
        pause: seconds before each piece.
    """

    body: bytes | Iterator[bytes]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    length: int | None = -1
    pause: float = 0.0


class Connection:
    """One client's connection, which serves one request after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def receive(self) -> Incoming | None:
        """The next request, None when the client has gone."""
        try:
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.split("\r\n")[:-2]
            method, target, _ = first.split(" ")
            headers = {
                name.strip().lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)
            }
            body = await self._reader.readexactly(int(headers.get("content-length", 0)))
        except asyncio.IncompleteReadError:
            return None
        path, _, query = target.partition("?")
        return Incoming(method, path, headers, body, query)

    async def send(
        self, status: int, data: Any, headers: Mapping[str, str] | None = None, *, cut: str | None = None
    ) -> None:
        """Send JSON. `cut`: `malformed` sends half of it as if it were all, `drop_body` breaks off half-way."""
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        half = body[: len(body) // 2] if cut in ("malformed", "drop_body") else body
        length = len(body) if cut == "drop_body" else -1
        await self.send_raw(RawAnswer(half, status, headers or {}, length))

    async def send_raw(self, answer: RawAnswer) -> None:
        """Send an answer as it is, true to its headers or not."""
        length = len(answer.body) if answer.length == -1 and isinstance(answer.body, bytes) else answer.length
        headers = {"Content-Type": "application/json", **answer.headers}
        if length is not None:
            headers["Content-Length"] = str(length)
        self._writer.write(_head(answer.status, headers))
        for piece in [answer.body] if isinstance(answer.body, bytes) else answer.body:
            await asyncio.sleep(answer.pause)
            self._writer.write(piece)
            await self._writer.drain()
        if length is None or (isinstance(answer.body, bytes) and length != len(answer.body)):
            self.drop()

    async def send_stream(self, kind: str, chunks: Iterator[bytes], *, cut: str | None = None) -> None:
        """Send chunks as they come. `cut` as for `send`."""
        sent = list(chunks)
        broken = cut in ("malformed", "drop_body")
        sent = sent[: (len(sent) + 1) // 2] if broken else sent
        if cut == "malformed":
            sent[-1] = sent[-1][: len(sent[-1]) // 2]
        self._writer.write(_head(200, {"Content-Type": kind, "Transfer-Encoding": "chunked"}))
        for chunk in [*sent, *([] if cut == "drop_body" else [b""])]:
            self._writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            await self._writer.drain()
        if cut == "drop_body":
            self.drop()

    def drop(self) -> None:
        """Break the connection; what was written before still goes out."""
        self._writer.close()


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    reason = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Unknown"
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


class Server:
    """A server on this machine, in a thread between `with` and its end; a fake answers in `handle`.

    Attributes:
        port: one of the session's own if None before it starts, one of the system's if 0.
        connections: how many were made.
    """

    port: int | None = None
    connections: int = 0

    async def handle(self, connection: Connection, incoming: Incoming) -> None:
        """Answer one request."""
        raise NotImplementedError

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        started = SimpleQueue[tuple[asyncio.AbstractEventLoop, asyncio.Event]]()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(started)), daemon=True)
        self._thread.start()
        self._loop, self._stop = started.get()
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _serve(self, started: SimpleQueue[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
        """Serve until stopped; answers still under way are cancelled then."""
        own = bound_socket() if self.port is None else socket.create_server(("127.0.0.1", self.port))
        # connections inherit it: asyncio sets it on its own sockets only, and else each answer waits 40 ms
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server = await asyncio.start_server(self._connected, sock=own, backlog=512)
        self.port, stop = server.sockets[0].getsockname()[1], asyncio.Event()
        started.put((asyncio.get_running_loop(), stop))
        await stop.wait()
        server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        connection = Connection(reader, writer)
        try:
            while incoming := await connection.receive():
                await self.handle(connection, incoming)
        except (OSError, asyncio.CancelledError):
            pass  # the client has gone, or the server ends: nothing that anybody needs to read of
        finally:
            writer.close()
