"""A web server of files, such as a publisher's."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from support.http import Connection, Incoming, RawAnswer, Server

Answer = tuple[int, Mapping[str, str], bytes]


@dataclass
class FileServer(Server):
    """The server; `files` are its answers by path: a file's bytes, or status, headers and bytes."""

    files: dict[str, bytes | Answer] = field(default_factory=dict[str, bytes | Answer])
    asked: list[str] = field(default_factory=list[str], init=False)
    """The paths of requests, in order."""

    async def handle(self, connection: Connection, incoming: Incoming) -> None:
        path = f"{incoming.path}?{incoming.query}" if incoming.query else incoming.path
        self.asked.append(path)
        found = self.files.get(path, (404, {}, b"no such file"))
        status, headers, body = (200, dict[str, str](), found) if isinstance(found, bytes) else found
        await connection.send_raw(
            RawAnswer(body, status, {"Content-Type": "application/octet-stream", **headers})
        )
