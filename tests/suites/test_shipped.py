"""The suites that ship: each fits together, and one of those on review and rebuttal goes from its files to its numbers."""

import json
from pathlib import Path

import pytest

from manyheads.base.resources import Resources, shipped
from manyheads.suites.cells import Cell, CellRow, cells_of
from manyheads.suites.replies import reply_counts
from manyheads.suites.spec import Suite, read_suite, suite_names
from manyheads.team.system import system_of
from support.command import manyheads_command, result_of
from support.records import read_lines
from support.suites import loader

CELLS = {
    "society-vs-teams": 2 * 3,
    "team-size": 6 * 4 * 3,
    "does-it-help": 10 * 3 * 5,
    "does-it-help-reviews": 4 * 18 * 5,
    "virsci-agreement": 2 * 2 * 3,
    "virsci-baselines": 3 * 3,
    "virsci-components": 4 * 2 * 3,
    "virsci-corpora": 2 * 3,
    "virsci-database": 2 * 2 * 3,
    "virsci-diversity": 2 * 5 * 2,
    "virsci-exploration": 2 * 2 * 3,
    "virsci-freshness": 2 * 5 * 2,
    "virsci-models": 6 * 2,
    "virsci-topology": 2 * 2 * 3,
    "virsci-turns": 2 * 2 * 3,
    "rebuttal-novelty": 3 * 4 * 3,
    "rebuttal-feasibility": 3 * 4 * 3,
    "rebuttal-ablation": 3 * 2 * 4 * 2,
    "rebuttal-evolution": 11 * 2 * 4 * 1,
    "prompt-check": 7 * 3,
    "scipip-retrieval": 13 * 3,
    "scipip-ideas": 4 * 3 * 2,
    "review-planted-errors": 4 * 18 * 1,
    "review-systems": 4 * 3 * 1,
    "review-calibration": 3 * 12 * 1,
}
"""Conditions × cases × repeats of each."""
OF_PAPERS = ("review-planted-errors", "does-it-help-reviews")
REBUTTAL = [name for name in CELLS if name.startswith("rebuttal-")]


def taken_apart(name: str) -> tuple[Suite, list[Cell]]:
    resources = Resources.of()
    suite = read_suite(name, resources)
    configs = suite.spec.configs
    return suite, cells_of(suite, suite.spec.repeats, loader(configs, resources), Path("out"))


def test_they_are_all_here() -> None:
    ours = shipped() / "evals"
    assert set(CELLS) == {name for name in suite_names(Resources.of()) if (ours / name).is_dir()}


LARGE = "rebuttal-evolution"
"""Whose hundreds of cells take as long as all the others."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name == LARGE else []) for name in CELLS]
)
def test_each_comes_apart_into_cells_and_is_told_of(name: str) -> None:
    suite, cells = taken_apart(name)
    assert len(cells) == CELLS[name]
    assert suite.spec.plot
    assert f"manyheads eval {name}" in (shipped() / "evals" / name / "README.md").read_text(encoding="utf-8")
    assert f"| `{name}` |" in (shipped() / "evals" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", OF_PAPERS)
def test_documents_of_one_paper_count_as_one(name: str) -> None:
    suite = read_suite(name, Resources.of())
    assert suite.groups == {case: case.partition(",")[0] for case in suite.cases}
    assert len(set(suite.groups.values())) == 3


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name == LARGE else []) for name in REBUTTAL]
)
def test_those_on_review_and_rebuttal_rank_beside_targets_with_their_own_past(name: str) -> None:
    _, cells = taken_apart(name)
    targets = {cell.case: cell for cell in cells}
    assert len(targets) == 4
    for cell in targets.values():
        target, background = cell.judges["ranking"].inputs.target, cell.config.inputs.background
        assert "\n\n" in (target or "")
        assert isinstance(background, tuple)
        assert len(cell.config.inputs.background) >= 5
        assert target not in background
        assert cell.config.settings.area != "computer science"


def test_the_cases_hold_what_the_sample_corpus_holds() -> None:
    """So that all texts are known to be ours."""
    lines = (shipped() / "configs" / "corpora" / "sample.jsonl").read_text(encoding="utf-8").splitlines()
    ours = {f"{paper['title']}\n\n{paper['abstract']}": paper["year"] for paper in map(json.loads, lines)}
    cases = (
        (shipped() / "evals" / "rebuttal-novelty" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    )
    for case in map(json.loads, cases):
        assert all(ours[text] < ours[case["ranking.target"]] for text in case["background"])


@pytest.mark.slow
def test_every_task_that_a_system_asks_is_tried_by_prompt_check(tmp_path: Path) -> None:
    done = manyheads_command("eval", "prompt-check", "--repeats", "1", "--out", "out", cwd=tmp_path)
    assert done.code == 0, done.err
    tried = reply_counts(path.parent for path in (tmp_path / "out").rglob("journal.sqlite"))
    needed = {
        f"{role}.{task}"
        for cell in taken_apart("prompt-check")[1]
        for job in cell.jobs
        for role, task in system_of(job.config).needs(job.config)
    }
    assert sorted(needed - tried.keys()) == []


@pytest.mark.slow
def test_ideas_of_each_path_are_judged_by_all_three_judges(tmp_path: Path) -> None:
    suite = read_suite("scipip-ideas", Resources.of()).spec
    cases = (shipped() / "evals" / "scipip-ideas" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    (tmp_path / "one.jsonl").write_text(cases[0], encoding="utf-8")
    sets = ("--repeats", "1", "--cases", "one.jsonl", "--out", "out", "--set", "embedding=lexical")
    done = manyheads_command("eval", "scipip-ideas", *sets, cwd=tmp_path)
    assert done.code == 0, done.err
    rows = {row.condition["variant"]: row for row in read_lines(tmp_path / "out" / "results.jsonl", CellRow)}
    assert set(rows) == set(suite.variants)
    for variant, row in rows.items():
        assert not row.missing
        assert set(row.values) == set(suite.measures)
        ideas = sum(row.values[f"idea-match.histogram.{score}"] for score in range(6))
        assert (ideas == 1) is (variant == "single"), "all final ideas of a run of SciPIP are judged"
    [run] = (tmp_path / "out").glob("idea-comparisons/single-*")
    contenders = {each["contender"] for each in result_of(run)["ideas"]}
    assert contenders == {"the ideas", "the rivals"}


@pytest.mark.slow
def test_from_the_command_to_the_numbers(tmp_path: Path) -> None:
    one = read_suite("rebuttal-novelty", Resources.of()).spec
    case = (
        (shipped() / "evals" / "rebuttal-novelty" / "cases.jsonl").read_text(encoding="utf-8").splitlines()[0]
    )
    (tmp_path / "one.jsonl").write_text(case, encoding="utf-8")
    short = ("rebuttal.max_iters=2", "ranking.orders=2")
    sets = [part for key in short for part in ("--set", key)]
    how = ("--repeats", "1", "--cases", "one.jsonl", *sets, "--out", "out")
    done = manyheads_command("eval", "rebuttal-novelty", *how, cwd=tmp_path)
    assert done.code == 0, done.err
    rows = {row.condition["variant"]: row for row in read_lines(tmp_path / "out" / "results.jsonl", CellRow)}
    assert set(rows) == set(one.variants)
    for row in rows.values():
        assert not row.missing
        assert set(row.values) | set(row.unknown) == set(one.measures)
        assert len(row.each["rebuttal.iterations"]) == one.ideas
    assert rows["initial"].unknown == ("rebuttal.converged", "usage.cost")
    assert rows["rebuttal"].unknown == ("usage.cost",)
    runs = sorted((tmp_path / "out" / "cells").glob("rebuttal-*"))
    assert len(runs) == one.ideas
    begun = [result_of(run)["rounds"][0]["idea"]["source"] for run in runs]
    assert begun == [str(run) for run in sorted((tmp_path / "out" / "cells").glob("initial-*"))]


def test_the_suite_in_the_readme_is_that_of_the_documentation_which_is_run() -> None:
    readme, page = (
        (shipped() / name).read_text("utf-8") for name in ("evals/README.md", "docs/how-to/suites.md")
    )
    for block in ('```yaml title="mine/suite.yaml"\n', '```json title="mine/cases.jsonl"\n'):
        own, theirs = (text.split(block)[1].split("```")[0] for text in (readme, page))
        assert own == theirs
