"""Texts to review, rate or measure, from every kind of file that people name."""

import json
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import SubjectError
from manyheads.core.texts import read_subject, read_subjects
from support.results import today


def written(path: Path, content: str | bytes | dict[str, Any]) -> Path:
    data = json.dumps(content) if isinstance(content, dict) else content
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@pytest.mark.parametrize(
    ("name", "content", "title", "text"),
    [
        ("a.txt", "Plain words.\n\nAnd more.", "", "Plain words.\n\nAnd more."),
        ("a.md", "\n# Owls *and* bats #\n\n## Why\nThey fly.\n", "Owls *and* bats", "## Why\nThey fly."),
        ("a.txt", "\ufeffWith a mark.", "", "With a mark."),
        ("a.json", {"title": "Owls", "abstract": "They fly."}, "Owls", "They fly."),
        ("a.json", {"title": "", "text": "They fly."}, "", "They fly."),
        ("a.json", {"abstract": {"title": "Owls", "text": "They fly.", "methods": "x"}}, "Owls", "They fly."),
        ("a.jsonl", '\n{"title": "A\\nB", "abstract": "C"}\n', "A B", "C"),
    ],
)
def test_a_text_is_read(
    name: str, content: str | dict[str, Any], title: str, text: str, tmp_path: Path
) -> None:
    found = read_subject(written(tmp_path / name, content))
    assert (found.title, found.text) == (title, text)
    assert found.name == (title or "a")


def test_lines_are_texts_of_their_own(tmp_path: Path) -> None:
    path = written(tmp_path / "many.jsonl", '{"abstract": "One"}\n\n{"abstract": "Two"}\n')
    found = read_subjects(path)
    assert [(each.source, each.text) for each in found] == [(f"{path}:1", "One"), (f"{path}:3", "Two")]
    with pytest.raises(SubjectError, match="has 2 texts"):
        read_subject(path)
    assert [read_subject(Path(each.source)) for each in found] == found
    for strange in (f"{path}:2", f"{path}:9"):
        with pytest.raises(SubjectError, match=f"{strange}: this line does not exist"):
            read_subject(Path(strange))
    for strange in (f"{path}:0", f"{path}:x"):
        with pytest.raises(SubjectError, match="No such file"):
            read_subject(Path(strange))


def test_the_same_text_is_the_same_wherever_it_is_kept(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    written(
        run / "result.json", today({"system": "virsci", "abstract": {"title": "Owls", "text": "They fly."}})
    )
    files = [written(tmp_path / "a.md", "# Owls\nThey fly."), run]
    assert len({read_subject(path).sha256 for path in files}) == 1
    assert read_subject(written(tmp_path / "b.md", "# Owl\nThey fly.")).sha256 != read_subject(run).sha256


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.txt", " \n ", "no text"),
        ("a.md", "# Only a title\n", "no text"),
        ("a.txt", b"\xff\xfe\x00", "not UTF-8"),
        ("a.txt", b"a\x00b", "null bytes"),
        ("a.txt", b"x" * 4_000_001, "larger than 4 MB"),
        ("a.json", "{", "not valid JSON"),
        ("a.json", "[1]", "not a JSON object"),
        ("a.json", "[" * 100_000, "nested too deep"),
        ("a.json", '{"abstract": ' + "9" * 5000 + "}", "not valid JSON"),
        ("a.json", {"title": "Owls"}, "no text"),
        ("a.json", {"abstract": 7}, "abstract"),
        ("a.jsonl", "", "empty"),
        ("a.jsonl", '{"abstract": "A"}\n{"abstract"\n', "a.jsonl:2: not valid JSON"),
    ],
)
def test_what_is_no_text_is_refused_by_name(
    name: str, content: str | bytes | dict[str, Any], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(SubjectError, match=problem) as refused:
        read_subjects(written(tmp_path / name, content))
    assert str(tmp_path / name) in refused.value.message


def test_a_run_without_an_abstract_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SubjectError, match=r"not a run folder \(it has no result.json\)") as strange:
        read_subject(tmp_path)
    assert "resume" not in str(strange.value)
    written(tmp_path / "config.yaml", "system: virsci")
    with pytest.raises(SubjectError, match=r"not a finished run \(it has no result.json\)") as begun:
        read_subject(tmp_path)
    assert begun.value.hint == f"manyheads resume {tmp_path}"
    written(tmp_path / "result.json", today({"system": "conference-review", "reviews": []}))
    with pytest.raises(SubjectError, match="run of conference-review wrote no abstract"):
        read_subject(tmp_path)
    with pytest.raises(SubjectError, match="No such file"):
        read_subject(tmp_path / "nowhere.txt")
