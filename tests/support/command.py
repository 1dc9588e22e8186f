"""The command line as users run it: in a process of its own, or in this one, where starting takes no time."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer.main

import manyheads
from manyheads.cli import app, main
from support.llm import LLM

SMALL = ("--set", "team.size=3", "--set", "turns=1", "--set", "embedding=lexical")
"""The shortest run that has every stage."""


@dataclass(frozen=True)
class Done:
    """A command that has ended: exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def message(self) -> str:
        """The one message of a command that failed; fails the test when there is a traceback, or more than that."""
        assert self.code in (2, 3, 4, 5), (self.code, self.out, self.err)
        assert "Traceback" not in self.err
        assert self.err.startswith("manyheads: "), self.err
        assert self.err.count("manyheads: ") == 1, self.err
        return self.err

    @property
    def events(self) -> list[dict[str, Any]]:
        """What `--json` printed."""
        return [json.loads(line) for line in self.out.splitlines()]


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process' environment, `more` laid on, with our package on the path behind what `more` puts there."""
    given = {**os.environ, "COLUMNS": "120", **(more or {})}
    ours = str(Path(manyheads.__file__).parents[1])
    return {**given, "PYTHONPATH": os.pathsep.join(filter(None, (given.get("PYTHONPATH"), ours)))}


def start(*arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Begin a command; whoever starts it waits for it or kills it."""
    command = [sys.executable, "-m", "manyheads", *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=cwd, env=environment(env), stdout=pipe, stderr=pipe, text=True)


def manyheads_command(*arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> Done:
    """Run a command to its end in this process; not to be called while an event loop runs."""
    out, err = _pipe(), _pipe()
    with (
        chdir(cwd),
        patch.dict(os.environ, {"COLUMNS": "120", **(env or {})}),
        patch.object(sys, "argv", ["manyheads", *map(str, arguments)]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = _ended()
    return Done(code, _told(out), _told(err))


def _pipe() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _told(pipe: io.TextIOWrapper) -> str:
    pipe.seek(0)
    return pipe.read()


def _ended() -> int:
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def manyheads_process(*arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> Done:
    """Run a command to its end in a process of its own: it takes a second, but nothing is imported or set yet."""
    with start(*arguments, cwd=cwd, env=env) as process:
        return finish(process)


def finish(process: subprocess.Popen[str], seconds: float = 100) -> Done:
    """Wait for the end of a command."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return Done(process.returncode, out, err)


def stop_twice(process: subprocess.Popen[str]) -> Done:
    """Press Ctrl-C, and again when the command says that it is stopping; it must then end at once."""
    process.send_signal(signal.SIGINT)
    assert process.stderr
    assert any("Ctrl-C" in line for line in process.stderr)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert time.monotonic() - began < 6  # for workers it would wait ten seconds
    return done


def kill(*arguments: str | Path, llm: LLM, calls: int, cwd: Path) -> None:
    """Begin a command, and kill it once the model server has had this many calls."""
    with start(*arguments, cwd=cwd) as process:
        while llm.calls < calls:
            assert process.poll() is None, finish(process)
            time.sleep(0.01)
        process.kill()


def served_by(llm: LLM, *more: str) -> tuple[str, ...]:
    """Flags that put the default model on a server, quick to give up."""
    sets = (f"models.default.base_url={llm.base_url}", "models.default.retries=0", *more)
    return ("--model", "openai/test", *(part for each in sets for part in ("--set", each)))


def result_of(folder: Path) -> dict[str, Any]:
    """What every run has, and its system's own, side by side."""
    data = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    return {**data, **data["result"]}


def outcome_of(folder: Path) -> dict[str, Any]:
    """The same without versions and date, for runs that are compared."""
    return {name: value for name, value in result_of(folder).items() if name != "made_by"}


def parsed(words: list[str]) -> None:
    """Take a command line through the parser, and run nothing."""
    whole: Any = typer.main.get_command(app)
    group, path = whole, list[str]()
    while hasattr(group, "commands"):
        path.append(words.pop(0))
        group = group.commands[path[-1]]
    parent = whole.make_context("manyheads", [path[0]])
    group.make_context(" ".join(path), words, parent=parent)
