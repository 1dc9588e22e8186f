"""One process for all golden commands of a worker, and one run of each case a host."""

from collections.abc import Iterator

import pytest

from golden.commands import Commands
from golden.runs import Runs


@pytest.fixture(scope="session")
def commands(shared_cache: None) -> Iterator[Commands]:
    with Commands() as commands:
        yield commands


@pytest.fixture(scope="session")
def runs(commands: Commands, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory.mktemp("golden"), commands)
