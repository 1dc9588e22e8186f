"""Every system as an AutoGen team: from its JSON, in its console, in group chats."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from autogen_agentchat.base import TaskResult
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import BaseGroupChat, RoundRobinGroupChat
from autogen_core import ComponentModel

from manyheads.base.errors import UserError
from manyheads.base.resources import data_file
from manyheads.hosts.autogen import (
    ConferenceReviewTeam,
    RebuttalTeam,
    SelfReflectionTeam,
    team_of,
)
from manyheads.systems import systems
from manyheads.systems.loading import load
from schemas import component_text
from support.command import result_of
from support.llm import LLM
from support.native import ANSWERS, ASKED, PAPER, SMALL, TOPIC, small


@pytest.fixture
def llm() -> Iterator[LLM]:
    with LLM(answers=ANSWERS) as server:
        yield server


def loaded(component: ComponentModel) -> BaseGroupChat:
    """By AutoGen's own loader, as a file gives it."""
    return BaseGroupChat.load_component(json.loads(component.model_dump_json()))


def texts(found: TaskResult) -> list[TextMessage]:
    return [message for message in found.messages if isinstance(message, TextMessage)]


def only_run(out: Path) -> Path:
    [folder] = out.iterdir()
    return folder


@pytest.mark.parametrize("system", SMALL)
def test_the_shipped_json_is_fresh_and_loads_with_what_studio_reads(system: str) -> None:
    """Make all of it anew with: make schemas. Studio shows nothing if a key is missing or of another type."""
    shipped = data_file(f"configs/autogen/{system}.json").read_text(encoding="utf-8")
    assert shipped == component_text(system)
    data = json.loads(shipped)
    assert {key: type(value) for key, value in data.items()} == {
        "provider": str, "component_type": str, "version": int, "component_version": int,
        "description": str, "label": str, "config": dict,
    }  # fmt: skip
    assert data["provider"] == f"manyheads.hosts.autogen.team.{team_of(system).__name__}"
    assert data["component_type"] == "team"
    assert data["label"]
    assert data["description"]
    assert data["config"]["participants"] == []  # which Studio's builder counts
    schema = team_of(system).component_config_schema.model_json_schema()
    assert data["config"].keys() <= schema["properties"].keys()  # which Studio validates before it runs
    team: Any = BaseGroupChat.load_component(data)
    assert type(team) is team_of(system)
    assert team._participants
    assert team.config == load([system], systems()[system].component)
    assert type(team).load_component(team.dump_component()).config == team.config


async def test_what_a_team_says_can_be_sent_to_studio(tmp_path: Path) -> None:
    """Studio writes each message as JSON, and draws an arrow to a speaker by the message's source."""
    team = BaseGroupChat.load_component(
        RebuttalTeam("rebuttal", "rebuttal.max_iters=1", out=tmp_path).dump_component()
    )
    async for item in team.run_stream(task=TOPIC):
        if isinstance(item, TaskResult):
            assert item.stop_reason
            continue
        data = json.loads(item.model_dump_json())
        assert data["source"].isidentifier()
        assert all(isinstance(value, str) for value in data["metadata"].values())


GIVEN = {"ranking": [PAPER, "We plan with bats.", "We plan with moles."]}
LACKING = {
    "idea-comparison": "nothing to compare",
    "review-comparison": "nothing to compare",
    "retrieval-recall": "no paper cites",
    "planted-error": "reviews",
    "interview": "needs the input idea",
}
"""What those lack that a chat cannot give, or the sample corpus; it is said in words."""


@pytest.mark.slow
@pytest.mark.parametrize("system", SMALL)
async def test_the_shipped_json_runs_as_it_stands(tmp_path: Path, system: str) -> None:
    data = json.loads(component_text(system))
    data["config"]["out"] = str(tmp_path)
    given = GIVEN.get(system) or ([ASKED[system]] if system in ASKED else [])
    messages = [TextMessage(content=text, source="user") for text in given]
    asking = BaseGroupChat.load_component(data).run(task=messages or None)
    if problem := LACKING.get(system):
        with pytest.raises(UserError, match=problem):
            await asking
        return
    await asking
    assert result_of(only_run(tmp_path))["finished"]


def test_nothing_else_ships_as_json() -> None:
    shipped = Path(str(data_file("configs/autogen/virsci.json"))).parent
    assert sorted(path.stem for path in shipped.iterdir()) == sorted(SMALL)


async def test_it_nests_in_a_round_robin_from_json(llm: LLM, tmp_path: Path) -> None:
    team = RebuttalTeam(small("rebuttal", llm), out=tmp_path, emit="final", name="inner")
    chat = loaded(RoundRobinGroupChat([team], max_turns=1).dump_component())
    asked, last = texts(await chat.run(task=TOPIC))
    assert (asked.content, last.source) == (TOPIC, "inner")
    assert last.models_usage
    assert last.models_usage.prompt_tokens == result_of(only_run(tmp_path))["usage"]["input_tokens"]


@pytest.mark.slow
async def test_a_committee_reviews_what_a_team_has_written(llm: LLM, tmp_path: Path) -> None:
    author = SelfReflectionTeam(small("self-reflection", llm), out=tmp_path / "author", emit="final")
    committee = ConferenceReviewTeam(small("conference-review", llm), out=tmp_path / "review", emit="final")
    found = await RoundRobinGroupChat([author, committee], max_turns=2).run(task=TOPIC)
    _, written, reviewed = texts(found)
    assert author.folder
    assert committee.folder
    abstract: dict[str, Any] = result_of(author.folder)["abstract"]
    assert result_of(committee.folder)["title"] == abstract["title"]
    asked = [request.asking for request in llm.requests if request.title == "ConferenceReview"]
    assert len(asked) == 2
    for asking in asked:
        assert abstract["expected_results"] in asking
        assert TOPIC not in asking, "what the author was asked is no part of the paper"
    assert written.content.startswith(f"# {abstract['title']}\n\n**Introduction.** ")
    assert "**Overall.** " in reviewed.content
