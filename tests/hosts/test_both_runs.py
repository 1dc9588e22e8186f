"""A run that was stopped, on either host: what goes on with it, and what begins another."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from manyheads.config import RunConfig, validate
from manyheads.errors import ModelError, UserError
from manyheads.hosts import FRAMEWORKS
from support.faults import Fault
from support.llm import LLM

TOPIC = "Robust retrieval for robots"


class Research:
    """A host's own team of VirSci, used alike."""

    def __init__(self, host: str, config: RunConfig, out: Path) -> None:
        from manyheads.hosts.agentscope import VirSciPipeline
        from manyheads.hosts.autogen import VirSciTeam

        self.team = VirSciTeam(config, out=out) if host == "autogen" else VirSciPipeline(config, out=out)

    async def run(self, text: str | None) -> Path:
        """One run, to its end; gives its folder."""
        from agentscope.message import UserMsg

        from manyheads.hosts.autogen import VirSciTeam

        if isinstance(self.team, VirSciTeam):
            await self.team.run(task=text)
        else:
            async for _ in self.team.reply_stream(None if text is None else UserMsg("user", text)):
                pass
        return Path((await self.state())["folder"])

    async def state(self) -> dict[str, Any]:
        """What it saves, as a file gives it."""
        from manyheads.hosts.autogen import VirSciTeam

        state = await self.team.save_state() if isinstance(self.team, VirSciTeam) else self.team.save_state()
        return json.loads(json.dumps(state))

    async def load(self, state: dict[str, Any]) -> None:
        from manyheads.hosts.autogen import VirSciTeam

        if isinstance(self.team, VirSciTeam):
            await self.team.load_state(state)
        else:
            self.team.load_state(state)


Made = Callable[..., Research]


@pytest.fixture(params=FRAMEWORKS)
def made(request: pytest.FixtureRequest, llm: LLM, tmp_path: Path) -> Made:
    server = {"provider": "openai", "name": "test", "base_url": llm.base_url, "retries": 0}
    small = {
        "seed": 3,
        "team": {"size": 2},
        "turns": 1,
        "embedding": "lexical",
        "models": {"default": server},
    }

    def make(**more: Any) -> Research:
        return Research(request.param, validate(small | more, "test"), tmp_path)

    return make


async def stopped(research: Research, llm: LLM, text: str | None = TOPIC) -> Path:
    """A run that fails at its first vote; gives its folder."""
    llm.faults.append(Fault("status", when=lambda request: request.title == "Vote", status=403))
    with pytest.raises(ModelError):
        await research.run(text)
    return Path((await research.state())["folder"])


def result(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "result.json").read_text())


@pytest.mark.parametrize("text", [None, " ", TOPIC])
async def test_a_stopped_run_goes_on(made: Made, llm: LLM, text: str | None) -> None:
    research = made()
    folder = await stopped(research, llm)
    before = llm.calls
    assert await research.run(text) == folder
    assert result(folder)["topic"]["topic"] == TOPIC
    assert "Idea" not in [request.title for request in llm.requests[before:]]


@pytest.mark.parametrize("first", [TOPIC, None])
async def test_another_text_begins_another_run(made: Made, llm: LLM, first: str | None) -> None:
    research = made()
    folder = await stopped(research, llm, first)
    other = await research.run("Another topic")
    assert other != folder
    assert result(other)["topic"]["topic"] == "Another topic"


async def test_a_finished_run_is_not_gone_on_with(made: Made) -> None:
    research = made()
    assert await research.run(TOPIC) != await research.run(TOPIC)


async def test_a_stopped_run_goes_on_with_its_own_config(made: Made, llm: LLM) -> None:
    first = made()
    folder = await stopped(first, llm)
    other = made(seed=4, turns=2)
    await other.load(await first.state())
    assert await other.run(None) == folder
    assert result(folder)["seed"] == 3


async def test_a_run_that_never_began_keeps_its_topic(made: Made, llm: LLM, tmp_path: Path) -> None:
    first = made(corpus=str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match="nowhere"):
        await first.run(TOPIC)
    again = made()
    await again.load(await first.state())
    assert result(await again.run(None))["topic"]["topic"] == TOPIC
