"""The runs that a server works on: each is a process of its own, `manyheads run … --control`.

Those of the web room end with it. Those of `manyheads mcp` are lasting: they go on when the server ends, and the next one
finds their pipes among the files of `.web`.
"""

import asyncio
import errno
import json
import logging
import os
import subprocess
import sys
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Literal

from manyheads.base.errors import ConfigError, ExitCode, scrubbed
from manyheads.base.files import make_folder
from manyheads.base.text import printable
from manyheads.web.live import Place

log = logging.getLogger("manyheads")
HIDDEN = ".web"
"""The folder, among the runs, of the configs that this server wrote, and of lasting runs' pipes and output."""
PIPE, OUTPUT, ERRORS = ".pipe", ".jsonl", ".err"
"""Of a lasting run: the pipe of its commands, and its standard output and error."""
Action = Literal["pause", "resume", "stop"]
PATIENCE = 20.0
"""Seconds that the end of the server waits for running turns."""
LAST_LINES = 12
LONGEST_LINE = 2**27
NEWS = (b'{"kind": "control"', b'{"kind": "refused"', b'{"kind": "error"')
WAITING = b'"kind": "waiting"'
MOST = 500
"""Maximum number of ended runs that are remembered."""
LONGEST = 50_000
"""Bytes of a command to a lasting run: a pipe takes them at once."""
UNATTENDED = 24 * 60
"""Minutes for which a lasting run waits for a person: its server may be gone, and nobody come back."""
POLL = 0.1
"""Seconds between two looks at a lasting run."""


@dataclass
class Child:
    """A run of this server.

    Attributes:
        state: `queued`, `running`, `paused`, `stopping` or `ended`.
        error: why it failed, in its own last words; empty otherwise.
        asked: requests to people that this process has made. A resumed run's events are at first those of the process before.
        refused: why an answer was refused, by its request.
        answered: requests with an answer that was not refused.
        texts: what people typed last into the form of a task, by stage, turn, speaker and task.
    """

    name: str
    system: str
    command: tuple[str, ...]
    at: str = field(default_factory=lambda: datetime.now().isoformat(timespec="seconds"))
    state: Literal["queued", "running", "paused", "stopping", "ended"] = "queued"
    error: str = ""
    asked: set[str] = field(default_factory=set[str])
    refused: dict[str, str] = field(default_factory=dict[str, str])
    answered: set[str] = field(default_factory=set[str])
    texts: dict[Place, dict[str, str]] = field(default_factory=dict[Place, dict[str, str]])
    process: asyncio.subprocess.Process | None = field(default=None, repr=False)
    pipe: Path | None = None
    """Of a lasting run that has begun."""

    @property
    def alive(self) -> bool:
        return self.state != "ended"

    def send(self, command: Mapping[str, Any]) -> bool:
        """Send a command to the process; False if it has ended."""
        if not self.alive:
            return False
        if self.pipe:
            return send(self.pipe, command)
        stdin = self.process.stdin if self.process else None
        if stdin is None or stdin.is_closing():
            return False
        stdin.write(_line(command))
        return True


def send(pipe: Path, command: Mapping[str, Any]) -> bool:
    """Send a command to a lasting run, whichever server has started it; False if it has ended.

    Raises:
        ConfigError: it is too long.
    """
    if len(line := _line(command)) > LONGEST:
        raise ConfigError(f"the answer has more than {LONGEST:,} bytes", hint="shorten it")
    if (file := _write_end(pipe)) is None:
        return False
    try:
        return os.write(file, line) == len(line)
    except (BlockingIOError, BrokenPipeError):
        return False
    finally:
        os.close(file)


def clear(folder: Path) -> None:
    """Remove the pipes and outputs of lasting runs that ended without a server."""
    for pipe in (folder / HIDDEN).glob(f"*{PIPE}"):
        if (file := _write_end(pipe)) is not None:
            os.close(file)
            continue
        for end in (PIPE, OUTPUT, ERRORS):
            pipe.with_suffix(end).unlink(missing_ok=True)


def _write_end(pipe: Path) -> int | None:
    """None if nobody reads it. It does not block, as the pipe of a process that was killed would."""
    try:
        return os.open(pipe, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENXIO):
            return None
        raise


def _line(command: Mapping[str, Any]) -> bytes:
    return json.dumps(command, ensure_ascii=False).encode(errors="surrogatepass") + b"\n"


class Children:
    """All runs of a server, some at once, others in a queue. Belongs to one event loop.

    Args:
        folder: of the runs.
        at_once: maximum number of runs at once.
        lasting: whether runs that have begun go on when this process ends. Not on Windows, which has no named pipes.
    """

    def __init__(self, folder: Path, at_once: int = 2, *, lasting: bool = False) -> None:
        self.folder, self.at_once, self.lasting = folder, at_once, lasting and hasattr(os, "mkfifo")
        self._children = OrderedDict[str, Child]()
        self._tasks = set[asyncio.Task[None]]()

    def get(self, name: str) -> Child | None:
        return self._children.get(name)

    def all(self) -> Iterable[Child]:
        return [*self._children.values()]

    def start(self, name: str, system: str, config: Path) -> Child:
        """Run a config in a new folder of this name, when there is room."""
        return self._add(name, system, ("run", str(config), "--out", str(self.folder / name)))

    def resume(self, name: str, system: str, *options: str, folder: Path | None = None) -> Child:
        """Continue an interrupted run, when there is room; its folder is that of its name if omitted."""
        return self._add(name, system, ("resume", str(folder or self.folder / name), *options))

    def _add(self, name: str, system: str, command: tuple[str, ...]) -> Child:
        child = self._children.get(name)
        if child is None or not child.alive:
            child = Child(name, system, command)
            self._children[name] = child
            self._children.move_to_end(name)
        ended = [each.name for each in self._children.values() if not each.alive]
        for each in ended[:-MOST]:
            del self._children[each]
        self._fill()
        return child

    def control(self, child: Child, action: Action) -> None:
        """Pause, resume or stop a run; a queued one leaves the queue."""
        if child.state == "queued" and action == "stop":
            child.state = "ended"
            with suppress(OSError):
                (self.folder / child.name).rmdir()  # empty: it never began
        elif child.send({"do": action}) and action == "stop":
            child.state = "stopping"

    def answer(self, child: Child, request: str, value: Mapping[str, Any]) -> bool:
        """Send a person's answer; False if this request has one, or the run has ended."""
        if request in child.answered or not child.send({"do": "answer", "request": request, "value": value}):
            return False
        child.refused.pop(request, None)
        child.answered.add(request)
        return True

    def _fill(self) -> None:
        """Start queued runs while there is room."""
        under_way = sum(each.alive and each.state != "queued" for each in self._children.values())
        for child in self._children.values():
            if child.state == "queued" and under_way < self.at_once:
                child.state, under_way = "running", under_way + 1
                task = asyncio.get_running_loop().create_task(self._work(child))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _work(self, child: Child) -> None:
        """Run a child to its end, and read what it says about itself; events are read from its folder."""
        last = deque[str](maxlen=LAST_LINES)
        code: int | None = None
        # with -P, no file of the working folder is imported
        command = (sys.executable, "-P", "-m", "manyheads", *child.command, "--control")
        command += ("--answer-within", str(UNATTENDED)) if self.lasting else ()
        try:
            code = await (self._lasting if self.lasting else self._piped)(child, command, last)
        except OSError as error:
            child.error = f"the run could not be started: {error.strerror}"
        except asyncio.CancelledError:
            # the end of the server: a lasting run goes on, and what is queued never begins
            code = ExitCode.STOPPED
            for each in self.all():
                if each.state == "queued":
                    self.control(each, "stop")
            raise
        finally:
            child.state = "ended"
            if code not in (ExitCode.FINE, ExitCode.STOPPED) and not child.error:
                ending = f"it was killed by signal {-code}" if code and code < 0 else f"exit code {code}"
                child.error = "\n".join(last) or f"The process of the run ended without a message: {ending}."
            self._fill()

    async def _piped(self, child: Child, command: Sequence[str], last: deque[str]) -> int:
        pipe = asyncio.subprocess.PIPE
        process = child.process = await asyncio.create_subprocess_exec(
            *command,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            limit=LONGEST_LINE,
            env=_environment(),
            start_new_session=True,  # Ctrl-C in the server's terminal is for the server
        )
        assert process.stdout
        assert process.stderr
        await asyncio.gather(self._listen(child, _lines(process.stdout)), _keep(_lines(process.stderr), last))
        return await process.wait()

    async def _lasting(self, child: Child, command: Sequence[str], last: deque[str]) -> int:
        hidden = self.folder / HIDDEN
        child.pipe, output, errors = (hidden / f"{child.name}{end}" for end in (PIPE, OUTPUT, ERRORS))
        process = _detached(command, child.pipe, output, errors)
        with output.open("rb") as said, errors.open("rb") as complained:
            await self._listen(child, _growing(said, process))
            await _keep(_growing(complained, process), last)
        for each in (child.pipe, output, errors):
            each.unlink(missing_ok=True)
        return process.wait()

    async def _listen(self, child: Child, lines: AsyncGenerator[bytes]) -> None:
        async for line in lines:
            if not line.startswith(NEWS) and WAITING not in line:
                continue
            news: dict[str, Any] = json.loads(line)
            match news["kind"]:
                case "waiting":
                    child.asked.add(str(news["request"]))
                case "control" if news["state"] in ("running", "paused", "stopping"):
                    child.state = news["state"]
                case "refused":
                    request = str(news.get("request"))
                    child.answered.discard(request)
                    child.refused[request] = str(news.get("message", ""))
                case "error" if news.get("code") != ExitCode.STOPPED:
                    hint = f"\nnext: {news['hint']}" if news.get("hint") else ""
                    child.error = printable(scrubbed(f"{news['message']}{hint}"))[:4_000]
                case _:
                    pass

    async def close(self) -> None:
        """Stop all runs."""
        for child in self._children.values():
            if child.state == "queued":
                self.control(child, "stop")
            elif child.send({"do": "stop"}) and child.process and child.process.stdin:
                child.process.stdin.close()
        if self._tasks:
            log.warning("waiting for the running turns of the runs; they can be resumed")
            await asyncio.wait(self._tasks, timeout=PATIENCE)


def _detached(command: Sequence[str], pipe: Path, output: Path, errors: Path) -> subprocess.Popen[bytes]:
    """Start a process that does not notice our end: none of its pipes is ours, and no event loop kills it."""
    make_folder(pipe.parent)
    for each in (pipe, output, errors):
        each.unlink(missing_ok=True)  # an earlier process of the run may still write its last words into it
    os.mkfifo(pipe, 0o600)
    # opened for both: the process itself keeps the pipe open, and never sees the end of its commands
    with open(os.open(pipe, os.O_RDWR), "rb", 0) as stdin, output.open("wb") as out, errors.open("wb") as err:
        return subprocess.Popen(
            command, stdin=stdin, stdout=out, stderr=err, env=_environment(), start_new_session=True
        )


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONUTF8": "1"}


async def _lines(stream: asyncio.StreamReader) -> AsyncGenerator[bytes]:
    while True:
        try:
            if not (line := await stream.readline()):
                return
        except ValueError:  # longer than any event
            continue
        yield line


async def _growing(file: BinaryIO, process: subprocess.Popen[bytes]) -> AsyncGenerator[bytes]:
    """The lines of a file that a process writes, up to its end."""
    rest = b""
    while True:
        ended = process.poll() is not None
        *lines, rest = (rest + file.read()).split(b"\n")
        for line in lines:
            yield line + b"\n"
        if ended:
            return
        await asyncio.sleep(POLL)


async def _keep(lines: AsyncGenerator[bytes], last: deque[str]) -> None:
    async for line in lines:
        last.append(printable(scrubbed(line.decode(errors="replace").rstrip()))[:500])
