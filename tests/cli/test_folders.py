"""Folders that a command is to write to, go on from, or take roles and prompts from."""

from pathlib import Path

import pytest
import yaml

from manyheads.engine.journal import read_turns
from support.command import SMALL, manyheads_command

RUN = ("run", "virsci", "--host", "agentscope", *SMALL, "--out")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run in `run`."""
    home = tmp_path_factory.mktemp("folders")
    assert manyheads_command(*RUN, "run", cwd=home).code == 0
    return home


@pytest.mark.slow
def test_a_folder_of_prompts_given_when_a_run_goes_on(home: Path) -> None:
    assert manyheads_command("prompts", "export", "mine", "scientist", cwd=home).code == 0
    prompt = home / "mine" / "prompts" / "scientist" / "revise.md.j2"
    same = manyheads_command("resume", "run", "--path", "mine", cwd=home)
    assert same.code == 0, "copies that say the same change nothing"
    prompt.write_text("Speak of owls.\n\n" + prompt.read_text(encoding="utf-8"), encoding="utf-8")
    assert "--accept-changes" in manyheads_command("resume", "run", "--path", "mine", cwd=home).message
    accepted = manyheads_command("resume", "run", "--path", "mine", "--accept-changes", cwd=home)
    assert accepted.code == 0
    asked = [request["thread"][0]["text"] for _, request, _ in read_turns(home / "run" / "journal.sqlite")]
    assert any(text.startswith("Speak of owls.") for text in asked)
    [path] = yaml.safe_load((home / "run" / "config.yaml").read_text(encoding="utf-8"))["paths"]
    assert (home / "run" / path).resolve() == (home / "mine").resolve()
    assert (
        "theirs: no such folder" in manyheads_command("resume", "run", "--path", "theirs", cwd=home).message
    )
