"""Where the runs of a command run: in its process, or on Ray; and how Ctrl-C ends them."""

import asyncio
import os
import signal
import threading
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from manyheads.base.errors import ConfigError, ExitCode
from manyheads.base.files import allowed_files
from manyheads.cli.options import PlacementOptions, RunningOptions

if TYPE_CHECKING:
    from manyheads.config import RunConfig
    from manyheads.corpus.vectors import Embedder, Remote
    from manyheads.engine.local import Engine
    from manyheads.engine.readiness import CheckResult

T = TypeVar("T")
MOST_RUNS = 200
"""Maximum runs at once in batches."""
STOPPING = b"manyheads: stopping; a second Ctrl-C ends it at once\n"
ENDED = b"manyheads: ended at once; finished work is kept; run the same command again to resume\n"


@contextmanager
def stoppable() -> Generator[None]:
    """The first Ctrl-C does what it did before, and stops the work in order; a second one ends this process at once."""
    before, notes = signal.getsignal(signal.SIGINT), [STOPPING]
    # a shell's background jobs ignore it
    here = threading.current_thread() is threading.main_thread() and before != signal.SIG_IGN

    def stop(number: int, frame: FrameType | None) -> None:
        first = notes.pop() if notes else b""
        # written straight: the output may be in use; the cursor, which progress bars hide, is shown
        os.write(2, first or b"\x1b[?25h" * os.isatty(2) + ENDED)
        if not first:
            os._exit(ExitCode.STOPPED)
        if callable(before):
            before(number, frame)

    if here:
        signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        if here and notes:  # else what is left to do may take long, too
            signal.signal(signal.SIGINT, before)


class Placement(PlacementOptions):
    """Where the runs of a command run."""

    @contextmanager
    def spread(self, config: "RunConfig", model: "Embedder", choice: str) -> "Generator[Embedder]":
        """An embedding model on the workers of the engine that these options or the config name; `choice` as of `load_embedder`."""
        if self.engine_name(config) == "local":
            yield model
            return
        from manyheads.corpus.vectors import RemoteEmbedder
        from manyheads.engine.cluster import connected

        with connected(self.address, self.workers, 1) as cluster:
            yield RemoteEmbedder(model, partial(cluster.embed, choice, model.name), 2 * cluster.workers)

    @contextmanager
    def rules(self, config: "RunConfig") -> "Generator[Remote | None]":
        """The rules of `corpus extract` on the engine's workers, if it has any."""
        if self.engine_name(config) == "local":
            yield None
            return
        from manyheads.corpus.vectors import Remote
        from manyheads.engine.cluster import connected

        with connected(self.address, self.workers, 1) as cluster:
            yield Remote(cluster.extract, 2 * cluster.workers)

    def findings(self, config: "RunConfig") -> "list[CheckResult]":
        """What is wrong with the engine's nodes; none without Ray."""
        if self.engine_name(config) == "local":
            return []
        from manyheads.config.keys import value_of
        from manyheads.corpus.corpora import SHIPPED
        from manyheads.engine.cluster import connected
        from manyheads.literature.library import SERVICES, service_class
        from manyheads.models.requests import key_variable
        from manyheads.team.system import system_of

        keys = {key_variable(model) for model in config.models.values()}
        keys |= {service_class(name).key_env for name in config.literature.cascade if name in SERVICES}
        needed = sorted(key for key in keys if key and value_of(key))
        own = config.corpus not in SHIPPED  # it is sent
        corpus = None if own or not system_of(config).corpus(config) else config.corpus
        with connected(self.address, self.workers, 1) as cluster:
            return asyncio.run(cluster.findings(needed, corpus))


class Running(Placement, RunningOptions):
    """Where the runs of a command run, and how many at once."""

    @contextmanager
    def opened(self, config: "RunConfig", *, here: bool = False) -> "Generator[Engine]":
        """The engine that these options or the config name; this process, if it is to be `here`. In batches, many runs wait."""
        batch = config.in_batches
        if self.engine_name(config) == "local" or here:
            from manyheads.engine.local import Process

            yield Process(max(self.jobs, min(allowed_files() // 10, MOST_RUNS)) if batch else self.jobs)
            return
        if batch:
            raise ConfigError("--batch: one process gathers all requests", hint="leave out --engine ray")
        from manyheads.engine.cluster import connected

        with connected(self.address, self.workers, self.jobs) as cluster:
            yield cluster

    def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work to its end; Ctrl-C ends it as `stoppable` says."""

        async def watched() -> T:
            with stoppable():  # asyncio's handler cancels the work
                return await work

        return asyncio.run(watched())
