"""What tests of the literature services are given."""

from collections.abc import Iterator

import pytest

from support.services import Services, running


@pytest.fixture
def services() -> Iterator[Services]:
    with running() as services:
        yield services
