"""Systems are run on the host `direct`, unless a test names another."""

from collections.abc import Iterator

import pytest

from support import direct


@pytest.fixture(scope="session", autouse=True)
def direct_host() -> Iterator[None]:
    with direct.known():
        yield
