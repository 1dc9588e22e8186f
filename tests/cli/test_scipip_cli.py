"""`manyheads run scipip` as users run it: its default background, where its idea goes on, a kill, and mistakes."""

from pathlib import Path

import pytest

from support.command import manyheads_command, result_of

FEW = ("--set", "embedding=lexical", "--set", "scipip.ideas=5", "--set", "scipip.papers=4", "--quiet")
BACKGROUND = "Robots grasp cups by what a camera sees of them, and it sees the front alone."


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of the config that ships, with the offline model."""
    folder = tmp_path_factory.mktemp("scipip")
    done = manyheads_command("run", "scipip", *FEW, "--out", "run", cwd=folder)
    assert done.code == 0, done.err
    return folder


def test_it_runs_as_it_ships(home: Path) -> None:
    result = result_of(home / "run")
    assert result["finished"]
    assert result["corpus"] == "sample"
    assert {each["origin"] for each in result["ideas"]} >= {"brainstorm", "literature"}
    assert result["idea"] == result["final"][0]
    assert {found["channel"] for paper in result["evidence"] for found in paper["retrievals"]} >= {
        "semantic",
        "entity",
    }
    assert result["records"] == {"lexical": 4}
    assert 'class="drawing broad"' in (home / "run" / "report.html").read_text(encoding="utf-8")


def test_its_idea_is_revised_on_the_papers_behind_it(home: Path) -> None:
    flags = ("--set", "rebuttal.max_iters=1", "--set", "embedding=lexical", "--quiet", "--out", "revised")
    done = manyheads_command("run", "rebuttal", "--idea", "run", *flags, cwd=home)
    assert done.code == 0, done.err
    before, after = result_of(home / "run"), result_of(home / "revised")
    idea = after["rounds"][0]["idea"]
    assert (idea["title"], idea["idea"]) == (
        before["idea"]["title"],
        f"{before['idea']['idea']}\n\n{before['idea']['details']}",
    )
    papers = {each["id"]: each["paper"] for each in before["evidence"]}
    behind = [papers[each] for each in before["idea"]["references"]]
    assert [each["paper"] for each in after["evidence"]] == behind


@pytest.mark.slow
def test_its_idea_goes_on(home: Path) -> None:
    ranking = ("ranking", "judge", "run", "--target", BACKGROUND, "--out", "ranked", "--quiet")
    for command in (ranking, ("measure", "run"), ("review", "run", "--out", "reviewed")):
        done = manyheads_command(*command, cwd=home)
        assert done.code == 0, done.err
