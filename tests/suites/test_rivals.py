"""Ideas against those of a rival with as many tokens: the runs, the blind comparison, and the verdict."""

from pathlib import Path

import pytest

from manyheads.suites.cells import CellRow
from manyheads.suites.report import Results, verdicts
from manyheads.suites.spec import SuiteSpec
from support.command import manyheads_command, result_of
from support.manuscripts import tei
from support.records import read_lines

SUITE = """
title: Owls
version: 1
sources: [owls]
configs: [single]
set: {corpus: sample, embedding: lexical, topic: "Owls that plan"}
variants:
  short: {system: self-reflection, rounds: 2}
  long: {system: self-reflection, rounds: 4}
  as-short: {system: single}
  as-long: {system: single}
like: {as-short: short, as-long: long}
rivals: {short: as-short, long: as-long}
repeats: 1
measures: [idea-comparison.overall, usage.calls]
"""


def test_a_baseline_gets_the_tokens_of_its_own_rival_and_their_ideas_are_compared(tmp_path: Path) -> None:
    (tmp_path / "owls").mkdir()
    (tmp_path / "owls/suite.yaml").write_text(SUITE, encoding="utf-8")
    done = manyheads_command("eval", "owls", "-o", "out", cwd=tmp_path)
    assert done.code == 0, done.err
    runs = {path.name.rpartition("-seed0")[0]: result_of(path) for path in (tmp_path / "out/cells").iterdir()}
    assert runs.keys() == {"short", "long", "as-short", "as-long"}
    for system, baseline in (("short", "as-short"), ("long", "as-long")):
        usage = runs[system]["usage"]
        assert runs[baseline]["baseline"]["tokens_allowed"] == usage["input_tokens"] + usage["output_tokens"]
    values = {
        row.condition["variant"]: row.values for row in read_lines(tmp_path / "out/results.jsonl", CellRow)
    }
    assert {name: "idea-comparison.overall" in own for name, own in values.items()} == {
        "short": True, "long": True, "as-short": False, "as-long": False,
    }  # fmt: skip
    assert "short against as-short" in done.out
    again = manyheads_command("eval", "owls", "-o", "out", cwd=tmp_path)
    assert again.code == 0, again.err
    estimated = manyheads_command("eval", "owls", "-o", "new", "--estimate", cwd=tmp_path)
    assert estimated.code == 0, estimated.err


REVIEWS = """
title: Owls
version: 1
sources: [owls]
configs: [mamorx]
set: {corpus: sample, literature.cascade: [local], mamorx.exchanges: 2}
variants:
  alone: {mamorx.maker: alone, mamorx.form: mamorx}
  as-alone: {mamorx.maker: plain, mamorx.form: mamorx}
like: {as-alone: alone}
rivals: {alone: as-alone}
cases: cases.jsonl
repeats: 1
measures: [review-comparison.overall, drafts]
"""


@pytest.mark.slow
def test_reviews_are_compared_with_the_best_of_as_many_as_their_tokens_pay_for(tmp_path: Path) -> None:
    (tmp_path / "owls").mkdir()
    (tmp_path / "owls/suite.yaml").write_text(REVIEWS, encoding="utf-8")
    tei(tmp_path / "owls/paper.tei.xml")
    (tmp_path / "owls/cases.jsonl").write_text('{"id": "owls", "paper": "paper.tei.xml"}', encoding="utf-8")
    done = manyheads_command("eval", "owls", "-o", "out", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "alone against as-alone" in done.out
    own, best = read_lines(tmp_path / "out/results.jsonl", CellRow)
    assert 0 <= own.values["review-comparison.overall"] <= 1
    assert "review-comparison.overall" not in best.values
    assert (own.values["drafts"], best.values["drafts"] > 1) == (0, True)
    [compared] = (result_of(path) for path in (tmp_path / "out/review-comparisons").iterdir())
    assert compared["failed"] == 0
    refused = REVIEWS.replace("as-alone: {mamorx.maker: plain", "as-alone: {mamorx.maker: committee")
    (tmp_path / "owls/suite.yaml").write_text(refused, encoding="utf-8")
    done = manyheads_command("eval", "owls", "-o", "other", cwd=tmp_path)
    assert (done.code, "committee" in done.err) == (2, True)


@pytest.mark.parametrize("measure", ["idea-comparison.overall", "review-comparison.overall"])
@pytest.mark.parametrize(
    ("wins", "verdict"),
    [
        ((0.9, 0.8, 0.9, 0.85, 0.9), "better"),
        ((0.1, 0.2, 0.1, 0.15, 0.1), "worse"),
        ((0.9, 0.2, 0.6, 0.5, 0.4), "can't be told"),
        ((0.9,), "can't be told"),
    ],
)
def test_the_verdict_is_that_of_the_interval(wins: tuple[float, ...], verdict: str, measure: str) -> None:
    spec = SuiteSpec(
        title="Owls", version=1, sources=("owls",), configs=("single",), variants={"a": {}, "b": {"turns": 1}},
        rivals={"a": "b"}, measures=(measure, "usage.input_tokens"),
    )  # fmt: skip
    rows = [
        CellRow(
            cell=f"{name}{seed}", condition={"variant": name}, case="", seed=seed,
            values={"usage.input_tokens": tokens, **({measure: won} if name == "a" else {})},
        )
        for seed, won in enumerate(wins)
        for name, tokens in (("a", 300.0), ("b", 100.0))
    ]  # fmt: skip
    [line] = verdicts(Results(spec, rows))
    assert f"a against b: {verdict}." in line
    assert "3 times" in line
    assert all(entry.left_out == 0 for entry in Results(spec, rows).entries)


@pytest.mark.parametrize("key", ["like", "rivals"])
def test_a_variant_must_be_there(key: str) -> None:
    made = {
        "title": "Owls",
        "version": 1,
        "sources": ("owls",),
        "configs": ("single",),
        "measures": ("usage.calls",),
    }
    with pytest.raises(ValueError, match=f"{key}.a"):
        SuiteSpec.model_validate({**made, "variants": {"a": {}}, key: {"a": "crow"}})
