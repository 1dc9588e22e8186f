"""A web server of files, such as a publisher's."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self, cast

from support.ports import on_own_port

Answer = tuple[int, Mapping[str, str], bytes]


@dataclass
class FileServer:
    """The server; `files` are its answers by path: a file's bytes, or status, headers and bytes."""

    files: dict[str, bytes | Answer] = field(default_factory=dict[str, bytes | Answer])
    asked: list[str] = field(default_factory=list[str], init=False)
    """The paths of requests, in order."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    def __enter__(self) -> Self:
        self._server = on_own_port(_Server(("127.0.0.1", 0), _Handler, bind_and_activate=False))
        self._server.held = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    held: FileServer
    daemon_threads = True
    block_on_close = False


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        held = cast(_Server, self.server).held
        held.asked.append(self.path)
        found = held.files.get(self.path, (404, {}, b"no such file"))
        status, headers, body = (200, {}, found) if isinstance(found, bytes) else found
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(body)
        except ConnectionError:  # the client has read enough
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Tests are quiet."""
