"""A person at the terminal: a real one, in which answers are typed."""

import os
import re
import signal
from pathlib import Path

import pytest

from support.command import SMALL, result_of
from support.terminal import terminal

RUN = ("run", "virsci", *SMALL, "--out", "r")
ACTION = r"1 to 3\) > "
pytestmark = pytest.mark.slow


def test_a_person_steers_at_the_terminal(tmp_path: Path) -> None:
    with terminal(tmp_path, (*RUN, "--steer", "topic")) as screen:
        shown = screen.until(ACTION)
        assert "The result of this stage" in shown
        assert not re.search(r"^[#>] |Your task", shown, re.MULTILINE)
        screen.type("dance")
        screen.until("type one of accept, edit, back")
        screen.type("back")
        screen.until("Remark.*\n?.*> ")
        screen.type("")
        screen.until("say what should change")
        screen.until(rf"Enter keeps: back[\s\S]*{ACTION}")
        screen.type("")
        screen.until("Remark[^>]*> ")
        screen.type("Think of owls.\n")
        screen.until(ACTION)
        screen.type("2")
        screen.until("Remark[^>]*> ")
        screen.type("")
        screen.until("Topic[^>]*> ")
        screen.type("Owls that\nplan\n")
        screen.until("Rationale[^>]*> ")
        screen.type("")
        assert screen.end() == 0
    assert [word["action"] for word in result_of(tmp_path / "r")["people"]] == ["back", "edit", "edit"]
    assert result_of(tmp_path / "r")["topic"]["topic"] == "Owls that\nplan"


def test_a_long_text_is_written_in_an_editor(tmp_path: Path) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nsed -i "s/^/Owls. /" "$1"\n')
    editor.chmod(0o755)
    with terminal(tmp_path, (*RUN, "--steer", "topic"), EDITOR=str(editor), VISUAL="") as screen:
        screen.until(ACTION)
        screen.type("edit")
        screen.until("Remark[^>]*> ")
        screen.type("")
        screen.until("Topic[^>]*> ")
        screen.type(":e")
        screen.until("Rationale[^>]*> ")
        screen.type("")
        assert screen.end() == 0
    assert result_of(tmp_path / "r")["topic"]["topic"].startswith("Owls. ")


@pytest.mark.parametrize("how", ["Ctrl-C", "Ctrl-D"])
def test_a_stopped_question_is_asked_again_on_resume(tmp_path: Path, how: str) -> None:
    with terminal(tmp_path, (*RUN, "--steer", "topic")) as screen:
        screen.until(ACTION)
        if how == "Ctrl-C":
            screen.process.send_signal(signal.SIGINT)
        else:
            os.write(screen.screen, b"\x04")
        screen.until("manyheads resume r")
        assert screen.end() == 130
    assert "Traceback" not in screen.text
    with terminal(tmp_path, ("resume", "r")) as screen:
        screen.until(ACTION)
        screen.type("a")
        screen.until("Remark[^>]*> ")
        screen.type("")
        assert screen.end() == 0
    assert [word["action"] for word in result_of(tmp_path / "r")["people"]] == ["accept"]


def test_a_person_plays_the_leader(tmp_path: Path) -> None:
    words = ("--set", "models.me.provider=human", "--set", "roles.leader.model=me", "--set", "turns=1")
    with terminal(tmp_path, (*RUN, *words)) as screen:
        assert "Remark" in (screen.prompt() or "")
        screen.type("")
        screen.until("This is needed")
        while hint := screen.prompt():
            answers = {"y / n": "y", "1 to 10": "7", "1 to": "1"}
            typed = next((each for word, each in answers.items() if word in hint), "We plan with owls.\n")
            screen.type(typed)
        assert screen.process.wait(60) == 0
    people = result_of(tmp_path / "r")["people"]
    assert {word["by"] for word in people} == {"human/me"}
    assert [word["text"] for word in people if word["task"] == "settle"] == ["We plan with owls."]
    assert "\x1b[31m" not in screen.text


def test_a_key_for_a_strange_host_is_asked_for_once(tmp_path: Path) -> None:
    (tmp_path / "idea.md").write_text("# Owls\n\nWe plan with owls.\n", encoding="utf-8")
    model = "{provider: openai, name: m, base_url: http://stranger.invalid/v1, retries: 0}"
    (tmp_path / "theirs.yaml").write_text(f"system: conference-review\nmodels: {{default: {model}}}\n")
    words = ("run", "theirs.yaml", "--subject", "idea.md", "--out", "r")
    env = {"OPENAI_API_KEY": "s3cret", "MANYHEADS_CACHE": str(tmp_path / "cache")}
    for answer, code in (("n", 2), ("y", 4)):
        with terminal(tmp_path, words, **env) as screen:
            shown = screen.until(r"\[y/N\]: ")
            assert re.search(r"OPENAI_API_KEY\s+to\s+stranger\.invalid", shown)
            assert "s3cret" not in shown
            screen.type(answer)
            assert screen.end() == code
    assert not (tmp_path / "r").exists()
    with terminal(tmp_path, words, **env) as screen:
        screen.until("cannot be reached")
        assert screen.end() == 4
