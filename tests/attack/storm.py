"""Kills at random moments, until a run has ended in spite of them."""

import json
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from zlib import crc32

from attack.drive import sets
from attack.figures import Figure, times
from golden.commands import environment
from golden.runs import differences
from support.faults import Fault
from support.hosts import HOSTS
from support.llm import LLM
from support.requests import Request, question_of

Rows = dict[tuple[Any, ...], tuple[Any, ...]]
RUNS = {
    "virsci": ("run", "virsci", "--set", "team.size=3", "--set", "turns=1", "--set", "embedding=lexical"),
    "rebuttal": ("run", "rebuttal", "--set", "embedding=lexical", "--idea", "idea.md"),
    "conference-review": ("run", "conference-review", "--subject", "idea.md"),
}
ALSO = {HOSTS[1]: "rebuttal", HOSTS[2]: "conference-review"}
LONGEST = 120
"""Seconds after which a command counts as hung."""
AT_ONCE = 3
"""Turns of a team that are under way at the same time, and paid again where a kill meets them."""


def turns(folder: Path) -> Rows:
    """The recorded turns, by their place."""
    if not (folder / "journal.sqlite").exists():
        return {}
    with closing(sqlite3.connect(folder / "journal.sqlite", timeout=5)) as journal:
        try:
            rows = journal.execute(
                "SELECT stage, turn, speaker, task, ordinal, hash, reply, at FROM turn"
            ).fetchall()
        except sqlite3.OperationalError:  # killed before the table was made
            return {}
    return {row[:5]: row[5:] for row in rows}


def is_bad(request: Request) -> bool:
    """A third of the questions get a bad reply first, the same ones in every run."""
    first = all(message.role != "assistant" for message in request.messages)
    return first and crc32(question_of(request.asking).encode()) % 3 == 0


def kills(folder: Path) -> Figure:
    """Runs of virsci on every host, of two other systems on one."""
    figure = Figure("kill -9 at random moments, resumed until the end")
    again = killed = 0
    rng = random.Random(5)
    (folder / "idea.md").write_text("# Owls\n\nWe plan with owls, and compare them with crows.\n")
    with LLM(delay=0.04, faults=[Fault("prose", times=None, when=is_bad)]) as llm:
        for host in HOSTS:
            for name in ("virsci", ALSO[host]) if host in ALSO else ("virsci",):
                command = RUNS[name]
                server = sets({"models.default.base_url": llm.base_url})
                whole = [*command, "--model", "openai/test", *server, "--host", host, "--out"]
                base, out = folder / f"{name}-{host}-whole", folder / f"{name}-{host}"
                before = llm.calls
                assert run([*whole, str(base)], folder, None, rng).returncode == 0
                calls, left = llm.calls - before, times(3)
                before, faults = llm.calls, list[str]()
                arguments, ended = [*whole, str(out)], None
                while ended is None or ended.returncode != 0:
                    rows = turns(out)
                    stop = llm.calls + rng.randint(1, max(1, calls // 2))
                    due = (lambda stop=stop: llm.calls >= stop) if left > 0 else None
                    ended = run(arguments, folder, due, rng)
                    after = turns(out)
                    lost = (place for place, row in rows.items() if after.get(place) != row)
                    faults += [f"lost or repeated {place}" for place in lost]
                    if ended.returncode == -9:
                        left, killed = left - 1, killed + 1
                        figure.tried += 1
                    elif ended.returncode != 0:
                        faults.append(f"refused: {ended.stderr[-300:]}")
                        break
                    if (out / "config.yaml").exists():
                        arguments = ["resume", str(out)]
                more = llm.calls - before - calls
                again += max(0, more)
                if more > 2 * AT_ONCE * times(3):  # of a turn whose first reply was bad, both
                    faults.append(f"{more} requests more than the {calls} of an undisturbed run")
                if ended.returncode == 0:
                    faults += differences(result(out), result(base))
                figure.faults += [f"{name}, {host}: {fault}" for fault in faults]
    figure.notes.append(f"{killed} kills; {again} requests under way paid again")
    return figure


def result(folder: Path) -> Any:
    """The result without what was spent, as what a kill meets is paid twice, and without its date."""
    text = (folder / "result.json").read_text(encoding="utf-8")
    left_out = ("usage", "made_by")
    return {name: value for name, value in json.loads(text).items() if name not in left_out}


def run(
    arguments: list[str], cwd: Path, due: Callable[[], bool] | None, rng: random.Random
) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, killed a moment after it is due to be, where it has not ended.

    Its output goes to files, as nobody reads a pipe while a kill is awaited, and a full one would stop it.
    """
    command, end = [sys.executable, "-m", "manyheads", *arguments], time.monotonic() + LONGEST
    streams: dict[str, Any] = {"stdout": subprocess.DEVNULL, "env": environment()}
    with TemporaryFile("w+") as err, subprocess.Popen(command, cwd=cwd, stderr=err, **streams) as process:
        while process.poll() is None and time.monotonic() < end and not (due and due()):
            time.sleep(0.005)
        hung = process.poll() is None and time.monotonic() >= end
        if due and not hung:
            time.sleep(rng.uniform(0, 0.1))
        process.kill()
        code = process.wait()
        err.seek(0)
        said = err.read()
    if hung:
        return subprocess.CompletedProcess(command, 1, "", f"hung for {LONGEST} s: {said}")
    return subprocess.CompletedProcess(command, code, "", said)
