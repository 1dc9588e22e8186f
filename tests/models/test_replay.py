"""The replay model answers from a recorded journal."""

from itertools import count, cycle
from pathlib import Path
from typing import Any

import pytest

from manyheads.asking.forms import form
from manyheads.base.errors import JournalError, ModelError
from manyheads.config import ModelConfig, RunConfig
from manyheads.core import Message, Place
from manyheads.core.events import Result
from manyheads.engine.replay import ReplayModel
from manyheads.engine.session import Session
from manyheads.hosts import host_factory
from manyheads.systems.virsci.replies import Vote
from support.llm import LLM
from support.play import config_for, play
from support.requests import Request

HOSTS = ("agentscope", "autogen")
INVITES = ("turns=1", "turns.novelty=2", "topic=T", "invitation.enabled=true")


async def replayed(config: RunConfig, host: str, folder: Path, again: Path, *, tools: bool = False) -> Any:
    """The result of a config's run on a host whose model answers from a run's folder."""
    model = ModelConfig(provider="replay", name=str(folder), tools=tools)
    config = config.model_copy(update={"host": host, "models": {"default": model}})
    events = [event async for event in Session(config, again).events(host_factory(host))]
    assert isinstance(events[-1], Result)
    data = events[-1].data
    return {**data, **data["result"], "models": None, "host": None, "made_by": None}


def never_alike(llm: LLM) -> None:
    """Have each answer differ, also to a question that was answered before."""
    numbers, guests, choices = count(), cycle(("Scientist9", "Scientist8", None)), cycle((1, 2, 3, 3))

    def seed(request: Request) -> str:
        return f"{request.seed}{next(numbers)}"

    def guest(request: Request) -> str | None:
        return next(guests)

    def choice(request: Request) -> int:
        return next(choices)

    llm.seed = seed
    llm.answers |= {"choice": choice, "invite": guest, "question": "Why?"}


@pytest.mark.slow
async def test_votes_cast_at_once_and_guests_are_replayed_without_a_server(tmp_path: Path):
    with LLM(delay=0.01) as llm:
        never_alike(llm)
        config = config_for(llm, *INVITES)
        played = await play(config, tmp_path / "first", llm)
    assert len({guest["stage"] for guest in played.result["guests"]}) > 1
    again = await replayed(config, "agentscope", tmp_path / "first", tmp_path / "again")
    assert again == {**played.result, "models": None, "host": None, "made_by": None}


@pytest.mark.slow
async def test_tool_calls_are_replayed_too(tmp_path: Path):
    def wish(request: Request) -> dict[str, str]:
        number = next(numbers)
        return {"name": f"Scientist{5 + number % 15}", "question": f"Why {number}?"}

    numbers = count()
    calls = [("find_scientists", {"interest": "robots"}), ("invite_scientist", wish)]
    with LLM(tool_calls=calls, delay=0.01) as llm:
        never_alike(llm)
        config = config_for(llm, *INVITES, "models.default.tools=true")
        played = await play(config, tmp_path / "first", llm)
    assert played.result["guests"]
    for host in HOSTS:
        again = await replayed(config, host, tmp_path / "first", tmp_path / host, tools=True)
        assert again == {**played.result, "models": None, "host": None, "made_by": None}


def recorded(place: Place, text: str, said: str) -> tuple[Place, dict[str, Any], dict[str, Any]]:
    reply: dict[str, Any] = {"text": text, "model": "m", "usage": {}, "tool_calls": []}
    return place, {"system": "system", "thread": [{"sender": "user", "text": said}]}, reply


async def test_where_no_place_is_known_turns_are_answered_in_order():
    places = [Place("novelty", turn, "S", "vote", ordinal) for turn, ordinal in ((2, 0), (1, 1), (1, 0))]
    model = ReplayModel([recorded(place, str(place), "Q") for place in places])
    answers = [(await model.complete("system", [Message("Q")])).text for _ in places]
    assert answers == [str(place) for place in reversed(places)]


async def test_the_whole_thread_counts_but_not_form_and_passage():
    model = ReplayModel([recorded(Place("idea", 1, "S", "idea"), "yes", "Q\n")])
    asked = Message(f"Q\n\n{form(Vote)}")
    for longer in ([Message("P"), asked], [asked, Message("no", "assistant"), Message("Again.")]):
        with pytest.raises(ModelError):
            await model.complete("system", longer)
    behind = Message(f"Q\n\nA passage from the bank.\n\n{form(Vote)}")
    assert (await model.complete("system", [behind])).text == "yes"


async def test_a_question_that_was_never_asked_is_no_answer():
    with pytest.raises(ModelError, match="no reply"):
        await ReplayModel([]).complete("system", [Message("What?")])


def test_a_folder_without_a_journal_is_refused(tmp_path: Path):
    with pytest.raises(JournalError, match="no readable journal"):
        ReplayModel.from_run(str(tmp_path))
