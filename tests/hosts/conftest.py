"""What tests of any host are given."""

from zlib import crc32

import pytest

from support.hosts import BOTH, HOSTS
from support.native import Hosting, can_ask, hosting

ON_BOTH = {"test_turns", "test_tools"}
"""One turn in all its parts: the default suite holds two hosts to each rule of these files."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A rule of any host is tried on one of them, which its name chooses, and in the slow suite on all."""
    own = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    names = {name for each in own for name in ([each] if isinstance(each, str) else each)}
    if "name" not in metafunc.fixturenames or "name" in names:
        return
    # A provider's client may be missing on the third.
    among = BOTH if "wire" in metafunc.fixturenames else HOSTS
    one = among[crc32(metafunc.function.__name__.encode()) % len(among)]
    quick = BOTH if metafunc.definition.path.stem in ON_BOTH else (one,)
    cases = [pytest.param(host, marks=[] if host in quick else [pytest.mark.slow]) for host in HOSTS]
    metafunc.parametrize("name", cases)


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
