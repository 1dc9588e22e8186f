"""What tests of any host are given."""

from collections.abc import Iterator
from zlib import crc32

import pytest

from attack.server import Misbehaving
from support.hosts import HOSTS
from support.native import Hosting, hosting


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A rule of any host is tried on one of them, which its name chooses, and in the slow suite on all."""
    own = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    names = {name for each in own for name in ([each] if isinstance(each, str) else each)}
    if "name" not in metafunc.fixturenames or "name" in names:
        return
    one = HOSTS[crc32(metafunc.function.__name__.encode()) % len(HOSTS)]
    cases = [pytest.param(host, marks=[] if host == one else [pytest.mark.slow]) for host in HOSTS]
    metafunc.parametrize("name", cases)


@pytest.fixture
def host(name: str) -> Hosting:
    """Opens the host on models, or on one that is the default."""
    return hosting(name)


@pytest.fixture
def server() -> Iterator[Misbehaving]:
    with Misbehaving() as server:
        yield server
