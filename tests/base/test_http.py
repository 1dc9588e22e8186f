"""Retries, by the clock."""

import asyncio
import time

import pytest

from manyheads.base.http import Limiter, Pace, RefusedError, Retry


async def test_a_wait_that_would_pass_the_deadline_is_not_begun() -> None:
    async def busy() -> None:
        raise RefusedError(503, retry_after=60)

    retry = Retry(Limiter(Pace()), 9, backoff=0.5, longest=90, until=time.monotonic() + 30, together=False)
    with pytest.raises(RefusedError):
        async with asyncio.timeout(5):
            await retry.send(busy)
    assert retry.tries == 1
