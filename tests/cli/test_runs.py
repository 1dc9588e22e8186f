"""The runs of a project, wherever they lie: how each ended, its name, tags and note, tables of runs and ideas."""

import csv
import shutil
import signal
import time
from io import StringIO
from pathlib import Path

import pytest

from golden.runs import FOLDERS
from manyheads.report.index import folders_of_runs, read_entry
from support.command import finish, manyheads_command, served_by, start
from support.events import a_run
from support.faults import Fault
from support.llm import LLM
from support.web import owner

SMALL = ("-s", "embedding=lexical", "-s", "team.size=2", "-s", "turns=1")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Runs beside the project's files, in `runs`, further down, and two that are not the project's."""
    for number, place in enumerate(
        ("first", "runs/20260102-000000-twin", "papers/owls/twin-of-it", "papers/20260102-000000-twin")
    ):
        a_run(tmp_path / place, finished=number % 2 == 0, title=f"Title {number}")
    for place in ("env/lib/inner", "suite/cells/cell", ".hidden/run", "first/inside"):
        a_run(tmp_path / place, finished=True)
    (tmp_path / "env/pyvenv.cfg").touch()
    (tmp_path / "suite/suite.json").touch()
    return tmp_path


def listed(project: Path, *more: str) -> list[str]:
    done = manyheads_command("list", "runs", *more, cwd=project)
    assert done.code == 0, done
    return done.out.splitlines()


def test_all_runs_of_a_project_are_found_and_no_others(project: Path) -> None:
    found = {line.split()[0] for line in listed(project)}
    assert found == {
        "first", "runs/20260102-000000-twin", "papers/owls/twin-of-it", "papers/20260102-000000-twin",
    }  # fmt: skip
    assert folders_of_runs(project / "papers") == [project / "papers", project / "papers/owls"]


def test_a_name_finds_its_run_and_two_of_one_name_are_told(project: Path) -> None:
    assert "Title 2" in manyheads_command("show", "twin-of-it", "--format", "json", cwd=project).out
    two = manyheads_command("show", "20260102-000000-twin", cwd=project)
    assert two.code == 2
    assert "papers/20260102-000000-twin" in two.err
    assert "runs/20260102-000000-twin" in two.err
    assert manyheads_command("note", "twin-of-it", "Good.", "--name", "best", cwd=project).code == 0
    assert "Title 2" in manyheads_command("show", "best", "--format", "json", cwd=project).out
    assert manyheads_command("show", "worst", cwd=project).code == 2


@pytest.mark.slow
def test_commands_that_take_several_runs_find_them_by_name_too(tmp_path: Path) -> None:
    assert manyheads_command("run", "virsci", *SMALL, "-q", "-o", "deep/down/one", cwd=tmp_path).code == 0
    measured = manyheads_command("measure", "one", "--embedding", "lexical", cwd=tmp_path)
    assert (measured.code, (tmp_path / "deep/down/one/measure.json").is_file()) == (0, True), measured
    assert manyheads_command("more", "one", "1", *SMALL, "-q", "-o", "two", cwd=tmp_path).code == 0
    ranked = manyheads_command(
        "ranking",
        "judge",
        "one#1",
        "one#2",
        "two",
        "--target",
        "We plan with owls.",
        "--orders",
        "2",
        cwd=tmp_path,
    )
    assert ranked.code == 0, ranked


def test_names_tags_and_notes_are_kept_and_removed(project: Path) -> None:
    manyheads_command("note", "first", "Read again.", "--tag", "owls", "--tag", "to send", cwd=project)
    assert [line.split()[0] for line in listed(project, "--tag", "owls")] == ["first"]
    assert "#owls" in listed(project, "--tag", "to send")[0]
    shown = manyheads_command("note", "first", "--untag", "owls", "--name", "mine", cwd=project).out
    assert ("owls" in shown, "to send" in shown, "Read again." in shown, "mine" in shown) == (
        False,
        True,
        True,
        True,
    )
    assert listed(project, "--tag", "owls") == ["none"]
    assert manyheads_command("note", "nowhere", "x", cwd=project).code == 2


def test_a_table_has_the_columns_that_are_asked_for(project: Path) -> None:
    (project / "first/config.yaml").write_text("system: virsci\nvirsci: {}\nteam: {size: 7}\n")
    wanted = ("--columns", "run,title,state,team.size", "--csv")
    rows = {row["run"]: row for row in csv.DictReader(StringIO("\n".join(listed(project, *wanted))))}
    assert (rows["first"]["title"], rows["first"]["state"], rows["first"]["team.size"]) == (
        "Title 0",
        "finished",
        "7",
    )
    assert rows["runs/20260102-000000-twin"]["state"] == "stopped"
    assert "Title 0" in "\n".join(listed(project, "--columns", "title"))
    wrong = manyheads_command("list", "runs", "--columns", "titel", cwd=project)
    assert wrong.code == 2
    assert "'title'" in wrong.err or "title?" in wrong.err
    assert manyheads_command("list", "roles", "--csv", cwd=project).code == 2


@pytest.mark.parametrize("written", [True, False])
def test_an_unfinished_run_is_shown_with_how_it_ended(tmp_path: Path, written: bool) -> None:
    run = tmp_path / "a run"
    shutil.copytree(FOLDERS / "virsci-member-leaves-stopped", run)
    (run / "ended.txt").write_text("failed: the key was refused\n", encoding="utf-8")
    if not written:
        (run / "result.json").unlink()
    done = manyheads_command("show", "a run", cwd=tmp_path)
    assert (done.code, bool(done.out)) == ((0, True) if written else (2, False))
    assert "failed: the key was refused" in done.err
    assert done.err.count("manyheads resume") == 1


async def test_the_browser_shows_them_all_under_addresses_of_their_own(project: Path) -> None:
    async with owner(project / "runs", project=project) as client:
        page = (await client.get("/runs")).text
        for name in ("first", "20260102-000000-twin", "papers~20260102-000000-twin", "twin-of-it"):
            assert f'href="/runs/{name}"' in page, name
            assert (await client.get(f"/runs/{name}")).status_code == 200
        assert "Title 3" in (await client.get("/runs/papers~20260102-000000-twin/files/result.json")).text
        for name in ("cell", "inner", "suite~cells~cell", "inside", "run"):
            assert (await client.get(f"/runs/{name}")).status_code == 404, name


@pytest.mark.slow
def test_a_run_knows_how_it_ended(tmp_path: Path) -> None:
    def end(name: str) -> tuple[str, str]:
        entry = read_entry(tmp_path / name)
        return entry.state, entry.reason

    manyheads_command("run", "virsci", *SMALL, "--budget", "calls=5", "-o", "spent", cwd=tmp_path)
    assert end("spent")[0] == "stopped"
    assert "budget" in end("spent")[1]
    assert "budget" in listed(tmp_path)[0]
    shown = manyheads_command("show", "spent", cwd=tmp_path)
    assert "budget" in shown.err
    assert "manyheads resume spent --set budget.calls=" in shown.err
    never = Fault("slow", times=None, when=lambda request: request.title == "Idea")
    with LLM(faults=[never]) as llm:
        for name, sent in (("asked", signal.SIGINT), ("killed", signal.SIGKILL)):
            with start("run", "virsci", *SMALL, "-o", name, *served_by(llm), cwd=tmp_path) as run:
                while not (tmp_path / name / "result.json").exists():
                    assert run.poll() is None
                    time.sleep(0.05)
                run.send_signal(sent)
                finish(run)
    assert end("asked") == ("stopped", "by its user")
    assert end("killed") == ("stopped", "")
    assert manyheads_command("resume", "spent", "-s", "budget.calls=500", cwd=tmp_path).code == 0
    assert end("spent") == ("finished", "")
    assert not (tmp_path / "spent/ended.txt").exists()


@pytest.mark.slow
def test_ideas_of_all_runs_are_a_table(tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert manyheads_command("run", "virsci", *SMALL, "-q", "-o", name, cwd=tmp_path).code == 0
    lines = manyheads_command("list", "ideas", cwd=tmp_path).out.splitlines()
    rows = list(csv.DictReader(StringIO(manyheads_command("list", "ideas", "--csv", cwd=tmp_path).out)))
    assert {row["run"] for row in rows} == {"one", "two"}
    assert [f"{row['run']}#{row['number']}" for row in rows] == [line.split()[0] for line in lines]
    assert all(row["title"] in line for row, line in zip(rows, lines, strict=True))


async def test_a_page_that_is_opened_first_has_the_runs_own_notes_and_reason(project: Path) -> None:
    manyheads_command("note", "first", "Read again.", cwd=project)
    (project / "papers/20260102-000000-twin/ended.txt").write_text("stopped: the budget is spent\n")
    async with owner(project / "runs", project=project) as client:
        assert "Read again." in (await client.get("/runs/first")).text
    async with owner(project / "runs", project=project) as client:
        page = (await client.get("/runs/papers~20260102-000000-twin")).text
        assert "the budget is spent" in page
        assert "the budget is spent" in (await client.get("/runs?column=reason")).text


async def test_runs_made_from_each_other_are_linked_by_their_places(project: Path) -> None:
    """Not by their names: there are two twins."""
    made = a_run(project / "papers/owls/made", finished=True, title="Made of a twin")
    (made / "config.yaml").write_text("system: virsci\ninputs:\n  idea:\n  - ../../20260102-000000-twin#1\n")
    parent = project / "papers/20260102-000000-twin"
    (parent / "config.yaml").write_text("system: virsci\ninputs: {}\n")
    async with owner(project / "runs", project=project) as client:
        with_chain, without = [
            (await client.get(f"/runs/{name}")).text for name in ("made", "20260102-000000-twin")
        ]
        assert "Made from each other" in with_chain
        assert "Made from each other" not in without


async def test_a_finished_run_that_cannot_be_read_has_a_page(project: Path) -> None:
    (project / "first/result.json").write_text(
        '{"system": "virsci", "finished": true, "format": 3, "result": {}}'
    )
    async with owner(project / "runs", project=project) as client:
        assert (await client.get("/runs/first")).status_code == 200


@pytest.mark.slow
def test_what_goes_on_from_a_run_finds_its_corpus_and_prompts_from_anywhere(tmp_path: Path) -> None:
    (tmp_path / "papers.csv").write_text(
        "title,abstract,authors,year\n"
        + "".join(
            f"Owls {n},We plan with {n} owls and mice.,Ada {n % 3};Bo {n % 2},{2000 + n}\n" for n in range(20)
        )
    )
    built = manyheads_command("corpus", "build", "papers.csv", "-o", "mine", "--bound", "2012", "--embedding", "lexical", cwd=tmp_path)  # fmt: skip
    assert built.code == 0, built
    (tmp_path / "own/prompts").mkdir(parents=True)
    (tmp_path / "my.yaml").write_text(
        "system: virsci\ncorpus: ./mine\nembedding: lexical\nteam: {size: 2}\nturns: 1\n"
    )
    first = manyheads_command("run", "my.yaml", "--path", "own", "-q", "-o", "runs/y", cwd=tmp_path)
    assert first.code == 0, first
    (tmp_path / "elsewhere").mkdir()
    more = manyheads_command("more", tmp_path / "runs/y", "1", "-q", "-o", "z", cwd=tmp_path / "elsewhere")
    assert more.code == 0, more
