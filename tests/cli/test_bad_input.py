"""What a mistake gets: one clear message, exit code 2, no traceback, nothing lost."""

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command import SMALL, manyheads_command, manyheads_process, result_of, start


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder of the user's with files in which something is wrong."""
    files = {
        "key.yaml": "team:\n  sizes: 4\n",
        "role.yaml": "roles:\n  plumber: {model: default}\n",
        "text.yaml": "just text\n",
        "broken.yaml": "team:\n  size: [3\n",
        "mine/prompts/scientist/idea.md.j2": "Think of {{ nonsense }}.\n",
        "old/notes.txt": "no run\n",
        "done/journal.sqlite": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


MISTAKES = {
    "an unknown key": ("run key.yaml", "key.yaml: virsci.team.sizes: no such key (given: 4)", "the keys of virsci.team: size,"),
    "an unknown role": ("run role.yaml", "no such role 'plumber'", "roles: analyst, area_chair,"),
    "an unknown host": ("run virsci --host crewai", "host: unknown host 'crewai'; hosts: autogen, agentscope", "run.schema.json"),
    "an unknown model alias": ("run virsci --set roles.leader.model=big", "no model 'big' among default", "leader"),
    "a missing file": ("run gone.yaml", "gone.yaml: no such file", "virsci, virsci-2024"),
    "an unknown config": ("run virsky", "virsky: no such config", "virsci, virsci-2024"),
    "no mapping": ("run text.yaml", "text.yaml: should be a mapping of keys to values", ""),
    "no YAML": ("run broken.yaml", "broken.yaml:3: not valid YAML: ", "expected ',' or ']'"),
    "a prompt's variable": ("run virsci --path mine", "idea.md.j2: uses the variable 'nonsense'", "its task has topic, turn"),
    "a user's folder": ("run virsci --path theirs", "theirs: no such folder", "manyheads prompts export"),
    "no provider": ("run virsci --model gpt-4o", "model 'gpt-4o': no such provider 'gpt-4o'", "openai/gpt-4o-mini"),
    "an unknown provider": ("run virsci --model gtp/4", "no such provider 'gtp'", "providers: openai, ollama"),
    "no model's name": ("run virsci --model openai/", "model 'openai/': the name is missing", "openai/gpt-4o-mini"),
    "no value": ("run virsci --set team.size", "--set team.size: must have the form key=value", ""),
    "a value of another type": ("run virsci --set team.size=many", "team.size: input should be a valid integer", ""),
    "a value for many": ("run virsci --set team=3", "team: should be a mapping of keys to values (given: 3)", ""),
    "a value that is no YAML": ("run virsci --set team.size=[1", "--set team.size=[1: the value is not valid", ""),
    "no run folder": ("resume old", "old: not a run folder (it has no config.yaml)", "runs/TIME-NAME"),
    "a folder that holds a run": ("run virsci --out done", "done: already contains a run", "manyheads resume done"),
    "no folder": ("run virsci --set embedding=lexical --out key.yaml/run", "key.yaml/run: cannot be written: Not a directory", "--out FOLDER"),
    "no corpus": ("run virsci --set corpus=moon", "corpus 'moon': no such corpus", "manyheads corpus build"),
    "a team too large": ("run virsci --set embedding=lexical --set team.size=25", "team.size is 25, but the corpus has 24 scientists", "24 or"),
    "no key": ("run virsci --set embedding=lexical --model openai/x --out run", "models.default: no key for openai/x", "export OPENAI_API_KEY"),
    "no replay": ("run virsci --set embedding=lexical --model replay/old --out run", "old/journal.sqlite: no readable journal", "--model replay/FOLDER"),
    "an option that is swallowed": ("check rebuttal --idea --host=autogen", "--idea: empty", "give it a value"),
    "no component": ("export virsci --host agentscope", "'agentscope' loads no component files", "VirSciPipeline"),
}  # fmt: skip


@pytest.mark.parametrize(("command", "words", "more"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_message(home: Path, command: str, words: str, more: str) -> None:
    said = manyheads_command(*command.split(), cwd=home).message
    assert words in said
    assert more in said
    assert len(said.splitlines()) <= 4
    assert not list(home.glob("runs/*")), "a run that cannot begin leaves no folder"


@pytest.mark.slow
def test_a_host_that_is_not_installed(home: Path) -> None:
    without = {"PYTHONPATH": str(hiding(home / "hiding", "autogen_agentchat"))}
    given = ("virsci", "--host", "autogen", "--set", "embedding=lexical")
    said = manyheads_process("run", *given, cwd=home, env=without).message
    assert "host 'autogen' needs autogen_agentchat, which is not installed" in said
    assert "pip install" in said.split("next: ")[1]
    assert "[autogen]'" in said
    checked = manyheads_process("check", *given, cwd=home, env=without)
    assert checked.code == 2
    assert "WRONG  host: autogen is not installed: pip install" in checked.out


def hiding(folder: Path, package: str) -> Path:
    """A folder that, first on PYTHONPATH, makes an installed package look absent."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(f"""\
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name == {package!r} else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Without
""")
    return folder


def test_a_server_that_is_not_there(home: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
    sets = ("--set", f"models.default.base_url={url}", "--set", "models.default.retries=0")
    flags = (*SMALL, "--host", "agentscope", "--model", "openai/test", *sets)
    said = manyheads_command("run", "virsci", *flags, "--out", "run", cwd=home).message
    assert f"models.default (openai/test at {url}): cannot be reached" in said
    assert "then start again" in said
    assert not (home / "run").exists()


@pytest.fixture
def small_disk(home: Path) -> Iterator[Path]:
    """A disk of 120 kB, less than a run takes."""
    disk = home / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=120k", "none", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a disk can only be mounted by root")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.slow
def test_a_disk_that_is_full(home: Path, small_disk: Path) -> None:
    run = ("run", "virsci", "--host", "agentscope", *SMALL, "--out", "disk/run")
    said = manyheads_command(*run, cwd=home).message
    assert "disk is full" in said or "No space left" in said
    assert "manyheads resume disk/run" in said
    config = (small_disk / "run" / "config.yaml").read_text()
    again = manyheads_command("resume", "disk/run", "--set", "budget.calls=999", cwd=home).message
    assert "full" in again or "No space left" in again
    assert (small_disk / "run" / "config.yaml").read_text().startswith(config.split("budget")[0])
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    assert manyheads_command("resume", "disk/run", cwd=home).code == 0
    assert len(result_of(small_disk / "run")["team"]) == 3


@pytest.mark.slow
def test_a_reader_that_goes_away(home: Path) -> None:
    with start(
        "run", "virsci", *SMALL, "--host", "agentscope", "--json", "--out", "run", cwd=home
    ) as process:
        assert process.stdout
        assert process.stderr
        assert json.loads(process.stdout.readline())["kind"] == "began"
        process.stdout.close()
        err = process.stderr.read()
    assert "Traceback" not in err
    assert manyheads_command("resume", "run", cwd=home).code == 0
