"""A run that was stopped, on any host: what goes on with it, and what begins another."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import ModelError, UserError
from manyheads.models.answers import SoundTransport
from support.command import result_of
from support.faults import Fault
from support.llm import LLM
from support.native import TOPIC, Native, small

Made = Callable[..., Native]


@pytest.fixture
def made(name: str, llm: LLM, tmp_path: Path) -> Made:
    def make(system: str = "single", **more: Any) -> Native:
        return Native(name, small(system, llm, **more), tmp_path)

    return make


async def stopped(research: Native, llm: LLM, text: str | None = TOPIC) -> Path:
    """A run that fails at its second question; gives its folder."""
    llm.faults.append(Fault("status", when=lambda request: request.title == "Abstract", status=403))
    with pytest.raises(ModelError):
        await research.run(text)
    return await research.folder()


@pytest.mark.parametrize("text", [pytest.param(" ", marks=pytest.mark.slow), TOPIC])
async def test_a_stopped_run_goes_on(made: Made, llm: LLM, text: str) -> None:
    research = made()
    folder = await stopped(research, llm)
    before = llm.calls
    assert await research.run(text) == folder
    assert result_of(folder)["topic"]["topic"] == TOPIC
    assert "Idea" not in [request.title for request in llm.requests[before:]]


@pytest.mark.parametrize("first", [TOPIC, pytest.param(None, marks=pytest.mark.slow)])
async def test_another_text_begins_another_run(made: Made, llm: LLM, first: str | None) -> None:
    research = made("single" if first else "virsci")
    folder = await stopped(research, llm, first)
    other = await research.run("Another topic")
    assert other != folder
    assert result_of(other)["topic"]["topic"] == "Another topic"


async def test_a_finished_run_is_not_gone_on_with(made: Made) -> None:
    research = made()
    assert await research.run(TOPIC) != await research.run(TOPIC)


async def test_a_paused_run_asks_nobody(made: Made, llm: LLM) -> None:
    research = made()
    await research.pause()
    running = asyncio.create_task(research.run(TOPIC))
    await asyncio.sleep(0.2)
    assert (running.done(), llm.calls) == (False, 0)
    await research.resume()
    assert result_of(await running)["finished"]


async def test_a_run_that_never_began_keeps_its_topic(made: Made, llm: LLM, tmp_path: Path) -> None:
    first = made(corpus=str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match="nowhere"):
        await first.run(TOPIC)
    again = made()
    await again.load(await first.state())
    assert result_of(await again.run(None))["topic"]["topic"] == TOPIC


async def test_runs_at_once_share_their_connections(
    name: str, llm: LLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients, make = list[Any](), SoundTransport.__init__

    def counted(transport: SoundTransport, client: Any, *more: Any) -> None:
        clients.append(client)
        make(transport, client, *more)

    monkeypatch.setattr(SoundTransport, "__init__", counted)
    config = small("single", llm)
    await Native(name, config, tmp_path).run(TOPIC)
    alone = len(clients)
    llm.delay = 0.1  # so that all are under way at once
    await asyncio.gather(*(Native(name, config, tmp_path).run(TOPIC) for _ in range(3)))
    assert (alone, len(clients)) == (1, 2)
    assert all(client.is_closed for client in clients)
