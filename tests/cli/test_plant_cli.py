"""`manyheads plant`, and `manyheads arena agreement` of papers, as users meet them."""

import json
from pathlib import Path

import pytest

from manyheads.base.resources import shipped
from manyheads.judges.planted_error.planted import KINDS
from support.command import manyheads_command

PAPERS = shipped() / "evals" / "review-planted-errors" / "papers"


def test_papers_go_in_and_copies_with_a_key_and_cases_come_out(tmp_path: Path) -> None:
    done = manyheads_command(
        "plant", PAPERS / "kiln.json", "--kind", "caption", "--out", "planted", cwd=tmp_path
    )
    assert done.code == 0, done.err
    assert "1 paper, 1 planted error" in done.out
    key = json.loads((tmp_path / "planted" / "key.json").read_text())
    assert sorted(str(each["planted"]) for each in key["documents"]) == ["None", "caption"]
    assert len((tmp_path / "planted" / "cases.jsonl").read_text().splitlines()) == 2
    again = manyheads_command("plant", PAPERS, "--out", "all", cwd=tmp_path)
    assert f"3 papers, {3 * len(KINDS)} planted errors" in again.out


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("none.md", None, "none.md cannot be read"),
        (
            "bare.md",
            "# Owls\n\n## Abstract\n\nOwls hear.\n\n## 1 Method\n\n" + "We listen. " * 9,
            "no fault can be planted",
        ),
        ("broken.json", "{", "broken.json is not valid JSON"),
    ],
)
def test_what_cannot_be_planted_is_named(name: str, text: str | None, problem: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    done = manyheads_command("plant", name, cwd=tmp_path)
    assert problem in done.message
    assert not (tmp_path / "planted").exists()


def test_papers_of_one_name_and_strange_kinds_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "kiln.json").write_bytes((PAPERS / "kiln.json").read_bytes())
    done = manyheads_command("plant", PAPERS / "kiln.json", "a", cwd=tmp_path)
    assert "another paper is called kiln too" in done.message
    strange = manyheads_command("plant", PAPERS, "--kind", "typo", cwd=tmp_path)
    assert strange.code == 2
    assert "swapped-columns" in strange.err
