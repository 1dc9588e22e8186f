"""Configs and run folders of others: no key leaves for a host that the owner has not allowed."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from golden.runs import FOLDERS
from support.command import Done, manyheads_command

KEY = {"OPENAI_API_KEY": "s3cret"}
BASE = "http://stranger.invalid/v1"
Command = Callable[..., Done]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """A command in a folder with somebody else's `theirs.yaml`, with a cache and a key of this test's own."""
    (tmp_path / "idea.md").write_text("# Owls\n\nWe plan with owls, and compare them with crows.\n")
    write(tmp_path, base_url=BASE)
    env = {**KEY, "MANYHEADS_CACHE": str(tmp_path / "cache")}
    return lambda *words, **more: manyheads_command(*words, cwd=tmp_path, env={**env, **more})


def write(folder: Path, **settings: str) -> None:
    """Somebody else's config, with settings of its model."""
    model = {"provider": "openai", "name": "m", "retries": 0, **settings}
    config = {"system": "conference-review", "inputs": {"subject": "idea.md"}, "models": {"default": model}}
    (folder / "theirs.yaml").write_text(yaml.safe_dump(config))


def refused(done: Done) -> bool:
    """Whether a command stopped before the host was looked up, and says how to go on."""
    return done.code == 2 and "MANYHEADS_ALLOW=stranger.invalid" in done.err and "s3cret" not in done.err


def unreachable(done: Done) -> bool:
    """Whether a command has gone as far as the host."""
    return done.code == 4 and "cannot be reached" in done.message


def test_a_config_of_somebody_else_gets_no_key(command: Command, tmp_path: Path) -> None:
    assert refused(command("run", "theirs.yaml", "--out", "run"))
    assert not (tmp_path / "run").exists()
    assert unreachable(command("run", "theirs.yaml", "--out", "run", OPENAI_API_KEY="none"))


@pytest.mark.parametrize("env", [{"MANYHEADS_ALLOW": "stranger.invalid"}, {"OPENAI_BASE_URL": BASE}])
def test_the_environment_allows_it(command: Command, env: dict[str, str]) -> None:
    assert unreachable(command("run", "theirs.yaml", **env))


def test_a_dotenv_does_not(command: Command, tmp_path: Path) -> None:
    lines = f"OPENAI_API_KEY=theirs\nMANYHEADS_ALLOW=stranger.invalid\nOPENAI_BASE_URL={BASE}\n"
    (tmp_path / ".env").write_text(lines)
    assert "MANYHEADS_ALLOW=stranger.invalid" in command("run", "theirs.yaml").err


def test_what_was_typed_once_is_remembered(command: Command, tmp_path: Path) -> None:
    assert unreachable(command("run", "theirs.yaml", "-s", f"models.default.base_url={BASE}"))
    assert (tmp_path / "cache/allowed.txt").read_text().split() == ["stranger.invalid"]
    assert unreachable(command("run", "theirs.yaml"))
    typed = ("-s", "models.default.base_url=http://other.invalid/v1")
    assert unreachable(command("run", "theirs.yaml", *typed))


def test_each_host_of_a_config_is_asked_for(command: Command, tmp_path: Path) -> None:
    config = yaml.safe_load((tmp_path / "theirs.yaml").read_text())
    other = {**config["models"]["default"], "base_url": "http://other.invalid/v1"}
    config |= {
        "models": {**config["models"], "other": other},
        "roles": {"conference_reviewer": {"model": "other"}},
    }
    (tmp_path / "theirs.yaml").write_text(yaml.safe_dump(config))
    done = command("run", "theirs.yaml", MANYHEADS_ALLOW="stranger.invalid")
    assert "MANYHEADS_ALLOW=stranger.invalid,other.invalid" in done.message


def test_a_run_folder_of_somebody_else_gets_no_key(command: Command, tmp_path: Path) -> None:
    shutil.copytree(FOLDERS / "virsci-stopped", tmp_path / "run")
    config = tmp_path / "run/config.yaml"
    theirs = yaml.safe_load(config.read_text())
    theirs["models"] = {"default": {"provider": "openai", "name": "m", "base_url": BASE}}
    config.write_text(yaml.safe_dump(theirs))
    done = command("resume", "run", "--accept-changes")
    assert refused(done), done.err


@pytest.mark.parametrize("line", ["base_url: http://127.0.0.1:9/${AWS_SECRET}", "api_key_env: AWS_SECRET"])
def test_only_known_variables_are_read(command: Command, tmp_path: Path, line: str) -> None:
    name, _, value = line.partition(": ")
    write(tmp_path, **{"base_url": "http://127.0.0.1:9/v1", name: value})
    done = command("run", "theirs.yaml", AWS_SECRET="s3cret")
    assert done.code == 2
    assert "MANYHEADS_ALLOW=AWS_SECRET" in done.message
    assert "s3cret" not in done.err
    assert unreachable(
        command("run", "theirs.yaml", "-s", f"models.default.{name}={value}", AWS_SECRET="s3cret")
    )
