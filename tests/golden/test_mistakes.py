"""Each mistake of a user ends with its exit code, and says the facts that mend it."""

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from golden.commands import alone
from golden.commands import command as run
from golden.runs import HERE
from support.command import Done

DATA: dict[str, Any] = yaml.safe_load((HERE / "mistakes.yaml").read_text(encoding="utf-8"))
MISTAKES: Sequence[Sequence[Any]] = DATA["mistakes"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's folder with the given files, and with files in which something is wrong."""
    home = tmp_path / "home"
    shutil.copytree(HERE / "given", home)
    for name, text in DATA["files"].items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, encoding="utf-8")
    return home


@pytest.mark.parametrize("mistake", MISTAKES, ids=[each[0] for each in MISTAKES])
def test_a_mistake_gets_its_code_and_its_facts(home: Path, mistake: Sequence[Any]) -> None:
    command, facts, *rest = mistake
    more: Mapping[str, Any] = rest[0] if rest else {}
    before = files(home)
    assert_says(run(*shlex.split(command), cwd=home), facts, more.get("code", 2))
    left = {path.split("/")[0] for path in files(home) - before}
    assert left == ({more["leaves"]} if "leaves" in more else set())


def test_what_check_finds_stands_on_standard_output(home: Path) -> None:
    done = run("check", "virsci", "--model", "openai/x", "--set", "embedding=lexical", cwd=home)
    assert done.code == 2
    assert all(fact in done.out for fact in ("models.default", "openai/x", "OPENAI_API_KEY"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["run key.yaml", pytest.param("run virsci --out done", marks=pytest.mark.slow)]
)
def test_a_process_of_its_own_says_the_same(home: Path, command: str) -> None:
    assert alone(command.split(), home) == run(*command.split(), cwd=home)


def assert_says(done: Done, facts: Sequence[str], code: int) -> None:
    assert done.code == code, done
    assert "Traceback" not in done.out + done.err
    assert [fact for fact in facts if fact not in done.err] == [], done.err


def files(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}
