"""What is shared in a process: opened once, counted, closed by the last."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from manyheads.base.files import Pool


class Door:
    """Counts how often it was opened and closed."""

    def __init__(self) -> None:
        self.opened, self.closed = 0, 0
        self.slow = threading.Event()
        self.slow.set()

    def open(self) -> "Door":
        self.slow.wait(10)
        self.opened += 1
        return self

    def close(self) -> None:
        self.closed += 1


def test_threads_share_what_the_first_has_opened() -> None:
    door, pool = Door(), Pool(Door.close)
    door.slow.clear()
    with ThreadPoolExecutor(8) as threads:
        taken = [threads.submit(pool.take, "a", door.open) for _ in range(8)]
        door.slow.set()
        assert {id(each.result()) for each in taken} == {id(door)}
    assert (door.opened, door.closed) == (1, 0)
    for number in range(8):
        assert door.closed == 0, number
        pool.give_back("a")
    assert (door.opened, door.closed) == (1, 1)
    pool.take("a", door.open)
    assert door.opened == 2


def test_what_could_not_be_opened_is_tried_again() -> None:
    def fail() -> Door:
        raise OSError("no door")

    door, pool = Door(), Pool(Door.close)
    with pytest.raises(OSError, match="no door"):
        pool.take("a", fail)
    pool.take("a", door.open)
    pool.give_back("a")
    assert door.closed == 1


async def test_who_is_cancelled_while_it_opens_keeps_nothing_open() -> None:
    door, pool = Door(), Pool(Door.close)
    door.slow.clear()

    async def use() -> None:
        async with pool.lent_in_thread("a", door.open):
            await asyncio.sleep(10)

    task = asyncio.create_task(use())
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    door.slow.set()
    for _ in range(500):
        if door.closed:
            break
        await asyncio.sleep(0.01)
    assert (door.opened, door.closed) == (1, 1)
