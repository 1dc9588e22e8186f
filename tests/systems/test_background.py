"""What an idea starts from: files of papers, texts, and what cannot be either."""

import json
from pathlib import Path

import pytest

from manyheads.base.errors import CorpusError, SubjectError, UserError
from manyheads.systems import systems
from manyheads.systems.ideas import Background
from manyheads.systems.loading import validate

BIB = """\
@article{owls, title={Owls at night}, author={Ada, A.}, year={2015}, abstract={Owls hunt by ear.}}
@article{bats, title={Bats by day}, author={Bob, B.}, year={2016}}
@article{cats, title={Cats at noon}, author={Eve, E.}, year={2017}, abstract={Cats sleep in the sun.}}
"""
PAPER = {"id": "p1", "title": "Owls", "abstract": "Owls hunt.", "authors": ["Ada"], "year": 2015}


def read(background: object, **rebuttal: object) -> Background:
    config = validate({"system": "rebuttal", "background": background, "rebuttal": rebuttal})
    return systems()["rebuttal"].read(config)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_bibtex_with_an_entry_that_has_no_abstract(tmp_path: Path) -> None:
    path = write(tmp_path / "papers.bib", BIB)
    found = read(str(path))
    assert [(work.source, work.title, work.text) for work in found.works] == [
        ("owls", "Owls at night", "Owls hunt by ear."),
        ("cats", "Cats at noon", "Cats sleep in the sun."),
    ]
    assert (found.source, found.without, found.untold) == (str(path), 1, 0)


def test_lines_of_papers_and_lines_of_nothing_but_abstracts(tmp_path: Path) -> None:
    """Papers may begin with a byte order mark, and a file's ending may be in capitals."""
    lines = "".join(json.dumps(one) + "\n" for one in (PAPER, {**PAPER, "id": "p2", "abstract": ""}))
    papers = read(str(write(tmp_path / "papers.jsonl", "\ufeff" + lines)))
    assert [(work.source, work.text) for work in papers.works] == [("p1", "Owls hunt.")]
    assert papers.without == 1
    bare = write(tmp_path / "bare.JSONL", '{"abstract": "One."}\n{"title": "B", "text": "Two."}\n')
    found = [(work.source, work.title, work.text) for work in read(str(bare)).works]
    assert found == [("bare.JSONL:1", "", "One."), ("bare.JSONL:2", "B", "Two.")]


def test_a_text_and_a_file_of_one(tmp_path: Path) -> None:
    assert [work.text for work in read("Owls hunt where nothing can be seen.").works] == [
        "Owls hunt where nothing can be seen."
    ]
    found = read(str(write(tmp_path / "notes.md", "# Owls\n\nThey hunt.\n")))
    assert [(work.title, work.text) for work in found.works] == [("Owls", "They hunt.")]


def test_a_list_is_of_texts_even_where_one_is_a_files_name(tmp_path: Path) -> None:
    path = write(tmp_path / "papers.bib", BIB)
    assert [work.text for work in read([str(path), "Owls."]).works] == [str(path), "Owls."]


def test_a_file_is_named_in_full_so_that_a_run_goes_on_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "papers.bib", BIB)
    monkeypatch.chdir(tmp_path)
    config = validate({"system": "rebuttal", "background": "papers.bib", "rebuttal": {"idea": "Owls" * 2000}})
    assert config.inputs.background == str(tmp_path / "papers.bib")
    assert config.inputs.idea == "Owls" * 2000
    assert validate({"system": "rebuttal", "background": " \n"}).inputs.background is None


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("empty.bib", "", "empty"),
        ("empty.jsonl", "\n", "empty"),
        ("empty.txt", " ", "contains no text"),
        ("bare.bib", "@article{a, title={T}, author={A}, year={2015}}\n", "no paper in it has an abstract"),
        ("broken.jsonl", '{"abstract": ""}\n', "contains no text"),
        ("strange.jsonl", "no JSON\n", "not valid JSON"),
        ("strange.bin", "\0\1\2", "unknown format"),
        ("strange.csv", "Titel,Jahr\nEulen,2015\n", "title"),
    ],
)
def test_files_that_hold_no_background(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = write(tmp_path / name, text)
    with pytest.raises(UserError, match=said) as stopped:
        read(str(path))
    assert name in str(stopped.value)
    assert stopped.value.hint or name != "bare.bib"
    assert "--" not in str(stopped.value), "an option that a run lacks"


def test_a_line_without_an_abstract_is_left_out_and_named(tmp_path: Path) -> None:
    lines = '{"abstract": "Owls."}\n\n{"title": "Bats", "abstract": " "}\n{"abstract": "Newts."}\n'
    background = read(str(write(tmp_path / "some.jsonl", lines)))
    assert [work.text for work in background.works] == ["Owls.", "Newts."]
    assert (background.without, background.such) == (1, ("line 3: no abstract",))


def test_entries_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    bare = "".join(f"@article{{bare{n}, title={{T}}, author={{A}}, year={{2015}}}}\n" for n in range(2))
    late = "@article{late, title={T}, abstract={Owls.}, author={A}, year={soon}}\n"
    background = read(str(write(tmp_path / "papers.bib", BIB + bare + late)))
    assert background.such[:3] == ("bats: no abstract", "bare0: no abstract", "bare1: no abstract")
    assert "late, line" in background.such[3]


@pytest.mark.parametrize(
    "named",
    ["papers.bib", "my papers.jsonl", "/nowhere/at/all", "runs/20240229-virsci", "./team", "papers.jsonl:2"],
)
def test_a_file_that_is_not_there_is_no_text(named: str) -> None:
    with pytest.raises(SubjectError, match="no such file"):
        read(named)
    with pytest.raises(SubjectError, match="no such file"):
        read("Owls.", idea=named)


@pytest.mark.parametrize("text", ["Owls.", "Owls and/or bats", "梟は夜/昼に飛ぶ"])
def test_what_no_file_could_be_called_is_a_text(text: str) -> None:
    assert [work.text for work in read(text).works] == [text]


def test_more_than_a_prompt_should_hold_is_refused_and_can_be_allowed(tmp_path: Path) -> None:
    lines = "".join(json.dumps({**PAPER, "id": f"p{n}"}) + "\n" for n in range(4))
    path = write(tmp_path / "many.jsonl", lines)
    with pytest.raises(SubjectError, match="more than 3 abstracts") as stopped:
        read(str(path), most=3)
    assert "rebuttal.most=N" in (stopped.value.hint or "")
    assert len(read(str(path), most=4).works) == 4


def test_a_folder_of_papers(tmp_path: Path) -> None:
    folder = tmp_path / "library"
    folder.mkdir()
    write(folder / "one.bib", BIB)
    assert len(read(str(folder)).works) == 2
    (tmp_path / "nothing").mkdir()
    with pytest.raises(CorpusError):
        read(str(tmp_path / "nothing"))
