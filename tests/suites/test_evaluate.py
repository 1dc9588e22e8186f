"""A suite through the real command: run, failed, killed, gone on with, changed."""

import asyncio
import json
import re
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from manyheads.base.errors import ChangedError, JournalError, MeasureError
from manyheads.base.resources import Resources
from manyheads.config import ModelConfig
from manyheads.core.results import is_finished
from manyheads.corpus import minilm
from manyheads.corpus.meta import BuildOptions
from manyheads.engine.jobs import JobNews, State
from manyheads.engine.journal import read_turns
from manyheads.engine.local import Process
from manyheads.models.abilities import Abilities, keep
from manyheads.suites.cells import CellRow, cells_of
from manyheads.suites.evaluate import Evaluation, run_jobs, summarise
from manyheads.suites.spec import read_suite
from support.command import finish, manyheads_command, result_of, served_by, start
from support.corpora import built as built_corpus
from support.llm import LLM
from support.papers import papers
from support.records import read_lines
from support.results import ended
from support.suites import loader, summary_of, words_of, write_suite


class Told:
    """What a suite tells of its runs."""

    def __init__(self) -> None:
        self.states = Counter[State]()

    def __call__(self, news: JobNews) -> None:
        if news.state != "goes on":
            self.states[news.state] += 1


def run(
    suite_folder: Path, out: Path, *settings: str, repeats: int | None = None, accept: bool = False
) -> tuple[Evaluation, Counter[State]]:
    suite = read_suite(str(suite_folder), Resources.of())
    repeats, told = repeats or suite.spec.repeats, Told()
    cells = cells_of(suite, repeats, loader(suite.spec.configs), out, settings)
    work = run_jobs(suite, cells, out, engine=Process(2), accept_changes=accept, listener=told)
    return summarise(suite, cells, out, asyncio.run(work), repeats=repeats), told.states


def change(suite_folder: Path, **keys: Any) -> None:
    path = suite_folder / "suite.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **keys}))


@pytest.mark.slow
def test_a_suite_from_its_file_to_its_picture(tmp_path: Path) -> None:
    write_suite(tmp_path / "evals", "mine", repeats=1)
    done = manyheads_command("eval", "mine", "--path", tmp_path, "--set", "ideas.keep=2", cwd=tmp_path)
    assert done.code == 0, done.err
    folder = tmp_path / "runs" / "eval-mine"
    told = words_of(folder / "report.html")
    assert "Host autogen; models: default offline/offline" in told
    assert "Set by hand ideas.keep=2" in told
    entries = summary_of(folder)
    assert [(e["team.size"], e["measure"], e["n"]) for e in entries] == [
        (size, measure, "1") for size in "23" for measure in ("hd", "usage.calls")
    ]
    assert all(e["left_out"] == "0" for e in entries)
    rows = read_lines(folder / "results.jsonl", CellRow)
    assert len({row.cell for row in rows}) == 2
    for row in rows:
        assert len(read_turns(folder / "cells" / row.cell / "journal.sqlite")) == row.values["usage.calls"]
    assert "2/2 finished: " in done.err
    assert "no language model" in done.out
    assert {"plot.png", "plot.svg", "report.html", "summary.csv"} <= {each.name for each in folder.iterdir()}


@pytest.mark.slow
def test_a_cell_that_fails_is_named_counted_and_left_out(tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "mine", grid={"budget.calls": [1000, 3]}, plot=None)
    done = manyheads_command("eval", suite, "--out", "out", "--repeats", "1", cwd=tmp_path)
    assert done.code == 5
    assert "Traceback" not in done.err
    assert "budget.calls is 3" in done.err
    assert "1 of 2 cells are left out of the means" in done.err
    entries = [e for e in summary_of(tmp_path / "out") if e["measure"] == "hd"]
    cells = [(e["n"], e["left_out"], bool(e["mean"])) for e in entries]
    assert cells == [("1", "0", True), ("0", "1", False)]
    [row] = [row for row in read_lines(tmp_path / "out" / "results.jsonl", CellRow) if row.error]
    assert row.condition == {"budget.calls": 3}
    assert "Failed: 1 of 2 cells" in words_of(tmp_path / "out" / "report.html")


def test_finished_cells_stay_and_more_repeats_are_added_to_them(tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "mine", measures=["usage.calls"], plot=None, grid={"team.size": [2]})
    _, states = run(suite, tmp_path / "out", repeats=1)
    assert states == {"began": 1, "finished": 1}
    files = {path: path.stat().st_mtime_ns for path in tmp_path.glob("out/cells/*/*")}
    found, states = run(suite, tmp_path / "out", repeats=2)
    assert (states["kept"], states["finished"]) == (1, 1)
    assert {path: path.stat().st_mtime_ns for path in files} == files
    assert [entry.n for entry in found.results.entries] == [2]


@pytest.mark.slow
def test_all_cells_go_by_what_was_known_of_a_server_when_the_first_began(tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "mine", measures=["usage.calls"], plot=None, grid={"team.size": [2]})
    with LLM() as llm:
        server = f"models.default={{provider: openai, name: test, base_url: {llm.base_url}}}"
        config = ModelConfig(provider="openai", name="test", base_url=llm.base_url)
        run(suite, tmp_path / "out", server, repeats=1)
        keep(config, Abilities(tools=False, context=9000))
        run(suite, tmp_path / "out", server, repeats=2)
        run(suite, tmp_path / "later", server, repeats=1)
    kept = [yaml.safe_load(path.read_text()) for path in tmp_path.glob("out/cells/*/config.yaml")]
    assert [each["models"]["default"].get("tools") for each in kept] == [None, None]
    assert [each["models"]["default"].get("context") for each in kept] == [None, None]
    [path] = tmp_path.glob("later/cells/*/config.yaml")
    assert yaml.safe_load(path.read_text())["models"]["default"]["tools"] is False, "another suite learns"


def test_what_has_changed_is_named(tmp_path: Path) -> None:
    more: Any = {"grid": {"team.size": [2]}, "measures": ["usage.calls"], "plot": None, "repeats": 1}
    suite = write_suite(tmp_path, "mine", **more)
    run(suite, tmp_path / "out")
    change(suite, grid={"team.size": [2, 4]})
    with pytest.raises(ChangedError, match=r"suite\.grid\.team\.size was \[2\], is \[2, 4\]"):
        run(suite, tmp_path / "out")
    with pytest.raises(ChangedError, match=r"config\.virsci\.ideas\.keep was 3, is 2"):
        run(suite, tmp_path / "out", "ideas.keep=2")


@pytest.mark.slow
def test_what_has_changed_goes_on_only_when_told_to(tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "mine", measures=["usage.calls"], plot=None, repeats=1)
    run(suite, tmp_path / "out")
    change(suite, grid={"team.size": [2, 4]})
    _, states = run(suite, tmp_path / "out", accept=True)
    assert (states["kept"], states["finished"]) == (1, 1)
    change(suite, title="Other words", measures=["usage.calls", "inference_cost"])
    found, states = run(suite, tmp_path / "out", "budget.calls=1000")
    assert states == {"kept": 2}
    assert found.results.rows[0].values.keys() == {"usage.calls", "inference_cost"}


@pytest.mark.slow
def test_a_prompt_that_has_changed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANYHEADS_PATH", str(tmp_path / "own"))
    prompts = tmp_path / "own" / "prompts"
    for role in ("scientist", "critic"):
        (prompts / role).mkdir(parents=True)
        (prompts / role / "system.md.j2").write_text("Think.")
    suite = write_suite(tmp_path, "mine", measures=["usage.calls"], plot=None, repeats=1)
    run(suite, tmp_path / "out")
    (prompts / "critic" / "system.md.j2").write_text("Another system's, which no cell asks.")
    assert run(suite, tmp_path / "out")[1] == {"kept": 2}
    (prompts / "scientist" / "system.md.j2").write_text("Think twice.")
    with pytest.raises(ChangedError, match=r"prompts\.scientist/system\.md\.j2 was "):
        run(suite, tmp_path / "out", repeats=2)


@pytest.mark.slow
@pytest.mark.parametrize(("damage", "why"), [("{", "not valid JSON"), ("5", "not a JSON object")])
def test_a_cell_whose_result_is_damaged_has_failed_and_the_others_are_told(
    tmp_path: Path, damage: str, why: str
) -> None:
    suite = write_suite(tmp_path, "mine", measures=["hd", "usage.calls"], plot=None, repeats=1)
    damaged = run(suite, tmp_path / "out")[0].results.rows[0].cell
    (tmp_path / "out" / "cells" / damaged / "result.json").write_text(damage)
    found, states = run(suite, tmp_path / "out")
    assert states == {"kept": 2}
    [row] = found.results.failed
    assert row.cell == damaged
    assert why in (row.error or "")
    assert str(tmp_path / "out" / "cells" / damaged) in (row.error or "")
    assert [(entry.n, entry.left_out) for entry in found.results.entries] == [(0, 1), (0, 1), (1, 0), (1, 0)]


def test_what_the_result_does_not_hold_is_said_and_never_counted(tmp_path: Path) -> None:
    measures = ["usage.calls", "usage.cost", "nowhere.at.all", "ideas", "topic", "topic.fixed"]
    suite = write_suite(tmp_path, "mine", measures=measures, plot=None, grid={"team.size": [2]}, repeats=1)
    found, states = run(suite, tmp_path / "out")
    [row] = found.results.rows
    assert row.values.keys() == {"usage.calls", "topic.fixed"}
    assert row.values["topic.fixed"] == 0
    assert row.unknown == ("usage.cost",)
    assert row.missing["nowhere.at.all"] == "the result has no nowhere.at.all"
    assert row.missing["topic"] == "topic holds several values"
    assert row.missing["ideas"].endswith("ideas.length")
    assert states["lacks"] == 3
    assert found.results.lacking == [row]


@pytest.mark.slow
def test_what_is_known_in_part_is_a_mean_that_says_so(tmp_path: Path) -> None:
    records = [{**one, "citations": None if n == 7 else one["citations"]} for n, one in enumerate(papers(80))]
    built_corpus(tmp_path / "corpus", records, BuildOptions(bound=2014))
    how: dict[str, Any] = {
        "set": {"corpus": str(tmp_path / "corpus"), "embedding": "lexical"},
        "measuring": {"neighbours": 40},
    }
    suite = write_suite(tmp_path, "mine", measures=["hd", "ci"], plot=None, grid={}, repeats=1, **how)
    found, _ = run(suite, tmp_path / "out")
    [row] = found.results.rows
    assert row.partial == {"ci": "citations known of 39 of 40 neighbours and 39 of 40 papers"}
    assert row.values["ci"] > 0
    entries = {entry.measure: entry for entry in found.results.entries}
    assert (entries["hd"].partial, entries["ci"].partial) == (0, 1)
    assert row.partial["ci"] in found.report.read_text()


def test_what_no_corpus_can_measure_is_said_before_the_first_cell(tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "mine", measures=["hd"], plot=None, measuring={"neighbours": 5000})
    with pytest.raises(MeasureError, match="5000"):
        run(suite, tmp_path / "out")
    assert not (tmp_path / "out" / "cells").exists()


@pytest.mark.slow
def test_a_corpus_without_citation_counts_is_named_before_the_first_cell(tmp_path: Path) -> None:
    records = [{**one, "citations": None} for one in papers(30)]
    built_corpus(tmp_path / "corpus", records, BuildOptions(bound=2014))
    keys = {"corpus": str(tmp_path / "corpus"), "embedding": "lexical"}
    suite = write_suite(tmp_path, "mine", measures=["hd", "on"], plot=None, grid={}, set=keys)
    with pytest.raises(MeasureError, match="0 of the corpus's"):
        run(suite, tmp_path / "out")
    assert not (tmp_path / "out" / "cells").exists()


@pytest.mark.slow
def test_a_budget_that_cannot_pay_a_run_is_refused_before_anything_is_paid(tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "mine", plot=None, repeats=1)
    done = manyheads_command("eval", suite, "--out", "out", "--budget", "calls=5", cwd=tmp_path)
    assert (done.code, "calls=5" in done.message, "--estimate" in done.message) == (3, True, True)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_budget_that_cannot_pay_all_runs_warns_and_begins(tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "mine", plot=None, repeats=1)
    done = manyheads_command("eval", suite, "--out", "out", "--budget", "calls=24", cwd=tmp_path)
    assert done.code == 3
    assert "warning: --budget calls=24: 2 runs" in done.err
    assert (tmp_path / "out" / "cells").exists()


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "mine")
    (tmp_path / "out" / "cells").mkdir(parents=True)
    with pytest.raises(JournalError, match=r"out: .*suite\n.*--out"):
        run(suite, tmp_path / "out")


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a suite of four measures, `mine`, has run: told again, none of its cells is."""
    home = tmp_path_factory.mktemp("wide")
    measures = ["hd", "cd", "usage.calls", "inference_cost"]
    suite = write_suite(home, "mine", measures=measures, plot=None)
    assert manyheads_command("eval", suite, cwd=home).code == 0
    return home


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "row"),
    [
        (44, r"^ ?3 +2 +hd +\S+ ± \S+ *\n +2 +cd +\S+ ± \S+ *\n +2 +usage.calls +\S+ ± \S+ *$"),
        (34, r"^ ?3 +2 +hd +\S+ ± \S+ *\n +2 +cd +\S+ ± \S+ *\n"),
    ],
)
def test_means_stay_with_their_errors_however_narrow_a_terminal(wide: Path, columns: int, row: str) -> None:
    done = manyheads_command("eval", "mine", cwd=wide, env={"COLUMNS": str(columns)})
    assert re.search(row, done.out, re.MULTILINE), done.out
    assert "…" not in done.out


@pytest.mark.slow
@pytest.mark.parametrize("found_later", [False, True], ids=["no model", "a model by then"])
def test_a_suite_on_the_default_embedding_goes_on_as_it_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found_later: bool
) -> None:
    """A machine without an embedding model: each cell is begun by words, and stays so."""
    package = minilm.PACKAGE
    monkeypatch.setenv("MANYHEADS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(minilm, "PACKAGE", "no-such-package-here")
    suite = write_suite(tmp_path, "mine", set={"embedding": "auto", "turns": 1}, plot=None, repeats=1)
    whole, _ = run(suite, tmp_path / "whole")
    assert manyheads_command("eval", suite, "--out", "out", "--budget", "calls=24", cwd=tmp_path).code == 3
    begun = [path for path in tmp_path.glob("out/cells/*") if not is_finished(path)]
    assert any(read_turns(path / "journal.sqlite") for path in begun)
    monkeypatch.setattr(minilm, "PACKAGE", package if found_later else minilm.PACKAGE)
    if found_later:  # new cells would have another corpus than those that are finished
        with pytest.raises(ChangedError, match=r"corpora\.sample \(auto\) was"):
            run(suite, tmp_path / "out")
    again, _ = run(suite, tmp_path / "out", accept=found_later)
    assert not again.results.failed
    cells = {row.cell: result_of(tmp_path / "out" / "cells" / row.cell) for row in again.results.rows}
    for path in begun:
        result = result_of(tmp_path / "whole" / "cells" / path.name)
        assert cells[path.name]["embedding"] == "lexical-hash-384"
        assert cells[path.name]["warnings"] == result["warnings"] != []
    if not found_later:
        assert again.results.rows == whole.results.rows


def useful_rows(out: Path) -> list[dict[str, Any]]:
    """The rows of a suite, but for the number of requests: one whose answer was lost in a stop was sent."""
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text("utf-8").splitlines()]
    for row in rows:
        row["values"].pop("usage.calls")
    return rows


@pytest.mark.slow
def test_a_suite_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    """One that was killed: `test_a_ranking_suite_that_was_killed_pays_nothing_twice`."""
    suite = write_suite(tmp_path, "mine", plot=None)
    with LLM() as undisturbed:
        command = ("eval", str(suite), "--jobs", "1", *served_by(undisturbed))
        assert manyheads_command(*command, "--out", "whole", cwd=tmp_path).code == 0
    with LLM(delay=0.02) as llm:
        command = ("eval", str(suite), "--jobs", "1", *served_by(llm), "--out", "out")
        with start(*command, cwd=tmp_path) as process:
            while not ended(tmp_path / "out") and process.poll() is None:
                time.sleep(0.001)
            enough = llm.calls + 5
            while llm.calls < enough and process.poll() is None:
                time.sleep(0.001)
            process.send_signal(signal.SIGINT)
            stopped = finish(process)
        assert stopped.code == 130
        results = ended(tmp_path / "out")
        assert 1 <= len(results) < 4
        kept = {path.parent: len(read_turns(path)) for path in tmp_path.glob("out/cells/*/journal.sqlite")}
        before = llm.calls
        assert manyheads_command(*command, cwd=tmp_path).code == 0
        asked = llm.calls - before
    assert {path: path.read_bytes() for path in results} == results
    turns = {path.parent: len(read_turns(path)) for path in tmp_path.glob("out/cells/*/journal.sqlite")}
    assert len(turns) == 4
    assert asked == sum(turns.values()) - sum(kept.values())
    assert sum(turns.values()) == undisturbed.calls
    assert useful_rows(tmp_path / "whole") == useful_rows(tmp_path / "out")
