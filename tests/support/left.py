"""Runs that go on without their server: none does after its test."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from manyheads.web.children import HIDDEN, PIPE, send


@contextmanager
def stopped_at_the_end(folder: Path, seconds: float = 30) -> Generator[None]:
    """Stop the lasting runs in a folder of runs, and wait for their end; fails if one does not stop."""
    try:
        yield
    finally:
        end = time.monotonic() + seconds
        while left := [
            pipe.name for pipe in (folder / HIDDEN).glob(f"*{PIPE}") if send(pipe, {"do": "stop"})
        ]:
            assert time.monotonic() < end, f"still running: {left}"
            time.sleep(0.05)
