"""What tests of every host are given."""

import pytest

from support.hosts import EACH
from support.native import Hosting, can_ask, hosting


@pytest.fixture(params=EACH)
def name(request: pytest.FixtureRequest) -> str:
    """Each host by its name."""
    return request.param


@pytest.fixture
def host(name: str) -> Hosting:
    """Opens the host on models, or on one that is the default."""
    return hosting(name)


@pytest.fixture(autouse=True)
def installed(request: pytest.FixtureRequest) -> None:
    """Skips what needs a client that is not installed."""
    case = request.node.name
    if "agent_framework" in case and "anthropic" in case and not can_ask("agent_framework", "anthropic"):
        pytest.skip("agent-framework-anthropic is not installed")
