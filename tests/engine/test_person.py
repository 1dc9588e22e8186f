"""A person plays a role or steers: the same on all hosts, recorded, never asked twice, and never made up."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import manyheads
from manyheads.core.events import Said, Waiting
from manyheads.core.results import RunResult
from manyheads.errors import ConfigError, ReplyError
from support.hosts import HOSTS
from support.llm import LLM
from support.native import small
from support.person import Scripted

ME = {"models": {"me": {"provider": "human"}}, "roles": {"leader": {"model": "me"}}}


@pytest.fixture
def llm() -> Iterable[LLM]:
    with LLM() as server:
        yield server


def run(config: Any, folder: Path, person: Scripted | None, *sets: str) -> tuple[RunResult[Any], list[Any]]:
    events = list[Any]()
    return asyncio.run(
        manyheads.run(config, *sets, out=folder, listener=events.append, person=person)
    ), events


@pytest.mark.parametrize("host", HOSTS)
def test_a_person_leads_the_team(tmp_path: Path, llm: LLM, host: str) -> None:
    topic = {"rationale": "I like owls.", "topic": "Owls that plan"}
    person = Scripted(settle=[topic])
    result, events = run(small("virsci", llm, host=host, **ME), tmp_path, person)
    assert result.result.topic.topic == "Owls that plan"
    [waiting] = [event for event in events if isinstance(event, Waiting) and event.task == "settle"]
    assert "```json" not in waiting.text
    assert waiting.form["required"] == ["rationale", "topic"]
    [said] = [event for event in events if isinstance(event, Said) and event.task == "settle"]
    assert (said.model, said.part, said.usage.calls, said.data) == ("human/me", "leader", 0, topic)
    mine = [word for word in result.people if word.task == "settle"]
    assert [(word.action, word.by) for word in mine] == [("reply", "human/me")]
    asked = {request.system for request in llm.requests}
    assert not any("leads a small research team" in system for system in asked)


def test_an_invalid_answer_is_asked_for_again_with_the_reason(tmp_path: Path, llm: LLM) -> None:
    right = {"rationale": "I like owls.", "topic": "Owls"}
    bad = [{}, {**right, "topic": " \u202e\n"}, {**right, "topic": "x" * 20_001}, ["topic"], None]
    person = Scripted(settle=[*bad, {**right, "topic": "Owls\x1b[31m\u202e that\r\nplan"}])
    result, _ = run(small("virsci", llm, **ME), tmp_path, person)
    problems = [request.problem for request in person.asked("settle")]
    assert len(problems) == 6
    for problem, word in zip(problems, ("", "rationale", "empty", "20,000", "form", "form"), strict=True):
        assert word in problem
    assert len({request.request for request in person.requests}) == len(person.requests)
    assert result.result.topic.topic == "Owls [31m  that\nplan"


def test_a_person_who_never_answers_fails_the_turn(tmp_path: Path, llm: LLM) -> None:
    with pytest.raises(ReplyError, match="no valid answer"):
        run(small("virsci", llm, **ME), tmp_path, Scripted(settle=[{}]))


def test_nobody_is_there(tmp_path: Path, llm: LLM) -> None:
    for config in (small("virsci", llm, **ME), small("virsci", llm, steer=["topic"])):
        with pytest.raises(ConfigError, match="nobody can answer"):
            run(config, tmp_path, None)
    assert not llm.requests
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
