"""Suites that rank and review what their runs came to: each run is paid once, judged often, and gone on with."""

import json
import re
import signal
import time
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import JournalError
from manyheads.core.results import is_finished
from manyheads.engine.journal import read_turns
from manyheads.suites.cells import CellRow
from support.command import Done, finish, manyheads_command, result_of, served_by, start
from support.faults import Fault
from support.llm import LLM
from support.records import read_lines
from support.requests import Request
from support.results import ended
from support.suites import words_of, write_suite

TARGETS = [
    {
        "id": "graphs",
        "about": "A graph.",
        "background": ["Graphs are old."],
        "ranking.target": "Deep graphs.",
    },
    {"id": "robots", "background": ["Robots are old."], "ranking": {"target": "Robots that feel."}},
]
NUMBERS = count()
SETS: dict[str, Any] = {"rebuttal.max_iters": 1, "ranking.orders": 2}


def write_ranking(base: Path, **keys: Any) -> Path:
    """A suite of six cells, with two runs each, of which half are shared."""
    given: dict[str, Any] = {
        "configs": ["rebuttal"], "set": SETS, "grid": {"ranking.round": [0, 1]}, "ideas": 2, "repeats": 1,
        "variants": {"initial": {"rebuttal.method": "initial"}, "rebuttal": {}}, "begin_with": {"variant": "initial"},
        "measures": ["ranking.s", "usage.calls", "rebuttal.iterations < 1"], "plot": None, "cases": TARGETS,
    }  # fmt: skip
    return write_suite(base, "mine", **{**given, **keys})


def ranking(request: Request) -> list[dict[str, Any]]:
    """All ideas as they were shown."""
    places = (request.schema or {})["properties"].get("ranking", {}).get("maxItems", 0)
    return [{"idea": place + 1, "rationale": "So it seems."} for place in range(places)]


def anew(request: Request) -> str:
    """What makes no two answers alike."""
    return f"{request.seed}{next(NUMBERS)}"


def judging(**given: Any) -> LLM:
    return LLM(answers={"ranking": ranking}, **given)


def evaluated(llm: LLM, suite: Path, *more: str | Path, jobs: int = 2) -> Done:
    command = ("eval", suite, "--out", "out", "--jobs", str(jobs), *served_by(llm))
    return manyheads_command(*command, *more, cwd=suite.parent)


def rows_in(base: Path) -> list[CellRow]:
    return read_lines(base / "out" / "results.jsonl", CellRow)


def turns_in(base: Path) -> dict[Path, int]:
    """Recorded turns of each run and judging; a journal that a kill left without its table is left out."""
    found = dict[Path, int]()
    for path in base.glob("out/*/*/**/journal.sqlite"):
        try:
            found[path.parent] = len(read_turns(path))
        except JournalError as error:
            if "no such table" not in str(error):
                raise
    return found


def titles(llm: LLM, since: int = 0) -> Counter[str]:
    return Counter(request.title for request in llm.requests[since:])


def test_runs_are_paid_once_and_ranked_by_every_cell(tmp_path: Path) -> None:
    suite = write_ranking(tmp_path, cases=TARGETS[:1])
    with judging() as llm:
        done = evaluated(llm, suite)
    assert done.code == 0, done.err
    runs, rankings = (list((tmp_path / "out" / name).iterdir()) for name in ("cells", "rankings"))
    report = words_of(tmp_path / "out" / "report.html")
    assert "Cells 4 Failed 0 Conditions 4" in report
    assert "Repeats 1 2 runs each" in report
    assert (len(runs), len(rankings)) == (2 * 2, 2 * 2), "variants x ideas, and cells"
    assert titles(llm)["Ranking"] == 4 * 2, "an answer for each order"
    assert llm.calls == sum(turns_in(tmp_path).values())
    rows = rows_in(tmp_path)
    assert [row.condition["ranking.round"] for row in rows] == [0, 1] * 2
    for row in rows:
        initial = row.condition["variant"] == "initial"
        assert row.each["rebuttal.iterations < 1"] == ((1, 1) if initial else (0, 0))
        assert row.values["usage.calls"] == sum(row.each["usage.calls"]) / 2
        ranked = result_of(tmp_path / "out" / "rankings" / row.cell)
        assert "ranking.s" not in row.each
        assert row.values["ranking.s"] == ranked["s"]
        assert {each["round"] for each in ranked["ideas"]} == {
            0 if initial else row.condition["ranking.round"]
        }


def test_what_is_missing_is_said_before_anything_is_run(tmp_path: Path) -> None:
    bare = [{"id": "bare", "ranking.target": "A target."}]
    done = manyheads_command("eval", write_ranking(tmp_path, cases=bare), "--out", "out", cwd=tmp_path)
    assert "mine: variant=initial, bare, seed 0: rebuttal: needs a background" in done.message
    assert "suite.yaml" in done.message
    assert not (tmp_path / "out").exists()
    done = manyheads_command("eval", tmp_path / "mine", "--cases", "nowhere.jsonl", cwd=tmp_path)
    assert "nowhere.jsonl: cannot be read: No such file or directory" in done.message


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"set": {**SETS, "rebuttal.indicator": "beauty"}}, "initial, graphs, seed 0: rebuttal.indicator 'beauty'"),
        ({"cases": [TARGETS[0], {**TARGETS[1], "background": "no.bib"}]}, "robots, seed 0: no.bib: no such file"),
        ({"cases": [{**TARGETS[0], "ranking.target": "no.txt"}]}, "initial, ranking.round=0, graphs, seed 0: no.txt"),
        ({"cases": [{**TARGETS[0], "ranking.target": None}]}, "graphs, seed 0: ranking: needs the input target"),
    ],
)  # fmt: skip
def test_prompts_and_files_that_are_not_there_are_said_as_well(
    tmp_path: Path, keys: dict[str, Any], said: str
) -> None:
    done = manyheads_command("eval", write_ranking(tmp_path, **keys), "--out", "out", cwd=tmp_path)
    assert said in done.message
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_project_that_is_moved_goes_on_where_it_was(tmp_path: Path) -> None:
    (before := tmp_path / "before").mkdir()
    cases = [{**TARGETS[0], "background": "old.txt"}]
    suite = write_ranking(before, cases=cases, grid={}, measures=["ranking.s", "usage.calls"])
    (suite / "old.txt").write_text("Graphs are old.")
    with judging() as llm:
        assert evaluated(llm, suite, "--path", before, "--budget", "calls=7").code == 3
        moved = before.rename(tmp_path / "after")
        assert {path.parent for path in moved.glob("out/cells/*/journal.sqlite")} > {
            path.parent for path in moved.glob("out/cells/*/result.json") if is_finished(path.parent)
        }, "one was stopped in the middle"
        done = evaluated(llm, moved / "mine", "--path", moved)
        assert done.code == 0, done.err
        assert llm.calls == sum(turns_in(moved).values())
        paid = llm.calls
        assert evaluated(llm, moved / "mine", "--out", "whole").code == 0
        assert llm.calls - paid == paid


@pytest.mark.slow
def test_a_judge_that_fails_leaves_the_runs_and_is_asked_again(tmp_path: Path) -> None:
    suite = write_ranking(tmp_path)
    down = Fault("status", times=None, when=lambda request: request.title == "Ranking", status=403)
    with judging(faults=[down]) as llm:
        failed = evaluated(llm, suite, jobs=1)
        assert failed.code == 5
        assert "8 of 8 cells are left out of the means" in failed.err
        assert all(row.error and "resume" not in row.error for row in rows_in(tmp_path))
        assert titles(llm)["Ranking"] == 3 * 2, "not tried for every cell"
        assert failed.err.count("the same command again") == 1
        llm.faults.clear()
        before, runs = llm.calls, titles(llm)
        assert evaluated(llm, suite).code == 0
        assert not {"FirstIdea", "Review"} & titles(llm, before).keys()
        assert titles(llm, before)["Ranking"] == 8 * 2
    assert runs["FirstIdea"] == 4


@pytest.mark.parametrize(
    ("works", "refusals"), [pytest.param("amber", 3 * 3, marks=pytest.mark.slow), ("dune", 3)]
)
def test_a_condition_that_works_goes_on_among_others_that_fail(
    tmp_path: Path, works: str, refusals: int
) -> None:
    variants = {name: {"rebuttal.area": name} for name in ("amber", "birch", "cedar", "dune")}
    keys: dict[str, Any] = {"begin_with": {}, "grid": {}, "cases": TARGETS[:1], "ideas": 1, "repeats": 3}
    suite = write_ranking(tmp_path, **keys, variants=variants, measures=["usage.calls"])
    refused = Fault("status", times=None, when=lambda request: works not in request.text, status=403)
    with judging(faults=[refused]) as llm:
        assert evaluated(llm, suite, jobs=1).code == 5
    assert refused.done == refusals
    working = [row.error is None for row in rows_in(tmp_path) if row.condition["variant"] == works]
    assert working == [refusals > 3] * 3, "three that fail before any works look like a dead server"


def test_a_misspelt_measure_ends_a_suite_before_all_is_paid(tmp_path: Path) -> None:
    suite = write_ranking(tmp_path, repeats=3, measures=["ranking.s", "ranking.positionbias"])
    with judging() as llm:
        done = evaluated(llm, suite, jobs=1)
        assert titles(llm)["Ranking"] == 2, "the first ranking"
    assert "lacks: ranking of variant=initial" in done.err
    assert done.code == 2
    assert "ranking.positionbias: the result has no positionbias" in done.err
    assert "did you mean position_bias?" in done.err


@pytest.mark.slow
def test_a_measure_of_runs_is_given_up_when_no_condition_has_it(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"begin_with": {}, "grid": {}, "ideas": 1, "repeats": 3, "cases": TARGETS[:1]}
    suite = write_ranking(tmp_path, **keys, measures=["usage.callz", "rounds.1.improved"])
    with judging() as llm:
        done = evaluated(llm, suite, jobs=1)
        assert done.code == 2
        assert "did you mean calls?" in done.err
        assert len(list(tmp_path.glob("out/cells/*/result.json"))) == 2, "one of each condition"
        path = suite / "suite.yaml"
        path.write_text(path.read_text().replace("usage.callz", "usage.calls"))
        done = evaluated(llm, suite)
    assert done.code == 5, "a first idea has no second round, which is no misspelling"
    assert [set(row.values) for row in rows_in(tmp_path)] == [{"usage.calls"}] * 3 + [
        {"usage.calls", "rounds.1.improved"}
    ] * 3


@pytest.mark.slow
def test_a_suites_budget_is_one_for_all_and_over_all_starts(tmp_path: Path) -> None:
    suite = write_ranking(tmp_path)
    with judging() as llm:
        done = evaluated(llm, suite, "--budget", "calls=10")
        assert done.code == 3
        assert llm.calls == 10
        assert "the suite's budget is spent: calls 10, used: 10" in done.err
        assert done.err.count("/16 failed: ") <= 2, "no more than were under way"
        assert "--budget calls=<larger>" in done.err
        assert evaluated(llm, suite, "--budget", "calls=10").code == 3
        assert llm.calls == 10
        assert evaluated(llm, suite, "--budget", "calls=1000", "--budget", "minutes=5").code == 0
        assert llm.calls == sum(turns_in(tmp_path).values())


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (["calls"], "not a limit"),
        (["call=3"], "did you mean calls?"),
        (["calls=3", "calls=4"], "calls is set twice"),
        (["calls=0"], "greater than 0"),
        (["minutes=soon"], "not a number"),
        (["minutes=-1"], "greater than 0"),
        (["minutes=nan"], "nan"),
        (["money=1"], "models.default has no price"),
    ],
)
def test_a_budget_that_is_none_is_refused(tmp_path: Path, budget: Sequence[str], said: str) -> None:
    suite = write_ranking(tmp_path)
    flags = [part for each in budget for part in ("--budget", each)]
    done = manyheads_command("eval", suite, *flags, cwd=tmp_path)
    assert said in done.message
    assert not list(tmp_path.glob("runs/*/cells/*"))


@pytest.mark.slow
def test_money_that_nobody_counted_is_not_taken_for_none(tmp_path: Path) -> None:
    suite = write_ranking(
        tmp_path, cases=TARGETS[:1], ideas=1, grid={}, measures=["usage.calls", "usage.cost"]
    )
    price = ("--set", "models.default.price={input: 1, output: 1}")
    with judging() as llm:
        assert evaluated(llm, suite).code == 0
        assert rows_in(tmp_path)[0].unknown == ("usage.cost",)
        done = evaluated(llm, suite, *price, "--budget", "money=1")
        assert "its cost is unknown" in done.message
        fresh = evaluated(llm, suite, *price, "--budget", "money=0.000001", "--out", "dear", jobs=1)
        assert fresh.code == 3
        assert "the suite's budget is spent: money" in fresh.err


def own_prompt(base: Path, name: str, text: str) -> None:
    path = base / "own" / "prompts" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.slow
def test_how_runs_are_judged_may_come_later_but_not_change(tmp_path: Path) -> None:
    # Runs of the initial idea alone: they ask no judge themselves.
    alone = {"variants": {"initial": {"rebuttal.method": "initial"}}, "begin_with": {}}
    keys: dict[str, Any] = {"cases": TARGETS[:1], "ideas": 1, "grid": {}, **alone}
    suite = write_ranking(tmp_path, **keys, measures=["usage.calls"])
    (tmp_path / "own").mkdir()
    own = ("--path", tmp_path / "own")
    with judging() as llm:
        assert evaluated(llm, suite, *own).code == 0
        own_prompt(tmp_path, "judge/system.md.j2", "Judge.")
        write_ranking(tmp_path / "later", **keys)
        (suite / "suite.yaml").write_text((tmp_path / "later/mine/suite.yaml").read_text())
        before = llm.calls
        assert evaluated(llm, suite, *own).code == 0
        assert set(titles(llm, before)) == {"Condensed", "Ranking"}
        own_prompt(tmp_path, "judge/system.md.j2", "Judge otherwise.")
        assert "judging.ranking.prompts.judge/system.md.j2 was " in evaluated(llm, suite, *own).message
        write_ranking(tmp_path / "without", **keys, measures=["usage.calls"])
        (suite / "suite.yaml").write_text((tmp_path / "without/mine/suite.yaml").read_text())
        assert evaluated(llm, suite, *own).code == 0
        (suite / "suite.yaml").write_text((tmp_path / "later/mine/suite.yaml").read_text())
        assert "judging.ranking.prompts.judge/system.md.j2 was " in evaluated(llm, suite, *own).message
        own_prompt(tmp_path, "judge/system.md.j2", "Judge.")
        more = evaluated(llm, suite, *own, "--set", "ranking.orders=3")
        assert "the command sets ranking.orders" not in more.message
        assert "judging.ranking.config.ranking.orders was 2, is 3" in more.message


@pytest.mark.slow
def test_a_folder_of_another_version_is_refused_for_that_alone(tmp_path: Path) -> None:
    suite = write_ranking(tmp_path, cases=TARGETS[:1], grid={}, measures=["ranking.s"])
    with judging() as llm:
        assert evaluated(llm, suite).code == 0
        path = tmp_path / "out" / "suite.json"
        record = json.loads(path.read_text())
        del record["format"]
        path.write_text(json.dumps({**record, "config": {"topic": None}}))
        message = evaluated(llm, suite).message
        assert "another version" in message
        assert "--accept-changes" in message
        assert "topic" not in message
        paid = llm.calls
        assert evaluated(llm, suite, "--accept-changes").code == 0
        assert evaluated(llm, suite).code == 0
        assert llm.calls == paid
    assert json.loads(path.read_text()) == {
        **record,
        "format": 2,
        "accepted": ["made by another version of manyheads"],
    }


@pytest.mark.slow
def test_a_corpus_or_a_background_that_has_changed_is_named(tmp_path: Path) -> None:
    (tmp_path / "old.md").write_text("Graphs are old.")
    suite = write_ranking(tmp_path, cases=[{**TARGETS[0], "background": "../old.md"}], ideas=1, grid={})
    with judging() as llm:
        assert evaluated(llm, suite).code == 0
        record = (tmp_path / "out" / "suite.json").read_text()
        assert str(tmp_path) not in record, "where a file lies is no change"
        (tmp_path / "old.md").write_text("Graphs are older.")
        message = evaluated(llm, suite).message
    assert re.search(r"cases\.graphs\.background was \"old\.md \(.{8}\)\", is \"old\.md \(", message)
    team = write_suite(tmp_path / "team", "mine", measures=["usage.calls"], plot=None, repeats=1)
    assert manyheads_command("eval", team, "--out", "out", cwd=tmp_path / "team").code == 0
    path = tmp_path / "team" / "out" / "suite.json"
    record = json.loads(path.read_text())
    assert set(record["corpora"]) == {"sample (lexical)"}
    path.write_text(json.dumps({**record, "corpora": {"sample (lexical)": "another"}}))
    again = manyheads_command("eval", team, "--out", "out", cwd=tmp_path / "team")
    assert 'corpora.sample (lexical) was "another", is ' in again.message


def stopped_in_a_ranking(llm: LLM, process: Any) -> None:
    """Wait until a ranking is under way."""
    while titles(llm)["Ranking"] < 2 and process.poll() is None:
        time.sleep(0.001)


@pytest.mark.slow
def test_a_ranking_suite_that_was_killed_pays_nothing_twice(tmp_path: Path) -> None:
    suite = write_ranking(tmp_path)
    with judging() as whole:
        assert evaluated(whole, suite, "--out", "whole", jobs=3).code == 0
    with judging(delay=0.02) as llm:
        command = ("eval", str(suite), "--jobs", "3", "--out", "out", *served_by(llm))
        with start(*command, cwd=tmp_path) as process:
            stopped_in_a_ranking(llm, process)
            process.send_signal(signal.SIGKILL)
            assert finish(process).code == -signal.SIGKILL
        kept, before = turns_in(tmp_path), llm.calls
        results = ended(tmp_path / "out")
        assert results
        assert any(path.parent.name == "rankings" for path in kept)
        done = manyheads_command(*command, cwd=tmp_path)
        assert done.code == 0, done.err
        asked = llm.calls - before
    turns = turns_in(tmp_path)
    assert asked == sum(turns.values()) - sum(kept.values())
    assert {path: path.read_bytes() for path in results} == results
    assert sum(turns.values()) == whole.calls
    rows = [
        [row.values for row in read_lines(tmp_path / name / "results.jsonl", CellRow)]
        for name in ("whole", "out")
    ]
    assert rows[0] == rows[1]
