"""`manyheads mcp --http`: who gets in."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from manyheads.mcp.bounds import Bounds
from manyheads.mcp.serving import http_server
from support.command import manyheads_command

TOKEN = "a token of some length"
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}  # fmt: skip
ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": f"Bearer {TOKEN}x"}, 401),
        ({"authorization": "Bearer \xe9"}, 401),
        ({"authorization": f"Bearer {TOKEN}"}, 200),
        ({"authorization": f"Bearer {TOKEN}", "host": "evil.example"}, 400),
        ({"authorization": f"Bearer {TOKEN}", "origin": "https://evil.example"}, 403),
    ],
)
async def test_only_the_token_and_our_own_name_let_in(
    headers: dict[str, str], status: int, tmp_path: Path
) -> None:
    app: Any = http_server(Bounds(tmp_path), TOKEN).config.app
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as client:
            raw = [(key.encode(), value.encode("latin-1")) for key, value in {**ACCEPT, **headers}.items()]
            response = await client.post("/mcp", json=INITIALIZE, headers=raw)
    assert response.status_code == status, response.text
    assert TOKEN not in response.text
    if status == 401:
        assert response.headers["www-authenticate"] == "Bearer"


def test_the_owners_mistakes_are_said_before_there_is_a_server(tmp_path: Path) -> None:
    for options, told in (
        (["--folder", "absent"], "absent"),
        (["--http", "--token", "short"], "--token"),
        (["--budget", "cals=1"], "cals"),
        (["-m", "nobody/x"], "nobody"),
        (["-s", "team.sise=3"], "sise"),
    ):
        assert told in manyheads_command("mcp", *options, cwd=tmp_path).message
