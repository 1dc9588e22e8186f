"""The commands of the golden tests: where they run, and how they end."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

CHILD = Path(__file__).with_name("child.py")


@dataclass(frozen=True)
class Done:
    """A command that has ended: exit code and what it printed."""

    code: int
    out: str
    err: str


class Commands(AbstractContextManager["Commands"]):
    """Runs commands in one process beside this one, without the settings of the user's shell."""

    def __enter__(self) -> Self:
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(
            [sys.executable, CHILD], stdin=pipe, stdout=pipe, text=True, env=environment()
        )
        return self

    def __call__(self, *arguments: str | Path, cwd: Path) -> Done:
        """Run a command to its end."""
        assert self._child.stdin
        assert self._child.stdout
        self._child.stdin.write(json.dumps({"arguments": [*map(str, arguments)], "cwd": str(cwd)}) + "\n")
        self._child.stdin.flush()
        if not (end := self._child.stdout.readline()):
            raise AssertionError(f"no end of: manyheads {' '.join(map(str, arguments))}; see standard error")
        return Done(**json.loads(end))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._child as child:
            child.kill()


def alone(arguments: Sequence[str], cwd: Path) -> Done:
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "manyheads", *arguments]
    ended = subprocess.run(
        command, cwd=cwd, env=environment(), capture_output=True, text=True, check=False, timeout=100
    )
    return Done(ended.returncode, ended.stdout, ended.stderr)


def environment() -> dict[str, str]:
    """This process' environment without keys, servers, proxies and folders of the user's."""
    ours = ("_API_KEY", "_BASE_URL", "_PROXY", "OLLAMA_HOST", "MANYHEADS_PATH", "OPENALEX_MAILTO")
    kept = {name: value for name, value in os.environ.items() if not name.upper().endswith(ours)}
    return {**kept, "COLUMNS": "120", "NO_COLOR": "1"}
