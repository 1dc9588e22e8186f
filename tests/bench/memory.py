"""Peak memory of a run, against importing its framework."""

import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

from bench.figures import Figure, Size
from bench.server import model_server
from bench.startup import FRAMEWORKS, run_command

# A small process in between: a child starts with its parent's peak on its account.
PEAK = """\
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
UNIT = 2**20 if sys.platform == "darwin" else 2**10
"""Units of `ru_maxrss` in a megabyte: bytes on macOS, kilobytes elsewhere."""


async def bench(size: Size) -> AsyncIterator[Figure]:
    with model_server(0) as base_url:
        for host in size.hosts:
            bare = peak([sys.executable, "-c", FRAMEWORKS[host]])
            for embedding in size.embeddings:
                with tempfile.TemporaryDirectory() as base:
                    one = replace(size, embeddings=(embedding,))
                    most = peak(run_command(host, base_url, Path(base), one))
                name = f"memory: run, {host}, {embedding}"
                yield Figure(name, most, "MB", bare, "import of the framework")


def peak(command: list[str]) -> float:
    """Most memory, in MB, that a command holds at once."""
    ended = subprocess.run(
        [sys.executable, "-c", PEAK, *command], check=True, stdout=subprocess.PIPE, text=True
    )
    return int(ended.stdout) / UNIT
