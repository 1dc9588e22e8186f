"""A system of another package, installed: what follows from it without a line of ours, by command, component and suite."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from support.command import Done, finish, manyheads_process, result_of, served_by, start
from support.llm import LLM
from support.packages import build, install, run_python

DEBATE = Path(__file__).parent / "plugin_package"
CLAIM = "Sleep consolidates motor memory."
HOSTS = ("autogen", "agentscope")
CALLS = 5
"""Two rounds of two sides, and the arbiter."""
NATIVE = {
    "autogen": """
from autogen_agentchat.teams import BaseGroupChat
team = BaseGroupChat.load_component(json.loads(component))
print(team.component_label or type(team).__name__)
print(asyncio.run(team.run(task=claim)).messages[-1].content)
""",
    "agentscope": """
from agentscope.message import UserMsg
from manyheads.hosts.agentscope import DebatePipeline
pipeline = DebatePipeline(config, out="runs")
print(type(pipeline).__name__)
print(asyncio.run(pipeline.reply(UserMsg("user", claim))).get_text_content())
""",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("debate")
    return install(build(DEBATE, folder), folder / "site")


def command(site: Path, folder: Path, *arguments: str | Path) -> Done:
    return manyheads_process(*arguments, cwd=folder, env={"PYTHONPATH": str(site)})


@pytest.fixture(scope="module", params=HOSTS)
def run(request: pytest.FixtureRequest, site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run."""
    folder = tmp_path_factory.mktemp("run")
    done = command(site, folder, "run", "debate", "--claim", CLAIM, "--host", request.param, "--out", "run")
    assert (done.code, done.err) == (0, "")
    assert CLAIM in done.out
    return folder / "run"


def test_a_run_comes_to_its_typed_result(run: Path) -> None:
    result = result_of(run)
    assert (result["system"], result["finished"], result["usage"]["calls"]) == ("debate", True, CALLS)
    debate = result["result"]
    assert debate["claim"] == CLAIM
    assert [(each["round"], each["side"]) for each in debate["arguments"]] == [
        (1, "for"), (1, "against"), (2, "for"), (2, "against"),
    ]  # fmt: skip
    assert debate["ruling"]["verdict"] in ("holds", "fails", "open")
    assert 40 <= debate["ruling"]["confidence"] <= 95, "the package's sample phrases say so"


def test_its_report_shows_its_template(run: Path) -> None:
    report, result = (run / "report.html").read_text(encoding="utf-8"), result_of(run)["result"]
    shown = (CLAIM, "Verdict", result["ruling"]["verdict"], "Arguments", "By speaker")
    assert all(text in report for text in shown)


def test_both_hosts_come_to_the_same(site: Path, tmp_path: Path) -> None:
    for host in HOSTS:
        assert (
            command(site, tmp_path, "run", "debate", "--claim", CLAIM, "--host", host, "--out", host).code
            == 0
        )
    results = [{**result_of(tmp_path / host), "host": None} for host in HOSTS]
    assert results[0] == results[1]


def test_the_command_shows_its_input_and_wants_it(site: Path, tmp_path: Path) -> None:
    shown = command(site, tmp_path, "run", "debate", "--help").out
    assert "--claim" in shown
    assert "What is argued about" in shown
    assert "--claim" in command(site, tmp_path, "run", "debate").message
    assert (
        "roundz"
        in command(site, tmp_path, "run", "debate", "--claim", CLAIM, "--set", "debate.roundz=1").message
    )


def test_a_claim_may_be_a_file(site: Path, tmp_path: Path) -> None:
    (tmp_path / "claim.md").write_text(f"{CLAIM}\n")
    done = command(
        site, tmp_path, "run", "debate", "--claim", "claim.md", "--set", "debate.rounds=1", "--out", "run"
    )
    assert done.code == 0
    result = result_of(tmp_path / "run")
    assert result["result"]["claim"] == CLAIM
    assert result["usage"]["calls"] == 3


@pytest.mark.parametrize("host", HOSTS)
def test_a_native_component_runs_it(site: Path, tmp_path: Path, host: str) -> None:
    exported = command(site, tmp_path, "export", "debate").out
    assert json.loads(exported)["provider"].startswith("manyheads.hosts.autogen")
    head = f"import asyncio, json\nfrom manyheads.config import RunConfig\ncomponent, claim = {exported!r}, {CLAIM!r}\n"
    ours = Path(str(__import__("manyheads").__file__)).parents[1]
    said = run_python("-c", head + NATIVE[host], path=[site, ours], folder=tmp_path)
    assert said.startswith("Debate")
    assert CLAIM in said
    assert "Verdict" in said


def test_its_suite_runs_with_a_claim_in_a_file(site: Path, tmp_path: Path) -> None:
    done = command(site, tmp_path, "eval", "debates")
    assert done.code == 0, done
    results = [result_of(path.parent) for path in tmp_path.glob("runs/eval-debates/cells/*/result.json")]
    claims = sorted(result["result"]["claim"] for result in results)
    assert claims == ["Light needs a medium to travel through."] * 2 + [CLAIM] * 2
    assert "ruling.confidence" in (tmp_path / "runs/eval-debates/report.md").read_text(encoding="utf-8")


def test_a_run_that_a_budget_stops_goes_on(site: Path, run: Path, tmp_path: Path) -> None:
    asked = ("run", "debate", "--claim", CLAIM, "--out", "run")
    stopped = command(site, tmp_path, *asked, "--set", "budget.calls=3")
    assert "budget.calls" in stopped.message
    so_far = result_of(tmp_path / "run")
    assert not so_far["finished"]
    assert len(so_far["result"]["arguments"]) == 3
    assert command(site, tmp_path, "resume", "run", "--set", f"budget.calls={CALLS}").code == 0
    assert result_of(tmp_path / "run")["result"] == result_of(run)["result"]


def test_a_run_that_was_killed_asks_nothing_twice(site: Path, tmp_path: Path) -> None:
    with LLM(delay=0.1) as llm:
        asked = ("run", "debate", "--claim", CLAIM, *served_by(llm), "--out", "run")
        with start(*asked, cwd=tmp_path, env={"PYTHONPATH": str(site)}) as process:
            while len(llm.requests) < 3 and process.poll() is None:
                pass
            process.send_signal(signal.SIGKILL)
            assert finish(process).code == -signal.SIGKILL
        assert command(site, tmp_path, "resume", "run").code == 0
        points = [request.asking for request in llm.requests]
    assert len(points) <= CALLS + 1, "the question that was under way, no other"
    assert len(set(points)) == CALLS
    result: Any = result_of(tmp_path / "run")["result"]
    assert len(result["arguments"]) == CALLS - 1
