"""A run that was killed, stopped or out of budget goes on: no finished turn is asked again, the result is the same."""

import asyncio
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from manyheads import run as run_config
from manyheads.base.errors import BudgetError
from manyheads.engine.journal import read_turns, spent_in
from manyheads.systems.loading import load, reopen
from support.command import Done, finish, manyheads_command, start
from support.llm import LLM
from support.play import Played, play
from support.requests import Request, question_of
from support.results import useful_result

DELAY = 0.02
BY_FIELD = "models.default.tools=false"
BY_TOOL = "models.default.tools=true"
Asked = Counter[tuple[str, str]]
Undisturbed = Callable[..., Played]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with `small.yaml`: every stage, one turn each; self-review sends the team back as often as it can."""
    return with_config(tmp_path)


def with_config(folder: Path) -> Path:
    small: dict[str, Any] = {
        "seed": 3,
        "team": {"size": 3},
        "turns": 1,
        "self_review": {"enabled": True},
        "peer_review": {"enabled": True},
        "embedding": "lexical",
        "models": {"default": {"retries": 0}},
    }
    (folder / "small.yaml").write_text(yaml.safe_dump(small))
    return folder


@pytest.fixture
def llm() -> Iterable[LLM]:
    """A server that takes its time, and on which everybody hears a guest; the hosts get the same answers."""
    with guest_server(DELAY) as server:
        yield server


def guest_server(delay: float) -> LLM:
    wish = {"name": "Scientist9", "question": "What would you measure?"}
    return LLM(
        answers={"invite": wish["name"], "question": wish["question"], "overlaps": too_close},
        tool_calls=[("invite_scientist", wish)],
        seed=lambda request: "\0".join(_question(request.system, request.asking)),
        delay=delay,
    )


def too_close(request: Request) -> list[dict[str, Any]]:
    """Every paper is nearly the same."""
    count = request.asking.count("<paper>")
    return [{"paper": n, "similarity": 90, "reason": f"Paper {n} has it all."} for n in range(1, count + 1)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """A run from its start to its end, on a server of its own that answers alike."""

    @cache
    def run(*sets: str) -> Played:
        folder = with_config(tmp_path_factory.mktemp("undisturbed"))
        with guest_server(0) as llm:
            config = load([str(folder / "small.yaml")], settings(llm, "host=agentscope", *sets))
            return asyncio.run(play(config, folder / "run", llm))

    return run


def settings(llm: LLM, *more: str) -> tuple[str, ...]:
    named = ("provider=openai", "name=test", f"base_url={llm.base_url}")
    return (*(f"models.default.{each}" for each in named), *more)


def flags(sets: Iterable[str]) -> list[str]:
    return [part for each in sets for part in ("--set", each)]


def begin(llm: LLM, cwd: Path, *sets: str) -> subprocess.Popen[str]:
    return start("run", "small.yaml", *flags(settings(llm, *sets)), "--out", "run", cwd=cwd)


def questions(requests: Iterable[Request]) -> Asked:
    """How often each question has reached the server; a request that brings a tool's answer asks nothing new."""
    new = (request for request in requests if not request.tools_answered)
    return Counter(_question(request.system, request.asking) for request in new)


def recorded(folder: Path) -> Asked:
    def request(asked: dict[str, Any]) -> Request:
        said = (("system", asked["system"]), *(("user", each["text"]) for each in asked["thread"]))
        messages = [{"role": role, "content": text} for role, text in said]
        return Request("/v1/chat/completions", {}, {"messages": messages}, 0.0)

    return questions(request(asked) for _, asked, _ in read_turns(folder / "journal.sqlite"))


def _question(system: str, asking: str) -> tuple[str, str]:
    return " ".join(system.split()), question_of(asking)


def stop_after(llm: LLM, calls: int, process: subprocess.Popen[str], how: signal.Signals) -> Done:
    """Send a signal to a run as soon as the server has got some more calls."""
    enough = llm.calls + calls
    while llm.calls < enough and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(how)
    with process:
        return finish(process)


def assert_goes_on(llm: LLM, home: Path, whole: Played, *more: str) -> None:
    """Resume asks what is not recorded, all of it and nothing else, and ends with the same result."""
    kept, before = recorded(home / "run"), llm.calls
    done = manyheads_command("resume", "run", *more, cwd=home)
    assert (done.code, done.err) == (0, "".join(f"warning: {text}\n" for text in whole.result["warnings"]))
    assert questions(llm.requests[before:]) == questions(whole.requests) - kept
    assert useful_result(home / "run") == useful_result(whole.folder)


KILLS = [
    ("autogen", BY_TOOL, 1, 8),
    ("agentscope", BY_FIELD, 1, -8),
    ("autogen", BY_FIELD, 2, 1),
    ("agentscope", BY_TOOL, 2, 17),
    ("agent_framework", BY_FIELD, 2, 17),
    ("agent_framework", BY_TOOL, 2, -18),
    ("autogen", BY_TOOL, 2, -1),
]
"""Each host and way; requests from the first or the last one, in runs of one turn and of two."""


@pytest.mark.slow
@pytest.mark.parametrize(("host", "way", "turns", "calls"), KILLS)
def test_killed_at_any_moment(
    llm: LLM, home: Path, undisturbed: Undisturbed, host: str, way: str, turns: int, calls: int
) -> None:
    whole = undisturbed(way, f"turns={turns}")
    total = len(whole.requests)
    process = begin(llm, home, f"host={host}", way, f"turns={turns}")
    assert stop_after(llm, calls % total, process, signal.SIGKILL).code == -signal.SIGKILL
    assert_goes_on(llm, home, whole)
    # Of what was under way, a turn with a tool call may have had one answer already.
    assert llm.calls <= total + llm.peak * (2 if way == BY_TOOL else 1)


@pytest.mark.slow
def test_interrupted_from_the_keyboard(llm: LLM, home: Path, undisturbed: Undisturbed) -> None:
    stopped = stop_after(llm, 7, begin(llm, home, "host=autogen", BY_TOOL), signal.SIGINT)
    assert stopped.code == 130
    assert stopped.err == "manyheads: stopped; finished turns are kept; to resume: manyheads resume run\n"
    assert_goes_on(llm, home, undisturbed(BY_TOOL))
    assert_repeats_nothing(llm, home)


def assert_repeats_nothing(llm: LLM, home: Path) -> None:
    """Resuming a finished run writes the same result again and asks nobody."""
    before, result = llm.calls, (home / "run" / "result.json").read_bytes()
    assert manyheads_command("resume", "run", cwd=home).code == 0
    assert llm.calls == before
    assert (home / "run" / "result.json").read_bytes() == result


@pytest.mark.slow
def test_out_of_budget(llm: LLM, home: Path, undisturbed: Undisturbed) -> None:
    sets = flags(settings(llm, "host=agentscope", BY_FIELD, "budget.calls=10"))
    said = manyheads_command("run", "small.yaml", *sets, "--out", "run", cwd=home).message
    assert "budget.calls is 10, used: 10" in said
    assert "manyheads resume run --set budget.calls=<larger>" in said
    assert llm.calls == 10
    assert_goes_on(llm, home, undisturbed(BY_FIELD), "--set", "budget.calls=1000")


@pytest.mark.slow
def test_what_was_under_way_at_a_kill_counts_against_a_limit(llm: LLM, home: Path) -> None:
    stop_after(llm, 5, begin(llm, home, "budget.calls=99"), signal.SIGKILL)
    known, before = spent_in(home / "run" / "journal.sqlite").calls, llm.calls
    assert before <= known <= before + 3, "each request that was sent, and those that were about to be"
    # The first turn is missing: the recorded ones after it are paid before it is asked.
    with closing(sqlite3.connect(home / "run" / "journal.sqlite")) as journal, journal:
        journal.execute("DELETE FROM turn WHERE rowid = (SELECT min(rowid) FROM turn)")
    known = spent_in(home / "run" / "journal.sqlite").calls
    flags_of_run = ("--accept-changes", "--set", f"budget.calls={known}")
    said = manyheads_command("resume", "run", *flags_of_run, cwd=home).message
    assert f"budget.calls is {known}" in said
    assert llm.calls == before


@pytest.mark.slow
def test_a_changed_prompt_is_named(llm: LLM, home: Path) -> None:
    mine = home / "mine" / "prompts" / "scientist" / "idea.md.j2"
    mine.parent.mkdir(parents=True)
    mine.write_text("Think of {{ topic }}.")
    sets = ("host=agentscope", "invitation.enabled=false", "self_review.enabled=false", "paths=[mine]")
    flags_of_run = flags(settings(llm, *sets, "budget.calls=13"))
    assert manyheads_command("run", "small.yaml", *flags_of_run, "--out", "run", cwd=home).code == 3
    mine.write_text("Think hard of {{ topic }}.")
    config, before = (home / "run" / "config.yaml").read_text(), llm.calls
    said = manyheads_command("resume", "run", "--set", "budget.calls=99", cwd=home).message
    assert "recorded with different settings, from this turn on: idea, turn 1, Scientist" in said
    assert "manyheads resume run --accept-changes" in said
    assert llm.calls == before
    assert (home / "run" / "config.yaml").read_text() == config, "undoing the change would not be enough"
    more = ("--accept-changes", "--set", "budget.calls=99")
    assert manyheads_command("resume", "run", *more, cwd=home).code == 0
    ideas = [request.asking for request in llm.requests[before:] if request.title == "Idea"]
    assert len(ideas) == 3
    assert all(asking.startswith("Think hard of") for asking in ideas)


def test_a_project_that_is_moved_goes_on_and_names_no_folder_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, moved = tmp_path / "theirs" / "project", tmp_path / "elsewhere"
    for folder in ("corpora/mine", "words/prompts"):
        (project / folder).mkdir(parents=True)
    (project / "idea.md").write_text("Bats that return to a changed cave fly by memory.")
    monkeypatch.chdir(project)
    sets = ("subject=idea.md", "corpus=corpora/mine", "embedding=lexical", "paths=[words]")
    with pytest.raises(BudgetError):
        asyncio.run(run_config("conference-review", *sets, "repeats=3", "budget.calls=2"))
    [run] = Path().glob("runs/2*")
    written = yaml.safe_load((run / "config.yaml").read_text())
    assert written["paths"] == ["../../words"]
    assert (written["corpus"], written["inputs"]["subject"]) == ("../../corpora/mine", "../../idea.md")
    assert str(tmp_path) not in (run / "config.yaml").read_text()
    project.rename(moved)
    monkeypatch.chdir(tmp_path)
    result = asyncio.run(run_config(str(moved / run), "budget.calls=9"))
    assert (result.finished, result.usage.calls) == (True, 3)
    config = reopen(moved / run)
    assert config == load([str(moved / run / "config.yaml")]).model_copy(update={"name": config.name})
    assert (config.corpus, config.inputs.subject) == (str(moved / "corpora/mine"), str(moved / "idea.md"))
    assert config.paths == (str(moved / "words"),)
    assert str(moved) not in (moved / run / "config.yaml").read_text()
