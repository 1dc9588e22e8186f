"""The workers of a Ray: a cluster is joined, or a local one is started; workers are placed on its nodes, and given to jobs."""

import asyncio
import logging
import os
import re
import secrets
import shutil
import socket
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from platform import python_version
from typing import Any, ClassVar, cast

from manyheads import __version__
from manyheads.base.errors import ConfigError, ModelError, UserError, need_extra, scrubbed
from manyheads.base.files import cache_folder
from manyheads.base.http import in_short
from manyheads.base.text import shortened
from manyheads.config.environment import ADDRESSES

log = logging.getLogger("manyheads")
PLACING = 120.0
"""Seconds in which a cluster must find a place for a worker."""
REACH = 5.0
"""Seconds in which a cluster must answer."""
STORE = 100_000_000
"""Bytes of a local Ray's object store."""
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "1"}
LISTENS = (
    "Ray listens on all addresses of this machine, and whoever reaches its ports with its token runs code here;"
    " the token changes with each start and stays on"
)


@dataclass
class Seat:
    """A worker with the jobs that it has.

    Attributes:
        alone: whether its job must have no other beside it.
        ready: its versions, once it has been placed.
    """

    actor: Any
    ready: asyncio.Future[dict[str, Any]]
    jobs: int = 0
    alone: bool = False


class Seats:
    """The workers of a connected Ray. A worker that is lost, or cannot be used, is replaced or done without.

    Args:
        workers: their number.
        lanes: jobs at once of each.
        base: the folder for jobs' folders; None for each node's temporary one.
    """

    worker: ClassVar[type]
    """The class of their actors: it has `about`."""

    def __init__(self, ray: Any, workers: int, lanes: int, base: Path | None) -> None:
        self.ray, self.workers, self.lanes, self.base = ray, workers, lanes, base
        self._seats = list[Seat]()
        self._free = asyncio.Condition()
        self._refusal: UserError | None = None

    def _place(self) -> Seat:
        actor = self.ray.remote(self.worker).options(
            num_cpus=1, max_concurrency=2 * self.lanes + 8, max_restarts=0, max_task_retries=0
        )
        addresses = {name: value for name in ADDRESSES if (value := os.environ.get(name))}
        actor = actor.remote(str(self.base) if self.base else None, addresses)
        return Seat(actor, asyncio.ensure_future(self.about(actor)))

    @asynccontextmanager
    async def seat(self, *, alone: bool = False) -> AsyncGenerator[Seat]:
        """A worker with a free lane, or with no other job; placed if there are too few. Raises as `about` if none can be used."""
        seat, errors = await self._taken(alone=alone), self.ray.exceptions
        try:
            yield seat
        except errors.RayError as error:
            if not isinstance(error, errors.RayTaskError):  # else it lives
                self.drop(seat)
            raise
        finally:
            await self._leave(seat)

    async def _taken(self, *, alone: bool) -> Seat:
        """A placed worker. One that cannot be placed or used is done without, as long as there are others."""
        while True:
            async with self._free:
                while (seat := self._choice(alone=alone)) is None:
                    await self._free.wait()
                seat.jobs, seat.alone = seat.jobs + 1, alone
            try:
                await asyncio.shield(seat.ready)
                return seat
            except BaseException as error:
                unfit = isinstance(error, UserError)
                if unfit and seat in self._seats:
                    self.workers, self._refusal = self.workers - 1, error
                    log.warning("warning: %s; %d workers are left", error.message, self.workers)
                if isinstance(error, Exception):
                    self.drop(seat)
                await self._leave(seat)
                if not unfit or not self.workers:
                    raise

    async def _leave(self, seat: Seat) -> None:
        async with self._free:
            seat.jobs, seat.alone = seat.jobs - 1, False
            self._free.notify_all()

    def _choice(self, *, alone: bool) -> Seat | None:
        if self._refusal and not self.workers:
            raise self._refusal
        while len(self._seats) < self.workers:
            self._seats.append(self._place())
        free = [each for each in self._seats if not each.alone and each.jobs < (1 if alone else self.lanes)]
        return min(free, key=lambda each: each.jobs, default=None)

    def drop(self, seat: Seat) -> None:
        """Give a worker up; another one takes its place."""
        if seat in self._seats:
            self._seats.remove(seat)
            with suppress(Exception):  # it may be gone
                self.ray.kill(seat.actor)

    async def about(self, actor: Any, *wanted: Any) -> dict[str, Any]:
        """See `JobWorker.about`. Raises `ModelError` without room for it, `ConfigError` if it cannot start or has another version."""
        errors = self.ray.exceptions
        try:
            about = cast(dict[str, Any], await asyncio.wait_for(actor.about.remote(*wanted), PLACING))
        except errors.RayError as error:
            never = isinstance(error, (errors.RayTaskError, errors.ActorUnschedulableError))
            if never or getattr(error, "actor_init_failed", False):
                hint = "manyheads check SYSTEM --engine ray names the nodes; install the same versions on all"
                raise ConfigError(f"Ray: a worker cannot start: {in_a_line(error)}", hint=hint) from error
            raise
        except TimeoutError as error:
            raise ModelError(
                f"Ray: no node has a free processor for a worker since {PLACING:.0f} s",
                hint="fewer --workers, or wait for the others' work: ray status",
            ) from error
        for name, version in versions().items():
            if about[name] != version:
                raise ConfigError(
                    f"Ray: {about['node']} has {name} {about[name]}, this process {version}",
                    hint="on all nodes, install the same versions of Python, Ray and manyheads",
                )
        return about


def versions() -> dict[str, str]:
    """What the driver and its workers must have the same of, in this process."""
    ray = getattr(sys.modules.get("ray"), "__version__", "")
    return {"Python": python_version(), "Ray": ray, "manyheads": __version__}


def placed(node: str) -> dict[str, Any]:
    """Ray's options of an actor on one node."""
    strategies = import_module("ray.util.scheduling_strategies")
    return {"scheduling_strategy": strategies.NodeAffinitySchedulingStrategy(node, soft=False)}


def in_a_line(error: Exception) -> str:
    """The last line of Ray's error, which is the reason, after the address of the node if it is named."""
    node, last = re.search(r"\bip[=:]\s*([\w.:]+)", str(error)), str(error).strip().rpartition("\n")[2]
    reason = scrubbed(shortened(last, 300)) or type(error).__name__
    return f"{node[1]}: {reason}" if node else reason


@contextmanager
def joined(address: str | None, workers: int | None) -> Generator[tuple[Any, int, Path | None]]:
    """Ray with its free processors, and its folder if it is a local one for the time of the block; see `cluster.connected`."""
    address = address or os.environ.get("RAY_ADDRESS") or None
    if address and address.startswith("ray://"):
        raise ConfigError(
            f"--address {address}: Ray Client (ray://) cannot carry the streams of jobs",
            hint="run the command on a node of the cluster, with --address HOST:6379 or --address auto",
        )
    need_extra("ray", "--engine ray")
    os.environ.update({key: os.environ.get(key, value) for key, value in QUIET.items()})
    long = len(tempfile.gettempdir()) > 24  # the names of Ray's sockets are 80 longer, and may have 104
    short = "/tmp" if long and os.path.isdir("/tmp") else None
    own = None if address else Path(tempfile.mkdtemp(prefix="mh-ray-", dir=short))
    if own:
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        _warn_once()
    ray: Any = import_module("ray")
    try:
        _join(ray, address, own, workers)
        free = (os.cpu_count() if own else int(ray.available_resources().get("CPU", 1))) or 1
        yield ray, free, own
    finally:
        ray.shutdown()
        if own:
            shutil.rmtree(own, ignore_errors=True)


def _join(ray: Any, address: str | None, own: Path | None, workers: int | None) -> None:
    host, _, port = (address or "").rpartition(":")
    quiet = {"log_to_driver": False, "logging_level": "error", "configure_logging": False}
    local = {
        "include_dashboard": False, "_temp_dir": str(own), "object_store_memory": STORE,
        "num_cpus": workers or os.cpu_count() or 1,
    }  # fmt: skip
    try:
        if host:  # Ray itself tries for minutes
            socket.create_connection((host.strip("[]"), int(port)), REACH).close()
        ray.init(**quiet, **({"address": address} if address else local))
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = f"no cluster of ours at {address}" if address else "it cannot be started"
        raise ModelError(
            f"Ray: {where}: {in_short(error, 400)}",
            hint="check with: ray status; all nodes need one token and the same versions of Python and Ray"
            if address
            else "see whether /dev/shm and the temporary folder have room, or run it without --engine ray",
        ) from error


def _warn_once() -> None:
    mark = cache_folder() / "ray-listens"
    if not mark.exists():
        log.warning("warning: %s", LISTENS)
        with suppress(OSError):
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()
