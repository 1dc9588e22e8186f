"""A cluster of Ray's nodes on this machine, in a process of its own; and the workers of manyheads on it, to be killed.

python -m support.ray_nodes 2      prints the address; adds a node for each line of its input; ends, with all nodes, when it ends
"""

import ctypes
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import pytest

from support.command import environment

NEEDS_RAY = pytest.mark.skipif(find_spec("ray") is None, reason="the extra ray is not installed")


@dataclass(frozen=True)
class RayNodes:
    """A running cluster: its address, the environment of commands that use it, and its nodes' temporary folder."""

    address: str
    env: dict[str, str]
    folder: Path
    more: IO[str]

    def add(self) -> None:
        """One more node, which comes up in a few seconds."""
        self.more.write("node\n")
        self.more.flush()

    @property
    def options(self) -> tuple[str, ...]:
        """Flags of a command that uses it."""
        return ("--engine", "ray", "--address", self.address)

    def processes(self, name: str = "ray::JobWorker") -> Iterator[int]:
        """The cluster's processes of a name."""
        token = f"RAY_AUTH_TOKEN={self.env['RAY_AUTH_TOKEN']}".encode()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                line, own = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
            except OSError:
                continue
            if name.encode() in line and token in own:
                yield int(process.name)


@contextmanager
def ray_nodes(
    count: int = 2, env: Mapping[str, str] | None = None, *, hidden: Path | None = None
) -> Generator[RayNodes]:
    """Nodes of one processor each; `env` is laid over the environment of Ray's own processes. Only the first one sees what is in
    `hidden`; then each has a cache of its own, `cache-N` in their folder. Only for the superuser."""
    own = env or {}
    env = {"RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
    command = [sys.executable, "-m", "support.ray_nodes", str(count), *([str(hidden)] if hidden else [])]
    folder = tempfile.mkdtemp(prefix="mh-nodes-")
    with subprocess.Popen(
        command, env={**environment(env), **own, "RAY_TMPDIR": folder, "TMPDIR": folder}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, cwd=Path(__file__).parents[1],
    ) as process:  # fmt: skip
        assert process.stdin
        assert process.stdout
        try:
            lines = iter(process.stdout.readline, "")
            address = next((line.split()[1] for line in lines if line.startswith("address ")), "")
            assert address, "no cluster came up"
            yield RayNodes(address, env, Path(folder), process.stdin)
        finally:
            process.stdin.close()
            try:
                process.wait(120)
            except subprocess.TimeoutExpired:
                process.kill()
            shutil.rmtree(folder, ignore_errors=True)


def main(count: int, hidden: str | None = None) -> None:
    """Serve the nodes until the input ends."""

    def own(number: int) -> dict[str, Any]:
        folder = os.path.join(tempfile.gettempdir(), f"cache-{number}")
        return {"env_vars": {"MANYHEADS_CACHE": folder}} if hidden else {}

    made: Any = import_module("ray.cluster_utils").Cluster
    quiet = {"include_dashboard": False, "object_store_memory": 80_000_000, "num_cpus": 1}
    cluster = made(initialize_head=True, head_node_args={**quiet, **own(0)})
    add = partial(cluster.add_node, num_cpus=1, object_store_memory=80_000_000)
    if hidden:
        hide(hidden)
    for number in range(1, count):
        add(**own(number))
    print("address", cluster.address, flush=True)
    for _ in sys.stdin:
        add(wait=False)
    cluster.shutdown()


def hide(folder: str) -> None:
    """Lay an empty folder over another one, for this process and those that it starts."""
    system, new_mounts, recursive, private = ctypes.CDLL(None), 0x20000, 0x4000, 0x40000
    assert system.unshare(new_mounts) == 0
    assert system.mount(b"none", b"/", None, recursive | private, None) == 0
    assert system.mount(b"none", folder.encode(), b"tmpfs", 0, None) == 0


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
    os._exit(0)
