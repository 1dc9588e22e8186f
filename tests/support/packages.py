"""Builds and installs real packages, without any index, and runs Python outside of the checkout."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

NOT_SOURCE = shutil.ignore_patterns(".*", "__pycache__", "runs", "dist", "build")


def build(project: Path, folder: Path, kind: str = "wheel") -> Path:
    """A `wheel` or `sdist` of a copy of a project, made under `folder`."""
    copy, out = folder / f"{kind}-source", folder / f"{kind}-built"

    def left_out(inside: str, names: list[str]) -> set[str]:
        return {*NOT_SOURCE(inside, names), *(["tests"] if Path(inside) == project else [])}

    shutil.copytree(project, copy, ignore=left_out)
    _run([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)], copy)
    [built] = out.iterdir()
    return built


def install(wheel: Path, target: Path) -> Path:
    """Install a wheel by the name of its package, as from an index, and nothing that it needs, into a folder of its own."""
    name, options = wheel.name.split("-")[0], ["--no-deps", "--no-index", "--target", str(target)]
    _run([*_installer(), *options, "--find-links", str(wheel.parent), name], wheel.parent)
    return target


def write_pack(site: Path, name: str, files: Mapping[str, str], systems: Mapping[str, str] = {}) -> Path:
    """A pack as it stands when it is installed: the package `<name>_pack` with its files, and its entry points.

    Args:
        systems: entry points of systems, by name.
    """
    info = site / f"{name}_pack-1.0.dist-info"
    texts = {f"{name}_pack/{file}": text for file, text in {"__init__.py": "", **files}.items()}
    texts[f"{info.name}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}-pack\nVersion: 1.0\n"
    lines = ["[manyheads.packs]", f"{name} = {name}_pack", "[manyheads.systems]"]
    lines += [f"{system} = {home}" for system, home in systems.items()]
    texts[f"{info.name}/entry_points.txt"] = "\n".join([*lines, ""])
    for file, text in texts.items():
        path = site / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return site


def run_python(*arguments: str, path: Sequence[Path], folder: Path, fails: bool = False) -> str:
    """What Python prints in another process and folder, with `path` before everything else it imports from.

    Args:
        fails: whether it must end with an error; what it prints of that is added.
    """
    extra = {"PYTHONPATH": os.pathsep.join(map(str, path))}
    return _run([sys.executable, *arguments], folder, extra, fails)


def _installer() -> list[str]:
    if find_spec("pip"):
        return [sys.executable, "-m", "pip", "install", "--quiet"]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    pytest.skip("needs pip or uv")


def _run(
    command: Sequence[str], folder: Path, extra: dict[str, str] | None = None, fails: bool = False
) -> str:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ended = subprocess.run(
        command, cwd=folder, env={**kept, **(extra or {})}, capture_output=True, text=True, check=False
    )
    assert (ended.returncode != 0) == fails, f"{command}: {ended.stdout}{ended.stderr}"
    return ended.stdout + (ended.stderr if fails else "")
