"""Runs to be timed: the real session on a real host, with what its events tell about time."""

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.figures import Size, Spent, Watch
from manyheads.config import RunConfig
from manyheads.core.events import AnyEvent, Asked, Said
from manyheads.engine.session import Session
from manyheads.hosts import host_factory
from manyheads.systems.loading import validate

TOGETHER = ("consensus", "interest", "vote")
"""Tasks that all members are asked at once; the others wait for what was said before."""
AHEAD = ("consensus", "vote")
"""Those of which one goes ahead, so that the others find their prompts in a cache."""
_number = itertools.count()


def config_for(base_url: str, host: str, size: Size, embedding: str = "lexical", **more: Any) -> RunConfig:
    """A VirSci run as it ships, on a model server, with no cap on requests at once."""
    model = {"provider": "openai", "name": "test", "base_url": base_url, "concurrency": 1000}
    data = {
        "host": host,
        "embedding": embedding,
        "team": {"size": size.members},
        "turns": size.turns,
        "models": {"default": model},
    }
    return validate({**data, **more}, "bench")


@dataclass(frozen=True)
class Timed:
    """A run: where it is kept, what it said, and what its three parts took."""

    folder: Path
    events: Sequence[AnyEvent]
    set_up: Spent
    talk: Spent
    """From the first question to the last answer."""
    closing: Spent

    @property
    def said(self) -> list[Said]:
        return [event for event in self.events if isinstance(event, Said)]


async def timed(config: RunConfig, base: Path) -> Timed:
    """Play a run to its end in a new folder under `base`."""
    factory = host_factory(config.host)
    folder = base / f"run-{next(_number)}"
    events, begun, ended = list[AnyEvent](), Spent(0, 0), Spent(0, 0)
    watch = Watch()
    async for event in Session(config, folder).events(factory):
        events.append(event)
        if isinstance(event, Asked) and not begun.wall:
            begun = watch.read()
        if isinstance(event, Said):
            ended = watch.read()
    whole = watch.read()
    return Timed(folder, events, begun, _between(begun, ended), _between(ended, whole))


def _between(first: Spent, last: Spent) -> Spent:
    return Spent(last.wall - first.wall, last.cpu - first.cpu)


def critical_path(said: Sequence[Said]) -> int:
    """The longest chain of dependent calls of a run with fixed turns and no guests.

    Speakers of an open discussion wait for one another. Of what is asked of all at once the longest counts, and what goes ahead
    of it; the votes of all turns are one such group, as blind votes do not wait for the turn before.
    """
    chain, groups = 0, defaultdict[tuple[str, int], list[int]](list)
    for each in said:
        if each.task not in TOGETHER:
            chain += each.usage.calls
            continue
        group = (each.task, 0 if each.task == "vote" else each.turn)
        groups[group].append(each.usage.calls)
    for (task, _), calls in groups.items():
        chain += (calls.pop(0) if task in AHEAD else 0) + max(calls, default=0)
    return chain
