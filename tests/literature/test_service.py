"""The pace that all callers of a service share, and what becomes of requests that fail."""

import asyncio
import math
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from email.utils import formatdate
from itertools import count, pairwise
from typing import Any

import httpx
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from manyheads.base.errors import LiteratureError
from manyheads.base.http import GarbledError, Limiter, OverdueError, Pace, RefusedError, limiter, seconds_of
from manyheads.literature.source import HttpService

EARLY = 0.005
"""Seconds by which a start may seem too early: a busy machine notes the one before it late."""
addresses = (f"test{number}" for number in count())


def service(
    seconds: float = 0.0, *, at_once: int | None = None, address: str = "", **settings: Any
) -> HttpService:
    """Of an address of its own, so that no test waits for another's turns."""
    given: dict[str, Any] = {"retries": 2, "patience": 5.0, "backoff": 0.01} | settings
    return HttpService(
        name="openalex", pace=Pace(seconds, at_once=at_once), address=address or next(addresses), **given
    )


def starts() -> tuple[list[float], Callable[[], Awaitable[None]]]:
    """Something to send that notes when it started."""
    at: list[float] = []

    async def send() -> None:
        at.append(time.monotonic())

    return at, send


def gaps(at: Sequence[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(sorted(at))]


@pytest.mark.slow
async def test_fifty_callers_at_once_start_one_after_the_other() -> None:
    at, send = starts()
    asked = service(0.01)
    await asyncio.gather(*(asked.call(send, "search") for _ in range(50)))
    assert len(at) == 50
    assert min(gaps(at)) >= 0.01 - EARLY
    assert at[-1] - at[0] >= 49 * 0.01 - EARLY


async def test_services_do_not_wait_for_each_other() -> None:
    at, send = starts()
    await asyncio.gather(*(service(5.0).call(send, "search") for _ in range(5)))
    assert at[-1] - at[0] < 1.0
    assert limiter("arxiv", Pace(3)) is limiter("arxiv", Pace(3))
    assert limiter("arxiv", Pace(3)) is not limiter("openalex", Pace(3))


@pytest.mark.slow
async def test_turns_that_are_cancelled_are_taken_by_others() -> None:
    at, send = starts()
    asked = service(0.2, patience=60)
    tasks = [asyncio.create_task(asked.call(send, "search")) for _ in range(50)]
    await asyncio.sleep(0.05)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.gather(*(asked.call(send, "search") for _ in range(3)))
    assert len(at) == 4
    assert min(gaps(at)) >= 0.2 - EARLY
    assert at[-1] - at[0] < 0.8


async def test_who_would_wait_beyond_the_patience_is_told_at_once_and_takes_no_turn() -> None:
    at, send = starts()
    asked = service(0.3, patience=0.4)
    start = time.monotonic()
    ended = await asyncio.gather(*(asked.call(send, "search") for _ in range(5)), return_exceptions=True)
    failed = [one for one in ended if isinstance(one, LiteratureError)]
    assert (len(at), len(failed)) == (2, 3)
    assert all("too many requests are waiting" in str(one) and one.tried == "not asked" for one in failed)
    assert time.monotonic() - start < 0.6
    await asyncio.sleep(0.3)
    await asked.call(send, "search")
    assert len(at) == 3


async def test_a_service_that_wants_one_request_at_a_time_gets_it() -> None:
    under_way, most, ends = 0, 0, list[float]()

    async def send() -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.1)
        under_way -= 1
        ends.append(time.monotonic())

    asked = service(0.02, at_once=1)
    await asyncio.gather(*(asked.call(send, "search") for _ in range(4)))
    assert most == 1
    assert min(gaps(ends)) >= 0.1 - EARLY


async def test_a_place_goes_to_the_first_who_waits_and_past_those_who_gave_up() -> None:
    turns, at = Limiter(Pace(at_once=2)), list[int]()

    async def one(number: int) -> None:
        async with turns.turn():
            at.append(number)
            await asyncio.sleep(0.05)

    tasks = [asyncio.create_task(one(number)) for number in range(6)]
    await asyncio.sleep(0.02)
    tasks[2].cancel()
    with pytest.raises(OverdueError):
        async with turns.turn(time.monotonic() + 0.01):
            pass
    await asyncio.gather(*tasks, return_exceptions=True)
    assert at == [0, 1, 3, 4, 5]
    await asyncio.wait_for(asyncio.gather(one(6), one(7)), 0.1)


def test_threads_and_their_loops_share_the_places() -> None:
    turns, under_way, most = Limiter(Pace(at_once=1)), 0, 0

    async def some() -> None:
        nonlocal under_way, most
        for _ in range(20):
            async with turns.turn():
                under_way += 1
                most = max(most, under_way)
                await asyncio.sleep(0.001)
                under_way -= 1

    threads = [threading.Thread(target=lambda: asyncio.run(some())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


async def test_a_pause_moves_all_who_wait_and_they_keep_their_distance() -> None:
    turns, at = Limiter(Pace(0.05)), list[float]()

    async def one() -> None:
        async with turns.turn(math.inf):
            at.append(time.monotonic())

    tasks = [asyncio.create_task(one()) for _ in range(10)]
    await asyncio.sleep(0.07)
    begun, paused = len(at), time.monotonic()
    turns.pause(0.3)
    turns.pause(0.1)  # shortens nothing
    tasks.append(asyncio.create_task(one()))
    await asyncio.gather(*tasks)
    assert 1 <= begun < 10
    assert len(at) == 11
    assert at[begun] >= paused + 0.3 - EARLY
    assert min(gaps(at)) >= 0.05 - EARLY


@pytest.mark.slow
async def test_a_pause_counts_for_an_idle_service_too() -> None:
    turns = Limiter(Pace(0.01))
    async with turns.turn(math.inf):
        pass
    await asyncio.sleep(0.1)
    turns.pause(0.2)
    start = time.monotonic()
    with pytest.raises(OverdueError) as caught:
        async with turns.turn(start + 0.1):
            pytest.fail("it began in the pause")
    assert caught.value.paused
    async with turns.turn(math.inf):
        assert time.monotonic() >= start + 0.2 - EARLY


async def test_a_service_that_asks_for_ever_is_left_alone_for_a_day() -> None:
    turns = Limiter(Pace(0))
    turns.pause(math.inf)
    with pytest.raises(OverdueError) as caught:
        async with turns.turn(time.monotonic() + 3600):
            pass
    assert caught.value.seconds == pytest.approx(86_400, abs=5)


def failing(error: Exception, times: int | None = None) -> tuple[list[float], Callable[[], Awaitable[str]]]:
    """Something to send that fails; and when it was sent."""
    sent: list[float] = []

    async def send() -> str:
        sent.append(time.monotonic())
        if times is None or len(sent) <= times:
            raise error
        return "answer"

    return sent, send


PASSING = [
    *(RefusedError(status) for status in (408, 425, 429, 500, 502, 503, 504, 520, 529)),
    GarbledError("no JSON"),
    httpx.ConnectError("refused"),
    httpx.ReadTimeout(""),
    httpx.RemoteProtocolError("Server disconnected"),
    requests.exceptions.ConnectionError("refused"),
    requests.exceptions.ReadTimeout("slow"),
    requests.exceptions.ChunkedEncodingError("cut"),
    requests.exceptions.JSONDecodeError("no JSON", "<html>", 0),
    ConnectionResetError("reset"),
    TimeoutError("of the client"),
]
LASTING = [
    *(RefusedError(status) for status in (400, 401, 403, 404, 410, 422)),
    httpx.UnsupportedProtocol("ftp"),
    httpx.InvalidURL("nonsense"),
    requests.exceptions.InvalidURL("nonsense"),
]


@pytest.mark.parametrize("error", PASSING, ids=repr)
async def test_what_may_pass_is_tried_again(error: Exception) -> None:
    sent, send = failing(error, times=2)
    assert await service().call(send, "search") == "answer"
    sent, send = failing(error)
    with pytest.raises(LiteratureError, match="openalex: search: ") as caught:
        await service().call(send, "search")
    assert (len(sent), caught.value.tried, caught.value.source) == (3, "3 times", "openalex")
    assert caught.value.hint
    assert caught.value.__cause__ is error


@pytest.mark.slow
async def test_turns_given_back_count_for_nothing_once_they_are_past() -> None:
    _, send = starts()
    asked = service(0.05)
    tasks = [asyncio.create_task(asked.call(send, "search")) for _ in range(9)]
    await asyncio.sleep(0.02)
    for task in tasks:
        task.cancel()
    await asyncio.sleep(0.5)
    until = time.monotonic() + 0.1
    tasks = [asyncio.create_task(asked.call(send, "search", until=until)) for _ in range(8)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert tasks[-1].done()  # told at once that so many find no turn in time
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.slow
async def test_turns_that_are_late_together_are_not_taken_together() -> None:
    at, send = starts()
    asked = service(0.1)
    tasks = [asyncio.create_task(asked.call(send, "search")) for _ in range(3)]
    await asyncio.sleep(0.02)
    time.sleep(0.35)  # noqa: ASYNC251  a program that blocks its loop
    await asyncio.gather(*tasks)
    assert min(gaps(at)) >= 0.1 - EARLY


@pytest.mark.parametrize("error", LASTING, ids=repr)
async def test_what_stays_is_not(error: Exception) -> None:
    sent, send = failing(error)
    with pytest.raises(LiteratureError) as caught:
        await service().call(send, "search")
    assert (len(sent), caught.value.tried) == (1, "once")
    assert caught.value.hint


@pytest.mark.parametrize("error", [KeyError("typo"), ValueError("typo"), ZeroDivisionError()])
async def test_a_fault_of_the_program_is_not_taken_for_one_of_the_service(error: Exception) -> None:
    sent, send = failing(error)
    with pytest.raises(type(error)):
        await service().call(send, "search")
    assert len(sent) == 1


async def test_a_service_s_own_error_goes_through() -> None:
    error = LiteratureError("withheld", source="openalex")
    sent, send = failing(error)
    with pytest.raises(LiteratureError, match="withheld") as caught:
        await service().call(send, "search")
    assert caught.value is error
    assert len(sent) == 1


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"key_env": "KEY", "key": "secret"}, "fix the key in KEY"),
        ({"key_env": "KEY"}, "export KEY="),
        ({}, "literature.endpoints.openalex"),
    ],
)
async def test_a_refusal_says_what_to_do_about_the_key(given: dict[str, Any], hint: str) -> None:
    _, send = failing(RefusedError(403, text="no"))
    with pytest.raises(LiteratureError, match="403 Forbidden") as caught:
        await service(**given).call(send, "search")
    assert hint in str(caught.value)


async def test_retry_after_stands_above_the_back_off_and_holds_for_all() -> None:
    asked = service(backoff=0.001)
    sent, send = failing(RefusedError(429, 0.3), times=1)
    at, other = starts()
    first = asyncio.create_task(asked.call(send, "search"))
    await asyncio.sleep(0.05)
    await asked.call(other, "search")
    assert await first == "answer"
    assert at[0] - sent[0] >= 0.3 - EARLY
    assert len(sent) == 2


async def test_a_service_with_too_many_requests_is_left_alone_by_all() -> None:
    async def until_another_starts() -> float:
        asked = service(backoff=0.5)
        sent, send = failing(RefusedError(429), times=1)
        at, other = starts()
        first = asyncio.create_task(asked.call(send, "search"))
        await asyncio.sleep(0.01)
        await asked.call(other, "search")
        await first
        return at[0] - sent[0]

    waits = await asyncio.gather(*(until_another_starts() for _ in range(8)))
    assert max(waits) > 0.05  # each waits up to half a second, at random


async def test_a_wait_that_leaves_no_time_is_not_begun() -> None:
    asked = service(patience=5)
    sent, send = failing(RefusedError(429, 60.0))
    start = time.monotonic()
    with pytest.raises(LiteratureError, match="429 Too Many Requests") as caught:
        await asked.call(send, "search")
    assert time.monotonic() - start < 2
    assert (len(sent), caught.value.tried) == (1, "once")
    assert "no time is left" in str(caught.value)


async def test_the_patience_bounds_tries_and_waits_together() -> None:
    asked = service(patience=0.5, retries=1000, backoff=0.05)
    sent, send = failing(RefusedError(503))
    start = time.monotonic()
    with pytest.raises(LiteratureError, match="503"):
        await asked.call(send, "search")
    assert 0.1 < time.monotonic() - start < 3
    assert 2 <= len(sent) < 100


async def test_an_answer_that_never_comes_is_given_up() -> None:
    asked = service(patience=0.2)
    with pytest.raises(LiteratureError, match=r"no answer within 0\.2 s") as caught:
        await asked.call(lambda: asyncio.sleep(10), "search")
    assert caught.value.tried == "once"
    ended = asked.deadline() - 10
    with pytest.raises(LiteratureError):
        await asked.call(lambda: asyncio.sleep(0), "search", until=ended)


async def test_cancelling_ends_a_call_at_once() -> None:
    asked = service(patience=60)
    _, send = failing(RefusedError(503, 30.0))
    task = asyncio.create_task(asked.call(send, "search"))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("-5", 0.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("inf", math.inf),
    ],
)
def test_retry_after_in_seconds(value: str | None, seconds: float | None) -> None:
    assert seconds_of(value) == seconds


@given(st.integers(-3600, 3600))
def test_retry_after_as_a_date(ahead: int) -> None:
    moment = time.time() + ahead
    expected = pytest.approx(max(0, ahead), abs=1.5)
    assert seconds_of(formatdate(moment, usegmt=True)) == expected
    assert seconds_of(formatdate(moment)) == expected  # -0000: no zone named, so UTC


@pytest.mark.parametrize(
    ("error", "told", "hint"),
    [
        (GarbledError("no JSON"), "the answer cannot be read: no JSON; no time is left", "check the network"),
        (httpx.ConnectError("refused"), "cannot be reached: refused; no time is left", "check the network"),
        (RefusedError(503), "503 Service Unavailable; no time is left", "try again later"),
        (RefusedError(429), "429 Too Many Requests; no time is left", "export KEY="),
    ],
)
async def test_when_time_runs_out_the_failure_before_is_what_is_told(
    error: Exception, told: str, hint: str
) -> None:
    _, send = failing(error)
    with pytest.raises(LiteratureError) as caught:
        await service(1.0, patience=0.5, backoff=0.001, key_env="KEY").call(send, "search")
    assert told in caught.value.message
    assert hint in str(caught.value.hint)
