"""A run that is paused waits, goes on, and starts nothing once it is stopped."""

import asyncio

import pytest

from manyheads.base.errors import StoppedError
from manyheads.engine.brake import Brake


async def test_a_pause_holds_the_gate_until_it_ends() -> None:
    brake = Brake()
    await brake.gate()
    brake.pause()
    waiting = asyncio.ensure_future(brake.gate())
    await asyncio.sleep(0)
    assert not waiting.done()
    brake.resume()
    await asyncio.wait_for(waiting, 1)


@pytest.mark.parametrize("paused", [False, True])
async def test_a_stop_opens_no_gate_and_ends_a_wait(paused: bool) -> None:
    brake = Brake()
    assert await brake.unless_stopped(asyncio.sleep(0, "answer")) == "answer"
    if paused:
        brake.pause()
    waiting = asyncio.ensure_future(brake.unless_stopped(asyncio.sleep(60)))
    await asyncio.sleep(0)
    brake.stop()
    with pytest.raises(StoppedError) as stopped:
        await asyncio.wait_for(waiting, 1)
    assert stopped.value.hint == "manyheads resume RUN"
    with pytest.raises(StoppedError):
        await brake.gate()
