"""Measures of other packages: by name in the command, in suites, and beside people's ratings."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from manyheads.base.errors import ConfigError, MeasureError, UserError
from manyheads.core.texts import Subject
from manyheads.corpus.building import build_corpus
from manyheads.corpus.meta import BuildOptions
from manyheads.corpus.phrases import LexicalEmbedder
from manyheads.measures.packages import GROUP, values_of
from manyheads.measures.ratings import read_scores
from manyheads.suites.cells import CellRow
from manyheads.suites.spec import MeasurePath
from support.command import manyheads_command
from support.entry_points import brought
from support.papers import papers, write_corpus
from support.records import read_lines
from support.suites import write_suite

TEXTS = [Subject("a.md", "Owls", "They may hear"), Subject("b.md", "", "")]
NO_FUNCTION = 3


def words(text: Subject) -> int | None:
    return len(text.text.split()) or None


def worded(text: Subject) -> str:
    return text.title


def failing(text: Subject) -> float:
    return 1 / len(text.text)


@pytest.fixture(autouse=True)
def entries() -> Iterator[None]:
    names = {
        "words": "words",
        "worded": "worded",
        "failing": "failing",
        "odd": "NO_FUNCTION",
        "gone": "GONE",
        "twin": "words",
        "hd": "words",
    }
    with brought(GROUP, {name: f"{__name__}:{home}" for name, home in names.items()}, "twin"):
        yield


@pytest.mark.parametrize(
    ("name", "error", "told"),
    [
        ("worded", MeasureError, r"a\.md.*'worded' gave 'Owls'"), ("failing", MeasureError, r"b\.md.*ZeroDivisionError"),
        ("odd", ConfigError, "not a function"), ("gone", ConfigError, "cannot be imported"),
        ("twin", ConfigError, "both have a measure 'twin'"), ("none", ConfigError, r"no measure 'none'.*manyheads\.measures"),
        ("hd", ConfigError, "a measure of manyheads"),
    ],
)  # fmt: skip
def test_what_gives_no_number_is_one_clear_error(name: str, error: type[UserError], told: str) -> None:
    assert values_of(["words"], TEXTS) == [{"words": 3.0}, {"words": None}]
    with pytest.raises(error, match=told):
        values_of([name], TEXTS)


def test_the_command_shows_it_beside_ours_and_its_file_has_scores_for_people(tmp_path: Path) -> None:
    texts = [{"title": "Owls", "text": "They may hear."}, {"title": "Bats", "text": "They fly."}]
    build_corpus(
        write_corpus(tmp_path / "p.jsonl", papers(30)),
        tmp_path / "mine",
        BuildOptions(bound=2014),
        LexicalEmbedder(),
    ).close()
    (tmp_path / "texts.jsonl").write_text("\n".join(map(json.dumps, texts)))
    how = ("measure", "texts.jsonl", "--corpus", "mine", "--measure", "words", "-o", "out.jsonl")
    done = manyheads_command(*how, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "WORDS" in done.out
    found = read_scores([tmp_path / "out.jsonl"], "words")
    assert [each.value for each in found] == [3, 2]


def test_a_suite_measures_the_abstracts_of_its_runs(tmp_path: Path) -> None:
    measures = ["words", "words < 3", "failing"]
    suite = write_suite(tmp_path, "mine", measures=measures, plot=None, grid={"team.size": [2]}, repeats=1)
    done = manyheads_command("eval", suite, "--out", "out", cwd=tmp_path)
    assert done.code == 0, done.err
    [row] = read_lines(tmp_path / "out" / "results.jsonl", CellRow)
    assert row.values["words"] > 3
    assert (row.values["words < 3"], row.values["failing"] < 1) == (0, True)
    with pytest.raises(ConfigError, match="cannot be imported"):
        MeasurePath.parse("gone")
