"""`manyheads serve`: the web room."""

import errno
import socket
from pathlib import Path
from typing import Annotated

import typer

from manyheads.base.errors import ConfigError
from manyheads.cli.printing import say

PORT, TRIES = 8765, 50
"""The first port that is tried, and the number of ports."""
LOCAL = "127.0.0.1"


def serve(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER",
            help="The folder of runs and arenas. [default: runs, and arenas beside it]",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65535,
            help="Port of the server. [default: 8765, or the next free one]",
            show_default=False,
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than 127.0.0.1 open it to the network.")
    ] = LOCAL,
    at_once: Annotated[
        int, typer.Option(min=1, help="Maximum number of runs at once; others wait in a queue.")
    ] = 2,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the browser.")] = False,
) -> None:
    """Show runs in the browser: start, watch, steer and compare them.

    The printed address works once, for one browser.
    """
    from manyheads.base.errors import need_extra

    need_extra("web", "manyheads serve")

    import uvicorn

    from manyheads.web.app import Connection, create_app, most_connections
    from manyheads.web.security import Access

    project = folder or Path()
    folder = _runs_of(folder)
    listener = _listener(host, port)
    names = {host, socket.gethostname()} if host != LOCAL else set[str]()
    access = Access(names)
    app = create_app(folder, access, at_once, project)
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
    if not no_open:
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
        except OSError as error:
            raise ConfigError(
                f"--host {host}: {error.strerror}", hint="use 127.0.0.1, or an address of this machine"
            ) from error
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, number))
            listener.listen(128)
        except PermissionError as error:
            listener.close()
            raise ConfigError(
                f"port {number} needs more rights", hint="choose a --port above 1023"
            ) from error
        except OSError as error:
            listener.close()
            if error.errno == errno.EADDRNOTAVAIL:
                raise ConfigError(
                    f"--host {host}: not an address of this machine", hint="use 127.0.0.1"
                ) from error
        else:
            return listener
    tried = f"port {port} is" if port else f"ports {PORT} to {PORT + TRIES - 1} are"
    raise ConfigError(f"{tried} in use", hint="choose another --port, or stop the other server")
