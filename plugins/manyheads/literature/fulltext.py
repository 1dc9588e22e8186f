"""Full texts of papers from the web: at addresses that sources name, which may lead anywhere, and at those that a user names, by an
arXiv number, a DOI or a link; these are downloaded into a folder."""

import asyncio
import re
import socket
from collections.abc import Collection
from contextlib import suppress
from html import unescape
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from pydantic import TypeAdapter

from manyheads.base.errors import DocumentError, LiteratureError
from manyheads.base.files import make_folder, replace_bytes
from manyheads.base.folders import writing
from manyheads.base.http import Pace, in_short
from manyheads.base.papers import fold, identify, web_address
from manyheads.config import LiteratureConfig, SourceName
from manyheads.config.environment import with_environment
from manyheads.documents import Document, read_apart
from manyheads.documents.reading import ending_of
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
    if cache is None:
        return await _downloaded(library, paper_id, title, address)
    async with cache.asking(*place) as known:
        document = known[0] if known else await _downloaded(library, paper_id, title, address)
        if known is None:
            await cache.keep_found(*place, document)
    return document


async def _downloaded(library: Library, paper_id: str, title: str, address: str) -> Document:
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
    return document


# Papers that a user names.

LARGEST = 100_000_000
"""Maximum bytes of a paper."""
PACKED = {b"PK\x03\x04": ".zip", b"\x1f\x8b": ".tar.gz"}
"""Endings of archives, by how they begin."""
SOURCES = (".tex", ".md", ".markdown", ".rst", ".typ", ".txt", ".json")
"""Texts that only their address tells."""
PDF_LINK = re.compile(
    rb"<meta\s[^>]*?name=[\"']citation_pdf_url[\"'][^>]*?content=[\"']([^\"']+)|<meta\s[^>]*?content=[\"']([^\"']+)[\"'][^>]*?name=[\"']citation_pdf_url",
    re.I,
)
"""The PDF that a publisher's page of a paper names, as for Google Scholar."""


async def fetch(named: str, folder: Path, config: LiteratureConfig) -> Path:
    """Download the paper at an arXiv number, a DOI or a link into a folder. Of arXiv, it is the PDF.

    Raises:
        LiteratureError: it cannot be had, such as without a network, or from a private address.
        DocumentError: what is there is no paper.
    """
    address = web_address(named) or named
    base = config.endpoints.get("arxiv")
    if base and address.startswith("https://arxiv.org/"):
        address = address.replace("https://arxiv.org", with_environment(base).rstrip("/"), 1)
    is_doi = address.startswith("https://doi.org/")
    addresses = [address] if not is_doi else [*await _open_texts(named, config), address]
    body, suffix = b"", ""
    for address in addresses:
        try:
            body, suffix, address = await _paper_at(address, named, config)
        except LiteratureError:
            if address == addresses[-1]:
                raise
        if suffix not in ("", ".html"):
            break
    if is_doi and suffix in (".html", ""):
        raise DocumentError(
            f"{named}: no open PDF of this DOI was found", tried=f"open copies that sources know, and {address}",
            hint="download the paper in a browser, and name the file",
        )  # fmt: skip
    if not suffix:
        raise DocumentError(
            f"{named}: this is no paper; it begins {body[:40].decode('utf-8', 'replace')!r}", tried=address,
            hint="open it in a browser, download the PDF, and name the file",
        )  # fmt: skip
    stem = re.sub(r"[^\w.-]+", "-", httpx.URL(address).path.rstrip("/").rpartition("/")[2], flags=re.ASCII)
    path = folder / f"{stem.removesuffix(suffix)[:80].strip('.-') or 'paper'}{suffix}"
    with writing(folder):
        make_folder(folder)
        replace_bytes(path, body)
    return path


async def _paper_at(
    address: str, named: str, config: LiteratureConfig, *, page: bool = False
) -> tuple[bytes, str, str]:
    """What is at an address, the suffix of its kind ("" if it is no paper), and where it was: a page may name its PDF."""
    service = public_service(address, config, "local", retries=1)
    try:
        body = await service.get(address, {}, bytes, named, until=service.deadline(), most=LARGEST)
    except LiteratureError as error:
        cause = in_short(error.__cause__) if error.__cause__ else error.message
        raise LiteratureError(
            f"{named} cannot be downloaded: {cause}", source=error.source, tried=address,
            hint="check the address and the network, or download the paper and name the file",
        ) from error  # fmt: skip
    own = Path(httpx.URL(address).path).suffix.lower()
    suffix = ending_of(body[:4096]) or next((PACKED[each] for each in PACKED if body.startswith(each)), "")
    suffix = suffix or (own if own in SOURCES and b"\0" not in body else "")
    if suffix == ".html" and not page and (link := PDF_LINK.search(body[:300_000])):
        pdf = unescape((link[1] or link[2]).decode("utf-8", "replace"))
        with suppress(httpx.InvalidURL):  # which is said when it is asked
            pdf = str(httpx.URL(address).join(pdf))
        return await _paper_at(pdf, named, config, page=True)
    return body, suffix, address


async def _open_texts(doi: str, config: LiteratureConfig) -> list[str]:
    """The open copy of a DOI that the sources know; none if none does, or none could be asked."""
    cascade = tuple(name for name in config.cascade if name != "local")
    with suppress(LiteratureError):
        async with Library(config.model_copy(update={"cascade": cascade, "before": "any"})) as library:
            paper = await library.paper(identify(doi).value, parts=("open_text",)) if cascade else None
            return [paper.open_text] if paper and paper.open_text else []
    return []
