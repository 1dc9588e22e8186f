"""Names, places, streams of events and concurrent calls."""

import asyncio
import re
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from manyheads.base.errors import BudgetError, ModelError, UserError
from manyheads.core import Ordinals, Usage, led, safe_name, together
from manyheads.core.events import (
    AnyEvent,
    Asked,
    Emit,
    Judged,
    Recruited,
    Result,
    Stage,
    Voted,
    Warned,
    stream,
    words,
)


@given(st.text())
@example("1" * 80)
@example("é" * 80)
@example("area-chair")
@example("Łukasz Müller 3rd")
@example("王")
@example("a" * 63 + " b")
def test_safe_names_suit_both_hosts_and_openai(name: str) -> None:
    safe = safe_name(name)
    assert safe.isidentifier()
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", safe)
    assert safe_name(safe) == safe


def test_names_that_are_safe_stay() -> None:
    assert safe_name("Scientist17") == "Scientist17"
    assert safe_name("area-chair of 2") == "area_chair_of_2"
    assert safe_name("a" * 64) == "a" * 64


def test_names_that_are_not_safe_can_still_be_read() -> None:
    assert re.fullmatch(r"Zoe_Quinn_[0-9a-f]{8}", safe_name("Zoë Quinn"))
    assert re.fullmatch(r"agent_[0-9a-f]{8}", safe_name("王伟"))
    assert re.fullmatch(r"a{55}_[0-9a-f]{8}", safe_name("a" * 65))


@given(st.text(), st.text())
@example("王伟", "李")
@example("a" * 64 + "b", "a" * 64 + "c")
@example("Zoe Quinn", "Zoë Quinn")
@example("3rd", "agent 3rd")
@example("!", "agent")
def test_names_of_other_words_stay_apart(one: str, other: str) -> None:
    assume(re.findall(r"[^\W_]+", one) != re.findall(r"[^\W_]+", other))
    assert safe_name(one) != safe_name(other)


def test_places_say_where_and_count_what_is_asked_again() -> None:
    ordinals = Ordinals()
    first, again = (ordinals.place("topic", 2, "Scientist1", "topic") for _ in range(2))
    other = ordinals.place("topic", 2, "Scientist2", "topic")
    assert str(first) == "topic, turn 2, Scientist1: topic"
    assert str(again) == "topic, turn 2, Scientist1: topic (again, 1)"
    assert len({first, again, other}) == 3
    assert Ordinals().place("topic", 2, "Scientist1", "topic") == first


def test_an_unknown_cost_is_not_taken_for_zero() -> None:
    assert (Usage(cost=1.0) + Usage(cost=0.5)).cost == 1.5
    assert (Usage(cost=1.0) + Usage()).cost == 1.0
    assert (Usage() + Usage()).cost is None


def note(text: str) -> Warned:
    return Warned(message=text)


async def test_events_come_in_order_and_the_result_last() -> None:
    async def work(emit: Emit) -> Mapping[str, Any]:
        emit(note("one"))
        await asyncio.sleep(0)
        emit(note("two"))
        emit(note("three"))
        return {"done": True}

    events = [event async for some in stream(work) for event in some]
    assert events == [note("one"), note("two"), note("three"), Result(data={"done": True})]


async def test_events_of_one_moment_come_together() -> None:
    async def work(emit: Emit) -> Mapping[str, Any]:
        emit(note("one"))
        emit(note("two"))
        await asyncio.sleep(0.01)
        emit(note("three"))
        return {}

    moments = [some async for some in stream(work)]
    assert moments == [[note("one"), note("two")], [note("three")], [Result(data={})]]


async def test_events_come_as_they_happen() -> None:
    go_on = asyncio.Event()

    async def work(emit: Emit) -> Mapping[str, Any]:
        emit(note("waiting"))
        await go_on.wait()
        return {}

    async with aclosing(stream(work)) as events:
        assert await anext(events) == [note("waiting")]
        go_on.set()
        assert await anext(events) == [Result(data={})]


async def test_an_error_comes_out_unchanged_after_what_was_said() -> None:
    error = ModelError("gone", hint="start it")

    async def work(emit: Emit) -> Mapping[str, Any]:
        emit(note("before"))
        raise error

    seen: list[AnyEvent] = []

    async def read() -> None:
        async for some in stream(work):
            seen.extend(some)

    with pytest.raises(ModelError) as caught:
        await read()
    assert caught.value is error
    assert seen == [note("before")]


async def test_closing_cancels_the_work_and_waits_for_its_end() -> None:
    ended: list[str] = []

    async def work(emit: Emit) -> Mapping[str, Any]:
        emit(note("begun"))
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            ended.append("cleaned up")
        return {}

    async with aclosing(stream(work)) as events:
        await anext(events)
    assert ended == ["cleaned up"]


async def test_together_runs_at_once_and_keeps_order() -> None:
    both = asyncio.Barrier(3)

    async def call(value: int) -> int:
        await asyncio.wait_for(both.wait(), 1)
        await asyncio.sleep(0.01 * (3 - value))
        return value

    assert await together(*(call(value) for value in range(3))) == [0, 1, 2]
    assert await together() == []


@pytest.mark.parametrize(("batch", "most"), [(False, 2), (True, 3)])
async def test_one_call_is_ahead_of_the_others_but_not_in_batches(batch: bool, most: int) -> None:
    running, seen = 0, list[int]()

    async def call(value: int) -> int:
        nonlocal running
        running += 1
        await asyncio.sleep(0.01)
        seen.append(running)
        running -= 1
        return value

    assert await led(call, [0], [1, 2], batch=batch) == [0, 1, 2]
    assert max(seen) == most


async def test_together_cancels_the_rest_on_a_fault_and_raises_it_bare() -> None:
    ended: list[str] = []

    async def fails() -> None:
        await asyncio.sleep(0)
        raise RuntimeError("gone")

    async def long() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")

    with pytest.raises(RuntimeError, match="gone"):
        await together(long(), fails(), long())
    assert ended == ["cancelled"] * 2


async def test_together_that_is_cancelled_lets_each_call_clean_up() -> None:
    ended: list[str] = []

    async def quick() -> None:
        await asyncio.sleep(60)

    async def long() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            ended.append("cleaned up")

    both = asyncio.ensure_future(together(long(), quick()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    both.cancel()
    with pytest.raises(asyncio.CancelledError):
        await both
    assert ended == ["cleaned up"]


@pytest.mark.parametrize("error", [BudgetError("spent"), ModelError("gone")], ids=["budget", "model"])
async def test_together_lets_what_is_asked_end_where_a_user_can_mend_it(error: UserError) -> None:
    ended: list[str] = []

    async def refused() -> None:
        raise error

    async def asked() -> None:
        await asyncio.sleep(0.01)
        ended.append("answered")

    with pytest.raises(type(error), match=error.message):
        await together(asked(), refused(), asked())
    assert ended == ["answered"] * 2


def test_an_event_is_words() -> None:
    joins = Recruited(candidate="Scientist4", accepted=True, reasoning="A close fit.")
    assert words(joins) == ("Scientist4", "joins", "A close fit.")
    assert words(Stage(title="Vote", number=4, total=5)) == ("", "4/5 Vote", "")
    assert words(Voted(voter="Scientist4", choice=2, reasoning="")) == ("Scientist4", "votes for idea 2", "")
    assert words(Judged(subject="consensus", outcome="reached")) == ("consensus", "reached", "")
    assert words(Asked(speaker="Scientist4", task="vote")) is words(Result(data={})) is None
