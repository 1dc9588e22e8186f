"""The hosts, and one for tests that need none of the frameworks."""

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from manyheads.asking.replies import ReplyModel
from manyheads.config.environment import BUILT_IN
from manyheads.core import NOTHING, Charge, Reply, ToolCall, Turn, Usage
from support.fill import fill

R = TypeVar("R", bound=ReplyModel)
HOSTS = tuple(BUILT_IN)
"""Those of manyheads by name."""
BOTH = HOSTS[:2]
"""Those of the default suite; the third is in the slow one."""
EACH: list[Any] = [*BOTH, *(pytest.param(host, marks=pytest.mark.slow) for host in HOSTS[2:])]
"""All, for a test that every host should pass."""
SLOWLY: list[Any] = [HOSTS[0], *(pytest.param(host, marks=pytest.mark.slow) for host in HOSTS[1:])]
"""All, for a test that waits: the default suite has one."""


class FilledHost:
    """Answers every turn with a valid reply made from the turn's place, and keeps what it was asked.

    Args:
        usage: what each reply costs.
        tool_calls: made in each turn.
        before: called with each turn before it is answered; what it raises is raised.
    """

    def __init__(
        self,
        usage: Usage = NOTHING,
        tool_calls: tuple[ToolCall, ...] = (),
        before: Callable[[Turn[Any]], None] = lambda turn: None,
    ) -> None:
        self.usage, self.tool_calls, self._before = usage, tool_calls, before
        self.asked: list[Turn[Any]] = []
        self.gated = 0

    def open(self, *models: str) -> None:
        """Nothing is opened."""

    async def gate(self) -> None:
        self.gated += 1

    async def ask(self, turn: Turn[R]) -> Reply[R]:
        async with turn.meter(Charge(self.usage, self.usage)):
            self._before(turn)
            self.asked.append(turn)
        value = turn.reply_type.model_validate(fill(turn.reply_type.model_json_schema(), str(turn.place)))
        text = value.model_dump_json()
        return Reply(text, value, "filled", self.usage, self.tool_calls, seconds=1.5, warnings=("a note",))
