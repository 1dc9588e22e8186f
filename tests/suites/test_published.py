"""What publications print stands beside a suite's own numbers; the size of a publication; the list of suites with costs."""

import re
from dataclasses import replace
from math import inf
from pathlib import Path
from time import process_time
from unittest.mock import Mock

import pytest

from manyheads.base.errors import ConfigError
from manyheads.base.resources import Resources
from manyheads.config import ModelConfig
from manyheads.suites.catalogue import KnownCost, known_costs, sizes_of
from manyheads.suites.cells import Load
from manyheads.suites.report import Results, small_sample
from manyheads.suites.spec import Suite, read_suite, suite_names
from manyheads.systems.loading import load
from support.command import manyheads_command

SUITE = """
title: Owls
version: 1
table: "A paper, Table 1"
sources: [owls]
configs: [conference-review]
set: {conference-review.repeats: 1, subject: owls.md}
grid: {conference-review.example: [borderline-accept, borderline-reject]}
repeats: 1
paper: {repeats: 20, set: {conference-review.repeats: 3}}
measures: [usage.calls]
plot: {kind: bars, x: conference-review.example, value: usage.calls}
"""
HEAD = "condition,measure,value,where,model\n"
ROW = "conference-review.example=borderline-accept,usage.calls,3,Table 1,GPT-4o\n"


def write(folder: Path, published: str = HEAD + ROW) -> str:
    (folder / "owls").mkdir(exist_ok=True)
    (folder / "owls/owls.md").write_text("We plan with owls.", encoding="utf-8")
    suite = SUITE.replace("owls.md", str(folder / "owls/owls.md"))
    (folder / "owls/suite.yaml").write_text(suite, encoding="utf-8")
    (folder / "owls/published.csv").write_text(published, encoding="utf-8")
    return str(folder / "owls")


def test_the_size_of_a_publication_replaces_what_it_names(tmp_path: Path) -> None:
    quick, paper = (read_suite(write(tmp_path), Resources.of(), None, size) for size in ("quick", "paper"))
    assert (quick.spec.repeats, paper.spec.repeats) == (1, 20)
    assert quick.spec.set == {**paper.spec.set, "conference-review.repeats": 1}
    assert paper.spec.set["conference-review.repeats"] == 3
    assert quick.spec.grid == paper.spec.grid
    assert "20" in small_sample(quick, 1)
    assert "20" in small_sample(paper, 19)
    assert not small_sample(paper, 20)


def test_fewer_cases_than_the_publication_has_are_a_small_sample() -> None:
    paper = read_suite("rebuttal-novelty", Resources.of(), preset="paper")
    assert "500" in small_sample(paper, 1)
    assert not small_sample(replace(paper, cases={str(n): {} for n in range(500)}), 1)


@pytest.mark.parametrize(
    ("table", "named"),
    [
        (HEAD + ROW.replace("=borderline-accept", "=9"), ["published.csv:2", "=9", "=borderline-accept"]),
        (HEAD + ROW.replace("calls", "owls"), ["published.csv:2", "usage.owls"]),
        (HEAD + ROW + ROW.replace(",3,", ",three,"), ["published.csv:3", "three"]),
        (ROW, ["condition", "measure", "value", "where", "model"]),
    ],
)
def test_a_published_row_must_be_of_the_suite(tmp_path: Path, table: str, named: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        read_suite(write(tmp_path, table), Resources.of())
    assert all(name in str(caught.value) for name in named)


def test_a_published_number_stands_beside_ours_and_is_in_no_mean(tmp_path: Path) -> None:
    write(tmp_path)
    done = manyheads_command("eval", "owls", "-o", "out", cwd=tmp_path)
    assert done.code == 0, done.err
    suite = read_suite(str(tmp_path / "owls"), Resources.of())
    [first, other] = Results(suite.spec, [], published=suite.published).entries
    assert [each.value for each in Results(suite.spec, [], published=suite.published).beside(first)] == [3]
    assert not Results(suite.spec, [], published=suite.published).beside(other)
    page, table = (
        (tmp_path / "out" / name).read_text(encoding="utf-8") for name in ("report.html", "summary.csv")
    )
    assert "GPT-4o" in page
    assert "A paper, Table 1" in page
    assert "A small sample" in page
    assert "GPT-4o" not in table
    assert ",1.0," in table


def test_a_suite_without_the_size_of_a_paper_says_so(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    text = SUITE.replace("paper: {repeats: 20, set: {conference-review.repeats: 3}}\n", "")
    (tmp_path / "mine/suite.yaml").write_text(text, encoding="utf-8")
    done = manyheads_command("eval", "mine", "--preset", "paper", cwd=tmp_path)
    assert "--preset paper" in done.message


def load_for(suite: Suite) -> Load:
    return lambda keys, system: load([*suite.spec.configs], keys, system=system, strict=False)


async def test_a_suite_is_estimated_at_both_sizes(tmp_path: Path) -> None:
    suite, [once, paper] = await sizes_of(write(tmp_path), Resources.of(), load_for, ())
    assert suite.spec.table == "A paper, Table 1"
    assert once.usage
    assert paper.usage
    assert (once.runs, once.usage.calls) == (2, 2)
    assert (paper.runs, paper.usage.calls) == (40, 120)
    assert once.whole
    assert not once.own_models


async def test_a_dry_run_that_is_cut_short_is_no_whole_estimate(tmp_path: Path) -> None:
    _, [once, _] = await sizes_of(write(tmp_path), Resources.of(), load_for, (), within=0)
    assert not once.whole


async def test_a_suite_that_compares_models_is_estimated_with_its_own(tmp_path: Path) -> None:
    name = write(tmp_path)
    suite = (tmp_path / "owls/suite.yaml").read_text(encoding="utf-8")
    suite = suite.replace("grid: {", "grid: {models.default.name: [offline], ")
    (tmp_path / "owls/suite.yaml").write_text(suite, encoding="utf-8")
    (tmp_path / "owls/published.csv").unlink()
    model = ("models.default.provider=openai", "models.default.name=gpt-4o-mini", "turns=2")
    _, [once, _] = await sizes_of(name, Resources.of(), load_for, model)
    assert once.own_models
    assert once.usage
    assert (once.usage.calls, once.usage.cost) == (2, None)


def test_the_costs_of_all_suites_here_are_known() -> None:
    resources, costs = Resources.of(), known_costs()
    ours = {name: read_suite(name, resources) for name in suite_names(resources)}
    assert {*costs} == {*ours}
    for name, suite in ours.items():
        has_paper = suite.spec.paper is not None and name not in OTHER_CORPORA
        assert {*costs[name]} == {"quick", *["paper"] * has_paper}


OTHER_CORPORA = ("virsci-corpora", "scipip-retrieval")
"""Which the paper's size needs."""
DEVIATION = 0.05
"""Of what is kept from a dry run now; more, and `python tools/costs.py` must be run."""


@pytest.mark.slow
@pytest.mark.parametrize("name", known_costs())
async def test_known_costs_are_those_of_a_dry_run(name: str) -> None:
    _, [once, *_] = await sizes_of(name, Resources.of(), load_for, (), within=inf)
    known = known_costs()[name]["quick"]
    assert once.usage
    assert (once.runs, once.judged) == (known.runs, known.judged)
    for what in ("calls", "input_tokens", "output_tokens"):
        assert getattr(once.usage, what) == pytest.approx(getattr(known, what), rel=DEVIATION)


async def test_a_known_cost_has_the_models_price() -> None:
    model, name = ModelConfig.parse("openai/gpt-4o-mini"), "rebuttal-feasibility"
    settings = (f"models.default.provider={model.provider}", f"models.default.name={model.name}")
    _, [known, _] = await sizes_of(name, Resources.of(), load_for, settings, model)
    _, [dry, _] = await sizes_of(name, Resources.of(), load_for, settings)
    assert known.usage
    assert dry.usage
    assert known.usage.cost
    assert known.usage.cost == pytest.approx(dry.usage.cost, rel=DEVIATION)
    assert known.usage.calls == dry.usage.calls


async def test_a_model_that_sees_no_pictures_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "rebuttal-feasibility"
    other = {name: {"quick": KnownCost(runs=1, calls=1, input_tokens=1, output_tokens=1)}}
    monkeypatch.setattr("manyheads.suites.catalogue.known_costs", Mock(return_value=other))
    runs = [
        (await sizes_of(name, Resources.of(), load_for, (), model, 0))[1][0].runs
        for model in (ModelConfig(), ModelConfig(vision=False), None)
    ]
    assert runs == [1, 36, 36]


def test_the_list_names_each_suite_with_its_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("manyheads.suites.spec.suite_names", Mock(return_value=["review-systems", "none"]))
    done = manyheads_command("eval", "--list", "-m", "openai/gpt-4o-mini", cwd=tmp_path)
    first, once, *_ = done.out.splitlines()
    assert first.startswith("review-systems ")
    assert once.split()[:3:2] == ["once", "runs"]
    assert "USD" in once
    assert (done.code, "none" in done.err) == (2, True)


@pytest.mark.slow
def test_the_list_of_all_suites_takes_seconds(tmp_path: Path) -> None:
    began = process_time()
    done = manyheads_command("eval", "--list", "-m", "openai/gpt-4o-mini", cwd=tmp_path)
    assert process_time() - began < 10
    assert done.code == 0, done.err
    entries = {entry.split()[0]: entry for entry in re.split(r"\n(?=\S)", done.out)}
    assert {*known_costs()} <= {*entries}
    for name, costs in known_costs().items():
        assert all(f"{cost.calls:,} calls" in entries[name] for cost in costs.values())
        assert ("models of its own" in entries[name], "USD" in entries[name]) == (
            (True, False)
            if name == "virsci-models"
            else (False, True)
            if name not in FREE
            else (False, False)
        )
    assert "corpora/oag" in entries["virsci-corpora"]


FREE = ("scipip-retrieval",)
"""It asks no model."""
