"""What requests share at their beginnings: the count of `make prompts`."""

from typing import Any

from bench.prefixes import FLOOR, LETTERS, STEP, counted
from support.requests import Request
from support.wires import Answer

LONG = "word " * FLOOR


def request(at: float, *said: str, **front: Any) -> Answer:
    messages = [{"role": "user", "content": text} for text in said]
    return Answer("", Request("/v1/chat/completions", {}, {"messages": messages, **front}, at))


def repeated(*answers: Answer) -> list[int]:
    return [each.repeated for each in counted(answers, delay=1)]


def test_what_repeats_an_answered_request_counts_from_1024_tokens_on_in_steps_of_128() -> None:
    short = "word " * (FLOOR * LETTERS // 5 - 10)
    assert repeated(request(0, short), request(2, short)) == [0, 0]
    first, second = repeated(request(0, LONG + "a"), request(2, LONG + "b"))
    assert first == 0
    assert (second - FLOOR) % STEP == 0
    assert len(LONG) // LETTERS - STEP < second <= len(LONG) // LETTERS + STEP
    assert repeated(request(0, LONG), request(0.5, LONG), request(2, LONG))[1:] == [0, second]


def test_what_differs_in_front_leaves_nothing_to_repeat() -> None:
    for front in ({"response_format": {"maximum": 2}}, {"tools": [{"name": "look"}]}):
        assert repeated(request(0, LONG), request(2, LONG, **front)) == [0, 0]
    assert repeated(request(0, f"You are Ada.{LONG}"), request(2, f"You are Bob.{LONG}")) == [0, 0]
