"""A format that nobody has written code for is a YAML file: by its path, in a folder of the user's, or in a package."""

import json
from pathlib import Path

import pytest

from manyheads.base.errors import ConfigError, CorpusError
from manyheads.corpus.records import RawPaper, Rejects
from manyheads.datasets.formats import GROUP, formats
from manyheads.datasets.opening import detect
from support.datasets import read_papers
from support.entry_points import brought

PAGES = """
about: pages of works
example: works.json
kind: pages of works
records: json
inside: results
endings: [.json]
signs: {keys: [[results.people]]}
fields:
  id: id
  title: display_name
  abstract: abstract
  authors: {each: people, name: author.display_name, id: author.id, affiliation: institutions.0.name}
  year: publication_year
  venue: [place.name, place.raw]
  keywords: keywords.name
"""
WORK = {
    "id": "W1", "display_name": "Slip", "abstract": None, "publication_year": 2018, "place": {"name": "", "raw": "Tides"},
    "keywords": [{"name": "touch"}, {"name": "slip"}],
    "people": [{"author": {"id": "A1", "display_name": "Li Wei"}, "institutions": [{"name": "Basin"}]}],
}  # fmt: skip
XML = "<dblp><article key='a/1'><author>Li Wei</author><title>On <i>slip</i></title><year>2018</year></article></dblp>"
DBLP = """
about: DBLP
example: dblp.xml
kind: DBLP
records: xml
element: dblp/*
fields: {id: '@key', title: title, abstract: abstract, authors: {each: author}, year: year}
"""


def read(path: Path, written: str, name: str = "auto") -> tuple[list[RawPaper], Rejects]:
    path.write_text(written)
    return read_papers(path, name)


@pytest.mark.parametrize("pages", [[{"results": [WORK]}], {"results": [WORK]}])
@pytest.mark.parametrize("indent", [None, 2])
def test_pages_of_records_in_the_folder_of_a_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages: object, indent: int | None
) -> None:
    (tmp_path / "own.yaml").write_text(PAGES)
    [by_path], _ = read(tmp_path / "works.json", json.dumps(pages, indent=indent), str(tmp_path / "own.yaml"))
    (tmp_path / "configs/formats").mkdir(parents=True)
    (tmp_path / "configs/formats/works.yaml").write_text(PAGES)
    monkeypatch.setenv("MANYHEADS_PATH", str(tmp_path))
    [found], _ = read(tmp_path / "works.json", json.dumps(pages, indent=indent))
    assert (by_path, detect(tmp_path / "works.json")) == (found, "works")
    assert (found.id, found.title, found.venue) == ("W1", "Slip", "Tides")
    assert (found.keys, found.affiliations, found.keywords) == (("A1",), ("Basin",), ("touch", "slip"))


def package(folder: Path, name: str, *known: str) -> Path:
    """An installed package with formats; its folder of them."""
    home = folder / f"{name}_formats"
    home.mkdir(parents=True)
    for each in known:
        (home / f"{each}.yaml").write_text(DBLP)
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[manyheads.formats]\nmine = {home.name}\n")
    return home


def test_xml_of_a_package_with_an_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path, "my", "theses", "csv")  # of formats of one name, what ships goes first
    monkeypatch.syspath_prepend(tmp_path)
    assert formats()["csv"].kind == "CSV or TSV"
    [found], _ = read(tmp_path / "dblp.xml", XML, "theses")
    assert (found.id, found.title, found.byline, found.year) == ("a/1", "On slip", ("Li Wei",), 2018)


def test_two_formats_of_a_name_are_refused_when_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = [package(tmp_path / name, name, "theses", name) for name in ("one", "two")]
    for home in homes:
        monkeypatch.syspath_prepend(home.parent)
    assert read(tmp_path / "dblp.xml", XML, "two")[0] == read(tmp_path / "dblp.xml", XML, "one")[0]
    with pytest.raises(CorpusError, match="'theses': two packages") as told:
        read(tmp_path / "dblp.xml", XML, "theses")
    assert all(str(home / "theses.yaml") in str(told.value) for home in homes)


@pytest.mark.parametrize(
    ("home", "words"), [("nowhere", "not installed"), ("nowhere.formats", "No module named 'nowhere'")]
)
def test_a_package_of_formats_that_is_gone_is_one_clear_error(home: str, words: str) -> None:
    with brought(GROUP, {"mine": home}), pytest.raises(ConfigError, match=words) as told:
        formats()
    assert all(word in str(told.value) for word in (home, "'mine'", "pip uninstall"))


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (PAGES.replace("records: json", "records: words"), "records"),
        (PAGES.replace("place.raw", "7"), "fields.venue"),
        (PAGES.replace("inside: results", "tag: ([A-Z"), "tag"),
        (PAGES.replace("inside: results", "like: nothing"), "'nothing'"),
        ("a: [", "own.yaml"),
    ],
)
def test_a_mistake_names_file_and_key(tmp_path: Path, written: str, said: str) -> None:
    (tmp_path / "own.yaml").write_text(written)
    with pytest.raises(Exception, match=said) as told:
        read(tmp_path / "a.json", "[{}]", str(tmp_path / "own.yaml"))
    assert getattr(told.value, "exit_code", None) == CorpusError.exit_code
