"""What teams and pipelines save of their runs, and what they refuse to load; which message of a chat they take."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import ConfigError, JournalError, UserError
from manyheads.config import RunConfig
from support.command import result_of
from support.faults import Fault
from support.llm import LLM
from support.native import TOPIC, Native, small

Loading = Callable[[Any], Any]
STATE = {"version": 1, "system": "single", "folder": None, "asked": [], "finished": False}


@pytest.fixture
def config(llm: LLM) -> RunConfig:
    return small("single", llm)


async def stopped(name: str, config: RunConfig, out: Path, llm: LLM) -> dict[str, Any]:
    """The state of a team whose run has failed on the way."""
    team = Native(name, config, out)
    llm.faults.append(Fault("status", None, lambda request: request.title == "Abstract", status=401))
    with pytest.raises(UserError):
        await team.run(TOPIC)
    llm.faults.clear()
    return await team.state()


async def test_a_run_goes_on_from_any_working_directory(
    llm: LLM, config: RunConfig, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    state = await stopped(name, config, Path("runs"), llm)
    (elsewhere := tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(elsewhere)
    team, before = Native(name, config, Path("runs")), llm.calls
    await team.load(state)
    folder = await team.run(None)
    assert folder.parent == tmp_path / "runs"
    assert not (elsewhere / "runs").exists()
    assert result_of(folder)["usage"]["calls"] > llm.calls - before  # what was answered is not asked again


async def test_a_folder_that_is_gone_is_no_new_run(
    llm: LLM, config: RunConfig, name: str, tmp_path: Path
) -> None:
    state = await stopped(name, config, tmp_path / "runs", llm)
    team, later = Native(name, config, tmp_path / "runs"), Native(name, config, tmp_path / "runs")
    await later.load(state)
    (tmp_path / "runs").rename(tmp_path / "away")
    before = llm.calls
    for attempt in (team.load(state), later.run(None)):
        with pytest.raises(JournalError, match=r"folder .* gone"):
            await attempt
    assert llm.calls == before
    assert not (tmp_path / "runs").exists()


async def test_a_folder_of_another_system_is_refused(
    llm: LLM, config: RunConfig, name: str, tmp_path: Path
) -> None:
    state = await stopped(name, config, tmp_path, llm)
    team = Native(name, small("rebuttal", llm), tmp_path)
    with pytest.raises(JournalError, match="single, not of rebuttal"):
        await team.load({**state, "system": "rebuttal"})


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        ({"nonsense": 1}, "version"),
        ("a text", "not a state"),
        ({**STATE, "nonsense": 1}, "nonsense: no such key"),
        ({**STATE, "finished": "perhaps"}, "finished"),
        ({**STATE, "version": 7}, "of version 7"),
        ({**STATE, "system": "rebuttal"}, "runs single, the state is of system 'rebuttal'"),
    ],
)
async def test_what_is_no_state_of_it_is_refused(
    config: RunConfig, name: str, tmp_path: Path, state: Any, problem: str
) -> None:
    team = Native(name, config, tmp_path)
    if name == "agentscope" and isinstance(state, dict) and "system" in state:
        state = {**state, "session_id": "one"}
    with pytest.raises(ConfigError, match=problem):
        await team.load(state)
    assert (await team.state())["folder"] is None


async def test_of_several_messages_the_last_is_the_topic_and_it_is_told(
    llm: LLM, config: RunConfig, name: str, tmp_path: Path
) -> None:
    team = Native(name, config, tmp_path)
    folder = await team.run(["An old topic", "Robust retrieval"])
    assert result_of(folder)["topic"]["topic"] == "Robust retrieval"
    assert "the task: the last of 2 messages, by user" in team.said


async def test_it_listens_to_whom_it_is_told_to(
    llm: LLM, config: RunConfig, name: str, tmp_path: Path
) -> None:
    team = Native(name, config, tmp_path, listens_to="chair")
    folder = await team.run({"chair": "Robust retrieval", "critic": "Let us think about owls."})
    assert result_of(folder)["topic"]["topic"] == "Robust retrieval"
    with pytest.raises(ConfigError, match="listens to 'chair'") as error:
        await team.run({"critic": "Owls"})
    assert error.value.tried == "messages by: critic"
