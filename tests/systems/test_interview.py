"""A question to one scientist."""

import pytest

from manyheads.systems.interview.interview import INTERVIEW
from manyheads.testing import system_conformance


@pytest.mark.slow
def test_conformance() -> None:
    system_conformance(
        INTERVIEW, "idea=We plan with owls.", "scientist=Scientist3", "question=Why?", "embedding=lexical"
    )
