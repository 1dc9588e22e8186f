"""A run that was killed goes on from its folder alone, and comes to the same; of virsci: `tests/engine/test_resume.py`."""

from pathlib import Path
from typing import Any

import pytest

from manyheads.engine.journal import read_turns
from support.command import kill, manyheads_command, outcome_of, served_by
from support.llm import LLM

IDEAS = ("Owls plan by ear. Drones cannot.", "Bats map caves. Maps go stale.")
ORDER = [{"idea": number, "rationale": "So it is."} for number in (2, 3, 1)]
FEW = ("--set", "embedding=lexical", "--set", "scipip.ideas=5", "--set", "scipip.papers=4")
RUNS: dict[str, tuple[tuple[str, ...], dict[str, Any], int]] = {
    "rebuttal": (("run", "rebuttal", "--background", "Owls hunt by ear.", "--set", "rebuttal.max_iters=4"), {"improved": True}, 7),
    "scipip": (("run", "scipip", "--background", "Robots grasp cups by what a camera sees of them.", *FEW), {}, 8),
    "ranking": (("ranking", "judge", *IDEAS, "--target", "Dogs find mines.", "--orders", "6"), {"ranking": ORDER}, 6),
}  # fmt: skip
"""For each system a command, answers, and the number of requests at which it is killed."""


@pytest.mark.slow
@pytest.mark.parametrize("system", RUNS)
def test_a_killed_run_goes_on_from_its_folder_alone(tmp_path: Path, system: str) -> None:
    words, answers, calls = RUNS[system]
    with LLM(answers=answers, delay=0.1) as llm:
        run = (*words, *served_by(llm), "--out")
        whole = manyheads_command(*run, "whole", cwd=tmp_path)
        assert whole.code == 0, whole.err
        asked = llm.calls
        kill(*run, "killed", llm=llm, calls=asked + calls, cwd=tmp_path)
        kept = len(read_turns(tmp_path / "killed" / "journal.sqlite"))
        before, elsewhere = llm.calls, tmp_path / "elsewhere"
        elsewhere.mkdir()
        resumed = manyheads_command("resume", tmp_path / "killed", cwd=elsewhere)
        assert resumed.code == 0, resumed.err
        assert kept
        assert llm.calls - before == asked - kept
    one, other = (outcome_of(tmp_path / name) for name in ("whole", "killed"))
    assert one.pop("usage")["calls"] == other.pop("usage")["calls"]
    assert one == other
