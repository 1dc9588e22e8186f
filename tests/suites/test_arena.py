"""Texts of a suite as an arena, without what names a maker; cases of a folder, and people's ratings of cases."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from manyheads.arena.items import read_form
from manyheads.arena.store import Arena
from manyheads.base.errors import ConfigError, RatingError
from manyheads.base.resources import Resources
from manyheads.suites.spec import SuiteSpec, read_suite
from suites.test_evaluate import run
from support.suites import SPEC, words_of, write_suite


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reviews of an abstract by one reviewer and by two, each of a seed."""
    base = tmp_path_factory.mktemp("arena")
    (base / "owls.md").write_text("# On owls\n\nWe plan with owls. They hear well.")
    suite = write_suite(
        base, "mine", configs=["conference-review"], set={}, grid={"conference-review.repeats": [1, 2]}, repeats=1, plot=None,
        measures=["usage.calls"], arena={"names": ["reviewer one"]},
        cases=[{"id": "owls", "subject": "../owls.md"}],
    )  # fmt: skip
    (suite / "suite.yaml").write_text(
        (suite / "suite.yaml").read_text().replace("turns: 1", "embedding: lexical")
    )
    evaluation, _ = run(suite, base / "out")
    assert evaluation.arena == base / "out" / "arena"
    return base / "out"


def test_texts_of_all_conditions_are_an_arena_without_their_makers(laid_out: Path) -> None:
    with Arena.open(laid_out / "arena") as arena:
        assert sorted((text.case, text.maker) for text in arena.texts()) == [
            ("owls", f"conference-review.repeats={n}") for n in (1, 2)
        ]
        assert all(case.context.startswith(f"# On {case.id}") for case in arena.cases())
        item = arena.next_item(arena.enter("Ada"))
        assert arena.form.title == read_form("review").title
    assert item
    assert "repeats" not in repr(item)
    assert str(laid_out) not in repr(item)
    assert "arena invite" in words_of(laid_out / "report.html")


@pytest.mark.slow
def test_the_same_runs_again_change_nothing(laid_out: Path) -> None:
    with Arena.open(laid_out / "arena") as arena:
        before = arena.texts()
    run(laid_out.parent / "mine", laid_out)
    with Arena.open(laid_out / "arena") as arena:
        assert arena.texts() == before


# Cases of a folder, and people's ratings of cases.


def papers(folder: Path) -> Path:
    (folder / "papers").mkdir()
    for name, words in (("owls", 40), ("bats", 80), ("moles", 120), ("eels", 160)):
        (folder / "papers" / f"{name}.md").write_text(f"# On {name}\n\n" + f"We plan with {name}. " * words)
    (folder / "papers" / ".hidden").write_text("")
    return folder / "papers"


def rated(base: Path, **keys: Any) -> Path:
    calibration = {"measure": "usage.input_tokens", "people": "people.csv", "threshold": 5}
    return write_suite(
        base, "mine", configs=["conference-review"], grid={}, repeats=1, plot=None, measures=["usage.input_tokens"],
        calibration=calibration, files="subject", **keys,
    )  # fmt: skip


@pytest.mark.slow
def test_a_folder_is_a_case_a_file_and_is_held_against_people(tmp_path: Path) -> None:
    folder, suite = papers(tmp_path), rated(tmp_path)
    (suite / "suite.yaml").write_text(
        (suite / "suite.yaml").read_text().replace("turns: 1", "conference-review.repeats: 1")
    )
    ratings = {"owls": (2, 3), "bats": (4, 3), "moles": (6, 7), "eels": (8, 9)}
    lines = [
        "paper,rater,score",
        *(f"{name},{r},{s}" for name, two in ratings.items() for r, s in zip("AB", two, strict=True)),
    ]
    (folder / "people.csv").write_text("\n".join(lines))
    found = read_suite(str(suite), Resources.of(), folder)
    assert {case: Path(keys["subject"]).name for case, keys in found.cases.items()} == {
        name: f"{name}.md" for name in ("bats", "eels", "moles", "owls")
    }
    suite_yaml = suite / "suite.yaml"
    suite_yaml.write_text(suite_yaml.read_text() + "\ncases: cases.jsonl\n")
    (suite / "cases.jsonl").write_text(
        "".join(json.dumps({"id": case, **keys}) + "\n" for case, keys in found.cases.items())
    )
    (suite / "people.csv").write_text("\n".join(lines))
    run(suite, tmp_path / "out")
    # longer papers have more tokens, and people like them
    report = words_of(tmp_path / "out" / "report.html")
    assert "| 4 | Spearman ρ | 1.00 " in report
    assert "50% of the cases" in report


def test_a_table_of_people_may_have_a_column_a_rater(tmp_path: Path) -> None:
    folder, suite = papers(tmp_path), rated(tmp_path)
    spec = yaml.safe_load((suite / "suite.yaml").read_text())
    spec["calibration"] |= {"on": "[0-9]", "columns": {"id": "forum", "accepted": "decision"}}
    (suite / "suite.yaml").write_text(yaml.safe_dump(spec))
    (folder / "people.csv").write_text("forum,0,1,decision\nowls,2,,Reject\nbats,4,3,Accept (Oral)\n")
    people = read_suite(str(suite), Resources.of(), folder).people
    assert people
    assert people.means("score") == {"owls": 2, "bats": 3.5}
    assert people.decisions == {"owls": False, "bats": True}


def test_what_does_not_fit_is_said_before_anything_is_run(tmp_path: Path) -> None:
    folder, suite = papers(tmp_path), rated(tmp_path)
    with pytest.raises(RatingError, match=r"people\.csv"):
        read_suite(str(suite), Resources.of(), folder)
    plain = write_suite(tmp_path, "plain")
    with pytest.raises(ConfigError, match="takes a file of cases"):
        read_suite(str(plain), Resources.of(), folder)
    (folder / "owls.txt").write_text("Owls again.")
    with pytest.raises(ConfigError, match="'owls'"):
        read_suite(str(suite), Resources.of(), folder)
    with pytest.raises(ValueError, match="is not among the measures"):
        SuiteSpec.model_validate({**SPEC, "calibration": {"measure": "cd", "people": "people.csv"}})
