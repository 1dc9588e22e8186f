"""A person plays a role or steers: the same on all hosts, recorded, never asked twice, and never made up."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

import manyheads
from manyheads.base.errors import ChangedError, ConfigError, ModelError, ReplyError
from manyheads.core.events import Said, Waiting
from manyheads.core.results import RunResult
from support.command import SMALL, manyheads_command, served_by
from support.faults import Fault
from support.hosts import EACH
from support.llm import LLM
from support.native import small
from support.person import Scripted
from support.suites import write_suite

ME = {"models": {"me": {"provider": "human"}}, "roles": {"leader": {"model": "me"}}}


def run(config: Any, folder: Path, person: Scripted | None, *sets: str) -> tuple[RunResult[Any], list[Any]]:
    events = list[Any]()
    return asyncio.run(
        manyheads.run(config, *sets, out=folder, listener=events.append, person=person)
    ), events


@pytest.mark.parametrize("host", EACH)
def test_a_person_leads_the_team(tmp_path: Path, llm: LLM, host: str) -> None:
    topic = {"rationale": "I like owls.", "topic": "Owls that plan"}
    person = Scripted(settle=[topic])
    result, events = run(small("virsci", llm, host=host, **ME), tmp_path, person)
    assert result.result.topic.topic == "Owls that plan"
    [waiting] = [event for event in events if isinstance(event, Waiting) and event.task == "settle"]
    assert "```json" not in waiting.text
    assert not re.search(r"^</?\w+>$", waiting.text, re.MULTILINE)  # the lines around quoted texts
    assert waiting.form["required"] == ["topic", "rationale"]  # reasons come last
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


class KilledError(Exception):
    """The process ends."""


def test_a_killed_run_asks_again_and_never_twice(tmp_path: Path, llm: LLM) -> None:
    def die(request: Waiting) -> Any:
        raise KilledError

    config = small("virsci", llm, steer=["topic", "abstract"])
    first = Scripted(steer=[{"action": "back", "remark": "Again."}, {"action": "edit"}], edit=[die])
    with pytest.raises(KilledError):
        run(config, tmp_path, first)
    [folder] = tmp_path.iterdir()
    asked = llm.calls
    second = Scripted(steer=[{"action": "accept"}], edit=[{"topic": "Owls"}])
    result, events = run(folder, tmp_path, second)
    assert [request.task for request in second.requests] == ["edit", "steer"]
    assert second.requests[0].request == first.requests[-1].request
    assert [word.action for word in result.people] == ["back", "edit", "edit", "accept"]
    assert result.result.topic.topic == "Owls"
    assert len([event for event in events if isinstance(event, Waiting)]) == 2
    before = llm.calls
    assert before > asked
    nobody = Scripted(steer=[die], edit=[die])
    again, _ = run(folder, tmp_path, nobody)
    assert (llm.calls, nobody.requests) == (before, [])
    assert again == result


def test_another_steering_is_another_course(tmp_path: Path, llm: LLM) -> None:
    llm.faults.append(Fault("status", when=lambda request: request.title == "Vote", status=403))
    with pytest.raises(ModelError):
        run(small("virsci", llm, steer=["topic"]), tmp_path, Scripted())
    [folder] = tmp_path.iterdir()
    llm.faults.clear()
    with pytest.raises(ChangedError, match="steer"):
        run(folder, tmp_path, Scripted(), "steer=[topic,abstract]")


@pytest.mark.slow
def test_the_time_of_a_person_is_not_budgeted(tmp_path: Path, llm: LLM) -> None:
    class Slow(Scripted):
        async def answer(self, request: Waiting) -> Any:
            await asyncio.sleep(5)
            return await super().answer(request)

    result, _ = run(small("virsci", llm, steer="topic", budget={"seconds": 4}), tmp_path, Slow())
    assert result.finished


def test_a_persons_answers_cost_nothing(tmp_path: Path) -> None:
    limits = {"calls": 1, "tokens": 1, "money": 0.01}
    everybody = small("virsci", models={"default": {"provider": "human"}}, budget=limits)
    result, _ = run(everybody, tmp_path, Scripted())
    assert (result.usage.calls, result.usage.cost, result.cost) == (0, None, None)
    assert not result.written_by_language_model
    assert not result.offline


def test_a_suite_refuses_people_before_anything_is_paid(tmp_path: Path, llm: LLM) -> None:
    suite = write_suite(
        tmp_path, "mine", set={"embedding": "lexical", "steer": ["topic"]}, grid={"team.size": [2]}
    )
    done = manyheads_command("eval", suite, "--out", "out", *served_by(llm), cwd=tmp_path)
    assert "a person steers" in done.message
    done = manyheads_command("run", "virsci", "--steer", "topic", *served_by(llm), cwd=tmp_path)
    assert "--control" in done.message
    (tmp_path / "owls.md").write_text("# Owls\n\nWe plan with owls.\n")
    done = manyheads_command("review", "owls.md", "owls.md", "--model", "human/me", cwd=tmp_path)
    assert "is a person" in done.message
    assert not llm.requests
    assert not list(tmp_path.rglob("journal.sqlite"))


@pytest.mark.slow
def test_check_and_estimate_need_nobody(tmp_path: Path) -> None:
    me = ("--set", "models.me.provider=human", "--set", "roles.leader.model=me", "--steer", "all", *SMALL)
    done = manyheads_command("check", "virsci", *me[:4], "--set", "steer=all", "--ping", cwd=tmp_path)
    assert done.code == 0
    assert "human/me: a person answers" in done.out
    plain = manyheads_command("run", "virsci", *SMALL, "--estimate", "--json", cwd=tmp_path)
    done = manyheads_command("run", "virsci", *me, "--estimate", "--json", cwd=tmp_path)
    assert json.loads(done.out)["total"]["calls"] < json.loads(plain.out)["total"]["calls"]


def test_an_answer_survives_a_server_that_is_gone(tmp_path: Path, llm: LLM) -> None:
    """A run whose model cannot be asked leaves no folder, but not where a person has answered."""
    llm.faults.append(Fault("status", status=403))
    config = small("virsci", llm, models={**ME["models"]}, roles={"scientist": {"model": "me"}})
    with pytest.raises(ModelError):
        run(config, tmp_path, Scripted(join=[{"reasoning": "Yes.", "accept": True}]))
    assert list(tmp_path.rglob("journal.sqlite"))
