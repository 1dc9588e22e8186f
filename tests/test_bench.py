"""Every benchmark runs and prints its figure beside a baseline; how fast anything is, is not asserted here."""

import os
import re
from pathlib import Path

import pytest

from bench import crowd
from bench.bench import NAMES, bench_of
from bench.figures import Figure, Size
from bench.runs import config_for, critical_path, timed
from bench.server import model_server
from manyheads.core import Usage
from manyheads.core.events import Said

TINY = Size(
    members=2, turns=1, delay=0.001, rounds=1, runs=2, jobs=(2, 4), teams=3, papers=300, records=200, queries=2, texts=2,
    growth=(1, 2), embeddings=("lexical",), hosts=("autogen",),
    visitors=2, live_turns=20, votes=60, resamples=3, makers=4,
)  # fmt: skip
LINE = re.compile(r"^\s*\S.* +[\d.]+ \S+ +baseline +[\d.]+ \S+ +ratio +[\d.]+ .*\(.+\)$")
QUICK = ("literature",)
BY_HAND = ("citations", "society", "nodes")
"""Need data of the user's own, or a machine with nothing else to do: `make bench`."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
        for name in NAMES
        if name not in BY_HAND
    ],
)
async def test_each_benchmark_gives_figures_beside_their_baselines(name: str) -> None:
    figures = [figure async for figure in bench_of(name)(TINY)]
    assert figures
    for figure in figures:
        assert figure.value > 0
        assert figure.baseline > 0
        assert LINE.match(figure.line()), figure.line()


@pytest.mark.slow
async def test_threads_do_not_grow_with_the_runs_of_a_process(tmp_path: Path) -> None:
    """Pools have at most a size that depends on the processors; each run must not have pools of its own."""
    most, cores = list[int](), os.cpu_count() or 1
    with model_server(TINY.delay) as url:
        for count in (2, 24):
            configs = (config_for(url, "autogen", TINY, seed=seed) for seed in range(count))
            _, (threads, *_) = await crowd.held_by(*(timed(config, tmp_path) for config in configs))
            most.append(threads)
    assert most[1] - most[0] <= min(32, cores + 4) + 2 * cores + 4


def test_a_line_says_figure_baseline_ratio_and_aim() -> None:
    line = Figure("looking up", 3, "ms", 2, "numpy", "≤ 10 ms", "all alike").line()
    shown = " ".join(line.split())
    assert shown == "looking up 3.00 ms baseline 2.00 ms ratio 1.50 aim ≤ 10 ms (numpy; all alike)"


def said(task: str, turn: int, calls: int = 1) -> Said:
    return Said(
        speaker="A", task=task, turn=turn, text="", data={}, model="", usage=Usage(calls=calls), stage="any"
    )


def test_the_critical_path_counts_what_is_asked_at_once_once() -> None:
    remarks = [said("topic", 1), said("topic", 1, calls=2)]
    consensus = [said("consensus", 1), said("consensus", 1)]
    votes = [said("vote", turn, calls=turn) for turn in (1, 2, 3)]
    assert critical_path([*remarks, *consensus, *votes, said("draft", 1)]) == 3 + (1 + 1) + (1 + 3) + 1
