"""Votes of many raters at once, while the server is killed and started again."""

import asyncio
import random
import re
import signal
from collections import Counter
from html import unescape
from pathlib import Path

import httpx
import pytest

from manyheads.arena.store import Arena
from support.arenas import arena
from support.served import Served, served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
MAKERS = ("quartz", "basalt", "gneiss")
CSRF = re.compile(r'name="csrf" value="([^"]+)"')


async def vote_on(url: str, token: str, sent: list[tuple[str, str]], most: int, rng: random.Random) -> None:
    """A rater that votes until the end, or the server is gone; `sent` has each vote that the server has confirmed."""
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        await client.get("/arena/enter", params={"token": token})
        for _ in range(most):
            path = (await client.get("/vote/next")).headers.get("location")
            if path is None:
                return
            csrf = CSRF.search((await client.get(path)).text)
            assert csrf
            value = rng.choice(("left", "right", "tie", "poor"))
            data = {"csrf": unescape(csrf[1]), "q-overall": value}
            for _ in range(rng.choice((1, 2))):  # a reload sends it twice
                if (await client.post(path, data=data)).status_code == 303:
                    sent.append((path.rpartition("/")[2], value))


async def test_no_vote_is_lost_or_counted_twice_when_the_server_is_killed(tmp_path: Path) -> None:
    raters, cases = 20, 12
    with arena(tmp_path / "a", MAKERS, [f"case {n}" for n in range(cases)]) as made:
        tokens = [made.invite(f"Rater {n}").token for n in range(raters)]
    sent, rng = list[tuple[str, str]](), random.Random(0)

    async def killed(room: Served, at: int) -> None:
        while len(sent) < at:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        room.process.kill()

    for number in range(3):
        last = number == 2
        with served(tmp_path, end=signal.SIGKILL) as room:
            voters = [vote_on(room.url, token, sent, 10 if last else 1_000, rng) for token in tokens]
            if not last:
                voters.append(killed(room, len(sent) + 60))
            ends = await asyncio.gather(*voters, return_exceptions=True)
        assert all(isinstance(each, httpx.TransportError) or each is None for each in ends), ends
        if last:
            assert not any(ends)
    with Arena.open(tmp_path / "a") as made:
        rows = made.rows()
        kept = {row.item: row.answers["overall"] for row in rows}
    assert len(kept) == len(rows) >= 200
    assert {item: kept.get(item) for item, _ in sent} == dict(sent)
    assert (
        len(rows) - len(dict(sent)) <= 2 * raters
    )  # those that were kept, but not confirmed before the kill
    pairs = Counter((row.rater.name, frozenset(each.id for each in row.places)) for row in rows)
    assert max(pairs.values()) == 1
