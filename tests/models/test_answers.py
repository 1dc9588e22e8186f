"""Answers of model servers are read to a bound, however small they are packed."""

import asyncio
import gzip
import tracemalloc
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import httpx
import httpx2
import pytest

from manyheads.base.http import GarbledError, RefusedError
from manyheads.models.answers import MOST_BYTES, SoundTransport

PACKED: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "deflate": zlib.compress}
LARGE = b" " * 64_000_000
ANSWER = b'{"choices": [{"message": {"content": "Owls."}}]}'


def answering(kit: Any, body: bytes, packing: str, status: int = 200) -> SoundTransport:
    """The way to a server that always gives the same answer."""

    def answer(request: Any) -> Any:
        assert request.headers["accept-encoding"] == "gzip"
        headers = {"content-encoding": packing} if packing else {}
        return kit.Response(status, headers=headers, stream=kit.ByteStream(body))

    return SoundTransport(kit.MockTransport(answer), "openai")


async def send(kit: Any, body: bytes, packing: str, status: int = 200) -> Any:
    async with kit.AsyncClient(transport=answering(kit, body, packing, status)) as client:
        return await client.post("http://server/v1/chat/completions")


@pytest.mark.slow
@pytest.mark.parametrize("kit", [httpx, httpx2])
@pytest.mark.parametrize(
    "packing",
    [
        "gzip",
        "deflate",
        pytest.param("br", marks=pytest.mark.slow),
        "zstd",
        pytest.param("gzip, gzip", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("status", [200, pytest.param(500, marks=pytest.mark.slow)])
async def test_what_unpacks_to_much_takes_no_room(kit: Any, packing: str, status: int) -> None:
    body = PACKED.get(packing, gzip.compress)(LARGE)
    assert len(body) < 65536
    tracemalloc.start()
    try:
        with pytest.raises((GarbledError, RefusedError)) as told:
            await send(kit, body, packing, status)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * MOST_BYTES
    if status == 200:
        words = "its answer is longer than 16 MB" if packing == "gzip" else f"an unexpected way, {packing!r}"
        assert words in str(told.value)


@pytest.mark.parametrize("kit", [httpx, httpx2])
@pytest.mark.parametrize("packing", ["", "identity", "gzip", "X-GZIP"])
async def test_an_answer_is_unpacked(kit: Any, packing: str) -> None:
    body = gzip.compress(ANSWER) if "gzip" in packing.lower() else ANSWER
    answer = await send(kit, body, packing)
    assert answer.json()["choices"][0]["message"]["content"] == "Owls."


async def test_usage_that_is_no_number_is_not_known() -> None:
    usage = b'{"prompt_tokens": NaN, "completion_tokens": Infinity, "total_tokens": -Infinity}'
    answer = await send(httpx, ANSWER.replace(b"]}", b'], "usage": %b}' % usage), "")
    assert answer.json()["choices"][0]["message"]["content"] == "Owls."
    assert "NaN" not in answer.text
    assert "Infinity" not in answer.text


async def test_an_answer_that_cannot_be_unpacked_is_told() -> None:
    for body, words in ((gzip.compress(ANSWER)[:-9], "cut off"), (ANSWER, "but it is not")):
        with pytest.raises(GarbledError, match=f"its answer is .*{words}"):
            await send(httpx, body, "gzip")


async def test_connections_that_the_server_has_ended_are_not_used_again() -> None:
    served = Counter[int]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Two answers a connection, and its end some moments after the second."""
        served[number := len(served)] = 0
        with suppress(asyncio.IncompleteReadError):
            while served[number] < 2:
                await reader.readuntil(b"\r\n\r\n")
                served[number] += 1
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER))
            await asyncio.sleep(0.03)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    transport: Any = SoundTransport(httpx2.AsyncHTTPTransport(), "openai")
    async with server:
        async with httpx2.AsyncClient(transport=transport) as client:
            for _ in range(3):
                for answer in await asyncio.gather(*(client.get(address) for _ in range(4))):
                    assert answer.status_code == 200
                await asyncio.sleep(0.1)
        await asyncio.sleep(0.1)  # until the server has seen the end of the others
    assert sorted(served.values()) == [1] * 4 + [2] * 4


async def test_an_error_is_told_without_the_login_of_its_address() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        told = f"reader may not use OWLS at night ({request.headers['authorization']})"
        return httpx.Response(403, stream=httpx.ByteStream(told.encode()))

    transport: Any = SoundTransport(httpx.MockTransport(refuse), "openai")
    async with httpx.AsyncClient(transport=transport) as client:
        with pytest.raises(RefusedError) as told:
            await client.get("http://reader:OWLS%20at%20night@server/v1")
    assert told.value.text == "reader may not use … (…)"
