"""As much HTTP/1.1 as a fake model server needs: keep-alive, chunked streams, and connections that break."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any


@dataclass(frozen=True)
class Incoming:
    """A request as it came; header names in lower case, the path without its query."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


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
        return Incoming(method, target.partition("?")[0], headers, body)

    async def send(
        self, status: int, data: Any, headers: Mapping[str, str] | None = None, *, cut: str | None = None
    ) -> None:
        """Send JSON. `cut`: `malformed` sends half of it as if it were all, `drop_body` breaks off half-way."""
        body = json.dumps(data).encode()
        half = body[: len(body) // 2]
        shown = half if cut == "malformed" else body
        head = _head(
            status, {"Content-Type": "application/json", "Content-Length": str(len(shown)), **(headers or {})}
        )
        self._writer.write(head + (half if cut == "drop_body" else shown))
        await self._writer.drain()
        if cut == "drop_body":
            self.drop()

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
        for chunk in sent:
            self._writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            await self._writer.drain()
        if cut == "drop_body":
            self.drop()
        else:
            self._writer.write(b"0\r\n\r\n")
            await self._writer.drain()

    def drop(self) -> None:
        """Break the connection; what was written before still goes out."""
        self._writer.close()


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_reason(status)}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _reason(status: int) -> str:
    return HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Unknown"
