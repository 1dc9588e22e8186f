"""The kit for other packages' hosts: ours pass it, and a host that breaks a clause is told which."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from manyheads.base.errors import ConfigError, ModelError, UserError
from manyheads.config import ModelConfig
from manyheads.core import Message, Raw, Recall, Tool, Turn, Usage
from manyheads.hosts import host_factory
from manyheads.hosts.autogen.host import AutoGenHost
from manyheads.testing import CLAUSES, broken_clauses, host_conformance
from support.hosts import HOSTS


@pytest.mark.parametrize("name", HOSTS)
async def test_ours_keep_their_contract(name: str) -> None:
    assert await broken_clauses(host_factory(name)) == {}


class Broken(AutoGenHost):
    """A host that breaks one clause."""

    def __init__(self, models: Mapping[str, ModelConfig], recall: Recall, attempts: int, clause: str) -> None:
        self.clause, self.kept = clause, list[Message]()
        changes: dict[str, dict[str, Any]] = {"settings": {"temperature": 0.9}, "retries": {"retries": 3}}
        if own := changes.get(clause):
            models = {alias: model.model_copy(update=own) for alias, model in models.items()}
        if clause == "offline" and models["default"].provider == "offline":
            raise ConfigError("no such provider: offline")

        async def forgiving(turn: Turn[Any]) -> str:
            try:
                return await recall(turn)
            except UserError:
                return ""

        attempts = {"asked again": 1, "attempts": 9}.get(clause, attempts)
        super().__init__(models, forgiving if clause == "recall that fails" else recall, attempts)
        vars(self)["framework"] = "" if clause == "name" else "broken"

    async def native(self, turn: Turn[Any], thread: Sequence[Message], warn: list[str]) -> Raw:
        match self.clause:
            case "thread":
                thread = thread[-1:]
            case "stateless" | "at once":
                self.kept += thread
                thread = tuple(self.kept)
            case "pictures":
                thread = [replace(message, images=()) for message in thread]
            case "tools":
                turn = replace(turn, tools=())
            case "tool that fails" | "error of a user in a tool":
                turn = replace(turn, tools=tuple(map(self.hushed, turn.tools)))
            case "recall":
                turn = replace(turn, recall=None)
            case _:
                pass
        try:
            raw = await super().native(turn, thread, warn)
        except (ModelError, asyncio.CancelledError) as error:
            if self.clause not in ("refusal", "cancellation"):
                raise
            return Raw(str(error), "broken", Usage(), (), False)
        match self.clause:
            case "reply":
                return replace(raw, model="another")
            case "usage":
                return replace(raw, usage=Usage())
            case "cut off":
                return replace(raw, truncated=False)
            case _:
                return raw

    @staticmethod
    def hushed(tool: Tool) -> Tool:
        async def run(arguments: Any) -> str:
            try:
                return await tool.run(arguments)
            except (UserError, ConnectionError):
                return "nothing"

        return replace(tool, run=run)

    async def close(self) -> None:
        if self.clause == "closing" and not self._served:
            raise RuntimeError("closed already")
        await super().close()


@pytest.mark.parametrize(
    "clause",
    [pytest.param(name, marks=[] if name in ("reply", "tools") else [pytest.mark.slow]) for name in CLAUSES],
)
async def test_a_broken_clause_is_named(clause: str) -> None:
    def make_host(models: Mapping[str, ModelConfig], recall: Recall, attempts: int) -> Broken:
        return Broken(models, recall, attempts, clause)

    assert list(await broken_clauses(make_host, [clause])) == [clause]


def test_the_kit_raises_with_the_clause() -> None:
    def make_host(models: Mapping[str, ModelConfig], recall: Recall, attempts: int) -> Broken:
        return Broken(models, recall, attempts, "usage")

    with pytest.raises(
        AssertionError, match=r"breaks its contract:\n- usage: calls, tokens read and written"
    ):
        host_conformance(make_host, ["reply", "usage"])
