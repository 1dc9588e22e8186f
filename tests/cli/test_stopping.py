"""Ctrl-C, at any moment: the exit code says so, and a second one ends a command at once."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from manyheads.cli.engine import stoppable
from manyheads.corpus.meta import BuildOptions
from support.command import environment, manyheads_command, served_by, start, stop_twice
from support.corpora import built
from support.llm import LLM
from support.papers import papers

LATE = """
import os, signal, sys
from manyheads.cli import main
class Late:
    def __del__(self):  # when Python has given up its own handlers
        os.kill(os.getpid(), signal.SIGINT)
late = Late()
sys.argv = ["manyheads", "--version"]
main()
"""


def test_a_ctrl_c_in_the_last_moments_changes_no_exit_code(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LATE], cwd=tmp_path, env=environment(), check=False, capture_output=True
    )
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_background_job_of_a_shell_still_ignores_ctrl_c(capfd: pytest.CaptureFixture[str]) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stoppable():
            signal.raise_signal(signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert capfd.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.usefixtures("own_cache")
def test_a_second_ctrl_c_ends_an_extraction_and_the_same_command_goes_on(tmp_path: Path) -> None:
    built(tmp_path / "mine", papers(24), BuildOptions(bound=2014))
    with LLM(answers={"entities": ["soft grippers", "rare languages"]}, delay=0.3) as llm:
        words = ("corpus", "extract", "mine", *served_by(llm))
        with start(*words, cwd=tmp_path) as process:
            while llm.calls < 10 and process.poll() is None:
                time.sleep(0.01)
            assert stop_twice(process).code == 130
        assert manyheads_command(*words, cwd=tmp_path).code == 0
        assert 24 <= llm.calls <= 24 + 8, "only what was under way is asked again"
