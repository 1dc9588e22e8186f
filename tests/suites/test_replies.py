"""What a model makes of the forms, counted by role and task: by a suite, and of any run."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from manyheads.cli import app
from manyheads.suites.cells import CellRow
from manyheads.suites.replies import reply_counts
from support.command import manyheads_command, served_by
from support.faults import Fault
from support.fill import fill
from support.llm import LLM
from support.play import play_now
from support.records import read_lines
from support.requests import Request
from support.suites import words_of, write_suite

MEASURES = ["replies.first", "replies.given_up", "replies.scientist.vote.repaired", "replies.tokens"]
SMALL: Any = {
    "set": {"embedding": "lexical", "turns": 1, "team.size": 2, "topic": "Robots", "invitation.enabled": False},
    "grid": {}, "measures": MEASURES, "plot": None,
}  # fmt: skip


def asks_for(title: str) -> Callable[[Request], bool]:
    return lambda request: request.title == title


def says_little(request: Request) -> str | None:
    """A scientist whose ideas are of a few words."""
    if "experiment" not in (request.schema or {}).get("properties", {}):
        return None
    return json.dumps(fill(request.schema or {}, request.seed, {"idea": "A hand.", "experiment": "Try."}))


def test_a_suite_counts_what_the_model_does_wrong(tmp_path: Path) -> None:
    write_suite(tmp_path / "evals", "mine", **(SMALL | {"repeats": 1}))
    with LLM(faults=[Fault("missing", when=asks_for("Idea")), Fault("prose", when=asks_for("Vote"))]) as llm:
        sets = served_by(llm, "models.default.tools=false")
        done = manyheads_command("eval", "mine", "--path", tmp_path, *sets, cwd=tmp_path)
    assert done.code == 0, done.err
    folder = tmp_path / "runs" / "eval-mine"
    [row] = read_lines(folder / "results.jsonl", CellRow)
    counts = reply_counts((folder / "cells").iterdir())
    idea, vote, every = counts["scientist.idea"], counts["scientist.vote"], counts["all"]
    assert (idea.asked, idea.first, idea.repaired, idea.unusable) == (2, 1, 1, {"fields": 1})
    assert (vote.repaired, vote.figures["repaired"], vote.unusable) == (1, 0.5, {"none": 1})
    assert every.asked == every.first + 2
    assert every.asked + 2 == llm.calls
    assert row.values["replies.first"] == pytest.approx(every.figures["first"])
    assert row.values["replies.scientist.vote.repaired"] == 0.5
    assert row.values["replies.given_up"] == 0
    assert "| scientist.vote | 2 | 1 (50%) | 1 (50%) | 0 (0%) |" in words_of(folder / "report.html")


@pytest.mark.slow
def test_short_texts_are_counted(tmp_path: Path) -> None:
    with LLM(reply=says_little) as llm:
        played = play_now(tmp_path / "run", llm, "topic=Robots")
    idea = reply_counts([played.folder])["scientist.idea"]
    assert idea.unusable == {"short": 3}
    assert (idea.repaired, idea.lengths, idea.length_met) == (3, 3, 0)


@pytest.mark.slow
@pytest.mark.parametrize("tools", [True, False])
def test_invitations_are_counted_by_tool_and_by_field(tmp_path: Path, tools: bool) -> None:
    def stranger(request: Request) -> str:
        team, names = request.text.split("## Whom")[0], (f"Scientist{n}" for n in range(1, 40))
        return next(name for name in names if name not in team)

    def call(request: Request) -> dict[str, Any]:
        return {"name": stranger(request), "question": "Well?"}

    made = [("invite_scientist", call)]
    answers = {} if tools else {"invite": stranger, "question": "Well?"}
    with LLM(tool_calls=made if tools else [], answers=answers) as llm:
        sets = ("topic=Robots", "invitation.enabled=true", f"models.default.tools={str(tools).lower()}")
        played = play_now(tmp_path / "run", llm, *sets)
    counts = reply_counts([played.folder])
    assert counts["scientist.idea"].invited >= 2
    assert counts["all"].invited >= counts["scientist.advise"].asked >= 2
    assert not tools or counts["all"].invited == counts["scientist.advise"].asked
    assert counts["scientist.advise"].invited == 0


@pytest.mark.slow
def test_any_run_is_counted_by_the_command(tmp_path: Path) -> None:
    with LLM(faults=[Fault("empty", when=asks_for("Vote"))]) as llm:
        folder = play_now(tmp_path / "run", llm, "topic=Robots").folder
    done = CliRunner().invoke(app, ["measure", str(folder), str(folder), "--replies", "--json"])
    lines = {line["task"]: line for line in map(json.loads, done.stdout.splitlines())}
    assert (lines["scientist.vote"]["asked"], lines["scientist.vote"]["unusable"]) == (6, "empty 2")
    shown = CliRunner().invoke(app, ["measure", str(folder), "--replies"], env={"COLUMNS": "120"}).stdout
    [row] = [line.split() for line in shown.splitlines() if "scientist.vote" in line]
    assert row[1:5] == ["3", "2", "1", "0"]
    narrow = CliRunner().invoke(app, ["measure", str(folder), "--replies"], env={"COLUMNS": "80"}).stdout
    [head] = [line for line in narrow.splitlines() if line.startswith("task")]
    assert head.split() == [
        "task",
        "asked",
        "first",
        "again",
        "given",
        "up",
        "copied",
        "guests",
        "length",
        "chars",
        "tokens",
        "faults",
    ]
