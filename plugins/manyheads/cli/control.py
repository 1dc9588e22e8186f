"""`--control`: another program steers a run. Commands are lines of JSON on stdin, events and answers lines on stdout."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal, cast

import typer

from manyheads.base.errors import ExitCode, UserError
from manyheads.cli.printing import fail, print_line
from manyheads.core.events import AnyEvent, Waiting

if TYPE_CHECKING:
    from manyheads.engine.person import Brake

LONGEST_LINE = 1_000_000
"""Maximum bytes of a command."""
STATES: Mapping[str, Literal["paused", "running", "stopping"]] = {
    "pause": "paused", "resume": "running", "stop": "stopping",
}  # fmt: skip


def put(line: Mapping[str, Any]) -> None:
    """Print a line of JSON; nothing once the reader is gone."""
    try:
        print_line(line)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def errors_as_lines(wanted: bool) -> Generator[None]:
    """With `--control`, the last line on stdout is the error that ended the run."""
    try:
        yield
    except Exception as error:
        if not wanted or isinstance(error, typer.Exit):
            raise
        if not isinstance(error, UserError):
            put(_error(f"{type(error).__name__}: {error}", None, ExitCode.BUG))
            raise
        put(_error(error.message, error.hint, error.exit_code))
        fail(error)
        raise typer.Exit(error.exit_code) from error


def _error(message: str, hint: str | None, code: int) -> dict[str, Any]:
    return {"kind": "error", "message": message, "hint": hint, "code": int(code)}


@dataclass
class Control:
    """The other program, as the person at a run.

    The end of stdin and SIGTERM stop the run after the running turns.
    """

    brake: "Brake"
    waiting: dict[str, asyncio.Future[Mapping[str, Any]]] = field(
        default_factory=dict[str, "asyncio.Future[Mapping[str, Any]]"]
    )
    stopping: bool = False

    def listen(self) -> None:
        """Obey commands and signals from now on."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError):  # not on Windows
                loop.add_signal_handler(number, self._interrupt)
        Thread(target=self._read, args=(loop,), daemon=True, name="manyheads-control").start()
        self._state("running")

    def show(self, event: AnyEvent) -> None:
        """Print an event."""
        put(event.model_dump(mode="json"))

    async def answer(self, request: Waiting) -> Mapping[str, Any]:
        """See `Person.answer`."""
        answer = self.waiting[request.request] = asyncio.get_running_loop().create_future()
        try:
            return await answer
        finally:
            del self.waiting[request.request]

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        """Pass on each line of stdin; runs in a thread."""
        rest, too_long = b"", False
        with suppress(RuntimeError):  # the run is over
            with suppress(OSError):  # no stdin
                # Not through sys.stdin: Python waits at its end for a thread that reads it.
                while data := os.read(0, 65_536):
                    *lines, rest = (rest + data).split(b"\n")
                    for line in lines:
                        loop.call_soon_threadsafe(self._obey, None if too_long else line)
                        too_long = False
                    if len(rest) > LONGEST_LINE:
                        rest, too_long = b"", True
                loop.call_soon_threadsafe(self._obey, rest)
            loop.call_soon_threadsafe(self._stop)

    def _obey(self, line: bytes | None) -> None:
        if line is None:
            self._refuse(f"the line has more than {LONGEST_LINE:,} bytes")
            return
        if not line.strip():
            return
        try:
            command: Any = json.loads(line)
        except (ValueError, RecursionError):
            self._refuse("not a line of JSON")
            return
        match command:
            case {"do": "pause" | "resume" as do} if not self.stopping:
                self.brake.pause() if do == "pause" else self.brake.resume()
                self._state(STATES[do])
            case {"do": "stop"}:
                self._stop()
            case {"do": "answer", "request": str() as request, "value": value}:
                self._answer(request, value)
            case {"do": "answer"}:
                self._refuse("an answer needs request and value")
            case {"do": "pause" | "resume"}:
                self._refuse("the run is stopping")
            case _:
                self._refuse(f"unknown command; commands: {', '.join([*STATES, 'answer'])}")

    def _answer(self, request: str, value: object) -> None:
        waiting = self.waiting.get(request)
        if waiting is None or waiting.done():
            self._refuse("no such request is waiting", request)
        elif not isinstance(value, dict):
            self._refuse("value must be an object with the fields of the form", request)
        else:
            waiting.set_result(cast(dict[str, Any], value))

    def _interrupt(self) -> None:
        """Stop after the running turns; at the second signal, at once."""
        if self.stopping:
            raise KeyboardInterrupt
        self._stop()

    def _stop(self) -> None:
        """Stop after the running turns."""
        if not self.stopping:
            self.stopping = True
            self._state("stopping")
            self.brake.stop()

    def _state(self, state: str) -> None:
        put({"kind": "control", "state": state})

    def _refuse(self, message: str, request: str | None = None) -> None:
        put({"kind": "refused", "request": request, "message": message})
