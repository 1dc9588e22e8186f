"""Who may see and do what: one-time addresses, sessions, form tokens, headers.

Every route is made by `get` or `post`, which name the right that it needs. The owner enters by a one-time token, a rater
by an invitation. A session is a cookie; its form token is derived from it, so the server stores nothing for raters.
"""

import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from typing import Any, Literal
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.datastructures import FormData, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from manyheads.base.text import hash_of

Right = Literal["owner", "rater"]
"""The owner sees and does everything in the folder; a rater sees only the pairs to rate."""
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-src 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with `no-referrer`, browsers send forms with the origin `null`
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
"""Headers of every response that does not set its own."""
REPORT_HEADERS = {
    "content-security-policy": "sandbox allow-same-origin allow-popups; default-src 'none'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
    "x-frame-options": "SAMEORIGIN",
}
"""Headers of a self-contained page: inline styles, no scripts, and only pages of this server may frame it."""
SESSIONS = 100
"""Maximum number of the owner's open sessions; the oldest ends."""
LARGEST_FORM = 1_000_000
"""Maximum bytes of a form without files."""


NO_INVITATION = (
    "Open your invitation link to vote. If it worked before, the invitation has expired or was revoked: your votes are kept; "
    "ask for a new link."
)
"""What a page of raters says to everybody else."""


@dataclass(frozen=True)
class Visitor:
    """Who sends a request.

    Attributes:
        right: what they may do.
        secret: the value of their cookie.
        rater: what `Access.raters` knows about a rater's invitation.
    """

    right: Right
    secret: str = field(repr=False)
    rater: Any = None

    @property
    def form_token(self) -> str:
        """The token in each of their forms, against requests from other sites."""
        return hmac.new(self.secret.encode(), b"form", hashlib.sha256).hexdigest()


class Access:
    """The tokens and sessions of one server.

    Args:
        names: host names of the server, besides `localhost` and plain addresses.

    Attributes:
        raters: what is known about the rater with an invitation's token; None for a wrong or revoked one.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.raters: Callable[[str], object | None] = lambda token: None
        self._names = {"localhost", *(name.lower() for name in names)}
        self._tokens, self._owners = set[str](), dict[str, None]()

    def token(self) -> str:
        """A new token that opens one session of the owner."""
        token = secrets.token_urlsafe(32)
        self._tokens.add(hash_of(token))
        return token

    def enter(self, token: str) -> Visitor:
        """Open the owner's session. The token is spent. Raises `HTTPException` for a wrong one.

        Wrong ones are not counted: nobody guesses 256 bits, and behind a proxy all visitors have one address.
        """
        if hash_of(token) not in self._tokens:
            raise HTTPException(401)
        self._tokens.discard(hash_of(token))
        visitor = Visitor("owner", secrets.token_urlsafe(32))
        self._owners[hash_of(visitor.secret)] = None
        for oldest in [*self._owners][:-SESSIONS]:
            del self._owners[oldest]
        return visitor

    def visitors(self, request: Request) -> dict[Right, Visitor]:
        """The visitor by each right that the cookies of a request prove."""
        visitors = dict[Right, Visitor]()
        if (secret := request.cookies.get(_cookie("owner", request))) and hash_of(secret) in self._owners:
            visitors["owner"] = Visitor("owner", secret)
        secret = request.cookies.get(_cookie("rater", request))
        if secret and (rater := self.raters(secret)) is not None:
            visitors["rater"] = Visitor("rater", secret, rater)
        return visitors

    def names_us(self, host: str) -> bool:
        """Whether a Host header names this server. Other sites can point their own names to our address."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
            urlsplit(f"//{host}").port  # noqa: B018
            return name in self._names or bool(ipaddress.ip_address(name))
        except ValueError:
            return False


def keep(response: Response, request: Request, visitor: Visitor) -> Response:
    """The response with the visitor's cookie.

    Do not send it with a redirect: a browser that follows a link of another site would not return the cookie.
    """
    name, secure = _cookie(visitor.right, request), request.url.scheme == "https"
    response.set_cookie(name, visitor.secret, httponly=True, samesite="strict", secure=secure)
    return response


class ShortNumber(IntegerConvertor):
    """A number in an address, of eight digits at most: Python reads no longer than 4,300."""

    regex = "[0-9]{1,8}"


register_url_convertor("number", ShortNumber())


def get(
    path: str, endpoint: Callable[[Request], Response | Awaitable[Response]], right: Right | None = "owner"
) -> Route:
    """The route of a page; `right` is None for a page that everyone may see."""

    async def guarded(request: Request) -> Response:
        await _admit(request, right)
        return await _call(endpoint, request)

    route = Route(path, guarded, methods=["GET"], name=endpoint.__name__)
    route.methods = {"GET"}  # a preview by HEAD must not spend a token
    return route


def post(
    path: str,
    endpoint: Callable[[Request, FormData], Response | Awaitable[Response]],
    right: Right = "owner",
    most: int = LARGEST_FORM,
    files: int = 0,
) -> Route:
    """The route of a form: the request must come from our own page, with its token, in at most `most` bytes."""

    async def guarded(request: Request) -> Response:
        visitor = await _admit(request, right)
        _need_own_origin(request)
        request = Request(request.scope, _limited(request, most))
        try:
            async with request.form(max_files=files, max_fields=2_000, max_part_size=most) as form:
                token = request.headers.get("x-csrf-token") or form.get("csrf")
                if not isinstance(token, str) or not hmac.compare_digest(
                    token.encode(), visitor.form_token.encode()
                ):
                    raise HTTPException(
                        403, "This form is of another session. Reload the page, then send it again."
                    )
                return await _call(endpoint, request, form)
        except MultiPartException as error:
            raise HTTPException(400, error.message) from error

    return Route(path, guarded, methods=["POST"], name=endpoint.__name__)


async def _call(endpoint: Callable[..., Any], *values: Any) -> Response:
    if iscoroutinefunction(endpoint):
        return await endpoint(*values)
    return await run_in_threadpool(endpoint, *values)


async def _admit(request: Request, right: Right | None) -> Visitor:
    access: Access = request.app.state.access
    visitors = await run_in_threadpool(access.visitors, request)  # it reads the store of an arena
    visitor = visitors.get(right) if right else next(iter(visitors.values()), None)
    request.state.visitor = visitor
    if visitor is None and right:
        raise HTTPException(403 if visitors else 401, NO_INVITATION if right == "rater" else None)
    return visitor  # pyright: ignore[reportReturnType]


def _need_own_origin(request: Request) -> None:
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    ours = urlsplit(origin).netloc == request.headers.get("host") if origin else site in (None, "same-origin")
    if not ours:
        raise HTTPException(403, "The form was sent by another site.")


def _limited(request: Request, most: int) -> Receive:
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > most:
        raise HTTPException(413)
    size = 0

    async def receive() -> Message:
        nonlocal size
        message = await request.receive()
        size += len(message.get("body", b""))
        if size > most:
            raise HTTPException(413)
        return message

    return receive


class Guard:
    """Middleware: refuses requests under a foreign host name, and sets `HEADERS`."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if not self._access.names_us(Request(scope).headers.get("host", "")):
            refusal = Response("This server does not know this host name.\n", 400, media_type="text/plain")
            await refusal(scope, receive, with_headers)
            return
        await self._app(scope, receive, with_headers)


def _cookie(right: Right, request: Request) -> str:
    # Browsers do not separate cookies by port: two servers on one machine need two names.
    return f"manyheads-{right}-{request.url.port or 80}"
