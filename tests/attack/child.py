"""Runs commands one after another: a process that imports the package once.

A line of JSON in is a command, {"arguments", "cwd"}; a line of JSON out is its end, {"code", "out", "err"}.
"""

import json
import os
import sys
import traceback
from functools import cache
from pathlib import Path
from typing import Any

import typer.main

sys.path[0] = str(Path(__file__).parents[1])  # run as a file, Python looks for modules beside it only

from support.command import manyheads_command  # noqa: E402


def main() -> None:
    commands, ends = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # a command that reads standard input finds nothing there
    os.dup2(2, 1)
    typer.main.get_command = cache(typer.main.get_command)
    for line in iter(commands.readline, ""):
        print(json.dumps(_run(**json.loads(line))), file=ends, flush=True)


def _run(arguments: list[str], cwd: str) -> dict[str, Any]:
    try:
        return vars(manyheads_command(*arguments, cwd=Path(cwd)))
    except BaseException:  # noqa: BLE001 - whatever breaks is how the command ended
        return {"code": 1, "out": "", "err": traceback.format_exc()}


if __name__ == "__main__":
    main()
