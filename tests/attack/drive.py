"""Drives the command line under attack, and says how each command ended: an answer, a message, or a fault of ours."""

import contextlib
import json
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from golden.commands import environment

CHILD = Path(__file__).with_name("child.py")
SECRET = "sk-attack-0123456789abcdef"
ESCAPES = ("\x1b", "\x07", "\x00", "\u202e", "\u009b")
FOREIGN = ("pydantic", "NoneType", "object is not", "CreateResult", "validation error", "Error code:")
WITH_MODEL = 1000
"""MB for a command that may open the embedding model, or run it over a corpus, for the first time."""
GROWN = 400
"""MB that one command may add to what its process has held before."""


@dataclass(frozen=True)
class End:
    """How a command ended.

    Attributes:
        code: its exit code; None where it did not end in time.
        grown: MB that its process has held at most, beyond what it held before; `most` is what it may.
    """

    arguments: Sequence[str]
    code: int | None
    out: str
    err: str
    grown: float
    most: float = GROWN

    @property
    def faults(self) -> list[str]:
        """What no command may do, whatever it is given: no more than these."""
        told = self.out + self.err
        return [
            fault
            for fault, there in {
                "endless": self.code is None,
                "traceback": "Traceback (most recent call last)" in told,
                "exit code": self.code not in (0, 2, 3, 4, 5, None),
                "no message": bool(self.code) and not told.strip(),
                "several messages": self.code in (2, 3, 4) and self.err.count("manyheads: ") > 1,
                "foreign words": any(word in self.err for word in FOREIGN),
                "a long message": len(self.err) > 4000,
                "key": SECRET in told,
                "escapes": any(escape in told for escape in ESCAPES),
                "memory": self.grown > self.most,
            }.items()
            if there
        ]


class Driver:
    """Runs commands in one process beside this one, which is begun anew where a command does not end in time.

    Args:
        seconds: what a command may take.
        env: laid over the environment.
        most: MB that a command may hold beyond what its process held before.
    """

    def __init__(self, seconds: float = 60, env: dict[str, str] | None = None, most: float = GROWN) -> None:
        self.seconds, self.most = seconds, most
        self.env = {**environment(), "OPENAI_API_KEY": SECRET, **(env or {})}

    def __enter__(self) -> Self:
        self._begin()
        return self

    def _begin(self) -> None:
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(
            [sys.executable, CHILD], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=self.env
        )

    def __call__(self, *arguments: str | Path, cwd: Path) -> End:
        """Run a command to its end."""
        stdin, stdout = self._child.stdin, self._child.stdout
        assert stdin
        assert stdout
        words = [*map(str, arguments)]
        with contextlib.suppress(OSError):
            Path(f"/proc/{self._child.pid}/clear_refs").write_text("5")
        before = _peak(self._child.pid)
        stdin.write(json.dumps({"arguments": words, "cwd": str(cwd)}).encode() + b"\n")
        stdin.flush()
        ready, _, _ = select.select([stdout], [], [], self.seconds)
        if not ready or not (line := stdout.readline()):
            code = self._child.poll()
            self._end()
            self._begin()
            return End(words, code, "", "the process died" if code else "", 0.0)
        return End(words, **json.loads(line), grown=_peak(self._child.pid) - before, most=self.most)

    def _end(self) -> None:
        with self._child as child:
            child.kill()

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(OSError):
            self._end()


def _peak(pid: int) -> float:
    """The most memory that a process has held since that was last forgotten, in MB; 0 where the system does not say."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0.0
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def leaks(folder: Path, *texts: str) -> list[str]:
    """Files below a folder that hold one of the texts."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return [str(path) for path in files if any(text.encode() in path.read_bytes() for text in texts)]


def sets(values: Mapping[str, object]) -> list[str]:
    """Keys and values of a config, as options."""
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
