"""Programs that read papers: stopped in time with all that they started, and read no further than allowed."""

import time
from pathlib import Path

import pytest

from manyheads.documents.programs import run_program
from support.processes import need_ended


@pytest.mark.parametrize("most", [0, 1000])
def test_a_program_that_is_too_slow_ends_with_its_children(tmp_path: Path, most: int) -> None:
    mark = tmp_path / "pid"
    begin = time.monotonic()
    ended = run_program(["sh", "-c", f"sleep 60 & echo $! > {mark}; wait"], seconds=0.5, most=most)
    assert ended.late
    assert time.monotonic() - begin < 20
    need_ended([int(mark.read_text())])


def test_no_more_is_read_than_allowed() -> None:
    ended = run_program(["sh", "-c", "yes owls"], seconds=20, most=3_000_000)
    assert len(ended.answer) == 3_000_001
    assert not ended.late


def test_what_is_given_is_read_whole() -> None:
    given = b"owls\n" * 500_000
    assert run_program(["cat"], given, seconds=20, most=10**9).answer == given
