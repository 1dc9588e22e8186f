"""What the tests take of the processors, said at the end of a run: a busy machine changes it less than the clock."""

import os
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

MOST = 1.0
"""Seconds that a test of the default suite should stay well below."""


def seconds() -> float:
    """Of this process, and of those that it has started and that have ended."""
    return sum(os.times()[:4])


class Costs:
    """A plugin of pytest's, in each worker and in the process that starts them."""

    def __init__(self) -> None:
        self._before = 0.0
        self._tests, self._slow = Counter[str](), set[str]()
        self._workers: list[float] = []

    def pytest_collection_finish(self) -> None:
        self._before = seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        report = yield
        now = seconds()
        report.seconds, self._before = now - self._before, now
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._tests[report.nodeid] += getattr(report, "seconds", 0)
        if "slow" in report.keywords:
            self._slow.add(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            output["seconds"] = seconds()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._workers.append(getattr(node, "workeroutput", {}).get("seconds", 0))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        total, inside = sum(self._workers) or seconds(), self._tests.total()
        terminalreporter.write_line(
            f"{total:.0f} s of CPU time: {inside:.0f} s in {len(self._tests):,} tests, the rest in start and collection"
        )
        for name, spent in self._tests.most_common():
            if spent > MOST and name not in self._slow:
                terminalreporter.write_line(f"  {spent:.1f} s and not marked slow: {name}")
