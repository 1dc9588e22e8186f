"""Retries: by the clock, at once, and what they leave."""

import asyncio
import gc
import time
import weakref
from typing import Any

import pytest

from manyheads.base.http import Limiter, Pace, RefusedError, Retry


def retry_of(retries: int, **options: Any) -> Retry:
    return Retry(Limiter(Pace()), retries, backoff=0.01, longest=90, **options)


async def test_a_wait_that_would_pass_the_deadline_is_not_begun() -> None:
    async def busy() -> None:
        raise RefusedError(503, retry_after=60)

    retry = retry_of(9, until=time.monotonic() + 30, together=False)
    with pytest.raises(RefusedError):
        async with asyncio.timeout(5):
            await retry.send(busy)
    assert retry.tries == 1


async def test_requests_at_once_each_have_their_own_tries() -> None:
    async def ask(failures: int) -> tuple[int | None, int]:
        retry = retry_of(4)

        async def request() -> int:
            await asyncio.sleep(0)
            if retry.tries <= failures:
                raise RefusedError(503)
            return failures

        try:
            return await retry.send(request), retry.tries
        except RefusedError:
            return None, retry.tries

    answers = await asyncio.gather(*(ask(n % 7) for n in range(35)))
    assert [*answers[:7]] == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (None, 5), (None, 5)]
    assert answers == answers[:7] * 5


async def test_a_request_does_not_wait_for_the_garbage_collector() -> None:
    async def request() -> None:
        pass

    gc.disable()
    try:
        await (retry := retry_of(4)).send(request)
        kept = weakref.ref(retry)
        del retry
        assert kept() is None
    finally:
        gc.enable()
