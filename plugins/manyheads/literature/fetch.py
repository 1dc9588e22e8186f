"""GET requests to a service: a shared connection, statuses kept, what is read of an answer checked before it counts."""

import asyncio
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from manyheads import __version__
from manyheads.http import asked_to_wait
from manyheads.literature.service import GarbledError, RefusedError, Service

if TYPE_CHECKING:
    import ssl

    import httpx

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

MISSING = 404
_SECONDS_A_TRY = 30.0
_MOST_OF_A_REFUSAL = 200


class Fetcher:
    """Sends through a `Service`; connections are kept open between requests.

    Args:
        service: paces and repeats what is sent.
        address: of the service.
        headers: sent to it with every request, and to nobody to whom it sends us on.
        connections: how many may be open at once.
    """

    def __init__(
        self,
        service: Service,
        address: str,
        headers: Mapping[str, str] | None = None,
        *,
        connections: int = 10,
    ) -> None:
        self.service, self._address = service, address
        self._headers = dict(headers or {})
        self._connections = connections
        self._clients: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}

    async def get(
        self,
        url: str,
        params: Mapping[str, str | int],
        read: Callable[["httpx.Response"], T],
        what: str,
        *,
        until: float,
    ) -> T:
        """One request.

        Args:
            url: with everything in it escaped.
            params: added to its query, not yet escaped.
            read: what is wanted of the answer; raises `GarbledError` or `RefusedError` when it is none.
            what: what is looked up, for messages.
            until: the look-up's deadline, of `Service.deadline`.

        Raises:
            LiteratureError: the service refuses, cannot be reached, answers nonsense, or takes too long.
        """

        async def send() -> T:
            return read(_accepted(await self._send(url, params)))

        return await self.service.call(send, what, until=until)

    async def find(
        self,
        url: str,
        params: Mapping[str, str | int],
        read: Callable[["httpx.Response"], T],
        what: str,
        *,
        until: float,
    ) -> T | None:
        """The same for one thing by its name; None when the service says that there is no such thing (404)."""

        async def send() -> T | None:
            response = await self._send(url, params)
            return None if response.status_code == MISSING else read(_accepted(response))

        return await self.service.call(send, what, until=until)

    async def close(self) -> None:
        """Close this event loop's connections."""
        if client := self._clients.pop(asyncio.get_running_loop(), None):
            await client.aclose()

    async def _send(self, url: str, params: Mapping[str, str | int]) -> "httpx.Response":
        import httpx

        return await self._client().get(httpx.URL(url).copy_merge_params(params))

    async def _sign(self, request: "httpx.Request") -> None:
        """Called for each request, those of redirections too, which take over the headers of the one before."""
        import httpx

        home, to = httpx.URL(self._address), request.url
        if (to.host, to.port) == (home.host, home.port) and to.scheme in (home.scheme, "https"):
            request.headers.update(self._headers)
        else:
            for name in self._headers:
                request.headers.pop(name, None)

    def _client(self) -> "httpx.AsyncClient":
        """The client of this event loop: connections cannot be shared between loops."""
        import httpx

        loop = asyncio.get_running_loop()
        if (client := self._clients.get(loop)) is None:
            for ended in [one for one in self._clients.copy() if one.is_closed()]:
                self._clients.pop(ended, None)
            client = self._clients[loop] = httpx.AsyncClient(
                headers={"User-Agent": f"manyheads/{__version__}"},
                event_hooks={"request": [self._sign]},
                timeout=min(_SECONDS_A_TRY, self.service.patience),
                limits=httpx.Limits(max_connections=self._connections),
                follow_redirects=True,
                verify=_trusted(),
            )
        return client


def parsed(shape: type[M], response: "httpx.Response") -> M:
    """The answer as its shape says; raises `GarbledError`, which names the first place that is not."""
    try:
        return shape.model_validate_json(response.content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the answer"
        raise GarbledError(f"{where}: {first['msg'].removeprefix('Value error, ')}") from error


@cache
def _trusted() -> "ssl.SSLContext":
    """The certificates that are trusted; reading them takes longer than many a request."""
    import httpx

    return httpx.create_ssl_context()


def _accepted(response: "httpx.Response") -> "httpx.Response":
    """The answer if it is one; raises `RefusedError`."""
    if response.is_success:
        return response
    told = " ".join(response.text.split())[:_MOST_OF_A_REFUSAL]
    raise RefusedError(response.status_code, asked_to_wait(response.headers.get("retry-after")), told)
