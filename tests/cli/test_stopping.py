"""Ctrl-C, at any moment: the exit code says so, and a second one ends a command at once."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.command import environment, finish, manyheads_command, served_by, start, stop_twice
from support.llm import LLM
from support.papers import papers, write_corpus

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
