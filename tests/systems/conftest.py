"""Systems are run on the host `direct`, unless a test names another."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import direct
from support.direct import Play, Played
from support.llm import LLM


@pytest.fixture(scope="module", autouse=True)
def direct_host() -> Iterator[None]:
    with direct.known():
        yield


@pytest.fixture
def run(llm: LLM, tmp_path: Path) -> Play:
    """Runs a config to its end: `await run("topic=T", folder="other", accept=False)`, sets first, then the model's answers."""

    async def runner(*sets: str, folder: str = "run", **answers: object) -> Played:
        llm.answers.update(answers)
        return await direct.play(direct.config_for(llm, *sets), tmp_path / folder, llm)

    return runner
