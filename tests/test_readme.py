"""Every Python block of the README runs, as a reader would run it; its commands are found after `make run`."""

import ast
import inspect
import re
import shutil
import subprocess
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest
import yaml

from manyheads.systems.loading import validate

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def title(block: str) -> str:
    return next(line for line in block.splitlines() if "manyheads" in line).strip()


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, id=title(block), marks=[pytest.mark.slow] if "VirSciPipeline" in block else [])
        for block in BLOCKS
    ],
)
async def test_block_runs(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    code = compile(block, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    scope: dict[str, Any] = {}
    done = eval(code, scope)
    if inspect.iscoroutine(done):
        await _finish(done)
    shown = capsys.readouterr().out
    assert shown.strip()
    asks_nobody = "KnowledgeBank" in block or "Library(" in block
    assert asks_nobody or "no language model" in shown


async def _finish(block: Awaitable[Any]) -> None:
    await block


def test_the_yaml_block_is_a_valid_config():
    [block] = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    assert validate(yaml.safe_load(block), "README.md").roles["leader"].model == "careful"


def test_the_shown_output_is_labelled():
    [shown] = re.findall(r"<!-- output: .*? -->\n```text\n(.*?)```", README, re.DOTALL)
    assert "no language model" in shown
    assert "report.html" in shown


ACTIVATE = "source .venv/bin/activate"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_run_ends_with_a_step_that_works_as_typed():
    planned = subprocess.run(
        ["make", "--no-print-directory", "-n", "run"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    echoes = "\n".join(planned.stdout.splitlines()[-2:])
    said = subprocess.run(echoes, shell=True, capture_output=True, text=True, check=True)
    step, activate = said.stdout.removeprefix("Next").splitlines()
    assert step.split()[:2] == [".venv/bin/manyheads", "run"]
    assert activate.split("#")[0].strip() == ACTIVATE


def test_the_command_line_begins_with_what_finds_it():
    [block] = re.findall(r"## The command line\n(.*?)\n## ", README, re.DOTALL)
    commands = re.findall(r"^ {4}(.+)", block, re.MULTILINE)
    assert commands[0].split("#")[0].strip() == ACTIVATE
    assert commands[1].startswith("manyheads ")
