"""The discussion as the report tells it."""

from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest

from manyheads.core import ToolCall, Usage
from manyheads.core.events import AnyEvent, Invited, Judged, Said, Warned
from manyheads.report.record import Record, read_run
from manyheads.report.talk import guests, rounds
from manyheads.systems.virsci.result import VirSciResult
from support.results import run_of

ADVICE = Said(
    stage="topic", turn=1, speaker="Scientist8", task="advise", part="guest", text="Measure first.",
    data={"advice": "Measure first."}, model="offline", usage=Usage(),
)  # fmt: skip
INVITED = Invited(stage="topic", turn=1, guest="Scientist8", by="Scientist1", question="Where to start?")
REMARK = Said(
    stage="topic", turn=1, speaker="Scientist1", task="topic", text="Let us measure.\n\nTopic I favour: Measures",
    data={"remark": "Let us measure.", "topic": "Measures"}, model="offline", usage=Usage(),
)  # fmt: skip


def record(*events: AnyEvent) -> Record:
    return Record(folder=Path("run"), result=run_of({"system": "virsci"}), events=events)


@pytest.mark.parametrize("events", list(permutations((ADVICE, INVITED, REMARK))))
def test_question_and_advice_meet_whatever_comes_first(events: tuple[AnyEvent, ...]) -> None:
    (held,) = rounds(record(*events), "topic")
    (guest,) = [line for line in held.lines if line.kind == "guest"]
    assert (guest.speaker, guest.by, guest.question, guest.text) == (
        "Scientist8", "Scientist1", "Where to start?", "Measure first.",
    )  # fmt: skip
    assert held.counts == "1 contribution, 1 guest"
    assert guests(record(*events), "topic") == [(1, guest)]


def test_advice_from_a_recorded_tool_call_is_told() -> None:
    call = ToolCall(name="invite_scientist", arguments={"name": "Scientist8"}, result="Measure first.")
    asker = REMARK.model_copy(update={"tool_calls": (call,)})
    ((_, guest),) = guests(record(asker, INVITED), "topic")
    assert guest.text == "Measure first."


def test_events_of_no_turn_stay_with_the_turn_under_way() -> None:
    warned = Warned(stage="topic", message="slow")
    tie = Judged(stage="topic", subject="tie", outcome="Measures")
    (held,) = rounds(record(REMARK, warned, tie, REMARK), "topic")
    assert [line.kind for line in held.lines] == ["said", "judged", "said"]


def test_summaries_stand_by_themselves(run: Callable[..., Path]) -> None:
    held = rounds(read_run(run(), VirSciResult), "topic")
    talk = [one for one in held if not one.title]
    assert [one.turn for one in talk] == [1, 2]
    assert all(one.summary and one.summary.speaker == "Scientist17" for one in talk)
    assert [one.counts for one in talk] == ["4 contributions, 1 guest"] * 2


def asked_of(speaker: str, **data: object) -> Said:
    return REMARK.model_copy(update={"speaker": speaker, "data": {"reasoning": "So.", **data}})


def test_what_is_asked_after_the_talk_stands_apart() -> None:
    agreed = Judged(stage="topic", turn=1, subject="consensus", outcome="1 of 2 agree")
    left = Judged(stage="topic", turn=1, subject="Scientist2", outcome="leaves")
    settled = asked_of("Scientist1", topic="Measures", rationale="It is ours.")
    again = REMARK.model_copy(update={"turn": 2})
    asked = (asked_of("Scientist1", agree=True), asked_of("Scientist2", agree=False), agreed)
    held = rounds(
        record(REMARK, *asked, again, *asked, settled, asked_of("Scientist2", stay=False), left), "topic"
    )
    assert [(one.turn, one.title, one.counts) for one in held] == [
        (1, "", "1 contribution"),
        (1, "Does the team agree?", "2 answers, 1 decision"),
        (2, "", "1 contribution"),
        (1, "Does the team agree?", "2 answers, 1 decision"),
        (1, "The topic", ""),
        (1, "Who stays?", "1 answer, 1 decision"),
    ]
    assert [line.note for line in held[1].lines] == ["agrees", "does not agree yet", "1 of 2 agree"]
    assert held[4].summary
