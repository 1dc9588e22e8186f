"""The commands of the golden tests: where they run, and how they end."""

import io
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from support.command import Done, manyheads_command


def command(*arguments: str | Path, cwd: Path) -> Done:
    """Run a command to its end in this process, without the settings of the user's shell, with nothing on standard input."""
    with patch.dict(os.environ, environment(), clear=True), patch.object(sys, "stdin", io.StringIO()):
        return manyheads_command(*arguments, cwd=cwd)


def alone(arguments: Sequence[str], cwd: Path) -> Done:
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "manyheads", *arguments]
    ended = subprocess.run(
        command, cwd=cwd, env=environment(), capture_output=True, text=True, check=False, timeout=100
    )
    return Done(ended.returncode, ended.stdout, ended.stderr)


def environment() -> dict[str, str]:
    """This process' environment without keys, servers, proxies and folders of the user's."""
    ours = ("_API_KEY", "_BASE_URL", "_PROXY", "OLLAMA_HOST", "MANYHEADS_PATH", "OPENALEX_MAILTO")
    kept = {name: value for name, value in os.environ.items() if not name.upper().endswith(ours)}
    return {**kept, "COLUMNS": "120", "NO_COLOR": "1"}
