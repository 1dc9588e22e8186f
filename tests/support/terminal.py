"""A command in a real terminal, in which a person types."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from support.command import environment


class Screen:
    """A terminal with a command in it."""

    def __init__(self, process: "subprocess.Popen[bytes]", screen: int) -> None:
        self.process, self.screen, self.text, self._seen = process, screen, "", 0

    def until(self, pattern: str, seconds: float = 60) -> str:
        """What appears up to a pattern, from the last one on."""
        end = time.monotonic() + seconds
        while not (found := re.compile(pattern).search(self.text, self._seen)):
            assert time.monotonic() < end, self.text[-3000:]
            self._read()
        before, self._seen = self.text[self._seen : found.end()], found.end()
        return before

    def _read(self) -> None:
        try:
            data = os.read(self.screen, 65536) if select.select([self.screen], [], [], 30)[0] else b""
        except OSError:  # the command has ended
            data = b""
        assert data, self.text[-3000:]
        self.text += data.decode(errors="replace")

    def prompt(self) -> str | None:
        """What stands before the cursor once something can be typed; None at the end."""
        try:
            while not re.search(r"(\) |> )$", self.text[self._seen :]):
                self._read()
        except AssertionError:
            return None
        before, self._seen = self.text[self._seen :], len(self.text)
        return before

    def type(self, line: str) -> None:
        os.write(self.screen, f"{line}\n".encode())

    def end(self) -> int:
        with suppress(AssertionError):
            while True:
                self._read()
        return self.process.wait(60)


@contextmanager
def terminal(folder: Path, words: Sequence[str], **env: str) -> Generator[Screen]:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "manyheads", *words],
        cwd=folder, env=environment({"TERM": "xterm", **env}), stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True,
    ) as process:  # fmt: skip
        os.close(theirs)
        try:
            yield Screen(process, ours)
        finally:
            process.kill()
            os.close(ours)
