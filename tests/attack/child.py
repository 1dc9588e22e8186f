"""Runs commands as `python -m manyheads` does, one after another: a process that imports the package once.

A line of JSON in is a command, {"arguments", "cwd"}; a line of JSON out is its end, {"code", "out", "err"}.
"""

import io
import json
import os
import runpy
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from typing import Any

import typer.main


def main() -> None:
    commands, ends = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # a command that reads standard input finds nothing there
    os.dup2(2, 1)
    typer.main.get_command = cache(typer.main.get_command)
    for line in iter(commands.readline, ""):
        print(json.dumps(_run(**json.loads(line))), file=ends, flush=True)


def _run(arguments: list[str], cwd: str) -> dict[str, Any]:
    os.chdir(cwd)
    sys.argv = ["manyheads", *arguments]
    out, err, code = _Text(), _Text(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            runpy.run_module("manyheads", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:  # noqa: BLE001 - whatever breaks is how the command ended
            traceback.print_exc()
            code = 1
    return {"code": code, "out": out.text, "err": err.text}


class _Text(io.TextIOWrapper):
    """A stream of bytes and text in memory."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    @property
    def text(self) -> str:
        self.seek(0)
        return self.read()


if __name__ == "__main__":
    main()
