"""A suite on the nodes of a cluster, of which something dies, freezes or is asked to end at random moments, until the suite has ended."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from attack.figures import Figure, times
from golden.runs import differences
from support.command import environment, served_by
from support.equal import Rows, outcomes, turns, without_times
from support.llm import LLM
from support.ray_nodes import RayNodes, ray_nodes
from support.requests import Request
from support.suites import write_suite

PATIENCE = 20.0
"""Seconds, in place of 60, after which a silent worker is asked, and given up."""
HEALTH = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "3",
}
COMMAND = f"""
import manyheads.engine.cluster
manyheads.engine.cluster.PATIENCE = {PATIENCE}
from manyheads.cli import main
main()
"""
LONGEST = 300.0
"""Seconds after which a command counts as hung."""
NODES, DELAY = 3, 0.15


@dataclass
class World:
    """What there is to kill: a command, and the nodes with their workers.

    Attributes:
        thaws: frozen processes, with the time at which each goes on.
    """

    nodes: RayNodes
    llm: LLM
    rng: random.Random
    driver: subprocess.Popen[bytes]
    thaws: dict[int, float] = field(default_factory=dict[int, float])

    def signal(self, pids: list[int], kind: signal.Signals) -> int:
        """Send a signal to one of these processes; returns its id, 0 if there is none."""
        if pids:
            with suppress(ProcessLookupError):
                os.kill(pid := self.rng.choice(sorted(pids)), kind)
                return pid
        return 0

    def freeze(self, pids: list[int], least: float, most: float) -> int:
        """Stop one of these processes for some seconds."""
        if pid := self.signal(pids, signal.SIGSTOP):
            self.thaws[pid] = time.monotonic() + self.rng.uniform(least, most)
        return pid

    def thaw(self, *, now: bool = False) -> None:
        """Let those go on whose time has come."""
        for pid in [pid for pid, at in self.thaws.items() if now or at <= time.monotonic()]:
            del self.thaws[pid]
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def workers(self) -> list[int]:
        return [pid for pid in self.nodes.processes() if pid not in self.thaws]

    def raylets(self) -> list[int]:
        return [
            pid
            for pid in self.nodes.processes("raylet/raylet")
            if Path(f"/proc/{pid}/comm").read_text() == "raylet\n"
        ]

    def node(self) -> int:
        """Kill a node's raylet; another node comes in its place."""
        if pid := self.signal(self.raylets(), signal.SIGKILL):
            self.nodes.add()
        return pid


KINDS: dict[str, Callable[[World], int]] = {
    "worker killed": lambda world: world.signal(world.workers(), signal.SIGKILL),
    "driver killed": lambda world: world.signal([world.driver.pid], signal.SIGKILL),
    "worker frozen until given up": lambda world: world.freeze(world.workers(), 41, 45),
    "node killed": lambda world: world.node(),
    "worker asked to end": lambda world: world.signal(world.workers(), signal.SIGTERM),
    "worker frozen for a moment": lambda world: world.freeze(world.workers(), 0.3, 2),
    "driver frozen for a moment": lambda world: world.freeze([world.driver.pid], 0.3, 5),
}


def asked(requests: list[Request]) -> Counter[str]:
    """How often each request came."""
    return Counter(json.dumps(request.body, sort_keys=True) for request in requests)


@dataclass
class Round:
    """One suite until its end.

    Attributes:
        same: turns whose request is another turn's, too.
        in_flight: requests without a recorded turn, at all kills together.
        recorded: turns that some kill has found recorded.
    """

    folder: Path
    nodes: RayNodes
    llm: LLM
    rng: random.Random
    kinds: Iterator[str]
    same: int
    faults: list[str] = field(default_factory=list[str])
    counts: Counter[str] = field(default_factory=Counter[str])
    in_flight: int = 0
    recorded: Rows = field(default_factory=Rows)

    def run(self, name: str) -> None:
        """Start the command again and again, until it ends by itself."""
        out = self.folder / name
        words = [
            "eval",
            "mine",
            "--out",
            name,
            *served_by(self.llm),
            *self.nodes.options,
            "--workers",
            "2",
            "--jobs",
            "2",
        ]
        end = time.monotonic() + LONGEST
        while True:
            with (self.folder / f"{name}.err").open("wb") as err, subprocess.Popen(
                [sys.executable, "-P", "-c", COMMAND, *words], cwd=self.folder, env=environment(self.nodes.env),
                stdout=subprocess.DEVNULL, stderr=err,
            ) as driver:  # fmt: skip
                killed = self._disturb(World(self.nodes, self.llm, self.rng, driver), out, end)
            said = (self.folder / f"{name}.err").read_text(errors="replace")
            if "Traceback" in said:
                self.faults.append(f"traceback: {said[said.index('Traceback') :][:600]}")
            if driver.returncode == 0:
                return
            said = said[-600:]
            if time.monotonic() >= end:
                self.faults.append(f"hung: {said}")
                return
            if not killed:
                self.faults.append(f"exit code {driver.returncode}: {said}")
                return

    def _disturb(self, world: World, out: Path, end: float) -> bool:
        """Do harm until the command ends; returns whether that may have ended it."""
        at, fatal = self.llm.calls + self.rng.randint(8, 30), False
        while world.driver.poll() is None and time.monotonic() < end:
            world.thaw()
            if self.llm.calls >= at and (kind := next(self.kinds, "")):
                time.sleep(self.rng.uniform(0, 0.3))
                self._note(turns(out))
                if KINDS[kind](world):
                    self.counts[kind] += 1
                    self.in_flight += max(0, len(asked(self.llm.requests)) + self.same - len(self.recorded))
                    fatal = fatal or kind in ("driver killed", "node killed")
                at = self.llm.calls + self.rng.randint(12, 30)
            time.sleep(0.02)
        world.thaw(now=True)
        if world.driver.poll() is None:
            world.driver.kill()
        world.driver.wait()
        self._note(turns(out))
        return fatal

    def _note(self, rows: Rows) -> None:
        """What was recorded before must stand as it was."""
        self.faults += [
            f"lost or repeated: {at}" for at, row in self.recorded.items() if rows.get(at, row) != row
        ]
        self.recorded |= rows

    def compare(self, name: str, whole: str, once: Counter[str]) -> int:
        """Compare with the undisturbed run, which asked `once`; returns the number of requests that came twice."""
        now, ended = asked(self.llm.requests), turns(self.folder / name)
        twice = sum((now - once).values())
        self.faults += [f"lost: {at}" for at in self.recorded.keys() - ended.keys()]
        if now.keys() != once.keys():
            self.faults.append(f"{len(now.keys() ^ once.keys())} requests differ from the undisturbed run's")
        if twice > self.in_flight:
            self.faults.append(f"{twice} requests came twice, {self.in_flight} were under way")
        self.faults += differences(outcomes(self.folder / name), outcomes(self.folder / whole))[:5]
        both = without_times(ended), without_times(turns(self.folder / whole))
        self.faults += differences(*both)[:5]
        return twice


def kinds(rng: random.Random, count: int) -> Iterator[str]:
    """So many kinds of harm: each once, then at random."""
    first = list(KINDS)
    yield from first[:count]
    for _ in range(count - len(first)):
        yield rng.choice(first)


def nodes(folder: Path) -> Figure:
    """Suites on three nodes, held against one in a single process."""
    figure = Figure("what dies or freezes on a cluster of nodes")
    if find_spec("ray") is None:
        figure.add("ray", [])
        figure.notes.append("not tried: the extra ray is not installed")
        return figure
    rng, total, twice, under_way = random.Random(29), Counter[str](), 0, 0
    harm = kinds(rng, count := times(7))
    write_suite(folder, "mine", plot=None, repeats=4)
    with LLM(delay=DELAY) as llm, ray_nodes(NODES, HEALTH) as running:
        words = [sys.executable, "-P", "-m", "manyheads", "eval", "mine", "--out", "whole", *served_by(llm)]
        subprocess.run(words, cwd=folder, env=environment(), check=True, capture_output=True)
        once = asked(llm.requests)
        same = len(turns(folder / "whole")) - len(once)
        for number in range(1, 1 + count):
            llm.requests.clear()
            one = Round(folder, running, llm, rng, harm, same)
            one.run(f"out{number}")
            twice += (again := one.compare(f"out{number}", "whole", once))
            under_way += one.in_flight
            total += one.counts
            print(
                f"round {number}: {dict(one.counts)}, {again} of {one.in_flight} paid twice, {len(one.faults)} faults",
                file=sys.stderr,
            )
            figure.tried += one.counts.total()
            figure.faults += [f"round {number}, {', '.join(one.counts)}: {fault}" for fault in one.faults]
            if total.total() >= count:
                break
    figure.notes += [f"{total[kind]} × {kind}" for kind in KINDS if total[kind]]
    figure.notes.append(
        f"{len(once) + same} turns a suite; {twice} requests paid twice, of {under_way} under way"
    )
    return figure
