"""Where the runs of a command run: in its process, or on Ray; and how Ctrl-C ends them."""

import asyncio
import os
import signal
import threading
from collections.abc import Coroutine, Generator
from contextlib import contextmanager, nullcontext
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from pydantic import Field

from manyheads.base.errors import ConfigError, ExitCode
from manyheads.base.files import allowed_files
from manyheads.cli import completion
from manyheads.cli.options import Options

if TYPE_CHECKING:
    from manyheads.config import RunConfig
    from manyheads.corpus.vectors import Embedder, Remote
    from manyheads.engine.cluster import Cluster
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


ENGINES = ("local", "ray")


class Placement(Options):
    """Where the runs of a command run."""

    engine: Annotated[
        str | None, typer.Option(metavar="NAME", autocompletion=completion.one_of(*ENGINES))
    ] = None
    """Where they run: local (this process), or ray (several processes or machines). [default: the config's, else local]"""
    address: Annotated[str | None, typer.Option(metavar="HOST:PORT")] = None
    """The Ray cluster to use; run the command on one of its nodes. [default: RAY_ADDRESS, else a Ray of its own]"""
    workers: int | None = Field(default=None, ge=1)
    """Ray's worker processes. [default: one for each free processor]"""

    def engine_name(self, config: "RunConfig") -> str:
        """The engine that these options or the config name."""
        engine = self.engine or config.engine or "local"
        if engine not in ENGINES:
            raise ConfigError(f"--engine {engine}: no such engine", hint=f"one of: {', '.join(ENGINES)}")
        if engine == "local" and (self.address or self.workers):
            raise ConfigError("--address and --workers are for Ray", hint="add --engine ray")
        return engine

    @contextmanager
    def _cluster(self, config: "RunConfig", jobs: int = 1) -> "Generator[Cluster | None]":
        """The workers of the engine that these options or the config name; None for this process."""
        if self.engine_name(config) == "local":
            yield None
            return
        from manyheads.engine.cluster import connected

        with connected(self.address, self.workers, jobs) as cluster:
            yield cluster

    @contextmanager
    def spread(self, config: "RunConfig", model: "Embedder", choice: str) -> "Generator[Embedder]":
        """An embedding model on the engine's workers, or here; `choice` as of `load_embedder`."""
        with self._cluster(config) as cluster:
            if cluster:
                from manyheads.corpus.vectors import RemoteEmbedder

                model = RemoteEmbedder(model, partial(cluster.embed, choice, model.name), 2 * cluster.workers)
            yield model

    @contextmanager
    def rules(self, config: "RunConfig") -> "Generator[Remote | None]":
        """The rules of `corpus extract` on the engine's workers, if it has any."""
        from manyheads.corpus.vectors import Remote

        with self._cluster(config) as cluster:
            yield Remote(cluster.extract, 2 * cluster.workers) if cluster else None

    def findings(self, config: "RunConfig") -> "list[CheckResult]":
        """What is wrong with the engine's nodes; none without Ray."""
        with self._cluster(config) as cluster:
            if cluster is None:
                return []
            from manyheads.config.keys import value_of
            from manyheads.corpus.corpora import SHIPPED
            from manyheads.literature.library import SERVICES, service_class
            from manyheads.models.requests import key_variable
            from manyheads.team.system import system_of

            keys = {key_variable(model) for model in config.models.values()}
            keys |= {service_class(name).key_env for name in config.literature.cascade if name in SERVICES}
            needed = sorted(key for key in keys if key and value_of(key))
            own = config.corpus not in SHIPPED  # it is sent
            corpus = None if own or not system_of(config).corpus(config) else config.corpus
            return asyncio.run(cluster.findings(needed, corpus))


class Running(Placement):
    """Where the runs of a command run, and how many at once."""

    jobs: Annotated[int, typer.Option("--jobs", "-j")] = Field(default=4, ge=1)
    """Runs, or a judge's questions, in parallel; with --engine ray, on each worker."""

    @contextmanager
    def opened(self, config: "RunConfig", *, here: bool = False) -> "Generator[Engine]":
        """The engine that these options or the config name; this process, if it is to be `here`. In batches, many runs wait."""
        from manyheads.engine.local import Process

        batch, elsewhere = config.in_batches, self.engine_name(config) != "local" and not here
        if batch and elsewhere:
            raise ConfigError("--batch: one process gathers all requests", hint="leave out --engine ray")
        jobs = max(self.jobs, min(allowed_files() // 10, MOST_RUNS)) if batch else self.jobs
        with self._cluster(config, self.jobs) if elsewhere else nullcontext() as cluster:
            yield cluster or Process(jobs)

    def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work to its end; Ctrl-C ends it as `stoppable` says."""

        async def watched() -> T:
            with stoppable():  # asyncio's handler cancels the work
                return await work

        return asyncio.run(watched())
