"""Every system's `result.json` is the frozen one, each case on two hosts."""

import shutil
from pathlib import Path

import pytest

from golden.commands import alone
from golden.runs import CASES, HERE, HOSTS, RESULTS, Runs, differences, golden, result_of

QUICK = (
    "virsci", "virsci-every-mechanism", "virsci-replayed", "self-reflection", "discussion", "single", "conference-review",
    "rebuttal", "ranking", "scipip", "mamorx",
)  # fmt: skip
"""What the quick suite runs; hosts/test_native_teams.py holds the hosts beside each other."""
OTHERS = {name: HOSTS[2 - number % 2] for number, name in enumerate(CASES)}
"""The second host of a case, in turn."""
QUICKLY = {*((name, HOSTS[0]) for name in QUICK), ("virsci-replayed", HOSTS[1])}
ON_HOSTS = [
    pytest.param(*case, marks=[] if case in QUICKLY else [pytest.mark.slow])
    for name in CASES
    for case in ((name, HOSTS[0]), (name, OTHERS[name]))
]


@pytest.mark.parametrize(("name", "host"), ON_HOSTS)
def test_a_result_is_the_frozen_one(runs: Runs, name: str, host: str) -> None:
    assert differences(runs.result(name, host), golden(name)) == []


def test_each_system_and_each_golden_has_a_case() -> None:
    assert {golden(name)["system"] for name in CASES} == {
        "virsci", "self-reflection", "discussion", "single", "conference-review", "rebuttal", "ranking",
        "scipip", "mamorx",
    }  # fmt: skip
    assert {path.stem for path in RESULTS.iterdir()} == set(CASES)


@pytest.mark.slow
def test_a_process_of_its_own_does_the_same(tmp_path: Path) -> None:
    shutil.copytree(HERE / "given", home := tmp_path / "home")
    done = alone(("run", "conference-review", "--set", "subject=subject.md", "--out", "run", "--quiet"), home)
    assert (done.code, done.err) == (0, "")
    assert differences(result_of(home / "run", home), golden("conference-review")) == []
