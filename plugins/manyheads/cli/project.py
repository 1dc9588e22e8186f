"""A project's folder: `manyheads init`, `list`, `serve`, and keys from `.env`."""

import errno
import shutil
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from pydantic import Field

from manyheads.base.errors import ConfigError, NotAllowedError
from manyheads.base.files import make_folder, writable
from manyheads.cli.options import Options, Paths
from manyheads.cli.package import write_package
from manyheads.cli.printing import say
from manyheads.cli.runs import ideas_in_short, in_short, print_ideas, print_runs, runs_tagged

if TYPE_CHECKING:
    from uvicorn import Server

    from manyheads.base.resources import Resources


# `manyheads init`.

PROJECT = "project/"
"""The folder of `configs/` with the files of a new project."""
HIDDEN = ("env.example", "gitignore")
"""Files whose copies get a leading dot."""
EDITED = ("scientist", "leader")
"""Roles whose prompts are copied."""


def init(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="FOLDER", help="The project; created if missing. [default: this folder]"),
    ] = None,
    system: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Make a package with a system of your own instead, in a new folder."
        ),
    ] = None,
) -> None:
    """Make a project folder: a config, papers, prompts to edit, a notebook and an example of .env.

    Existing files are kept. With --system, make a Python package with a small system that works, and its tests.
    """
    if system is not None:
        return write_package(folder or Path(system), system)
    from manyheads.base.resources import Resources

    if folder is None and any(each.name[0] != "." for each in Path().iterdir()):
        from manyheads.cli.person import agrees

        if not agrees("This folder has files. Make it the project?"):
            hint = "name a new one: manyheads init my-project, or this one: manyheads init ."
            raise ConfigError("this folder has files", hint=hint)
    folder = folder or Path()

    resources, files = Resources(), dict[str, Path]()
    for name, source in resources.names("configs").items():
        if name.startswith(PROJECT):
            own = name.removeprefix(PROJECT)
            files[f".{own}" if own in HIDDEN else own] = source
    for name, source in resources.names("prompts", ".md.j2").items():
        if name.partition("/")[0] in EDITED:
            files[f"prompts/{name}"] = source
    written, kept = 0, list[str]()
    with writable(folder, hint="name another folder"):
        for name, source in files.items():
            target = folder / name
            make_folder(target.parent)
            try:
                with target.open("xb") as file:
                    file.write(source.read_bytes())
                written += 1
            except FileExistsError:
                kept.append(name)
    say(f"{folder}: {written} files written")
    if kept:
        say(f"{len(kept)} existing files were kept: {', '.join(kept[:8])}")
    enter = "" if folder == Path() else f"cd {folder}\n"
    say(
        f"\nNext:\n{enter}manyheads run my.yaml --open                  # offline, no key\n"
        "manyheads list                                # systems, configs, suites, corpora, runs\n"
        "cp .env.example .env                          # then add a key, and name the model in my.yaml\n"
        "jupyter lab notebook.ipynb                    # the same in Python; once: pip install jupyterlab"
    )


# `.env`.


def read_own_keys() -> None:
    """Read the keys in `.env`, and warn of settings in it. Raises `ConfigError`."""
    from manyheads.config.keys import read_keys

    if steering := read_keys(file := Path(".env")):
        say(f"warning: {file}: only keys are read from it; export {', '.join(steering)} instead", err=True)


def allowed_now(error: NotAllowedError) -> bool:
    """Ask on a terminal whether a key may go to a host; a yes is remembered. False without a terminal."""
    from manyheads.cli.person import agrees
    from manyheads.config.environment import allow

    allowed = agrees("Allow this from now on?", error.message)
    if allowed:
        allow(error.words)
    return allowed


# `manyheads list`.

Kind = Literal["configs", "systems", "suites", "corpora", "runs", "ideas", "roles"]
MOST_COLUMNS = 200
"""Width of a list without a terminal."""
MOST_RUNS = 20
"""Maximum runs in the list of everything."""


class Listing(Options):
    kind: Annotated[Kind | None, typer.Argument(metavar="KIND")] = None
    """systems, configs, suites, corpora, roles, runs or ideas. [default: all but ideas]"""
    path: Paths = None
    columns: Annotated[str | None, typer.Option(metavar="NAME,…")] = None
    """Of runs: print a table of these columns, such as title,state,cost,ON, or keys such as team.size."""
    csv: bool = False
    """Of runs or ideas: print CSV."""
    tag: Annotated[str | None, typer.Option(metavar="TAG")] = None
    """Only runs with this tag."""


def list_all(what: Listing) -> None:
    """List systems, configs, suites, corpora, roles and runs, one per line.

    Lists what is shipped, what installed packages add and what is in your folders. Runs are those in this folder and below it, newest first.
    """
    from manyheads.base.resources import Resources
    from manyheads.base.text import plain

    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else MOST_COLUMNS
    kind, resources = what.kind, Resources.of(what.path or ())
    if (what.columns and kind != "runs") or ((what.csv or what.tag) and kind not in ("runs", "ideas")):
        hint = "manyheads list runs --columns title,state,cost"
        raise ConfigError("--columns is for runs, --csv and --tag are for runs and ideas", hint=hint)
    if kind == "ideas" and what.csv:
        print_ideas(runs_tagged(what.tag))
        return
    if kind == "runs" and (what.csv or what.columns):
        print_runs(runs_tagged(what.tag), what.columns or "", as_csv=what.csv)
        return
    lists: dict[str, Callable[[Resources], Iterable[tuple[str, str]]]] = {
        "systems": _systems, "configs": _configs, "suites": _suites, "corpora": _corpora, "roles": _roles,
        "runs": lambda resources: (in_short(*each) for each in runs_tagged(what.tag)),
        "ideas": lambda resources: ideas_in_short(runs_tagged(what.tag)),
    }  # fmt: skip
    margin = "" if kind else "  "
    for name in [kind] if kind else [*lists][:-1]:
        rows = [*lists[name](resources)]
        if kind is None:
            say(f"{'' if name == 'systems' else chr(10)}{name}")
            if name == "runs" and len(rows) > MOST_RUNS:
                rows[MOST_RUNS:] = [("…", f"{len(rows) - MOST_RUNS} more: manyheads list runs")]
        width = max((len(row[0]) for row in rows), default=0)
        for row, text in rows or [("none", "")]:
            start = f"{margin}{plain(row):<{width}}  "
            say(f"{start}{shorten(plain(text), max(columns - len(start), 30), placeholder=' …')}".rstrip())


def _systems(resources: object) -> Iterator[tuple[str, str]]:
    from manyheads.systems import systems

    for name, system in systems().items():
        yield name, system.about


def _configs(resources: "Resources") -> Iterator[tuple[str, str]]:
    from manyheads.base.resources import summary

    for name, file in sorted(resources.names("configs", ".yaml").items()):
        if "/" not in name:
            yield name.removesuffix(".yaml"), summary(file)


def _suites(resources: "Resources") -> Iterator[tuple[str, str]]:
    from manyheads.config.files import read_yaml

    for name, file in sorted(resources.names("evals", "suite.yaml").items()):
        try:
            title = read_yaml(file).get("title", "")
        except ConfigError as error:
            title = error.message
        yield name.removesuffix("/suite.yaml"), str(title)


def _corpora(resources: object) -> Iterator[tuple[str, str]]:
    from manyheads.corpus.meta import all_corpora

    return ((name, about) for name, about, _ in all_corpora())


def _roles(resources: "Resources") -> Iterator[tuple[str, str]]:
    from manyheads.asking.roles import Roles

    for name, card in sorted(Roles(resources).cards.items()):
        yield name, card.description


PORT, TRIES = 8765, 50
"""The first port that is tried, and the number of ports."""
LOCAL = "127.0.0.1"


class Serving(Options):
    folder: Annotated[Path | None, typer.Argument(metavar="FOLDER")] = None
    """The folder of runs and arenas. [default: runs, and arenas beside it]"""
    port: int | None = Field(default=None, ge=1, le=65535)
    """Port of the server. [default: 8765, or the next free one]"""
    host: str = LOCAL
    """Address to listen on; others than 127.0.0.1 open it to the network."""
    jobs: Annotated[int, typer.Option("--jobs", "-j")] = Field(default=2, ge=1)
    """Runs in parallel; others wait in a queue."""
    no_open: bool = False
    """Do not open the browser."""


def serve(options: Serving) -> None:
    """Show runs in the browser: start, watch, steer and compare them.

    The printed address works once, for one browser.
    """
    from manyheads.base.errors import need_extra

    need_extra("web", "manyheads serve")

    from manyheads.web.app import create_app, server_of
    from manyheads.web.security import Access

    host = options.host
    folder = _runs_of(options.folder)
    listener = listener_of(host, options.port)
    access = Access(names_of(host))
    app = create_app(folder, access, options.jobs, options.folder or Path())
    shown = LOCAL if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{listener.getsockname()[1]}"
    warn_of_network(host, "can take over the session")
    entrance = f"{url}/enter?token={access.token()}"
    say(
        f"Runs of     {folder}\nOpen        {entrance}\n            (works once; the page can make more)\nCtrl-C ends the server."
    )
    if not options.no_open:
        typer.launch(entrance)
    run_server(server_of(app), listener)


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
    import tempfile

    if not folder.is_dir():
        what = "not a folder" if folder.exists() else "no such folder"
        raise ConfigError(f"{folder}: {what}", hint="name a folder of runs, or make it: mkdir FOLDER")
    with (
        writable(folder, hint="make the folder writable, or name another"),
        tempfile.TemporaryFile(dir=folder),
    ):
        pass


def names_of(host: str) -> frozenset[str]:
    """The names of a server that listens on an address."""
    return frozenset({host, socket.gethostname()} if host != LOCAL else ())


def warn_of_network(host: str, risk: str) -> None:
    if host != LOCAL:
        say(
            f"warning: {host} is open to the network, without encryption: everyone who can read the traffic {risk}. "
            "Use a trusted network, or a reverse proxy with TLS.",
            err=True,
        )


def run_server(server: "Server", listener: socket.socket) -> None:
    """Serve until Ctrl-C."""
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        say("manyheads: server ended", err=True)


def listener_of(host: str, port: int | None) -> socket.socket:
    for number in [port] if port else range(PORT, PORT + TRIES):
        try:
            family = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0][0]
            both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
            listener = socket.create_server((host, number), family=family, backlog=128, dualstack_ipv6=both)
            # connections inherit it: asyncio sets it on its own sockets only, and else each answer waits 40 ms
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return listener
        except OSError as error:
            if isinstance(error, PermissionError):
                hint = "choose a --port above 1023"
                raise ConfigError(f"port {number} needs more rights", hint=hint) from error
            if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
                hint = "use 127.0.0.1, or an address of this machine"
                raise ConfigError(f"--host {host}: {error.strerror}", hint=hint) from error
    tried = f"port {port} is" if port else f"ports {PORT} to {PORT + TRIES - 1} are"
    raise ConfigError(f"{tried} in use", hint="choose another --port, or stop the other server")
