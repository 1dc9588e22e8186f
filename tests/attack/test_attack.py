"""The standing attack, as much of it as CI has time for: nothing of it may break a promise."""

from pathlib import Path

import pytest

from attack.areas import AREAS, attack


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("area", AREAS)
def test_nothing_breaks(area: str, tmp_path: Path) -> None:
    figure = attack(area)(tmp_path)
    assert figure.tried
    assert figure.faults == []
