"""Papers that a user names by an arXiv number, a DOI or a link, downloaded into a folder."""

import re
from contextlib import suppress
from html import unescape
from pathlib import Path

import httpx

from manyheads.base.errors import DocumentError, LiteratureError
from manyheads.base.files import make_folder, replace_bytes
from manyheads.base.folders import writing
from manyheads.base.http import in_short
from manyheads.base.papers import identify, web_address
from manyheads.config import LiteratureConfig
from manyheads.config.environment import with_environment
from manyheads.documents.reading import ending_of
from manyheads.literature.fulltext import public_service
from manyheads.literature.library import Library

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
