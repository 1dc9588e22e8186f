"""Completion by the shell's own protocol: names of what there is, found without heavy imports."""

import sys
from pathlib import Path

import pytest

from support.command import environment, manyheads_command


def completed(words: str, cwd: Path) -> list[str]:
    """What bash is offered for the last of some words."""
    given = ["manyheads", *words.split(" ")]
    env = {
        "_MANYHEADS_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(given),
        "COMP_CWORD": str(len(given) - 1),
    }
    return manyheads_command(cwd=cwd, env=env).out.split()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in ("my.yaml", "runs/one/config.yaml", "corpora/mine/meta.json", "mysuite/suite.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "offers"),
    [
        ("ru", ["run"]),
        ("corpus b", ["build"]),
        ("run virsc", ["virsci", "virsci-2024", "virsci-semantic-scholar"]),
        (
            "run m",
            ["mamorx", "mamorx-alone", "mamorx-multi-agent", "mamorx-outline", "mamorx-plain", "my.yaml"],
        ),
        ("run virsci --host ", ["agent_framework", "agentscope", "autogen"]),
        ("run virsci --budget c", ["calls="]),
        ("run virsci -m openai/gpt-4o-m", ["openai/gpt-4o-mini"]),
        ("run rebuttal --back", ["--background"]),
        ("eval my", ["mysuite"]),
        ("corpus info ", ["corpora/mine", "planted", "sample"]),
        ("resume ", ["runs/one"]),
        ("review x --form con", ["conference"]),
        ("roles review", ["review_leader", "reviewer"]),
        ("corpus build x --format b", ["bibtex"]),
        ("search x --source ar", ["arxiv"]),
        ("resume gone", []),
    ],
)
def test_what_the_shell_is_offered(words: str, offers: list[str], home: Path) -> None:
    assert completed(words, home) == offers


@pytest.mark.slow
def test_completion_loads_neither_systems_nor_frameworks(home: Path) -> None:
    import subprocess

    env = environment(
        {
            "_MANYHEADS_COMPLETE": "complete_bash",
            "COMP_WORDS": "manyheads run rebuttal --b",
            "COMP_CWORD": "3",
        }
    )
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "manyheads"],
        cwd=home,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["--batch", "--budget", "--background"]
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "manyheads.cli.completion" in loaded
    assert loaded & {"numpy", "manyheads.systems", "autogen_core", "agentscope", "scipy", "httpx"} == set()
