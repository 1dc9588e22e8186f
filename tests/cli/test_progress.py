"""What a run shows while it goes on, on a terminal, in a pipe, and to a machine."""

import io
import json
import re
from typing import Any

import pytest
import typer
from rich.console import Console

from manyheads.cli.options import resumable
from manyheads.cli.progress import LiveView, RunStatus, jobs_progress, line_of, plain, run_progress
from manyheads.core import Usage
from manyheads.core.events import (
    AnyEvent,
    Asked,
    Invited,
    Judged,
    Recruited,
    Result,
    Said,
    Searched,
    Stage,
    Voted,
    Warned,
)

USAGE = Usage(input_tokens=1200, output_tokens=80, calls=1, cost=0.25)
STORY: list[AnyEvent] = [
    Stage(stage="selection", title="Collaborator selection", number=1, total=5),
    Asked(stage="selection", speaker="Scientist4", task="join"),
    Recruited(stage="selection", candidate="Scientist4", accepted=True, reasoning="A close fit."),
    Recruited(stage="selection", candidate="Scientist31", accepted=False, reasoning="Too far."),
    Stage(stage="topic", title="Topic discussion", number=2, total=5),
    Asked(stage="topic", turn=3, speaker="Scientist4", task="topic"),
    Asked(stage="topic", turn=3, speaker="Scientist9", task="topic"),
    Said(
        stage="topic", turn=3, speaker="Scientist9", task="topic", text="Forget by use.",
        data={"remark": "Forget by use."}, model="offline", usage=USAGE,
    ),
    Invited(stage="topic", turn=3, guest="Scientist88", by="Scientist9", question="What fails?"),
    Voted(stage="novelty", turn=1, voter="Scientist4", choice=2, reasoning="Overlaps least."),
    Judged(stage="novelty", subject="tie", outcome="Forgetting", reasoning="higher confidence"),
    Warned(stage="novelty", message="the first reply was not valid"),
    Result(data={}),
]  # fmt: skip


def test_a_judge_who_gives_no_ranking_is_not_thinking_any_more() -> None:
    at = RunStatus()
    at.note(Asked(stage="ranking", turn=1, speaker="Judge1", task="rank"), 1.0)
    at.note(Asked(stage="ranking", turn=1, speaker="Judge2", task="rank"), 1.0)
    at.note(Judged(stage="ranking", turn=1, subject="Judge1", outcome="gives no ranking"), 2.0)
    assert list(at.thinking) == ["Judge2"]


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_quiet_shows_nothing_but_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    with run_progress(quiet=True) as show:
        for event in STORY:
            show(event)
    out, err = capsys.readouterr()
    assert (out, err) == ("", "warning: the first reply was not valid\n")


@pytest.mark.parametrize(
    ("kept", "said"), [(True, "run the same command again"), (False, "nothing was written")]
)
def test_the_last_line_after_an_interrupt_stays(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, kept: bool, said: str
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with pytest.raises(typer.Exit) as ended, resumable(kept=kept), jobs_progress("runs", 3):
        raise KeyboardInterrupt
    assert ended.value.exit_code == 130
    drawn, last = capsys.readouterr().err.rstrip("\n").rsplit("\n", 1)
    assert "0/3" in drawn
    assert said in last
    assert last.rfind("\x1b[2K") < last.index("manyheads: stopped"), "nothing is erased after it"


def test_json_gives_every_event_on_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with run_progress(as_json=True) as show:
        for event in STORY:
            show(event)
    out, err = capsys.readouterr()
    assert [json.loads(line) for line in out.splitlines()] == [e.model_dump(mode="json") for e in STORY]
    assert err == ""


def test_counts_where_a_run_stands() -> None:
    standing = RunStatus()
    for second, event in enumerate(STORY[:9]):
        standing.note(event, float(second))
    assert (standing.stage, standing.number, standing.total, standing.turn) == ("Topic discussion", 2, 5, 3)
    assert standing.thinking == {"Scientist4": [5.0]}
    assert standing.usage == USAGE
    standing.note(STORY[-1], 20.0)
    assert standing.thinking == {}


def test_the_live_view_tells_stage_turn_speakers_tokens_cost_and_time() -> None:
    clock = Clock()
    console = Console(record=True, force_terminal=True, width=100, height=40, file=io.StringIO())
    progress = LiveView(console, clock)
    with progress.live:
        for event in STORY[:8]:
            progress.show(event)
        clock.now = 75.0
        console.print(progress._view())
    text = console.export_text()
    for expected in (
        "Scientist4 joins  A close fit.", "Scientist31 declines  Too far.", "Scientist9 says  Forget by use.",
        "2/5 Topic discussion  turn 3", "Scientist4 75 s thinking", "1,200 tokens in · 80 out · 1 call ",
        "cost 0.2500", "1:15",
    ):  # fmt: skip
        assert expected in text, expected


def test_a_ranking_is_told_by_what_comes_of_it() -> None:
    """In its judge's words the ideas have the numbers of their places."""
    common = {"stage": "ranking", "speaker": "Judge1", "text": "A", "model": "m", "usage": USAGE}
    brief = Said.model_validate({**common, "task": "condense", "verb": "condenses", "data": {}})
    assert "Judge1 condenses" in str(line_of(brief))
    said = Said.model_validate(
        {**common, "task": "rank", "data": {"ranking": [{"idea": 1, "rationale": "B"}]}}
    )
    assert line_of(said) is None
    judged = Judged(stage="ranking", subject="Judge1", outcome="ranks the target 2 of 4", reasoning="B")
    assert str(line_of(judged)) == "  Judge1 ranks the target 2 of 4  B"


@pytest.mark.parametrize(
    "text", ["a\x1b[2Jb", "a\rb", "a\n\tb", "a\x9bb", "a\u202eb", "a\ud83db", "a \x07 b"]
)
def test_a_reply_cannot_command_the_terminal(text: str) -> None:
    assert re.fullmatch(r"a ?(\[2J)?b", plain(text))


def searched(outcome: Any, hits: int = 0, **more: Any) -> Searched:
    given: dict[str, Any] = {
        "query": "fruit",
        "asked": "soft fruit",
        "at": "2026-01-01T00:00:00+00:00",
        "seconds": 0.2,
    }
    return Searched(source="openalex", operation="search", hits=hits, outcome=outcome, **given, **more)


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (searched("found", 3), "  openalex 3 hits for  soft fruit"),
        (searched("found", 1), "  openalex 1 hit for  soft fruit"),
        (searched("empty"), "  openalex 0 hits for  soft fruit"),
        (searched("failed", reason="503"), "  openalex failed at  soft fruit: 503"),
        (searched("found", 3, cached=True), "None"),
    ],
)
def test_a_look_up_is_told_with_what_came_of_it(event: Searched, line: str) -> None:
    assert str(line_of(event)) == line
