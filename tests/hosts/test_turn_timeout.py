"""A turn ends in time on any host, whatever a server sends or a tool does."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from attack.server import Misbehaving
from manyheads.base.errors import ModelError
from manyheads.core import Tool
from manyheads.engine.journal import spent_in
from support.command import manyheads_command, served_by
from support.llm import LLM
from support.native import PAPER, Hosting
from support.turns import model, turn


class Query(BaseModel):
    query: str


async def _never(arguments: Query) -> str:
    await asyncio.sleep(3600)
    return arguments.query


NEVER = Tool("search_papers", "Look something up.", Query, _never)
PATIENT: dict[str, Any] = {"timeout": 300, "turn_timeout": 0.7}


@pytest.mark.parametrize(
    ("behaviour", "settings", "tools", "attempts"),
    [
        ("silent", {}, (), 3),  # one request
        pytest.param("drip", {}, (), 3, marks=pytest.mark.slow),  # one answer without end
        pytest.param(
            "s500", {"retries": 10**6, "max_wait": 0.01}, (), 3, marks=pytest.mark.slow
        ),  # one request sent again and again
        pytest.param("prose", {}, (), 10**6, marks=pytest.mark.slow),  # one question asked again and again
        pytest.param("once:tool_object", {}, (NEVER,), 3, marks=pytest.mark.slow),  # one tool call
    ],
)
async def test_a_turn_ends_in_time(
    host: Hosting, server: Misbehaving, behaviour: str, settings: Any, tools: Any, attempts: int
) -> None:
    began = time.monotonic()
    async with host(model(server, name=behaviour, **PATIENT, **settings), attempts=attempts) as on:
        with pytest.raises(ModelError) as told:
            await on.ask(turn(tools=tools))
    assert time.monotonic() - began < 10
    assert f"openai/{behaviour} within 0.7 s" in told.value.message
    assert "models.default.turn_timeout" in str(told.value.hint)


@pytest.mark.slow
async def test_thirty_requests_in_time_are_a_turn_in_time(host: Hosting, server: Misbehaving) -> None:
    async with host(model(server, name="drip", timeout=0.02, retries=10**6, max_wait=0.01)) as on:
        with pytest.raises(ModelError, match=r"within 0\.6 s"):
            await on.ask(turn())


def test_a_run_whose_turn_does_not_end_says_so(name: str, server: Misbehaving, tmp_path: Path) -> None:
    (tmp_path / "paper.md").write_text(PAPER, encoding="utf-8")
    sets = ("models.default.timeout=300", "models.default.turn_timeout=0.7", "review.repeats=1")
    command = ("run", "conference-review", *served_by(server, *sets, "models.default.name=silent"))
    done = manyheads_command(
        *command, "--set", "subject=paper.md", "--host", name, "--out", "run", cwd=tmp_path
    )
    assert "within 0.7 s" in done.message
    assert "models.default.turn_timeout" in done.message
    lost = spent_in(tmp_path / "run" / "journal.sqlite")
    assert (lost.calls, lost.estimated) == (1, 1), "it may be charged for"


@pytest.mark.slow
async def test_a_turn_that_waits_for_others_loses_no_time(host: Hosting, llm: LLM) -> None:
    llm.delay = 0.3
    async with host(model(llm, concurrency=1, turn_timeout=1.2)) as on:
        replies = await asyncio.gather(*(on.ask(turn()) for _ in range(6)))
    assert len(replies) == 6
    assert llm.peak == 1
