"""One turn on AgentScope: what only this host has to get right."""

import logging

import pytest

from manyheads.config import ModelConfig
from manyheads.errors import ModelError
from manyheads.hosts.agentscope import AgentScopeHost
from support.turns import turn


async def test_a_failed_call_is_not_said_twice(caplog: pytest.LogCaptureFixture) -> None:
    nowhere = ModelConfig(provider="openai", name="m", base_url="http://127.0.0.1:9/v1", retries=0)
    host = AgentScopeHost({"default": nowhere})
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelError):
        await host.ask(turn())
    await host.close()
    assert "exhausted" not in caplog.text
