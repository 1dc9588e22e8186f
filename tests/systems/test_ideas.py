"""Ideas read from runs, files and texts, and the target beside them."""

from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import SubjectError
from manyheads.systems import systems
from manyheads.systems.ideas import Contest, read_idea
from manyheads.systems.loading import validate
from support.results import abstract, idea, write

FORM = {name: f"Its {name}." for name in ("problem", "objective", "hypothesis", "method", "expected_impact")}
PARAGRAPH = {"number": 0, "title": "", "idea": "Owls plan by ear.", "thought": "Gaps.", "by": "Proposer"}
REVISED = {"number": 1, "by": "Proposer", "title": "Owls", "idea": "Problem: Its problem.", **FORM}
TEAM = idea("Owls", idea="Owls plan.", experiment="Count mice.", number=3, votes=2)


def run(folder: Path, **parts: Any) -> str:
    """The folder of a finished run whose result holds these parts."""
    return str(write(folder, {"system": "virsci", **parts}))


def rebuttal(folder: Path, revisions: int = 3, final: int = 3) -> str:
    """A run of review and rebuttal whose versions are told apart by their methods."""
    revised = [{**REVISED, "method": f"Method {number}."} for number in range(1, revisions + 1)]
    versions = [PARAGRAPH, *({**each, "number": number} for number, each in enumerate(revised, 1))]
    rounds = [{"round": number, "idea": each, "review": None} for number, each in enumerate(versions)]
    return run(
        folder, system="rebuttal", rounds=rounds, idea={**versions[final], "number": final, "references": []}
    )


def contest(**ranking: Any) -> Contest:
    return systems()["ranking"].read(validate({"system": "ranking", "ranking": ranking}))


def test_a_teams_idea_with_its_experiment_is_in_no_form(tmp_path: Path) -> None:
    named = run(tmp_path / "team", idea=TEAM)
    found = read_idea(named)
    assert (found.source, found.title) == (named, "Owls")
    assert found.text == "Owls plan.\n\nExperiment: Count mice."
    assert (found.fields, found.round, found.settled) == ({}, None, None)
    assert read_idea(named, 2) == found


def test_an_idea_by_its_number(tmp_path: Path) -> None:
    first, later = (idea(title, number=2, round=n) for n, title in enumerate(("Given up", "Kept"), 1))
    team = run(
        tmp_path / "team",
        ideas=[idea("Cats", number=1), first, later],
        idea=TEAM,
        topic={"topic": "Night", "fixed": True},
    )
    assert [read_idea(f"{team}#{number}").title for number in (1, 2)] == ["Cats", "Kept"]  # of the last round
    assert (read_idea(f"{team}#1").topic, read_idea(f"{team}#1").source) == ("Night", f"{team}#1")
    revised = read_idea(f"{rebuttal(tmp_path / 'revised')}#2")
    assert (revised.fields["method"], revised.round) == ("Method 2.", 2)
    with pytest.raises(SubjectError, match="no idea 3") as unknown:
        read_idea(f"{team}#3")
    assert unknown.value.tried == "1 Cats; 2 Kept"
    Path(f"{team}#1").mkdir()
    with pytest.raises(SubjectError, match="not a run folder"):  # a folder of this very name
        read_idea(f"{team}#1")
    assert read_idea("Bats are the new owls, see issue #1").text == "Bats are the new owls, see issue #1"
    with pytest.raises(SubjectError, match="no such file"):
        read_idea("gone#1")


@pytest.mark.parametrize(
    ("after", "number", "settled"),
    [(None, 3, True), (0, 0, False), (1, 1, False), (2, 2, False), (3, 3, True), (10, 3, True)],
)
def test_a_version_by_its_round(tmp_path: Path, after: int | None, number: int, settled: bool) -> None:
    found = read_idea(rebuttal(tmp_path / "run"), after)
    assert (found.round, found.settled) == (number, settled)
    if number:
        assert found.fields == {"title": "Owls", **FORM, "method": f"Method {number}."}
    else:
        assert (found.title, found.text, found.fields) == ("", "Owls plan by ear.", {})


def test_the_final_idea_need_not_be_the_last_version(tmp_path: Path) -> None:
    named = rebuttal(tmp_path / "run", final=1)
    assert [(each.round, each.settled) for each in (read_idea(named), read_idea(named, 9))] == [
        (1, True),
        (3, True),
    ]


def test_a_form_with_a_blank_field_is_none(tmp_path: Path) -> None:
    assert read_idea(run(tmp_path / "run", system="rebuttal", idea={**REVISED, "method": " "})).fields == {}


def test_texts_and_files_of_them(tmp_path: Path) -> None:
    (tmp_path / "idea.md").write_text("# Owls\n\nThey plan.\n", encoding="utf-8")
    found = read_idea(str(tmp_path / "idea.md"))
    assert (found.source, found.title, found.text) == (str(tmp_path / "idea.md"), "Owls", "They plan.")
    given = read_idea(" Owls and/or bats plan. ")
    assert (given.source, given.title, given.text, given.fields) == ("", "", "Owls and/or bats plan.", {})


def test_the_target_is_a_text_or_what_a_run_has_written(tmp_path: Path) -> None:
    wrote = run(tmp_path / "done", idea=TEAM, abstract=abstract("Owls", "We plan with owls."))
    found = contest(target=wrote, ideas=[wrote, "Bats."])
    assert (found.target.title, found.target.text) == ("Owls", "We plan with owls.")
    assert [each.title for each in found.ideas] == ["Owls", ""]
    assert str(found) == "2 ideas and a target of 4 words"
    given = contest(target="Dogs find mines.", ideas=["Bats."]).target
    assert (given.source, given.title, given.text) == ("", "", "Dogs find mines.")


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({}, "did not produce an idea"),
        ({"idea": None}, "did not produce an idea"),
        ({"idea": {**TEAM, "idea": " ", "experiment": ""}}, "did not produce an idea"),
        ({"system": "conference-review", "reviews": [], "means": {}}, "did not produce an idea"),
        ({"idea": "Owls."}, r"result\.json: result\.idea: should be"),
        ({"idea": {**TEAM, "experiment": ["Count."]}}, r"idea\.experiment: input should be a valid string"),
        (
            {"system": "rebuttal", "idea": {**REVISED, "method": 7}},
            r"idea\.method: input should be a valid string \(given: 7\)",
        ),
        ({"system": "rebuttal", "rounds": {"0": "Owls"}}, r"rounds: should be a list"),
        (
            {"system": "rebuttal", "rounds": [{"round": "x", "idea": REVISED}]},
            r"rounds\.0\.round: input should be a valid int",
        ),
    ],
)
def test_runs_without_an_idea_and_results_made_by_hand(
    tmp_path: Path, parts: dict[str, Any], said: str
) -> None:
    with pytest.raises(SubjectError, match=said) as stopped:
        read_idea(run(tmp_path / "run", **parts))
    assert stopped.value.hint


@pytest.mark.parametrize(
    ("ranking", "said"),
    [
        ({"target": "nowhere.md", "ideas": ["Owls."]}, r"nowhere\.md: no such file"),
        ({"target": "Dogs.", "ideas": ["runs/nowhere"]}, r"runs/nowhere: no such file"),
        ({"target": " ", "ideas": ["Owls."]}, "the target: the text is blank"),
    ],
)
def test_what_is_not_there(ranking: dict[str, Any], said: str) -> None:
    with pytest.raises(SubjectError, match=said) as stopped:
        contest(**ranking)
    assert "in quotes" in (stopped.value.hint or "")


def test_folders_that_are_no_finished_runs(tmp_path: Path) -> None:
    with pytest.raises(SubjectError, match="not a run folder"):
        read_idea(str(tmp_path))
    (tmp_path / "config.yaml").write_text("system: rebuttal\n", encoding="utf-8")
    with pytest.raises(SubjectError, match="not a finished run"):
        read_idea(str(tmp_path))
    with pytest.raises(SubjectError, match="wrote no abstract"):
        contest(target=run(tmp_path / "bare", idea=TEAM), ideas=["Owls."])
