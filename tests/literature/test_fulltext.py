"""Open full texts: fetched from strangers' addresses, which must be public, and read."""

import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from reportlab.platypus import Paragraph

from manyheads.base.errors import DocumentError, LiteratureError
from manyheads.base.http import Pace
from manyheads.config import LiteratureConfig
from manyheads.documents import Document
from manyheads.literature import fulltext
from manyheads.literature.library import Library
from manyheads.models import answers
from support.files import FileServer
from support.pdfs import TITLE, body, heading, typeset

NAMED = "Quiet readers of long manuscripts"
ID = "openalex:W1"


@pytest.fixture(scope="module")
def pdf(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    story = [heading("1 Introduction"), body("Owls hear mice.", 3)]
    path = tmp_path_factory.mktemp("pdf") / "open.pdf"
    return typeset(path, [Paragraph(NAMED, TITLE)], story).read_bytes()


@pytest.fixture
def home(pdf: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """The server of an endpoint of the config."""
    monkeypatch.setattr(fulltext, "PACE", Pace(0.0))
    with FileServer({"/open.pdf": pdf}) as server:
        yield server


@pytest.fixture
def stranger(pdf: bytes) -> Iterator[FileServer]:
    """Another server of this machine, which nobody has named."""
    with FileServer({"/open.pdf": pdf}) as server:
        yield server


@pytest.fixture
async def library(home: FileServer, tmp_path: Path) -> AsyncIterator[Library]:
    config = LiteratureConfig(cascade=("openalex",), endpoints={"openalex": home.url}, patience=5.0)
    async with Library(config, cache=tmp_path / "cache.sqlite") as library:
        yield library


async def text(library: Library, address: str, title: str = NAMED) -> Document:
    return await fulltext.open_text(library, ID, title, address)


@pytest.mark.slow
async def test_an_open_text_is_read_once_behind_a_few_redirections_if_it_is_the_paper(
    library: Library, home: FileServer
) -> None:
    home.files["/moved"] = (302, {"Location": "/open.pdf"}, b"")
    home.files["/round"] = (302, {"Location": "/round"}, b"")
    with pytest.raises(DocumentError, match="Quiet readers"):
        await text(library, f"{home.url}/open.pdf", "Loud writers of short notes")
    home.asked.clear()
    first, second = [await text(library, f"{home.url}/moved") for _ in range(2)]
    assert first == second
    assert (first.title, home.asked) == (NAMED, ["/moved", "/open.pdf"])
    assert "Owls hear mice." in first.text("introduction")
    with pytest.raises(LiteratureError):
        await text(library, f"{home.url}/round")
    assert home.asked.count("/round") < 10


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"]
)
async def test_a_private_address_is_never_asked(library: Library, stranger: FileServer, host: str) -> None:
    with pytest.raises(LiteratureError):
        await text(library, f"http://{host}:{stranger.port}/open.pdf")
    assert stranger.asked == []


@pytest.mark.parametrize(
    "address",
    [
        "http://169.254.169.254/latest", "http://10.0.0.1/open.pdf", "https://192.168.1.1/", "file:///etc/passwd",
        "ftp://127.0.0.1/open.pdf", "http://", "open.pdf", "http://[::1", f"http://{'a' * 70}.example/",
    ],
)  # fmt: skip
async def test_what_is_no_public_address_of_the_web_is_a_text_that_cannot_be_had(
    library: Library, address: str
) -> None:
    """The guard of the tests would fail the test with another error if anything was reached."""
    with pytest.raises(LiteratureError):
        await text(library, address)


async def test_no_redirection_leads_to_a_private_address(
    library: Library, home: FileServer, stranger: FileServer
) -> None:
    home.files["/moved"] = (302, {"Location": f"{stranger.url}/open.pdf"}, b"")
    home.files["/file"] = (302, {"Location": "file:///etc/passwd"}, b"")
    for path in ("moved", "file"):
        with pytest.raises(LiteratureError):
            await text(library, f"{home.url}/{path}")
    assert (home.asked, stranger.asked) == (["/moved", "/file"], [])


async def test_a_name_that_moves_to_a_private_address_after_it_was_checked_is_not_followed(
    library: Library, stranger: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up, look_up = list[str](), socket.getaddrinfo

    def moving(host: str, port: Any, *args: Any, **more: Any) -> Any:
        if host != "moving.example":
            return look_up(host, port, *args, **more)
        looked_up.append(host)
        return look_up("93.184.215.14" if len(looked_up) == 1 else "127.0.0.1", port, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", moving)
    with pytest.raises(ExceptionGroup) as guarded:  # of the tests, which let nothing out of this machine
        await text(library, f"http://moving.example:{stranger.port}/open.pdf")
    assert f"reach 93.184.215.14:{stranger.port}" in str(guarded.value.exceptions[0])
    assert (len(looked_up), stranger.asked) == (1, [])


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (f"<html><h1>{NAMED}</h1><p>{'Accept our cookies. ' * 20}</p></html>".encode(), DocumentError),
        pytest.param(b"%PDF-1.4 and no more", DocumentError, marks=pytest.mark.slow),
        ((403, {}, b"no"), LiteratureError),
    ],
)
async def test_what_is_not_the_papers_text_is_refused(
    library: Library, home: FileServer, body: Any, kind: type[Exception]
) -> None:
    home.files["/text"] = body
    with pytest.raises(kind) as refused:
        await text(library, f"{home.url}/text")
    assert "/tmp" not in str(refused.value)


async def test_a_file_without_end_is_dropped(library: Library, home: FileServer) -> None:
    home.files["/large.pdf"] = b"%PDF-" + bytes(answers.MOST_BYTES)
    with pytest.raises(LiteratureError, match="MB"):
        await text(library, f"{home.url}/large.pdf")
