"""Processes that programs leave, or not."""

import time
from collections.abc import Iterable
from pathlib import Path


def need_ended(pids: Iterable[int], seconds: float = 10) -> None:
    """Wait for the end of processes; fails if one still lives after so many seconds."""
    until = time.monotonic() + seconds
    for pid in pids:
        while _lives(pid):
            assert time.monotonic() < until, f"process {pid} still lives"
            time.sleep(0.02)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
