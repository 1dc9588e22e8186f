"""Runs of the golden cases, each once a host, and what they are held against."""

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import yaml

from golden.commands import command
from support.command import Done

HERE = Path(__file__).parent
HOSTS = ("autogen", "agentscope", "agent_framework")
CASES: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "cases.yaml").read_text(encoding="utf-8"))
RESULTS = HERE / "results"
FOLDERS = HERE / "folders"
RECORDED = HERE / "recorded"
PLACE = "<here>"


class Runs:
    """The run folders of cases, made when they are first wanted.

    Args:
        base: an empty folder; the runs of a host go to a folder of its name.
    """

    def __init__(self, base: Path) -> None:
        self.base = base
        self._made: set[tuple[str, str]] = set()

    def home(self, host: str) -> Path:
        """Where the commands of a host are run: the given files lie there."""
        home = self.base / host
        if not home.exists():
            shutil.copytree(HERE / "given", home)
            shutil.copytree(RECORDED, home / "recorded")
        return home

    def folder(self, name: str, host: str) -> Path:
        """The run folder of a case."""
        if (name, host) not in self._made:
            for before in CASES[name].get("after", ()):
                self.folder(before, host)
            done = self.run(name, host, out=name)
            assert done.code == 0, (name, host, done)
            self._made.add((name, host))
        return self.home(host) / name

    def run(self, name: str, host: str, *more: str, out: str) -> Done:
        """Run the command of a case."""
        added = ("--host", host, "--out", out, "--quiet", "--set", "embedding=lexical")
        given = shlex.split(CASES[name]["command"])
        return command(*given, *added, *more, cwd=self.home(host))

    def result(self, name: str, host: str) -> Any:
        """The result of a case, as goldens are kept."""
        return result_of(self.folder(name, host), self.home(host))


def result_of(folder: Path, home: Path) -> Any:
    """The result of a run folder without versions, date and the note that a version has changed since; its home gives way to `<here>`,
    the host to `<host>`."""
    text = (folder / "result.json").read_text(encoding="utf-8")
    result = json.loads(text.replace(str(home), PLACE))
    assert result.pop("made_by")["host"] == result["host"] in HOSTS
    warnings = [one for one in result["warnings"] if "this run began with" not in one]
    return {**result, "host": "<host>", "warnings": warnings}


def golden(name: str) -> Any:
    """The frozen result of a case."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def differences(found: Any, frozen: Any, at: str = "") -> list[str]:
    """Where two results differ, each with its path; empty for equal ones, whatever the order of their keys."""
    if isinstance(found, dict) and isinstance(frozen, dict):
        return [
            line
            for key in sorted({*found, *frozen})
            for line in differences(found.get(key, "(missing)"), frozen.get(key, "(missing)"), f"{at}.{key}")
        ]
    if isinstance(found, list) and isinstance(frozen, list) and len(found) == len(frozen):
        return [
            line
            for n, (one, other) in enumerate(zip(found, frozen, strict=True))
            for line in differences(one, other, f"{at}[{n}]")
        ]
    return [] if found == frozen else [f"{at or 'all'}: found {found!r}, frozen is {frozen!r}"]
