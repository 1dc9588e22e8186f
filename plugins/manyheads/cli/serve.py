"""`manyheads serve`: the web room."""

import errno
import socket
from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field

from manyheads.base.errors import ConfigError
from manyheads.cli.options import Options
from manyheads.cli.printing import say

PORT, TRIES = 8765, 50
"""The first port that is tried, and the number of ports."""
LOCAL = "127.0.0.1"


class Serving(Options):
    """How runs are served."""

    folder: Annotated[Path | None, typer.Argument(metavar="FOLDER")] = None
    """The folder of runs and arenas. [default: runs, and arenas beside it]"""
    port: int | None = Field(default=None, ge=1, le=65535)
    """Port of the server. [default: 8765, or the next free one]"""
    host: str = LOCAL
    """Address to listen on; others than 127.0.0.1 open it to the network."""
    at_once: int = Field(default=2, ge=1)
    """Maximum number of runs at once; others wait in a queue."""
    no_open: bool = False
    """Do not open the browser."""


def serve(options: Serving) -> None:
    """Show runs in the browser: start, watch, steer and compare them.

    The printed address works once, for one browser.
    """
    from manyheads.base.errors import need_extra

    need_extra("web", "manyheads serve")

    import uvicorn

    from manyheads.web.app import create_app
    from manyheads.web.connections import Connection, most_connections
    from manyheads.web.security import Access

    host = options.host
    folder = _runs_of(options.folder)
    listener = _listener(host, options.port)
    names = {host, socket.gethostname()} if host != LOCAL else set[str]()
    access = Access(names)
    app = create_app(folder, access, options.at_once, options.folder or Path())
    shown = LOCAL if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{listener.getsockname()[1]}"
    if host != LOCAL:
        say(
            f"warning: {host} is open to the network, without encryption: everyone who can read the traffic can take over "
            "the session. Use a trusted network, or a reverse proxy with TLS.",
            err=True,
        )
    entrance = f"{url}/enter?token={access.token()}"
    say(
        f"Runs of     {folder}\nOpen        {entrance}\n            (works once; the page can make more)\nCtrl-C ends the server."
    )
    if not options.no_open:
        typer.launch(entrance)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, proxy_headers=False,
        timeout_graceful_shutdown=5, http=Connection, backlog=most_connections() // 2,
    )  # fmt: skip
    try:
        uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:
        say("manyheads: server ended", err=True)


def _runs_of(folder: Path | None) -> Path:
    """The folder of the runs: `runs` of the working directory or of a folder without runs of its own, else the folder itself.

    Raises:
        ConfigError: there is no such folder, or it cannot be written.
    """
    from manyheads.base.folders import EVENTS
    from manyheads.report.index import RUNS

    _need_writable(folder or Path())
    if folder is None:
        (folder := Path(RUNS)).mkdir(exist_ok=True)
    elif (folder / RUNS).is_dir() and not any((each / EVENTS).is_file() for each in folder.iterdir()):
        folder = folder / RUNS
    _need_writable(folder)
    return folder


def _need_writable(folder: Path) -> None:
    """Raises `ConfigError` if the folder does not exist or cannot be written."""
    import tempfile

    if not folder.is_dir():
        what = "not a folder" if folder.exists() else "no such folder"
        raise ConfigError(f"{folder}: {what}", hint="name a folder of runs, or make it: mkdir FOLDER")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ConfigError(
            f"{folder}: cannot be written: {error.strerror}", hint="make the folder writable, or name another"
        ) from error


def _listener(host: str, port: int | None) -> socket.socket:
    """A socket on a free port; raises `ConfigError` if there is none."""
    for number in [port] if port else range(PORT, PORT + TRIES):
        try:
            family = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0][0]
            both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
            return socket.create_server((host, number), family=family, backlog=128, dualstack_ipv6=both)
        except socket.gaierror as error:
            raise ConfigError(
                f"--host {host}: {error.strerror}", hint="use 127.0.0.1, or an address of this machine"
            ) from error
        except PermissionError as error:
            raise ConfigError(
                f"port {number} needs more rights", hint="choose a --port above 1023"
            ) from error
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise ConfigError(
                    f"--host {host}: not an address of this machine", hint="use 127.0.0.1"
                ) from error
    tried = f"port {port} is" if port else f"ports {PORT} to {PORT + TRIES - 1} are"
    raise ConfigError(f"{tried} in use", hint="choose another --port, or stop the other server")
