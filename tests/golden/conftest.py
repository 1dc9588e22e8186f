"""One run of each golden case a host and worker."""

import pytest

from golden.runs import Runs


@pytest.fixture(scope="session")
def runs(shared_cache: None, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory.mktemp("golden"))
