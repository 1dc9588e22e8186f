"""`manyheads corpus build` and `info`."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from manyheads.cli.corpus import app
from manyheads.errors import CorpusError, EmbeddingError, UserError
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
    assert (table["papers read"], table["records rejected"], table["scientists"]) == ("80", "1", "8")


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


def mistake(done: Result) -> UserError:
    assert isinstance(done.exception, UserError), done.output
    return done.exception


@pytest.mark.parametrize("command", [("build", "mine.jsonl", "--bound", "2014"), ("info", "sample")])
def test_a_model_that_is_nowhere_names_the_option_that_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    write_corpus(tmp_path / "mine.jsonl", papers(8))
    refused = mistake(RUN.invoke(app, [*command, "--embedding", "BAAI/bge-small-en-v1.5"]))
    assert isinstance(refused, EmbeddingError)
    assert str(refused.hint).endswith("choose word hashing: --embedding lexical")
    assert RUN.invoke(app, [*command, "--embedding", "lexical"]).exit_code == 0


@pytest.mark.parametrize(
    ("flags", "said", "hint"),
    [
        (("--bound", "2030"), "no contemporary papers (from 2030 on): 80 papers read; they are of the years", "from 20"),
        (("--bound", "1990"), "no past papers (before 1990): 80 papers read; they are of the years", "from 20"),
        (
            ("--bound", "2014", "--min-past-citations", "9999"),
            "no past papers (before 2014) left: 80 papers read; past citations ≥ 9999 removed",
            "loosen the filter that removed the most",
        ),
    ],
)  # fmt: skip
def test_what_left_nothing_is_to_blame(tmp_path: Path, flags: tuple[str, ...], said: str, hint: str) -> None:
    write_corpus(tmp_path / "mine.jsonl", papers(80))
    refused = mistake(RUN.invoke(app, ["build", "mine.jsonl", "--embedding", "lexical", *flags]))
    assert said in refused.message
    assert hint in str(refused.hint)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    write_corpus(tmp_path / "mine.jsonl", papers(80))
    (tmp_path / "file").write_text("")
    build = ["build", "mine.jsonl", "--bound", "2014", "--embedding", "lexical", "--out", "file/mine"]
    refused = mistake(RUN.invoke(app, build))
    assert "file/mine.partial cannot be written" in refused.message
    assert "--out FOLDER" in str(refused.hint)
