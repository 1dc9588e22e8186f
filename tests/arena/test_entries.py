"""Texts of an arena from runs, files and suites: without hints at their makers, with the paper or the background."""

from pathlib import Path

import pytest

from manyheads.arena.entries import TextSource
from manyheads.base.errors import ArenaError, UserError
from manyheads.judges.blinding import ArenaConfig
from support.command import manyheads_command


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that reviews an idea."""
    base = tmp_path_factory.mktemp("runs")
    (base / "owls.md").write_text("# On owls\n\nWe plan with owls. They hear well.")
    words = ("--subject", "owls.md", "--set", "embedding=lexical", "-o", "one", "--quiet")
    done = manyheads_command("run", "conference-review", *words, cwd=base)
    assert done.code == 0, done.err
    return base


def test_a_run_has_its_system_as_maker_and_its_paper_as_case(reviews: Path) -> None:
    source = TextSource(papers=reviews)
    [text] = source.texts([reviews / "one"])
    assert (text.maker, text.case.id) == ("conference-review", "owls")
    assert "They hear well." in text.case.context
    assert text.paper is None
    assert text.body
    assert "conference" not in text.body.lower()
    assert TextSource(by="config").texts([reviews / "one"])[0].maker
    [named] = TextSource(maker="ours", case="owls-2", papers=reviews).texts([reviews / "one"])
    assert (named.maker, named.case.id) == ("ours", "owls-2")
    assert "They hear well." in named.case.context


@pytest.mark.parametrize("name", ["id_rsa", "notes.md", "run/link.md"])
def test_a_run_of_others_shows_no_file_outside_its_folder(reviews: Path, tmp_path: Path, name: str) -> None:
    for kept in ("config.yaml", "result.json"):
        (tmp_path / "run").mkdir(exist_ok=True)
        (tmp_path / "run" / kept).write_bytes((reviews / "one" / kept).read_bytes())
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "run" / "link.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "run" / "own.md").write_text("On owls.")
    file = tmp_path / name
    if not file.is_symlink():
        file.write_text("secret")
    config = tmp_path / "run" / "config.yaml"
    named = config.read_text().replace("../owls.md", str(file))
    assert str(file) in named
    config.write_text(named)
    source = TextSource()
    [text] = source.texts([tmp_path / "run"])
    assert (text.case.id, text.case.context, text.paper) == (file.resolve().stem, "", None)
    assert text.body
    [warning] = source.warnings
    assert str(file.resolve()) in warning
    assert f"--papers {file.resolve().parent}" in warning
    config.write_text(named.replace(str(file), "own.md"))
    [text] = TextSource().texts([tmp_path / "run"])
    assert text.case.context == "On owls."


def test_the_text_of_a_run_is_its_review_without_the_summary_of_its_figures(reviews: Path) -> None:
    [text] = TextSource().texts([reviews / "one"])
    assert text.body.startswith("## ")
    assert "**Strengths.**" in text.body
    for sign in ("**Title.**", "overall", "Overall", "of 10", "interval", "the mean of"):
        assert sign not in text.body


def test_of_texts_to_rate_runs_without_an_abstract_are_left_out(reviews: Path) -> None:
    source = TextSource(abstracts=True)
    [text] = source.texts([reviews / "one", reviews / "owls.md"])
    assert (text.maker, text.title) == ("owls.md", "On owls")
    assert any("wrote no abstract" in each for each in source.warnings)
    with pytest.raises(UserError, match="wrote no abstract"):
        source.texts([reviews / "one"])


@pytest.mark.slow
def test_a_text_as_input_is_the_background_of_the_case(tmp_path: Path) -> None:
    background = "Owls hear well. " * 20  # longer than the name of a file can be
    words = ("--background", background, "-s", "embedding=lexical", "-o", "one", "--quiet")
    assert manyheads_command("run", "scipip", *words, cwd=tmp_path).code == 0
    [text] = TextSource().texts([tmp_path / "one"])
    assert text.case.context.strip() == background.strip()


def test_files_need_a_maker_and_are_cases_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "owls.md").write_text(
        "# A title\n\nAs an AI language model, I like it. The paper counts owls."
    )
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "owls.pdf").write_bytes(b"%PDF-1.4")
    with pytest.raises(ArenaError, match="whose"):
        TextSource().texts([tmp_path / "owls.md"])
    [text] = TextSource(maker="human", papers=papers).texts([tmp_path / "owls.md"])
    assert (text.case.id, text.title, text.hints) == ("owls", "A title", 1)
    assert text.body == "The paper counts owls."
    assert text.paper == papers / "owls.pdf"
    (papers / "owls.pdf").unlink()
    (papers / "owls.txt").write_text("About owls.")
    [text] = TextSource(maker="human", papers=papers).texts([tmp_path / "owls.md"])
    assert (text.case.context, text.paper) == ("About owls.", None)


def test_words_and_sections_that_tell_the_maker_are_removed_or_warned_of(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "Zorilla finds it good.\n\n## Provenance\n\nBy Zorilla.\n\n## More\n\nFine."
    )
    source = TextSource(maker="Zorilla")
    [text] = source.texts([tmp_path / "a.md"])
    assert "Zorilla" in text.body
    assert any("Zorilla" in warning for warning in source.warnings)
    source = TextSource(maker="Zorilla", blinding=ArenaConfig(names=("Zorilla",), cut=("Provenance",)))
    [text] = source.texts([tmp_path / "a.md"])
    assert "Zorilla" not in text.body
    assert "Provenance" not in text.body
    assert text.hints == 2
    assert source.warnings == []
