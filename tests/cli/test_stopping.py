"""Ctrl-C, at any moment: the exit code says so, and a second one ends a command at once."""

import subprocess
import sys
from pathlib import Path

from support.command import environment

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
