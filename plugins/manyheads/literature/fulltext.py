"""Open full texts of papers, at addresses that sources name: they may lead anywhere."""

import asyncio
import socket
from collections.abc import Collection
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from pydantic import TypeAdapter

from manyheads.base.errors import DocumentError
from manyheads.base.http import Pace
from manyheads.base.papers import fold, identify
from manyheads.config import LiteratureConfig, SourceName
from manyheads.config.environment import with_environment
from manyheads.documents import Document, read_apart
from manyheads.literature.library import Library
from manyheads.literature.source import HttpService

PACE = Pace(3.0, at_once=1)
"""Of one host: arXiv's terms of use."""


class PublicTransport(httpx.AsyncHTTPTransport):
    """Asks public addresses alone, also after redirections, and the hosts and ports of `homes`."""

    homes: Collection[bytes] = ()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Raises `UnsupportedProtocol` for an address that is not public."""
        if (url := request.url).netloc not in self.homes:
            try:
                found = await asyncio.get_running_loop().getaddrinfo(url.host, None, type=socket.SOCK_STREAM)
            except (OSError, UnicodeError) as error:
                raise httpx.ConnectError(f"{url.host}: {error}") from error
            if not ip_address(address := str(found[0][4][0])).is_global:
                raise httpx.UnsupportedProtocol(f"{url.host} is not a public address")
            # what was checked is asked: if the name is looked up again, its address may be a private one
            request = httpx.Request(
                request.method, url.copy_with(host=address), headers=request.headers, stream=request.stream,
                extensions={**request.extensions, "sni_hostname": url.host},
            )  # fmt: skip
        return await super().handle_async_request(request)


def public_service(address: str, config: LiteratureConfig, name: SourceName, retries: int = 0) -> HttpService:
    """A service that asks no private address, but those of `literature.endpoints`."""
    # no connection is used twice, as names with the same address may be different servers
    transport = PublicTransport(limits=httpx.Limits(max_keepalive_connections=0))
    transport.homes = {httpx.URL(with_environment(one)).netloc for one in config.endpoints.values()}
    return HttpService(
        name=name, address=address.partition("//")[2].partition("/")[0],
        pace=PACE, retries=retries, patience=config.patience, transport=transport,
    )  # fmt: skip


async def open_text(library: Library, paper_id: str, title: str, address: str) -> Document:
    """A paper's text from the PDF at its `open_text`; a private address only where `literature.endpoints` has its host.
    Raises `LiteratureError` if it cannot be had, `DocumentError` if it cannot be read or is another paper.
    """
    place, cache = ("library", "text", f"{title}\n{address}", TypeAdapter(Document)), library.cache
    if cache and (known := await asyncio.to_thread(cache.get, *place)):
        return known
    service = public_service(address, library.config, identify(paper_id).source or "local")
    body = await service.get(address, {}, bytes, f"text of “{title}”", until=service.deadline())
    if b"%PDF-" not in body[:1024]:
        raise DocumentError(f"{address} is not a PDF")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "paper.pdf"
        path.write_bytes(body)
        try:
            document = await asyncio.to_thread(read_apart, path)
        except DocumentError as error:
            raise DocumentError(error.message.replace(str(path), address)) from error
    if fold(title) not in fold(f"{document.title} {document.text()}"):
        raise DocumentError(f"{address} is not “{title}”, but “{document.title}”")
    if cache:
        await asyncio.to_thread(cache.keep_answer, *place, document)
    return document
