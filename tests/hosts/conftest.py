"""What tests of both hosts are given."""

import pytest

from support.hosts import HOSTS
from support.native import Hosting, hosting


@pytest.fixture(params=HOSTS)
def name(request: pytest.FixtureRequest) -> str:
    """Each host by its name."""
    return request.param


@pytest.fixture
def host(name: str) -> Hosting:
    """Opens the host on models, or on one that is the default."""
    return hosting(name)
