"""A system of another package, installed: what follows from it without a line of ours, by command, component and suite."""

import json
from pathlib import Path

import pytest

import manyheads
from manyheads.base.resources import shipped
from support.command import Done, manyheads_process, result_of
from support.hosts import HOSTS
from support.packages import build, install, run_python
from support.suites import words_of, write_suite

pytestmark = pytest.mark.slow
SOURCE = Path(manyheads.__file__).parents[1]
CLAIM = "Sleep consolidates motor memory."
ETHER = "Light needs a medium to travel through."
CALLS = 5
"""Two rounds of two sides, and the arbiter."""
ROUNDS = [(1, "for"), (1, "against"), (2, "for"), (2, "against")]
NATIVE = {
    "agent_framework": """
from manyheads.hosts.agent_framework import DebateAgent, agent_of
team = DebateAgent()
assert type(team) is agent_of("debate")
said = asyncio.run(team.run(claim)).messages[-1].text
""",
    "autogen": """
from autogen_agentchat.teams import BaseGroupChat
from manyheads.hosts.autogen import team_of
component = team_of("debate")().dump_component().model_dump_json()
team = BaseGroupChat.load_component(json.loads(component))
said = asyncio.run(team.run(task=claim)).messages[-1].content
""",
    "agentscope": """
from agentscope.console import ConsoleRenderer
from agentscope.message import UserMsg
from rich.console import Console
from manyheads.hosts.agentscope import DebatePipeline, pipeline_of
team = DebatePipeline()
assert type(team) is pipeline_of("debate")

async def reply():
    renderer = ConsoleRenderer(console=Console(quiet=True))
    async for event in team.reply_stream(UserMsg("user", claim)):
        renderer.render(event)
    return renderer.last_msg.get_text_content()

said = asyncio.run(reply())
""",
}
"""What a user of each framework writes."""
TOOL = {
    "autogen": """
from autogen_core import CancellationToken
from manyheads.hosts.autogen import service_tool
tool = service_tool("find_objection", "offline")
said = asyncio.run(tool.run_json({"claim": claim}, CancellationToken()))
arguments = tool.schema["parameters"]["properties"]
""",
    "agentscope": """
from manyheads.hosts.agentscope import service_tool
tool = service_tool("find_objection", "offline")
said = asyncio.run(tool(claim=claim)).content[0].text
arguments = tool.input_schema["properties"]
""",
}
LOAD = """
import json, sys
import manyheads
debate = manyheads.load(sys.argv[1]).result
print(json.dumps([type(debate).__module__, debate.ruling.verdict, debate.arguments[-1].side, debate.ruling.confidence]))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("debate")
    return install(build(Path(__file__).parent / "plugin_package", folder), folder / "site")


def command(site: Path, folder: Path, *arguments: str | Path) -> Done:
    return manyheads_process(*arguments, cwd=folder, env={"PYTHONPATH": str(site)})


def debated(site: Path, folder: Path, *more: str) -> Path:
    """The folder of a finished run."""
    done = command(site, folder, "run", "debate", "--claim", CLAIM, *more, "--out", "run")
    assert (done.code, done.err) == (0, "")
    assert CLAIM in done.out
    return folder / "run"


@pytest.fixture(scope="module")
def run(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return debated(site, tmp_path_factory.mktemp("run"))


def test_the_package_does_not_know_it() -> None:
    package = shipped() / "plugins" / "manyheads"
    files = [path for path in package.rglob("*") if path.suffix in (".py", ".j2", ".css", ".json", ".yaml")]
    assert len(files) > 100
    assert not [path.name for path in files if "debate" in path.read_text(encoding="utf-8").lower()]


def test_a_run_is_kept_reported_and_loaded(site: Path, run: Path) -> None:
    result = result_of(run)
    assert (result["system"], result["finished"], result["usage"]["calls"]) == ("debate", True, CALLS)
    assert result["claim"] == CLAIM
    assert [(each["round"], each["side"]) for each in result["arguments"]] == ROUNDS
    ruling = result["ruling"]
    assert ruling["verdict"] in ("holds", "fails", "open")
    assert 40 <= ruling["confidence"] <= 95, "the package's sample phrases say so"

    report = (run / "report.html").read_text(encoding="utf-8")
    assert '<h1 dir="auto">Debate</h1>' in report, "it has no template: the page is the plain one"
    assert all(text in report for text in (CLAIM, f"{ruling['verdict']}, {ruling['confidence']} % sure"))
    assert report.count('<article class="line">') == CALLS
    assert "ruling.confidence" in report

    module, *loaded = json.loads(run_python("-c", LOAD, str(run), path=[site, SOURCE], folder=run))
    assert module.startswith("manyheads_debate")
    assert loaded == [ruling["verdict"], "against", ruling["confidence"]]


@pytest.mark.parametrize("host", ["agentscope", "autogen"])
def test_a_service_of_its_is_a_tool_of_a_host(site: Path, tmp_path: Path, host: str) -> None:
    code = f"import asyncio, json\nclaim = {CLAIM!r}\n{TOOL[host]}print(json.dumps([tool.name, tool.description, arguments, said]))"
    shown = run_python("-c", code, path=[site, SOURCE], folder=tmp_path)
    name, description, arguments, said = json.loads(shown)
    assert (name, "objection" in description) == ("find_objection", True)
    assert "one sentence" in arguments["claim"]["description"]
    assert len(said.split()) > 5
    assert not list(tmp_path.iterdir()), "it leaves nothing behind"


def test_the_command_shows_its_input_and_wants_it(site: Path, tmp_path: Path) -> None:
    shown = command(site, tmp_path, "run", "debate", "--help").out
    assert all(text in shown for text in ("--claim", "TEXT|FILE", "What is argued about"))
    assert "--claim" in command(site, tmp_path, "run", "debate").message
    wrong = ("run", "debate", "--claim", CLAIM, "--set", "debate.roundz=1")
    assert "roundz" in command(site, tmp_path, *wrong).message
    assert not list(tmp_path.glob("runs/*")), "nothing was begun"


def test_check_says_whether_it_can_run(site: Path, tmp_path: Path) -> None:
    well = command(site, tmp_path, "check", "debate", "--claim", CLAIM)
    assert (well.code, "WRONG" in well.out, CLAIM in well.out) == (0, False, True)
    lacking = command(site, tmp_path, "check", "debate")
    assert (lacking.code, "--claim" in lacking.out) == (2, True)
    missing = command(site, tmp_path, "check", "debate", "--claim", "nowhere.md")
    assert (missing.code, "nowhere.md" in missing.out) == (2, True)


@pytest.mark.parametrize("host", HOSTS)
def test_a_native_component_runs_it(site: Path, run: Path, tmp_path: Path, host: str) -> None:
    program = f"import asyncio, json\nclaim = {CLAIM!r}\n{NATIVE[host]}\nprint(type(team).__name__, said)"
    said = run_python("-c", program, path=[site, SOURCE], folder=tmp_path)
    assert said.startswith("Debate")
    verdict = result_of(run)["ruling"]["verdict"]
    assert all(text in said for text in (CLAIM, "Verdict", verdict))


def test_an_exported_component_names_its_class(site: Path, tmp_path: Path) -> None:
    exported = json.loads(command(site, tmp_path, "export", "debate").out)
    assert exported["provider"] == "manyheads.hosts.autogen.team.DebateTeam"
    assert exported["config"]["config"]["debate"] == {"rounds": 2}


def test_its_suite_runs_with_a_claim_in_a_file(site: Path, tmp_path: Path) -> None:
    done = command(site, tmp_path, "eval", "debates")
    assert done.code == 0, done
    results = [result_of(path.parent) for path in tmp_path.glob("runs/eval-debates/cells/*/result.json")]
    assert sorted(result["claim"] for result in results) == [ETHER] * 2 + [CLAIM] * 2
    report = words_of(tmp_path / "runs/eval-debates/report.html")
    assert all(name in report for name in ("ruling.confidence", "usage.calls", "debate.rounds"))


def test_a_suite_has_it_judge_what_another_system_wrote(site: Path, tmp_path: Path) -> None:
    keys = {"turns": 1, "embedding": "lexical", "team.size": 2}
    measures = ["debate.ruling.confidence", "usage.calls"]
    suite = write_suite(
        tmp_path, "mine", measures=measures, plot=None, grid={"debate.rounds": [1, 2]}, set=keys, repeats=1
    )
    done = command(site, tmp_path, "eval", suite, "--out", "out")
    assert done.code == 0, done
    [run] = (tmp_path / "out/cells").iterdir()
    judgings = [result_of(path.parent) for path in run.glob("debate-*/result.json")]
    assert [each["claim"] for each in judgings] == [result_of(run)["abstract"]["text"]] * 2
    assert sorted(len(each["arguments"]) for each in judgings) == [2, 4]
    report = words_of(tmp_path / "out/report.html")
    assert all(f"| {number} | 1 | {each['ruling']['confidence']} |" in report
               for number, each in enumerate(sorted(judgings, key=lambda one: len(one["arguments"])), 1))  # fmt: skip


def test_a_run_that_a_budget_stops_goes_on(site: Path, run: Path, tmp_path: Path) -> None:
    asked = ("run", "debate", "--claim", CLAIM, "--out", "run")
    stopped = command(site, tmp_path, *asked, "--set", "budget.calls=3")
    assert "budget.calls" in stopped.message
    so_far = result_of(tmp_path / "run")
    assert (so_far["finished"], len(so_far["arguments"]), so_far["ruling"]) == (False, 3, None)
    report = (tmp_path / "run/report.html").read_text(encoding="utf-8")
    assert (report.count('<article class="line">'), "ruling.confidence" in report) == (3, False)
    assert command(site, tmp_path, "resume", "run", "--set", f"budget.calls={CALLS}").code == 0
    resumed, whole = result_of(tmp_path / "run"), result_of(run)
    assert resumed.pop("made_by").keys() == whole.pop("made_by").keys()
    assert resumed == whole
