"""The discussion as the report tells it."""

from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest

from manyheads.core import AnyEvent, Invited, Judged, Said, ToolCall, Usage, Warned
from manyheads.report.folder import Record, read_run
from manyheads.report.talk import guests, rounds

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
    return Record(folder=Path("run"), events=events)


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


def test_the_same_guest_may_be_heard_twice() -> None:
    told = guests(record(ADVICE, INVITED, ADVICE, INVITED), "topic")
    assert [(line.text, line.question) for _, line in told] == [("Measure first.", "Where to start?")] * 2


def test_events_of_no_turn_stay_with_the_turn_under_way() -> None:
    warned = Warned(stage="topic", message="slow")
    tie = Judged(stage="topic", subject="tie", outcome="Measures")
    (held,) = rounds(record(REMARK, warned, tie, REMARK), "topic")
    assert [line.kind for line in held.lines] == ["said", "judged", "said"]


def test_a_remark_is_told_apart_from_the_topic_it_favours() -> None:
    (held,) = rounds(record(REMARK), "topic")
    assert (held.lines[0].text, held.lines[0].favours) == ("Let us measure.", "Measures")


def test_summaries_stand_by_themselves(run: Callable[..., Path]) -> None:
    held = rounds(read_run(run()), "topic")
    assert [one.turn for one in held] == [1, 2]
    assert all(one.summary and one.summary.speaker == "Scientist17" for one in held)
    assert held[1].lines[-2].note == "3 of 4 agree"
