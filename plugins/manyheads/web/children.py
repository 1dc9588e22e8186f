"""The runs that this server works on: each is a process of its own, `manyheads run … --control`."""

import asyncio
import json
import logging
import os
import sys
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from manyheads.base.errors import ExitCode, scrubbed
from manyheads.base.text import printable
from manyheads.web.live import Place

log = logging.getLogger("manyheads")
HIDDEN = ".web"
"""The folder, among the runs, of the configs that this server wrote."""
Action = Literal["pause", "resume", "stop"]
PATIENCE = 20.0
"""Seconds that the end of the server waits for running turns."""
LAST_LINES = 12
LONGEST_LINE = 2**27
NEWS = (b'{"kind": "control"', b'{"kind": "refused"', b'{"kind": "error"')
WAITING = b'"kind": "waiting"'
MOST = 500
"""Maximum number of ended runs that are remembered."""


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

    @property
    def alive(self) -> bool:
        return self.state != "ended"

    def send(self, command: Mapping[str, Any]) -> bool:
        """Send a command to the process; False if it has ended."""
        stdin = self.process.stdin if self.process else None
        if stdin is None or stdin.is_closing() or not self.alive:
            return False
        stdin.write(json.dumps(command).encode() + b"\n")
        return True


class Children:
    """All runs of a server, some at once, others in a queue. Belongs to one event loop.

    Args:
        folder: of the runs.
        at_once: maximum number of runs at once.
    """

    def __init__(self, folder: Path, at_once: int = 2) -> None:
        self.folder, self.at_once = folder, at_once
        self._children = OrderedDict[str, Child]()
        self._tasks = set[asyncio.Task[None]]()

    def get(self, name: str) -> Child | None:
        return self._children.get(name)

    def all(self) -> Iterable[Child]:
        return [*self._children.values()]

    def start(self, name: str, system: str, config: Path) -> Child:
        """Run a config in a new folder of this name, when there is room."""
        return self._add(name, system, ("run", str(config), "--out", str(self.folder / name)))

    def resume(self, name: str, system: str) -> Child:
        """Continue an interrupted run, when there is room."""
        return self._add(name, system, ("resume", str(self.folder / name)))

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
        pipe = asyncio.subprocess.PIPE
        last = deque[str](maxlen=LAST_LINES)
        code: int | None = None
        try:
            child.process = await asyncio.create_subprocess_exec(
                # with -P, no file of the working folder is imported
                sys.executable, "-P", "-m", "manyheads", *child.command, "--control",
                stdin=pipe, stdout=pipe, stderr=pipe, limit=LONGEST_LINE, env={**os.environ, "PYTHONUTF8": "1"},
                start_new_session=True,  # Ctrl-C in the server's terminal is for the server
            )  # fmt: skip
            assert child.process.stdout
            assert child.process.stderr
            await asyncio.gather(self._listen(child, child.process.stdout), _keep(child.process.stderr, last))
            code = await child.process.wait()
        except OSError as error:
            child.error = f"the run could not be started: {error.strerror}"
        finally:
            child.state = "ended"
            if code not in (ExitCode.FINE, ExitCode.STOPPED) and not child.error:
                how = f"it was killed by signal {-code}" if code and code < 0 else f"exit code {code}"
                child.error = "\n".join(last) or f"The process of the run ended without a message: {how}."
            self._fill()

    async def _listen(self, child: Child, stdout: asyncio.StreamReader) -> None:
        async for line in _lines(stdout):
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
        for child in self._children.values():
            if child.state == "queued":
                self.control(child, "stop")
            elif child.send({"do": "stop"}) and child.process and child.process.stdin:
                child.process.stdin.close()
        if self._tasks:
            log.warning("waiting for the running turns of the runs; they can be resumed")
            await asyncio.wait(self._tasks, timeout=PATIENCE)


async def _lines(stream: asyncio.StreamReader) -> AsyncGenerator[bytes]:
    while True:
        try:
            if not (line := await stream.readline()):
                return
        except ValueError:  # longer than any event
            continue
        yield line


async def _keep(stream: asyncio.StreamReader, last: deque[str]) -> None:
    async for line in _lines(stream):
        last.append(printable(scrubbed(line.decode(errors="replace").rstrip()))[:500])
