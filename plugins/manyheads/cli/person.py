"""The person at a run: at the terminal, field by field, or behind a program (`--control`).

The program's commands are lines of JSON on stdin, events and answers are lines on stdout.
"""

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal, TextIO, cast

import typer
import yaml

from manyheads.asking.forms import brief
from manyheads.asking.questions import YES_OR_NO, bounds, value_of
from manyheads.base.errors import ExitCode, UserError
from manyheads.base.text import plain
from manyheads.cli.printing import fail, print_line, safe_console, say
from manyheads.core.events import AnyEvent, Waiting

if TYPE_CHECKING:
    from manyheads.engine.brake import Brake


EDIT = ":e"
"""The line that opens an editor."""
MOMENT = 0.05
"""Seconds for the view to show what happened before a question."""


def is_terminal(*streams: TextIO | None) -> bool:
    """Whether a person can be asked: all of these streams, by default all that there are, are a terminal."""
    # a closed stream is None
    return all(each and each.isatty() for each in streams or (sys.stdin, sys.stdout, sys.stderr))


def agrees(question: str, about: str = "") -> bool:
    """Ask at the terminal, after what it is about. No without one, and at the end of the input."""
    if not is_terminal():
        return False
    if about:
        say(about, err=True)
    try:
        return typer.confirm(question, err=True)
    except typer.Abort:
        return False


@dataclass
class Terminal:
    """A person who answers at the terminal, one question at a time. Ctrl-D in place of an answer stops the run.

    Attributes:
        quiet: keeps the terminal free of other text for a block.
    """

    brake: "Brake"
    quiet: Callable[[], AbstractContextManager[None]] = nullcontext
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _last: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The last answer, to be corrected if it is refused."""

    async def answer(self, request: Waiting) -> Mapping[str, Any]:
        async with self._turn:
            await asyncio.sleep(MOMENT)
            try:
                with self.quiet(), _same_settings():
                    self._last = await _in_thread(lambda: self._fill_in(request))
            except EOFError:
                self.brake.stop()
                await self.brake.gate()
            return self._last

    def _fill_in(self, request: Waiting) -> dict[str, Any]:
        from rich.markdown import Markdown

        console = safe_console(stderr=True)
        form = request.form
        if request.problem:
            console.print(
                f"Please correct your answer: {plain(request.problem)}", style="yellow", markup=False
            )
            last = {name: value for name, value in self._last.items() if value not in (None, "")}
            properties = form["properties"].items()
            parts = {
                name: {**part, "default": last[name]} if name in last else part for name, part in properties
            }
            form = {**form, "properties": parts}
        else:
            console.print()
            console.rule(plain(f"{request.speaker}, {request.stage}" if request.stage else request.speaker))
            console.print(Markdown(request.text, hyperlinks=False))
        console.print(f"\n{plain(request.title)}", style="bold", markup=False)
        long = any(
            part.get("type") != "integer" and "enum" not in part for part in form["properties"].values()
        )
        hint = f"A text ends with an empty line; {EDIT} opens your editor. " if long else ""
        console.print(f"{hint}Ctrl-C stops the run; it can be resumed.", style="dim", markup=False)
        return fill_in(form, console.print)


def fill_in(form: Mapping[str, Any], show: Callable[..., object], within: str = "") -> dict[str, Any]:
    """Ask for each field of a form; raises `EOFError` at the end of the input."""
    answers = dict[str, Any]()
    for name, part in form["properties"].items():
        conditions: Mapping[str, Any] = part.get("x-when", {})
        if any(answers.get(other) not in values for other, values in conditions.items()):
            continue
        label = f"{within}{part.get('title', name)}"
        about = part.get("description", "")
        show(f"\n{plain(label)}", style="bold", markup=False, end="")
        show(f"  {plain(about)}" if about else "", style="dim", markup=False, highlight=False)
        value = _value(part, show, label, needed=name in form.get("required", ()) or bool(conditions))
        if value is not None:
            answers[name] = value
    return answers


def _value(part: Mapping[str, Any], show: Callable[..., object], label: str, *, needed: bool) -> Any:
    """A field's value; None if it is left out."""
    default = part.get("default")
    if default not in (None, "", []):
        show(f"Enter keeps: {plain(brief(default) if isinstance(default, list) else default)}", markup=False)
    while True:
        match part:
            case {"type": "object"}:
                return fill_in(part, show, f"{label}: ")
            case {"type": "array", "items": {"type": "object"} as item} if default is None:
                return _objects(part, item, show, label)
            case {"type": "array", "items": {"type": "object"}}:
                text = _line(f"{EDIT} to edit them")
            case {"enum": options}:
                texts = part.get("x-texts", [""] * len(options))
                for at, (each, about) in enumerate(zip(options, texts, strict=True), 1):
                    show(f"{at} {plain(each)}  {plain(about)}".rstrip(), markup=False, highlight=False)
                text = _line(f"1 to {len(options)}")
            case {"type": "boolean"}:
                text = _line("y / n")
            case {"type": "integer" | "number"}:
                text = _line(bounds(part) or "a number")
            case {"type": "array", "items": {"type": "integer"} as item}:
                for at, each in enumerate(part.get("x-texts", ()), 1):
                    title = each.partition("\n")[0]
                    show(f"{at} {plain(brief(title))}", markup=False, highlight=False)
                text = _line(f"numbers, such as 1 3; {bounds(item) or 'any'}")
            case {"type": "array"}:
                text = _lines("one a line")
            case _:
                text = _lines()
        if text.strip() == EDIT:
            text = _edited(default, part)
            if isinstance(text, list):
                return text
        if not text.strip():
            if default not in (None, "") or not needed:
                return default
            show("This is needed.", style="yellow")
            continue
        try:
            if (at := text.strip()).isdigit() and 1 <= int(at) <= len(part.get("enum", ())):
                return part["enum"][int(at) - 1]
            return value_of(text, part)
        except ValueError as error:
            show(plain(error), style="yellow", markup=False)


def _objects(
    part: Mapping[str, Any], item: Mapping[str, Any], show: Callable[..., object], label: str
) -> list[Any]:
    """Entries of several fields, one after the other."""
    least, most, entries = part.get("minItems", 0), part.get("maxItems"), list[Any]()
    while most is None or len(entries) < most:
        if len(entries) >= least:
            show(f"{plain(label)}: add number {len(entries) + 1}?", markup=False)
            if not YES_OR_NO.get(_line("y / n").strip().lower(), False):
                break
        entries.append(fill_in(item, show, f"{label} {len(entries) + 1}: "))
    return entries


def _line(hint: str) -> str:
    return input(f"({hint}) > ")


def _lines(hint: str = "") -> str:
    """Lines up to an empty one, or the end of the input after the first."""
    lines = [input(f"({hint}) > " if hint else "> ")]
    with suppress(EOFError):
        while lines[-1].strip() and lines != [EDIT]:
            lines.append(input("> "))
    return "\n".join(lines).strip()


def _edited(default: Any, part: Mapping[str, Any]) -> Any:
    """A text from the editor; entries of several fields as YAML."""
    if part.get("type") == "array" and part["items"].get("type") == "object":
        text = yaml.safe_dump(default, sort_keys=False, allow_unicode=True)
        try:
            value = yaml.safe_load(_edit(text, ".yaml"))
        except yaml.YAMLError:
            return default
        return cast(list[Any], value) if isinstance(value, list) else default
    text = "\n".join(map(str, default)) if isinstance(default, list) else str(default or "")
    return _edit(text, ".md")


def _edit(text: str, suffix: str) -> str:
    """The text after the user's editor; unchanged if there is none."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"answer{suffix}"
        path.write_text(text, encoding="utf-8", errors="replace")
        with suppress(OSError, ValueError):
            subprocess.run([*shlex.split(editor), str(path)], check=False)
        return path.read_text(encoding="utf-8", errors="replace")


async def _in_thread(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result of blocking work, in a thread that does not keep the process from ending."""
    done = Future[dict[str, Any]]()
    done.set_running_or_notify_cancel()  # from now on, only the thread settles it

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as problem:  # noqa: BLE001 - passed on
            done.set_exception(problem)

    Thread(target=run, daemon=True, name="manyheads-terminal").start()
    return await asyncio.wrap_future(done)


@contextmanager
def _same_settings() -> "Generator[None]":
    """Leaves the terminal as it was, even if a line is being typed at the end."""
    try:
        import termios
    except ImportError:  # Windows
        yield
        return
    settings = termios.tcgetattr(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, settings)


LONGEST_LINE = 1_000_000
"""Maximum bytes of a command."""
STATES: Mapping[str, Literal["paused", "running", "stopping"]] = {
    "pause": "paused", "resume": "running", "stop": "stopping",
}  # fmt: skip


@contextmanager
def errors_as_lines(wanted: bool) -> Generator[None]:
    """With `--control`, the last line on stdout is the error that ended the run."""
    try:
        yield
    except Exception as error:
        if not wanted or isinstance(error, typer.Exit):
            raise
        known = isinstance(error, UserError)
        message = error.message if known else f"{type(error).__name__}: {error}"
        hint, code = (error.hint, error.exit_code) if known else (None, ExitCode.BUG)
        print_line({"kind": "error", "message": message, "hint": hint, "code": int(code)})
        if not known:
            raise
        fail(error)
        raise typer.Exit(code) from error


@dataclass
class Control:
    """The other program, as the person at a run.

    The end of stdin and SIGTERM stop the run after the running turns, as does a question without an answer for `within` seconds.
    """

    brake: "Brake"
    steer: Callable[[Sequence[str]], None]
    within: float = inf
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
        print_line(event.model_dump(mode="json"))

    async def answer(self, request: Waiting) -> Mapping[str, Any]:
        loop = asyncio.get_running_loop()
        answer = self.waiting[request.request] = loop.create_future()
        end = loop.call_later(self.within, self._stop)
        try:
            return await answer
        finally:
            end.cancel()
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
            case {"do": "steer", "stages": [*stages]}:
                try:
                    self.steer([str(stage) for stage in stages])
                except ValueError as error:
                    self._refuse(str(error))
            case {"do": "answer", "request": str() as request, "value": value}:
                self._answer(request, value)
            case {"do": "answer" | "steer" as do}:
                needs = "request and value" if do == "answer" else "stages, a list"
                self._refuse(f"{do} needs {needs}")
            case {"do": "pause" | "resume"}:
                self._refuse("the run is stopping")
            case _:
                self._refuse(f"unknown command; commands: {', '.join([*STATES, 'answer', 'steer'])}")

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
        if not self.stopping:
            self.stopping = True
            self._state("stopping")
            self.brake.stop()

    def _state(self, state: str) -> None:
        print_line({"kind": "control", "state": state})

    def _refuse(self, message: str, request: str | None = None) -> None:
        print_line({"kind": "refused", "request": request, "message": message})
