"""Answers of model servers are read to a bound, however small they are packed."""

import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator
from functools import cache
from typing import Any

import httpx
import httpx2
import pytest

from manyheads.base.http import GarbledError, RefusedError
from manyheads.models.answers import SoundTransport

MB = b" " * 1_000_000
LARGE = 640
"""MB of the answer that is packed."""
ANSWER = b'{"choices": [{"message": {"content": "Owls."}}]}'


def answering(kit: Any, body: bytes, packing: str, status: int = 200) -> SoundTransport:
    """The way to a server that always gives the same answer."""

    class Pieces(kit.AsyncByteStream):  # pyright: ignore[reportUntypedBaseClass]
        """As they come over a wire."""

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for start in range(0, len(body), 65536):
                yield body[start : start + 65536]

    def answer(request: Any) -> Any:
        assert request.headers["accept-encoding"] == "gzip"
        headers = {"content-encoding": packing} if packing else {}
        return kit.Response(status, headers=headers, stream=Pieces())

    return SoundTransport(kit.AsyncClient(transport=kit.MockTransport(answer)), "openai")


async def send(kit: Any, body: bytes, packing: str, status: int = 200) -> Any:
    async with kit.AsyncClient(transport=answering(kit, body, packing, status)) as client:
        return await client.post("http://server/v1/chat/completions")


@cache
def packed() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return b"".join(packer.compress(MB) for _ in range(LARGE)) + packer.flush()


@pytest.mark.slow
@pytest.mark.parametrize("kit", [httpx, httpx2])
@pytest.mark.parametrize(
    "packing",
    ["gzip", "deflate", "br", "zstd", "gzip, gzip"],
)
@pytest.mark.parametrize("status", [200, 500])
async def test_what_unpacks_to_much_takes_no_room(kit: Any, packing: str, status: int) -> None:
    body = packed()
    tracemalloc.start()
    try:
        with pytest.raises((GarbledError, RefusedError)) as told:
            await send(kit, body, packing, status)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < LARGE * len(MB) / 4
    if status == 200:
        words = "its answer is longer than 16 MB" if packing == "gzip" else f"an unexpected way, {packing!r}"
        assert words in str(told.value)


@pytest.mark.parametrize("kit", [httpx, httpx2])
@pytest.mark.parametrize("packing", ["", "identity", "gzip", "GZIP"])
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
    for body, words in ((gzip.compress(ANSWER)[:-20], "not JSON"), (ANSWER, "but it is not")):
        with pytest.raises(GarbledError, match=f"its answer is .*{words}"):
            await send(httpx, body, "gzip")


async def test_an_error_is_told_without_the_login_of_its_address() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        told = f"reader may not use OWLS at night ({request.headers['authorization']})"
        return httpx.Response(403, stream=httpx.ByteStream(told.encode()))

    transport: Any = SoundTransport(httpx.AsyncClient(transport=httpx.MockTransport(refuse)), "openai")
    async with httpx.AsyncClient(transport=transport) as client:
        with pytest.raises(RefusedError) as told:
            await client.get("http://reader:OWLS%20at%20night@server/v1")
    assert told.value.text == "reader may not use … (…)"
