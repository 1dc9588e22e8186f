"""A suite, or reviews of texts, that several processes share: nothing is done or paid twice."""

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from manyheads.engine.journal import read_turns
from manyheads.suites.cells import CellRow
from support.command import finish, manyheads_command, served_by, start
from support.llm import LLM
from support.records import read_lines
from support.results import ended
from support.suites import write_suite


def turns_in(base: Path) -> dict[Path, int]:
    return {path.parent: len(read_turns(path)) for path in base.rglob("journal.sqlite")}


def until(true: Callable[[], bool], *processes: "subprocess.Popen[str]") -> None:
    while not true() and all(process.poll() is None for process in processes):
        time.sleep(0.005)
    assert true()


def evaluation(base: Path, llm: LLM, *more: str) -> tuple[str, ...]:
    suite = write_suite(base, "mine", measures=["usage.calls"], plot=None, repeats=3)
    return ("eval", str(suite), "--jobs", "1", "--out", "out", *served_by(llm), *more)


@pytest.mark.slow
def test_two_processes_do_each_cell_once_and_report_the_same(tmp_path: Path) -> None:
    with LLM(delay=0.02) as llm:
        command = evaluation(tmp_path, llm)
        with start(*command, cwd=tmp_path) as left, start(*command, cwd=tmp_path) as right:
            done = [finish(left), finish(right)]
    assert [each.code for each in done] == [0, 0], done
    turns = turns_in(tmp_path / "out")
    assert len(turns) == 6
    assert llm.calls == sum(turns.values())
    for each in done:
        assert "6/6 finished: " in each.err
        assert ": by another process" in each.err
    theirs = [
        {line.split(": ")[1] for line in each.err.splitlines() if line.endswith("by another process")}
        for each in done
    ]
    assert len(theirs[0]) + len(theirs[1]) == 6
    assert not theirs[0] & theirs[1]
    assert done[0].out == done[1].out
    report = (tmp_path / "out" / "report.html").read_bytes()
    assert manyheads_command(*command, cwd=tmp_path).code == 0
    assert (tmp_path / "out" / "report.html").read_bytes() == report


@pytest.mark.slow
def test_a_process_takes_up_what_one_that_was_killed_had(tmp_path: Path) -> None:
    with LLM(delay=0.03) as llm:
        command = evaluation(tmp_path, llm)
        with start(*command, cwd=tmp_path) as left, start(*command, cwd=tmp_path) as right:
            until(lambda: len(ended(tmp_path / "out")) >= 2, left, right)
            until(lambda: len(list(tmp_path.glob("out/cells/*/journal.sqlite"))) >= 4, left, right)
            left.send_signal(signal.SIGKILL)
            assert finish(left).code == -signal.SIGKILL
            done = finish(right)
    assert done.code == 0, done.err
    assert len(read_lines(tmp_path / "out" / "results.jsonl", CellRow)) == 6
    turns = turns_in(tmp_path / "out")
    assert len(turns) == 6
    assert 0 <= llm.calls - sum(turns.values()) <= 3, "what the killed one was being told"


@pytest.mark.slow
def test_a_budget_is_one_for_two_processes(tmp_path: Path) -> None:
    with LLM(delay=0.02) as llm:
        command = evaluation(tmp_path, llm, "--budget", "calls=26")
        with start(*command, cwd=tmp_path) as left, start(*command, cwd=tmp_path) as right:
            done = [finish(left), finish(right)]
        assert [each.code for each in done] == [3, 3], done
        assert llm.calls == 26 == sum(turns_in(tmp_path / "out").values())
        assert manyheads_command(*command, cwd=tmp_path).code == 3
        assert llm.calls == 26
