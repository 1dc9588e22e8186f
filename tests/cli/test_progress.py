"""What a run shows while it goes on, on a terminal, in a pipe, and to a machine."""

import asyncio
import io
import json
import math
import re
import signal
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console

from manyheads.cli import progress
from manyheads.cli.live import LiveView, RunStatus, line_of, plain
from manyheads.cli.options import resumable
from manyheads.cli.progress import jobs_progress, run_progress
from manyheads.config import RunConfig
from manyheads.core import Usage
from manyheads.core.events import (
    AnyEvent,
    Asked,
    Estimated,
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
from manyheads.engine.estimate import estimate
from manyheads.engine.jobs import Job, JobNews
from manyheads.engine.session import Session
from manyheads.hosts import host_factory
from manyheads.systems.loading import load
from support.command import finish, served_by, start
from support.llm import LLM
from support.terminal import terminal

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


def test_a_result_s_usage_counts_with_that_of_the_runs_below_it() -> None:
    at = RunStatus(usage=Usage(calls=7))
    at.note(Result(data={"usage": {"calls": 242, "input_tokens": 9, "by_stage": {}}}), 1.0)
    assert at.usage == Usage(calls=242, input_tokens=9)


def test_spending_is_told_as_a_share_of_the_estimate_and_never_as_more_than_all() -> None:
    def told(calls: int, cost: float | None, whole: Usage | None = None, currency: str | None = "USD") -> str:
        at = RunStatus(usage=Usage(calls=calls, cost=cost), currency=currency)
        if whole:
            at.note(Estimated(usage=whole), 1.0)
        return at.spending

    whole = Usage(calls=98, cost=0.1031)
    assert told(1, None) == "1 call"
    assert told(41, 0.0432) == "41 calls · cost 0.0432 USD"
    assert told(41, 0.0432, whole) == "41 of about 98 calls · cost 0.04 of about 0.10 USD"
    assert told(112, 0.0432, whole) == "112 calls, estimated about 98 · cost 0.04 of about 0.10 USD"
    assert told(99, 0.2, whole, None) == "99 calls, estimated about 98 · cost 0.20, estimated about 0.10"
    assert told(1500, None, Usage(calls=2000)) == "1,500 of about 2,000 calls"
    assert told(3, 0.5, Usage(calls=9)) == "3 of about 9 calls · cost 0.5000 USD", "no price at the start"
    assert told(3, 0.00012, Usage(calls=9, cost=0.00045)).endswith("cost 0.0001 of about 0.0004 USD")


@pytest.mark.slow
async def test_a_run_that_goes_on_is_estimated_beside_its_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SOON", 0.1)
    price = "models.default.price={input: 1, output: 2, currency: USD}"
    text = tmp_path / "owls.md"
    text.write_text("# Owls\n\nOwls plan well.\n", encoding="utf-8")
    with LLM(delay=0.8) as llm:
        model = ("models.default.provider=openai", "models.default.name=test", price)
        address = f"models.default.base_url={llm.base_url}"
        config = load(["conference-review"], [*model, address, f"inputs.subject={text}"])
        whole = (await estimate([config])).spent.total
        session = Session(config, tmp_path / "run", beside=progress.estimate_beside)
        async with aclosing(session.events(host_factory(config.host))) as events:
            told = [event async for event in events]
    kinds = [each.kind for each in told]
    [estimated] = [each for each in told if isinstance(each, Estimated)]
    assert kinds.index("asked") < kinds.index("estimated") < kinds.index("said")
    assert estimated.usage == whole
    assert (whole.calls, bool(whole.cost)) == (llm.calls, True)
    assert '"kind": "estimated"' in (tmp_path / "run/events.jsonl").read_text(encoding="utf-8")


async def test_an_estimate_ends_with_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SOON", 0.0)
    monkeypatch.setattr("manyheads.engine.estimate.BESIDE", math.inf)
    long = load(["virsci"], ["embedding=lexical", "virsci.turns.default=500"])
    beside = asyncio.create_task(progress.estimate_beside([long], lambda event: None))
    await asyncio.sleep(0.3)
    assert not beside.done()
    beside.cancel()
    async with asyncio.timeout(20):
        await asyncio.get_running_loop().shutdown_default_executor()
    assert beside.cancelled()


async def test_runs_that_were_finished_before_are_not_estimated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asyncio.get_running_loop().create_future()

    async def beside(configs: list[RunConfig], tell: Any) -> None:
        asked.set_result([*configs])

    def terminal(**_: object) -> Console:
        return Console(force_terminal=True, file=io.StringIO())

    monkeypatch.setattr(progress, "safe_console", terminal)
    monkeypatch.setattr(progress, "estimate_beside", beside)
    monkeypatch.setenv("TERM", "xterm")
    runs = [RunConfig(seed=1), RunConfig(seed=2)]
    jobs = [Job(str(each.seed), tmp_path, each, "a text") for each in runs]
    with jobs_progress("texts", 2, runs=runs) as listener:
        listener(JobNews(jobs[0], "kept"))
        listener(JobNews(jobs[1], "began"))
        assert await asked == runs[1:]


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
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(typer.Exit) as ended, resumable(kept=kept), jobs_progress("runs", 3):
        raise KeyboardInterrupt
    signal.signal(signal.SIGINT, before)
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
    view = LiveView(console, clock)
    with view.live:
        for event in STORY[:8]:
            view.show(event)
        clock.now = 75.0
        console.print(view._view())
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


@pytest.mark.slow
def test_a_terminal_and_json_show_shares_of_the_estimate(tmp_path: Path) -> None:
    (tmp_path / "owls.md").write_text("# Owls\n\nOwls plan well.\n", encoding="utf-8")
    price = ("--set", "models.default.price={input: 100, output: 200, currency: USD}", "--yes")
    with LLM(delay=8) as llm:
        command = ("review", "owls.md", *served_by(llm, "models.default.concurrency=1"), *price)
        with terminal(tmp_path, command) as screen, start(*command, "--json", cwd=tmp_path) as piped:
            screen.until(r"1 of about 3 calls · cost 0\.\d+ of about 0\.\d+ USD")
            assert screen.end() == 0
            told = finish(piped).events
    [about] = [each["usage"]["calls"] for each in told if each["kind"] == "estimated"]
    calls = [each["usage"]["calls"] for each in told if each["kind"] == "said"]
    assert about == sum(calls) == 3
