"""Who may see what: tokens, sessions, forms, headers, host names."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route

from manyheads.web import app as connections
from manyheads.web.app import create_app
from manyheads.web.security import LARGEST_FORM, Access, get
from support.ports import bound_socket
from support.web import ADDRESS, app_of, browser, owner, send


async def test_a_token_opens_one_session(tmp_path: Path) -> None:
    access = Access()
    app, token = create_app(tmp_path, access), access.token()
    async with browser(app) as first, browser(app) as second:
        assert (await first.get("/runs")).status_code == 401
        entered = await first.get("/enter", params={"token": token})
        cookie = entered.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert "8765" in cookie
        assert token not in cookie
        assert (await first.get("/runs")).status_code == 200
        assert (await second.get("/enter", params={"token": token})).status_code == 401
        assert (await second.get("/runs")).status_code == 401


async def test_a_page_without_a_session_says_how_to_get_in(tmp_path: Path) -> None:
    async with browser(create_app(tmp_path, Access())) as client:
        page = await client.get("/runs")
    assert page.status_code == 401
    assert "manyheads serve" in page.text
    assert "Traceback" not in page.text


async def test_wrong_tokens_lock_nobody_out(tmp_path: Path) -> None:
    access = Access()
    async with browser(create_app(tmp_path, access)) as client:
        codes = {(await client.get("/enter", params={"token": f"{n}"})).status_code for n in range(30)}
        assert codes == {401}
        assert (await client.get("/enter", params={"token": access.token()})).status_code == 200


async def test_half_open_requests_lock_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "most_connections", lambda: 10)
    monkeypatch.setattr(connections, "SECONDS", 0.2)
    app = create_app(tmp_path, Access())
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", http=connections.Connection))
    with bound_socket() as listener:
        listener.listen(50)
        serving = asyncio.create_task(server.serve([listener]))
        place = listener.getsockname()[:2]
        whole = b"GET /static/style.css HTTP/1.1\r\nhost: localhost\r\n\r\n"
        first = await asyncio.open_connection(*place)  # answered, and kept for the next request
        first[1].write(whole)
        assert await first[0].readuntil(b"\r\n\r\n")
        held = [await asyncio.open_connection(*place) for _ in range(40)]
        for _, writer in held:
            writer.write(b"GET / HTTP/1.1\r\nhost: local")
        async with asyncio.timeout(5), httpx.AsyncClient(base_url=f"http://127.0.0.1:{place[1]}") as client:
            for _ in range(3):
                assert (await client.get("/static/style.css")).status_code == 200
                await asyncio.sleep(
                    0.15
                )  # a request that came does not end with the time of those that do not
        async with asyncio.timeout(5):
            assert [await reader.read() for reader, _ in held] == [b""] * 40
        server.should_exit = True
        await serving
        for _, writer in (first, *held):
            writer.close()


async def test_the_owner_can_let_another_browser_in(tmp_path: Path) -> None:
    async with owner(tmp_path) as client:
        page = await send(client, "/runs", "/address")
        address = page.text.partition("<code>")[2].partition("</code>")[0]
        async with browser(app_of(client)) as other:
            assert (await other.get(address)).status_code == 200
            assert (await other.get("/runs")).status_code == 200


async def test_forms_come_from_our_own_pages(tmp_path: Path) -> None:
    ours: list[dict[str, str]] = [{}, {"origin": ADDRESS}]
    origins = ("https://elsewhere.example", "null", "http://127.0.0.1:9999", f"{ADDRESS}.elsewhere.example")
    others = [{"origin": each} for each in origins] + [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ]
    async with owner(tmp_path) as client:
        token = (await client.get("/runs")).text.partition('name="csrf" value="')[2].partition('"')[0]
        for headers in (*ours, *others):
            sent = await client.post("/address", data={"csrf": token}, headers=headers)
            assert sent.status_code == (200 if headers in ours else 403), headers
        for wrong in ({}, {"csrf": ""}, {"csrf": "é" * 64}, {"csrf": token[:-1]}):
            assert (await client.post("/address", data=wrong)).status_code == 403


async def test_a_foreign_host_name_is_refused(tmp_path: Path) -> None:
    ours = [f"{host}:8765" for host in ("127.0.0.1", "localhost", "[::1]", "192.168.1.7")]
    evil = ("", "localhost.", "127.0.0.1.", "127.0.0.1@")
    foreign = [*(f"{each}evil.example:8765" for each in evil), "", "[::1", "127.0.0.1:port"]
    async with browser(create_app(tmp_path, Access())) as client:
        for host in (*ours, *foreign):
            response = await client.get("/static/style.css", headers={"host": host})
            assert response.status_code == (200 if host in ours else 400), host
            assert "content-security-policy" in response.headers


@pytest.mark.parametrize("path", ["/runs", "/static/style.css", "/nothing", "/enter?token=x"])
async def test_every_response_has_the_strict_headers(tmp_path: Path, path: str) -> None:
    async with owner(tmp_path) as client:
        headers = (await client.get(path)).headers
    policy: str = headers["content-security-policy"]
    for part in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"):
        assert part in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"


async def test_a_bug_shows_no_traceback(tmp_path: Path) -> None:
    def broken(request: Request) -> Response:
        raise RuntimeError("secret detail")

    async with owner(tmp_path) as client:
        app_of(client).router.routes.append(get("/broken", broken))
        page = await client.get("/broken")
    assert page.status_code == 500
    assert "secret detail" not in page.text
    assert "content-security-policy" in page.headers


async def test_a_rater_is_no_owner(tmp_path: Path) -> None:
    def pair(request: Request) -> Response:
        return PlainTextResponse(request.state.visitor.rater)

    app = create_app(tmp_path, Access())
    app.state.access.raters = {"invitation": "Ada"}.get
    app.router.routes.append(get("/pair", pair, right="rater"))
    async with browser(app) as client:
        client.cookies.set("manyheads-rater-8765", "invitation")
        assert (await client.get("/pair")).text == "Ada"
        assert (await client.get("/runs")).status_code == 403
        client.cookies.set("manyheads-rater-8765", "revoked")
        assert (await client.get("/pair")).status_code == 401


async def test_every_route_needs_a_right(tmp_path: Path) -> None:
    """Without a session, only the entrance and the static files answer."""
    app = create_app(tmp_path, Access())
    open_paths = {"/enter", "/static", "/static/report.css"}
    async with browser(app) as client:
        for route in app.router.routes:
            assert isinstance(route, Route | Mount)
            if route.path in open_paths:
                continue
            assert isinstance(route, Route)
            path = (
                route.path.replace("{name}", "x")
                .replace("{file}", "config.yaml")
                .replace("{number:number}", "1")
            )
            for method in route.methods or ():
                if method != "HEAD":
                    assert (await client.request(method, path)).status_code == 401, route.path


async def test_a_form_is_limited(tmp_path: Path) -> None:
    encoded = {"content-type": "application/x-www-form-urlencoded"}

    async def endless() -> AsyncGenerator[bytes]:
        for _ in range(100):
            yield b"f" * 65536

    async with owner(tmp_path) as client:
        large = await client.post("/address", content=b"x" * (LARGEST_FORM + 1))
        streamed = await client.post("/address", content=endless(), headers=encoded)
        many = await client.post("/address", data={f"f{n}": "" for n in range(5_000)})
        files = await client.post("/address", files={"f": ("name", b"x")})
    assert large.status_code == streamed.status_code == 413
    assert many.status_code in (400, 403)
    assert files.status_code in (400, 403)


async def test_a_preview_of_the_address_does_not_spend_the_token(tmp_path: Path) -> None:
    access = Access()
    token = access.token()
    async with browser(create_app(tmp_path, access)) as client:
        assert (await client.head("/enter", params={"token": token})).status_code == 405
        assert (await client.get("/enter", params={"token": token})).status_code == 200


async def test_a_form_token_belongs_to_one_session(tmp_path: Path) -> None:
    async with owner(tmp_path) as client:
        token = (await client.get("/runs")).text.partition('name="csrf" value="')[2].partition('"')[0]
        app = app_of(client)
        async with browser(app) as other:
            await other.get("/enter", params={"token": app.state.access.token()})
            assert (await other.post("/address", data={"csrf": token})).status_code == 403
