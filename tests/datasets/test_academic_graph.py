"""Semantic Scholar's dumps: papers and abstracts joined on the disk, authors looked up."""

import gzip
import json
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import CorpusError
from manyheads.corpus.records import RawAuthor, RawPaper, Rejects
from manyheads.datasets.networks import Years
from manyheads.datasets.opening import SourceOptions, open_corpus


def paper(number: int, **changes: Any) -> dict[str, Any]:
    """A row of `papers`; the dumps have no abstract there."""
    return {
        "corpusid": number,
        "externalids": {"DOI": None},
        "title": f"Pears {number}",
        "authors": [{"authorId": "7", "name": "Jo Berg"}, {"authorId": None, "name": "Al Cole"}],
        "venue": "Fruit",
        "year": 2015,
        "citationcount": 4,
        "journal": None,
    } | changes


def abstract(number: int) -> dict[str, Any]:
    return {"corpusid": number, "openaccessinfo": {}, "abstract": f"About pear {number}."}


def dump(folder: Path, **parts: Iterable[dict[str, Any] | str]) -> Path:
    """A dump with one gzip file a part."""
    for part, rows in parts.items():
        (folder / part).mkdir(parents=True)
        lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
        with gzip.open(folder / part / "20240101_0001.gz", "wt", compresslevel=1) as file:
            file.writelines(line + "\n" for line in lines)
    return folder


def read(folder: Path, years: Years = (None, None)) -> tuple[dict[str, RawPaper], Rejects]:
    rejects = Rejects()
    return {
        one.id: one
        for _, one in open_corpus(folder, SourceOptions("semantic-scholar", years=years)).papers(rejects)
    }, rejects


def test_papers_meet_their_abstracts_whatever_the_order(tmp_path: Path) -> None:
    folder = dump(tmp_path, papers=map(paper, (1, 2, 3)), abstracts=map(abstract, (3, 9, 1)))
    found, rejects = read(folder)
    assert [found[key].abstract for key in "123"] == ["About pear 1.", "", "About pear 3."]
    assert found["1"].keys == ("7", "Al Cole")
    assert (found["1"].citations, found["1"].venue, found["1"].year) == (4, "Fruit", 2015)
    assert not rejects.total


def test_papers_of_other_years_do_not_wait(tmp_path: Path) -> None:
    rows = (paper(1), paper(2, year=1999), paper(3, year=2030))
    found, _ = read(dump(tmp_path, papers=rows, abstracts=map(abstract, (1, 2, 3))), (2000, 2020))
    assert {key for key, one in found.items() if one.abstract} == {"1"}
    assert list(found) == ["2", "3", "1"]


def test_what_is_wrong_is_told_with_its_file(tmp_path: Path) -> None:
    good = [paper(number) for number in range(5)]
    rows = (*good, "{cut", paper(7, year=None), paper(1, title="Again"), paper(8, title="\ud800"))
    folder = dump(tmp_path, papers=rows, abstracts=(*map(abstract, range(5)), "[]"))
    found, rejects = read(folder)
    assert len(found) == 5
    told = [(reject.file, reject.number, reject.field) for reject in rejects.first]
    papers, abstracts = "papers/20240101_0001.gz", "abstracts/20240101_0001.gz"
    assert told == [
        (papers, 6, "json"), (papers, 8, "corpusid"), (papers, 9, "json"), (abstracts, 6, "json"), (papers, 7, "year"),
    ]  # fmt: skip


def test_papers_tell_which_others_they_cite(tmp_path: Path) -> None:
    def cites(one: int, other: int | None) -> dict[str, Any]:
        return {"citationid": 1, "citingcorpusid": one, "citedcorpusid": other, "isinfluential": False}

    folder = dump(
        tmp_path,
        papers=map(paper, (1, 2, 3)),
        abstracts=map(abstract, (3, 1)),
        citations=[cites(3, 9), cites(1, 2), cites(3, 1), cites(2, None), "{broken"],
    )
    rejects = Rejects()
    found = {
        one.id: one.references
        for _, one in open_corpus(folder, SourceOptions("semantic-scholar")).papers(rejects)
    }
    assert found == {"1": ("2",), "2": (), "3": ("1",)}
    [told] = map(str, rejects.first)
    assert told.startswith("citations/20240101_0001.gz, line 5, json: ")


def test_half_a_letter_is_no_text(tmp_path: Path) -> None:
    broken = [abstract(1) | {"abstract": "About \ud83d pears."}, abstract(2)]
    found, rejects = read(dump(tmp_path, papers=map(paper, (1, 2)), abstracts=broken))
    assert {key: one.abstract for key, one in found.items()} == {"1": "", "2": "About pear 2."}
    [told] = rejects.first
    assert (told.file, told.number, told.field) == ("abstracts/20240101_0001.gz", 1, "json")


def test_authors_are_those_that_are_wanted(tmp_path: Path) -> None:
    people = (
        {
            "authorid": "7",
            "name": "Jo Berg",
            "affiliations": ["Sea U"],
            "papercount": 12,
            "citationcount": "40",
        },
        {"authorid": "8", "name": "Al Cole"},
        {"authorid": "9", "name": "Al Cole", "papercount": "some"},
    )
    graph = open_corpus(
        dump(tmp_path, papers=(), abstracts=(), authors=people), SourceOptions("semantic-scholar")
    )
    assert graph.authors({"7", "9"}) == {
        "7": RawAuthor("7", "Jo Berg", ("Sea U",), papers=12, citations=40),
        "9": RawAuthor("9", "Al Cole"),
    }


@pytest.mark.parametrize("parts", [{}, {"papers": ()}, {"abstracts": ()}])
def test_a_part_that_is_missing_is_named(tmp_path: Path, parts: dict[str, Any]) -> None:
    with pytest.raises(CorpusError) as told:
        read(dump(tmp_path, **parts))
    assert ("no abstracts" if "papers" in parts else "no papers") in told.value.message
    assert "papers/, abstracts/" in str(told.value.hint)


@pytest.mark.slow
def test_papers_wait_on_the_disk_not_in_memory(tmp_path: Path) -> None:
    size, long = 2000, "pear " * 500
    texts = (abstract(number) | {"abstract": long} for number in reversed(range(size)))
    dump(tmp_path, papers=(paper(number, title=long) for number in range(size)), abstracts=texts)
    reader = open_corpus(tmp_path, SourceOptions("semantic-scholar", scratch=tmp_path))
    tracemalloc.start()
    try:
        found = reader.papers(Rejects())
        assert sum(one.abstract.startswith("pear") for _, one in found) == size
        assert tracemalloc.get_traced_memory()[1] < size * len(long) / 3
    finally:
        tracemalloc.stop()
    assert not list(tmp_path.glob(".join-*"))
