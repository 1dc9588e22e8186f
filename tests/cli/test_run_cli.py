"""`manyheads run` as users run it, in a folder of its own."""

import base64
import gc
from pathlib import Path
from typing import Any

import pytest
import yaml

from manyheads.asking.forms import FENCE
from support.command import SMALL, Done, manyheads_command, result_of, served_by
from support.faults import Fault
from support.hosts import BOTH
from support.llm import LLM

FILES = {"config.yaml", "journal.sqlite", "events.jsonl", "result.json", "report.html"}
KEYS = {"team", "topic", "ideas", "votes", "idea", "abstract", "usage", "warnings"}
SECRET = "sk-not-to-be-found-anywhere"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.mark.parametrize("host", BOTH)
def test_a_run_leaves_a_folder_that_can_be_read(host: str, home: Path) -> None:
    done = manyheads_command("run", "virsci", "--host", host, *SMALL, "--out", host, cwd=home)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Run       {host}\n")
    assert done.out.rstrip().endswith(f"Report    {host}/report.html")
    assert "not by a language model" in done.out
    assert {file.name for file in (home / host).iterdir()} == FILES
    result = result_of(home / host)
    assert result.keys() >= KEYS
    assert len(result["team"]) == 3
    assert result["warnings"] == []
    assert result["written_by_language_model"] is False


@pytest.mark.parametrize(
    "command", [("roles", "reviewer"), pytest.param(("run", "virsci", *SMALL), marks=pytest.mark.slow)]
)
def test_a_command_looks_for_garbage_once_it_has_begun(command: tuple[str, ...], tmp_path: Path) -> None:
    before = gc.get_threshold()
    gc.disable()  # as the program does
    gc.set_threshold(700)
    try:
        assert manyheads_command(*command, cwd=tmp_path).code == 0
        assert gc.isenabled()
        assert gc.get_threshold()[0] > 700
    finally:
        gc.set_threshold(*before)
        gc.enable()


def test_json_lines_a_seed_and_a_fixed_topic(home: Path) -> None:
    topic = 'Robust retrieval: {for} "robots" # really'
    flags = (*SMALL, "--seed", "9", "--topic", topic)
    done = manyheads_command("run", "virsci", *flags, "--json", cwd=home)
    assert (done.code, done.err) == (0, "")
    events = done.events
    assert events[0]["kind"] == "began"
    assert "topic" not in {event["stage"] for event in events}
    result: dict[str, Any] = {**events[-1]["data"], **events[-1]["data"]["result"]}
    [folder] = (home / "runs").glob("*/")
    assert result == result_of(folder)
    assert folder.name.endswith("-virsci")
    assert result["topic"] == {"topic": topic, "rationale": None, "fixed": True}
    assert result["seed"] == 9


@pytest.fixture
def served(tmp_path: Path, llm: LLM) -> Done:
    """A run on a model server with a key, two turns a stage but one of ideas, and a prompt of the user's."""
    exported = manyheads_command("prompts", "export", "mine", "scientist/idea", cwd=tmp_path)
    assert exported.code == 0
    assert "--path mine" in exported.out
    prompt = tmp_path / "mine" / "prompts" / "scientist" / "idea.md.j2"
    prompt.write_text("# An idea, our way\n\nSpeak of owls.\n\n" + prompt.read_text(encoding="utf-8"))
    turns = ("--set", "team.size=2", "--set", "turns=2", "--set", "turns.idea=1")
    model = (*served_by(llm), "--set", "embedding=lexical")
    command = ("run", "virsci", *turns, *model, "--path", "mine", "--out", "run")
    return manyheads_command(*command, cwd=tmp_path, env={"OPENAI_API_KEY": SECRET})


def test_a_run_on_a_model_server(served: Done, llm: LLM, tmp_path: Path) -> None:
    assert (served.code, served.err) == (0, "")
    result = result_of(tmp_path / "run")
    assert result["written_by_language_model"] is True
    assert result["turns"] == {"topic": 2, "idea": 1, "novelty": 2, "abstract": 2}
    assert result["usage"]["calls"] == llm.calls
    assert all(FENCE.search(request.asking) for request in llm.requests)
    assert all(bool(request.form) is not bool(request.tools) for request in llm.requests), "never both"
    ours = [request for request in llm.requests if "Speak of owls." in request.asking]
    assert [request.title for request in ours] == ["Idea"] * 2
    assert {request.headers["authorization"] for request in llm.requests} == {f"Bearer {SECRET}"}
    kept = [path for path in (tmp_path / "run").iterdir() if SECRET.encode() in path.read_bytes()]
    assert kept == []


@pytest.mark.parametrize(
    ("host", "wire"),
    [
        ("agentscope", "openai"),
        pytest.param("autogen", "anthropic", marks=pytest.mark.slow),
        pytest.param("agentscope", "ollama", marks=pytest.mark.slow),
    ],
)
def test_a_login_from_the_environment_is_sent_and_kept_nowhere(
    host: str, wire: str, llm: LLM, tmp_path: Path
) -> None:
    login = "reader:owls-at-night"
    basic = base64.b64encode(login.encode()).decode()
    address = (llm.base_url if wire == "openai" else llm.url).replace("//", "//${MANYHEADS_LOGIN}@")
    # Tried again with a warning, whose words hold what the server says of the request.
    llm.faults.append(Fault("status", status=503, times=1, message=f"{login} ({basic}) must wait"))
    config: dict[str, Any] = {
        "host": host,
        "models": {"default": {"provider": wire, "name": "m", "base_url": address, "retries": 1}},
        "review": {"repeats": 1},
        "inputs": {"subject": "paper.md"},
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"system": "conference-review", **config}))
    (tmp_path / "paper.md").write_text("# Owls\n\nWe plan with owls.", encoding="utf-8")
    environment = {"MANYHEADS_LOGIN": login, "ANTHROPIC_API_KEY": SECRET}
    done = manyheads_command("run", "config.yaml", "--out", "run", cwd=tmp_path, env=environment)
    assert done.code == 0, done.err
    assert {request.headers["authorization"] for request in llm.requests} == {f"Basic {basic}"}
    assert result_of(tmp_path / "run")["warnings"]
    for secret in (login, "owls-at-night", basic, SECRET):
        assert secret not in done.out + done.err
        kept = [path for path in (tmp_path / "run").iterdir() if secret.encode() in path.read_bytes()]
        assert kept == []
    assert "${MANYHEADS_LOGIN}@" in (tmp_path / "run" / "config.yaml").read_text(encoding="utf-8")
    llm.faults.append(Fault("status", status=401, times=None, message=f"{login} ({basic}) is wrong"))
    refused = manyheads_command("run", "config.yaml", "--out", "refused", cwd=tmp_path, env=environment)
    assert "the key is refused" in refused.message
    assert not any(secret in refused.message for secret in ("owls-at-night", basic, SECRET))


@pytest.mark.slow
def test_references_may_come_from_the_literature_database(home: Path) -> None:
    sets = "--set literature.references=inspirations --set literature.retrieval.semantic=9"
    flags = (*SMALL, *sets.split())
    done = manyheads_command("run", "virsci", *flags, "--out", "inspired", cwd=home)
    assert done.code == 0
    result = result_of(home / "inspired")
    found = [each for paper in result["evidence"] for each in paper["retrievals"]]
    assert {"semantic", "entity"} <= {each["channel"] for each in found}
    assert all(each["reason"] and each["query"] and each["stage"] for each in found)
    assert {len(idea["references"]) for idea in result["ideas"]} == {5}
    assert any("co-citation is off" in warning for warning in result["warnings"])
