"""`manyheads run rebuttal` as users run it: what it begins with."""

from pathlib import Path

import pytest

from support.command import manyheads_command, result_of

BIB = """\
@article{owls, title={Owls at night}, author={Ada, A.}, year={2015}, abstract={Owls hunt by ear.}}
@article{cats, title={Cats at noon}, author={Eve, E.}, year={2017}, abstract={Cats sleep in the sun.}}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "papers.bib").write_text(BIB, encoding="utf-8")
    return tmp_path


def test_from_a_file_of_papers_with_the_offline_model(home: Path) -> None:
    done = manyheads_command("run", "rebuttal", "--background", "papers.bib", "--out", "run", cwd=home)
    assert done.code == 0, done.err
    result = result_of(home / "run")
    assert [work["paper"] for work in result["evidence"]] == ["owls", "cats"]
    assert result["rebuttal"]["iterations"] >= 1
    assert f"Hypothesis {result['idea']['hypothesis']}" in done.out
    assert "revision" in done.out.split("Rebuttal ")[1]
    again = manyheads_command(
        "run", "rebuttal", "--idea", "run", "--set", "rebuttal.abstract=true", "--out", "on", cwd=home
    )
    assert again.code == 0, again.err
    assert result_of(home / "on")["rounds"][0]["idea"]["title"] == result["idea"]["title"]
    assert result_of(home / "on")["abstract"]["text"] in " ".join(again.out.split())
