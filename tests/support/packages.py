"""Builds and installs real packages, without any index, and runs Python outside of the checkout."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

NOT_SOURCE = shutil.ignore_patterns(".*", "__pycache__", "runs", "dist", "build", "tests")


def build(project: Path, folder: Path, kind: str = "wheel") -> Path:
    """A `wheel` or `sdist` of a copy of a project, made under `folder`."""
    copy, out = folder / f"{kind}-source", folder / f"{kind}-built"
    shutil.copytree(project, copy, ignore=NOT_SOURCE)
    _run([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)], copy)
    [built] = out.iterdir()
    return built


def install(wheel: Path, target: Path) -> Path:
    """Install a wheel, and nothing that it needs, into a folder of its own."""
    _run([*_installer(), "--no-deps", "--no-index", "--target", str(target), str(wheel)], wheel.parent)
    return target


def run_python(*arguments: str, path: Sequence[Path], folder: Path) -> str:
    """What Python prints in another process and folder, with `path` before everything else it imports from."""
    extra = {"PYTHONPATH": os.pathsep.join(map(str, path))}
    return _run([sys.executable, *arguments], folder, extra)


def _installer() -> list[str]:
    if find_spec("pip"):
        return [sys.executable, "-m", "pip", "install", "--quiet"]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    pytest.skip("needs pip or uv")


def _run(command: Sequence[str], folder: Path, extra: dict[str, str] | None = None) -> str:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ended = subprocess.run(
        command, cwd=folder, env={**kept, **(extra or {})}, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, f"{command}: {ended.stdout}{ended.stderr}"
    return ended.stdout
