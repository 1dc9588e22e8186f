"""Run folders that were kept go on: to the frozen result, and no turn of theirs is asked anew."""

import json
import shutil
import sqlite3
from contextlib import closing
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from golden.commands import command
from golden.runs import FOLDERS, HOSTS, differences, golden, result_of
from support.command import Done

FINISHED = sorted(path.name for path in FOLDERS.glob("*-finished"))
STOPPED = sorted(path.name for path in FOLDERS.glob("*-stopped"))
QUICK = ("virsci-finished", "virsci-stopped", "rebuttal-of-a-text-stopped")
ON_HOSTS = [
    pytest.param(
        name,
        host,
        marks=[pytest.mark.slow] if host != HOSTS[0] or name not in QUICK else [],
    )
    for name in (*FINISHED, *STOPPED)
    for host in (HOSTS if name in STOPPED else HOSTS[:1])
]
"""Of a finished run nothing is asked, so no host has a part in it."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


def copied(name: str, home: Path) -> Path:
    return Path(shutil.copytree(FOLDERS / name, home / "run"))


def frozen(name: str) -> Any:
    return golden(name.rpartition("-")[0])


def turns(folder: Path) -> list[tuple[Any, ...]]:
    """What the journal holds, with the time of each; a turn that is asked anew is another row."""
    with closing(sqlite3.connect(folder / "journal.sqlite")) as journal:
        return journal.execute(
            "SELECT rowid, stage, turn, speaker, task, ordinal, reply, at FROM turn ORDER BY rowid"
        ).fetchall()


def resume(home: Path, *more: str) -> Done:
    return command("resume", "run", "--quiet", *more, cwd=home)


@pytest.mark.parametrize(("name", "host"), ON_HOSTS)
def test_a_run_goes_on_to_the_frozen_result(home: Path, name: str, host: str) -> None:
    run, result = copied(name, home), frozen(name)
    before, calls = turns(run), result["usage"]["calls"]
    (run / "result.json").unlink(missing_ok=True)
    # The budget counts recorded turns as well: with one more question than the whole run has, it would be spent.
    done = resume(home, "--host", host, "--set", f"budget.calls={calls}")
    assert done.code == 0, done
    assert differences(result_of(run, home), result) == []
    assert turns(run)[: len(before)] == before
    assert len(turns(run)) == calls
    assert (run / "report.html").is_file()


@pytest.mark.parametrize("name", STOPPED)
def test_a_stopped_run_without_more_budget_stays_as_it_is(home: Path, name: str) -> None:
    run = copied(name, home)
    before = turns(run)
    done = resume(home)
    assert done.code == 3
    assert all(fact in done.err for fact in ("budget.calls", str(len(before)), "manyheads resume run"))
    assert turns(run) == before


def test_a_run_of_a_version_that_kept_no_inputs_is_refused(home: Path) -> None:
    run = copied(STOPPED[0], home)
    (run / "config.yaml").write_text(
        "system: virsci\ntopic: Owls\nbaseline: {rounds: 50}\n", encoding="utf-8"
    )
    before = turns(run)
    done = resume(home)
    assert done.code == 2
    assert all(fact in done.err for fact in ("config.yaml", "manyheads run"))
    assert turns(run) == before


@pytest.mark.parametrize("name", [*FINISHED, *STOPPED])
def test_a_report_is_written_from_the_folder(home: Path, name: str) -> None:
    run = copied(name, home)
    done = command("report", "run", cwd=home)
    assert done.code == 0, done
    result = frozen(name)
    page = unescape((run / "report.html").read_text(encoding="utf-8"))
    if name in FINISHED:
        assert (result["result"]["abstract"] or result["result"]["idea"])["title"] in page


def test_each_folder_is_small_and_of_no_machine() -> None:
    assert len(FINISHED) >= 2
    assert len(STOPPED) >= 3
    for path in (path for path in FOLDERS.rglob("*") if path.is_file()):
        assert path.stat().st_size < 300_000, path
        assert not any(place in path.read_bytes() for place in (b"/tmp/", b"/home/", b"/root/")), path


def test_a_finished_run_is_measured_as_before(home: Path) -> None:
    copied("virsci-finished", home)
    flags = ("--rnd", "--rnd-papers", "10", "--rnd-neighbours", "5")
    done = command("measure", "run", "--json", *flags, cwd=home)
    assert done.code == 0, done
    found = json.loads(done.out)
    measures = {key: found[key] for key in ("hd", "cd", "ci", "on", "rnd")}
    assert measures == pytest.approx(
        {"hd": 0.942083, "cd": 0.952954, "ci": 0.946380, "on": 0.935584, "rnd": 0.5}, abs=1e-6
    )
    assert [paper["id"] for paper in found["past"]] == [
        f"sample:{n}" for n in ("070", "068", "008", "005", "069")
    ]
