"""Plays a run in this process: the real session and host, against a model server of the test's."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from manyheads.config import RunConfig
from manyheads.config.files import merge, parse_set
from manyheads.core.events import AnyEvent, Event, Result, Said
from manyheads.core.results import RunResult
from manyheads.engine.session import Session
from manyheads.hosts import host_factory
from manyheads.systems.loading import validate
from manyheads.systems.results import typed
from manyheads.systems.virsci.config import VirSciConfig
from support.llm import LLM
from support.requests import Request, asks

E = TypeVar("E", bound=Event)


@dataclass(frozen=True)
class Played:
    """What a run did: its result, its events, and the requests that reached the model."""

    folder: Path
    events: Sequence[AnyEvent]
    requests: Sequence[Request]

    @property
    def result(self) -> dict[str, Any]:
        """What every run has but its date and versions, and its system's own, side by side."""
        last = self.events[-1]
        assert isinstance(last, Result)
        data = {name: value for name, value in last.data.items() if name != "made_by"}
        return {**data, **data["result"]}

    @property
    def run(self) -> RunResult[Any]:
        """The same, typed."""
        last = self.events[-1]
        assert isinstance(last, Result)
        return typed(last.data)

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    def said(self, task: str) -> list[Said]:
        return [said for said in self.of(Said) if said.task == task]

    def asked(self, heading: str) -> list[Request]:
        """The requests whose question has a heading."""
        return [request for request in self.requests if asks(request, heading)]


def config_for(llm: LLM, *sets: str) -> RunConfig:
    """A small run of three scientists and one turn, with its model on `llm`."""
    data: dict[str, Any] = {
        "host": "agentscope",
        "seed": 3,
        "team": {"size": 3},
        "turns": 1,
        "models": {
            "default": {"provider": "openai", "name": "test", "base_url": llm.base_url, "tools": False}
        },
        "invitation": {"enabled": False},
        "embedding": "lexical",
    }
    for setting in sets:
        data = merge(data, parse_set(setting), VirSciConfig)
    return validate(data, "test", strict=False)


async def play(config: RunConfig, folder: Path, llm: LLM) -> Played:
    """Run a config to its end."""
    events = [event async for event in Session(config, folder).events(host_factory(config.host))]
    return Played(folder, events, list(llm.requests))


def play_now(folder: Path, llm: LLM, *sets: str) -> Played:
    """`play` for fixtures that are not async."""
    return asyncio.run(play(config_for(llm, *sets), folder, llm))
