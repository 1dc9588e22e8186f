"""`manyheads more`, `merge` and `ask`: a run that goes on from a finished one, and cites it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from golden.runs import FOLDERS
from manyheads.engine.journal import read_turns
from manyheads.report.index import entries
from support.command import Done, kill, manyheads_command, outcome_of, result_of, served_by
from support.llm import LLM

PARENT = "20260101-000000-parent"
SMALL = ("-s", "turns=1", "-s", "team.size=1", "-s", "invitation.enabled=false")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    shutil.copytree(FOLDERS / "virsci-finished", tmp_path / "runs" / PARENT)
    return tmp_path


def command(home: Path, *words: str) -> Done:
    """A command on the finished run, whose folder is RUN."""
    return manyheads_command(*(f"runs/{PARENT}" if word == "RUN" else word for word in words), cwd=home)


def prompt(folder: Path, task: str) -> str:
    """The first prompt of a task."""
    turns = read_turns(folder / "journal.sqlite")
    return next(request["thread"][0]["text"] for place, request, _ in turns if place.task == task)


def ideas(home: Path) -> dict[int, Any]:
    return {each["number"]: each for each in result_of(home / "runs" / PARENT)["ideas"]}


@pytest.mark.parametrize("host", ["autogen", pytest.param("agentscope", marks=pytest.mark.slow)])
def test_a_team_looks_for_more_like_an_idea(home: Path, host: str) -> None:
    done = command(home, "more", "RUN", "3", *SMALL, "--host", host, "-o", "runs/made")
    assert done.code == 0, done.err
    folder = home / "runs" / "made"
    made, parent = result_of(folder), result_of(home / "runs" / PARENT)
    assert (made["topic"]["topic"], made["topic"]["fixed"]) == (parent["topic"]["topic"], True)
    config = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    assert config["inputs"] == {"idea": [f"../{PARENT}#3"]}
    assert (config["embedding"], config["virsci"]["ideas"]) == (
        "lexical",
        {**config["virsci"]["ideas"], "keep": 3},
    )
    text = prompt(folder, "idea")
    assert ideas(home)[3]["idea"] in text
    assert ideas(home)[2]["idea"] not in text
    [sources] = [each.sources for each in entries(home / "runs") if each.folder == "made"]
    assert sources == (PARENT,)
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert f'<a href="../{PARENT}/report.html">idea 3 of {PARENT}</a>' in report


@pytest.mark.slow
def test_ideas_are_merged_and_a_killed_merge_goes_on(home: Path) -> None:
    with LLM(delay=0.05, answers={"choice": 1}) as llm:
        words = ("merge", f"runs/{PARENT}", "3", "1", *SMALL, *served_by(llm))
        whole = manyheads_command(*words, "-o", "whole", cwd=home)
        assert whole.code == 0, whole.err
        text = prompt(home / "whole", "idea")
        assert all((each["idea"] in text) == (number in (1, 3)) for number, each in ideas(home).items())
        asked = llm.calls
        kill(*words, "-o", "killed", llm=llm, calls=asked + 2, cwd=home)
        resumed = manyheads_command("resume", "killed", cwd=home)
        assert resumed.code == 0, resumed.err
        assert llm.calls <= 2 * asked + 1
    one, other = (outcome_of(home / name) for name in ("whole", "killed"))
    assert one.pop("usage")["calls"] == other.pop("usage")["calls"]
    assert one == other


@pytest.mark.parametrize("host", ["autogen", pytest.param("agentscope", marks=pytest.mark.slow)])
def test_a_scientist_answers_about_an_idea_and_knows_what_they_said(home: Path, host: str) -> None:
    asked = ("ask", "RUN", "Scientist8", "Which data?", "--idea", "3", "--host", host)
    done = command(home, *asked, "-o", "runs/asked")
    assert done.code == 0, done.err
    made, text = result_of(home / "runs" / "asked"), prompt(home / "runs" / "asked", "answer")
    assert (made["question"], made["title"]) == ("Which data?", ideas(home)[3]["title"])
    assert made["answer"] in " ".join(done.out.split())
    assert ideas(home)[3]["idea"] in text
    own = [
        each["reasoning"]
        for each in result_of(home / "runs" / PARENT)["votes"]
        if each["voter"] == "Scientist8"
    ]
    assert own
    assert all(each in text for each in own)
    assert command(home, *asked, "--estimate", "--json").code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    {
        "no such idea": (("more", "RUN", "9"), ["no idea 9", "3 Hints as a Lens"]),
        "twice": (("merge", "RUN", "2", "2"), ["twice"]),
        "no run": (("more", "nowhere", "1"), ["nowhere"]),
        "unfinished": (("more", "runs/stopped", "1"), ["resume"]),
        "no ideas": (("more", "runs/asked", "1"), ["runs/asked", "no idea"]),
        "nobody": (("ask", "RUN", "Ada", "Why?"), ["Ada", "Scientist8", "Scientist12"]),
    }.values(),
)  # fmt: skip
def test_what_cannot_be_gone_on_from_is_refused_before_a_run_begins(
    home: Path, words: tuple[str, ...], told: list[str]
) -> None:
    shutil.copytree(FOLDERS / "virsci-stopped", home / "runs" / "stopped")
    shutil.copytree(home / "runs" / PARENT, home / "runs" / "asked")
    file = home / "runs" / "asked" / "result.json"
    file.write_text(
        json.dumps({**json.loads(file.read_text("utf-8")), "system": "interview", "result": {}}), "utf-8"
    )
    before = set((home / "runs").iterdir())
    for more in ((), ("--estimate",)):
        message = command(home, *words, *more).message
        assert not [each for each in told if each not in message], message
    assert set((home / "runs").iterdir()) == before


@pytest.mark.slow
def test_an_idea_by_its_number_begins_a_run_of_another_system(home: Path) -> None:
    begun = command(
        home, "run", "rebuttal", "--idea", f"runs/{PARENT}#3", "-s", "max_iters=1", "-o", "revised"
    )
    assert begun.code == 0, begun.err
    rounds = result_of(home / "revised")["rounds"]
    assert rounds[0]["idea"]["title"] == ideas(home)[3]["title"]
    assert result_of(home / "revised")["background"]["works"]  # the references of this idea
    again = command(home, "run", "rebuttal", "--idea", "revised#0", "-s", "max_iters=1", "-o", "again")
    assert again.code == 0, again.err
    assert result_of(home / "again")["rounds"][0]["idea"]["title"] == rounds[0]["idea"]["title"]
    more = command(home, "more", "revised", "1", *SMALL, "--estimate")
    assert (more.code, "Idea generation" in more.out) == (0, True), more.err
