"""Every benchmark runs and prints its figure beside a baseline; how fast anything is, is not asserted here."""

import re

import pytest

from bench import (
    corpus,
    crowd,
    database,
    documents,
    embedding,
    extraction,
    interests,
    ledger,
    literature,
    measures,
    memory,
    novelty,
    overhead,
    retrieval,
    reviews,
    startup,
    turns,
)
from bench.figures import Bench, Figure, Size
from bench.runs import critical_path
from manyheads.core import Usage
from manyheads.core.events import Said

TINY = Size(
    members=2, turns=1, delay=0.001, rounds=1, runs=2, teams=3, papers=300, records=200, queries=2, texts=2,
    embeddings=("lexical",), hosts=("autogen",),
    visitors=2, live_turns=20,
)  # fmt: skip
LINE = re.compile(r"^\s*\S.* +[\d.]+ \S+ +baseline +[\d.]+ \S+ +ratio +[\d.]+ .*\(.+\)$")
IN_PROCESS: list[Bench] = [
    retrieval.bench,
    embedding.bench,
    extraction.bench,
    interests.bench,
    ledger.bench,
    literature.bench,
]
OF_MANY_RUNS: list[Bench] = [
    turns.bench,
    overhead.bench,
    crowd.bench,
    novelty.bench,
    reviews.bench,
]
OF_PROCESSES: list[Bench] = [documents.bench, startup.bench, memory.bench, corpus.bench, database.bench]
SLOW = [
    pytest.param(bench, marks=pytest.mark.slow) for bench in (measures.bench, *OF_MANY_RUNS, *OF_PROCESSES)
]
BENCHES = [*IN_PROCESS, *SLOW]


@pytest.mark.parametrize("bench", BENCHES, ids=lambda bench: bench.__module__)
async def test_each_benchmark_gives_figures_beside_their_baselines(bench: Bench) -> None:
    figures = [figure async for figure in bench(TINY)]
    assert figures
    for figure in figures:
        assert figure.value > 0
        assert figure.baseline > 0
        assert LINE.match(figure.line()), figure.line()


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
    assert critical_path([*remarks, *consensus, *votes, said("draft", 1)]) == 3 + 1 + 3 + 1
