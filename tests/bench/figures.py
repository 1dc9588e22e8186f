"""A figure beside its baseline, how much is measured, and the clocks."""

import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from statistics import median

HOSTS = ("autogen", "agentscope", "agent_framework")


@dataclass(frozen=True)
class Figure:
    """One line: a measured value, what it is held against, and the aim if there is one.

    Args:
        unit: of `value` and `baseline`: `s`, `ms`, `MB`, …
        against: what the baseline is, in words.
        aim: the aim, in words; on the value or on the ratio.
    """

    name: str
    value: float
    unit: str
    baseline: float
    against: str
    aim: str = ""
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.value / self.baseline

    def line(self) -> str:
        """The line that is printed."""
        figure = f"{self.name:<42} {self.value:>9.2f} {self.unit:<7}"
        baseline = f"baseline {self.baseline:>9.2f} {self.unit:<7} ratio {self.ratio:>7.2f}"
        aim = f"aim {self.aim}" if self.aim else ""
        return f"{figure} {baseline}  {aim:<16} ({'; '.join(filter(None, (self.against, self.note)))})"


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    members: int = 4
    turns: int = 5
    delay: float = 0.05
    """Seconds that the model server takes for each answer."""
    rounds: int = 3
    runs: int = 20
    jobs: tuple[int, ...] = (10, 100, 1_000, 10_000)
    """On Ray, beside as many in one process."""
    teams: int = 1000
    """Small ones, all in one process."""
    papers: int = 29_000
    growth: tuple[float, ...] = (1, 100 / 29, 300 / 29)
    """How many times as many papers are stored to see how the time grows."""
    records: int = 1_000_000
    """Papers in the large file that a corpus reader goes through."""
    queries: int = 50
    texts: int = 96
    embeddings: tuple[str, ...] = ("lexical", "auto")
    hosts: tuple[str, ...] = HOSTS
    visitors: int = 50
    """Of the web room, at once."""
    live_turns: int = 2_000
    votes: int = 10_000
    resamples: int = 1_000
    makers: int = 200
    """Of an arena with many."""


FULL = Size()
Bench = Callable[[Size], AsyncIterator[Figure]]


@dataclass(frozen=True)
class Spent:
    """What a piece of work took: seconds by the clock, and of this process' processors."""

    wall: float
    cpu: float


class Watch:
    """Starts when made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> Spent:
        return Spent(time.perf_counter() - self._wall, time.process_time() - self._cpu)


def fastest(work: Callable[[], object], rounds: int) -> float:
    """Seconds of the fastest round: on a shared machine others only ever add."""
    return min(_seconds(work) for _ in range(rounds))


def typical(work: Callable[[], object], rounds: int) -> float:
    """Seconds of the median round."""
    return median(_seconds(work) for _ in range(rounds))


def _seconds(work: Callable[[], object]) -> float:
    watch = Watch()
    work()
    return watch.read().wall
