"""A PDF read by a GROBID server, whose address is the reader's name."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from manyheads.base.errors import DocumentError
from manyheads.base.http import Pace, RefusedError, Retry, in_short, is_failure, limiter, seconds_of
from manyheads.documents.document import Document, Limits
from manyheads.documents.tei import read_tei

SERVICE = "/api/processFulltextDocument"
ASKED = {"consolidateHeader": "0", "consolidateCitations": "0", "includeRawCitations": "1"}
COORDINATES = ("head", "p", "ref", "figure", "biblStruct")
SECONDS = 180.0
"""For a paper, with waiting while the server is busy."""


def ask_grobid(address: str, path: Path, limits: Limits) -> Document:
    """A paper's full text by a GROBID server.

    Raises:
        DocumentError: it cannot be reached, stays busy, or cannot read the paper.
    """
    # The caller may have an event loop.
    with ThreadPoolExecutor(1) as pool:
        try:
            text = pool.submit(asyncio.run, _asked(address, path.name, path.read_bytes(), limits)).result()
        except Exception as error:
            if not is_failure(error):
                raise
            raise DocumentError(
                f"GROBID at {address} did not read {path}: {in_short(error) or 'no answer in time'}",
                tried=f"POST {SERVICE}, for up to {SECONDS:g} s",
                hint=f"check {address}/api/isalive, or name the reader `auto`",
            ) from error
    if not text:
        hint = "name the reader `auto`"
        raise DocumentError(f"GROBID found no text in {path}", tried=f"{address}{SERVICE}", hint=hint)
    return read_tei(text, path)


async def _asked(address: str, name: str, paper: bytes, limits: Limits) -> bytes:
    import httpx

    data = {**ASKED, "teiCoordinates": COORDINATES}
    async with httpx.AsyncClient(timeout=SECONDS, trust_env=False) as client:

        async def send() -> bytes:
            files = {"input": (name, paper, "application/pdf")}
            async with client.stream("POST", address.rstrip("/") + SERVICE, data=data, files=files) as answer:
                pieces, size = list[bytes](), 0
                async for piece in answer.aiter_bytes():
                    pieces.append(piece)
                    if (size := size + len(piece)) > limits.text:
                        what = f"GROBID's answer for {name}"
                        raise DocumentError(f"{what} is larger than {limits.text:,} bytes")
            if answer.status_code not in (200, 204):
                told = b"".join(pieces).decode(errors="replace")
                wait = seconds_of(answer.headers.get("retry-after"))
                raise RefusedError(answer.status_code, wait, told[:200])
            return b"".join(pieces)

        retry = Retry(
            limiter(("grobid", address), Pace()),
            retries=8,
            backoff=2,
            longest=10,
            until=time.monotonic() + SECONDS,
        )
        return await retry.send(send)
