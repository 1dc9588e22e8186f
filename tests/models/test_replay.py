"""The replay model answers from a recorded journal."""

from pathlib import Path

import pytest

from manyheads.core import Message, Result
from manyheads.errors import JournalError, ModelError
from manyheads.hosts import host_factory
from manyheads.models.replay import ReplayModel
from manyheads.session import Session
from support.llm import LLM
from support.play import config_for, play


@pytest.mark.parametrize("host", ["agentscope", "autogen"])
async def test_a_run_is_replayed_on_either_host_without_a_server(host: str, tmp_path: Path):
    sets = ("turns=1", "topic=T", "invitation.enabled=true")
    with LLM() as llm:
        played = await play(config_for(llm, *sets), tmp_path / "first", llm)
        model = f"models.default={{provider: replay, name: {tmp_path / 'first'}}}"
        config = config_for(llm, *sets, f"host={host}").model_copy(
            update={"models": config_for(llm, model).models}
        )
    events = [event async for event in Session(config, tmp_path / "again").events(host_factory(host))]
    last = events[-1]
    assert isinstance(last, Result)
    assert {**last.data, "models": None} == {**played.result, "models": None}


async def test_tool_calls_are_replayed_too(tmp_path: Path):
    sets = ("turns=1", "topic=T", "invitation.enabled=true", "team.leader=Scientist1")
    with LLM(tool_calls=[("invite_scientist", {"name": "Scientist9", "question": "Where?"})]) as llm:
        played = await play(config_for(llm, *sets, "models.default.tools=true"), tmp_path / "first", llm)
        config = config_for(llm, *sets)
    replay = config_for(
        llm, f"models.default={{provider: replay, name: {tmp_path / 'first'}, tools: true}}"
    ).models
    config = config.model_copy(update={"models": replay})
    events = [event async for event in Session(config, tmp_path / "again").events(host_factory("agentscope"))]
    last = events[-1]
    assert isinstance(last, Result)
    assert last.data["guests"] == played.result["guests"] != []


async def test_a_question_that_was_never_asked_is_no_answer():
    with pytest.raises(ModelError, match="no reply to this question"):
        await ReplayModel([]).complete("system", [Message("What?")])


def test_a_folder_without_a_journal_is_refused(tmp_path: Path):
    with pytest.raises(JournalError, match="no readable journal"):
        ReplayModel.from_run(str(tmp_path))
