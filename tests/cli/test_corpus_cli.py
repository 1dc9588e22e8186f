"""`manyheads corpus build` and `info`."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from manyheads.cli.corpus import app
from manyheads.errors import CorpusError
from support.papers import papers, write_corpus

RUN = CliRunner()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


def test_build_then_info(tmp_path: Path) -> None:
    source = write_corpus(tmp_path / "mine.jsonl.gz", [*papers(80), "{broken"])
    made = RUN.invoke(
        app, ["build", str(source), "--bound", "2014", "--embedding", "lexical", "--min-papers", "2"]
    )
    assert made.exit_code == 0, made.output
    assert "corpus mine" in made.stdout
    assert "line 81, json" in made.stderr
    shown = RUN.invoke(app, ["info", "corpora/mine"])
    assert shown.exit_code == 0
    assert shown.stdout == made.stdout
    rows = dict(line.strip("│").split("│") for line in shown.stdout.splitlines() if line.startswith("│"))
    table = {key.strip(): value.strip() for key, value in rows.items()}
    assert (table["papers read"], table["lines rejected"], table["scientists"]) == ("80", "1", "8")


def test_a_preset_with_an_override(tmp_path: Path) -> None:
    source = write_corpus(tmp_path / "mine.jsonl", papers(80))
    made = RUN.invoke(
        app,
        ["build", str(source), "--preset", "aminer-cs", "--bound", "2013", "--min-papers", "1",
         "--min-coauthors", "0", "--embedding", "lexical", "--out", "out"],
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    assert "past citations ≥ 10" in made.stdout
    assert "2013–2014" in made.stdout


def test_mistakes_reach_the_caller_as_user_errors(tmp_path: Path) -> None:
    source = write_corpus(tmp_path / "mine.jsonl", papers(8))
    assert isinstance(RUN.invoke(app, ["build", str(source)]).exception, CorpusError)
    assert isinstance(RUN.invoke(app, ["info", str(source)]).exception, CorpusError)
    lonely = RUN.invoke(app, ["build", str(source), "--bound", "2014", "--vectors", "v.npy"])
    assert lonely.exit_code == 2
    assert "--ids" in lonely.stderr
