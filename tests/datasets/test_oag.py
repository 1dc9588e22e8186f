"""Open Academic Graph: publications in many files, authors by id."""

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import CorpusError
from manyheads.corpus.records import RawPaper
from manyheads.datasets.opening import SourceOptions, open_corpus
from support.datasets import read_papers


def row(number: int = 1, **changes: Any) -> dict[str, Any]:
    """One publication as the dataset writes it; a change to `...` leaves a field out."""
    record: dict[str, Any] = {
        "id": f"5390{number:04}",
        "title": f"Trial {number}",
        "doi": "",
        "keywords": ["Membranes", "osmosis "],
        "abstract": f"We tried membrane {number}.",
        "authors": [
            {"id": "a1", "name": "Ilka  Ternes", "org": "Basin Institute", "org_id": ""},
            {"id": "", "name": "Pavel Hron", "org": ""},
        ],
        "year": 2015,
        "n_citation": 230,
        "venue": "Water Letters",
        "venue_id": "v1",
        "references": ["539000"],
    }
    return {key: value for key, value in (record | changes).items() if value is not ...}


def content(*rows: dict[str, Any] | str) -> bytes:
    lines = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in rows]
    return "".join(line + "\n" for line in lines).encode()


def only(path: Path, record: dict[str, Any]) -> RawPaper:
    path.write_bytes(content(record))
    [found], _ = read_papers(path, "oag")
    return found


def test_a_publication_is_read_with_all_its_fields(tmp_path: Path) -> None:
    found = only(tmp_path / "pub.json", row())
    assert (found.id, found.title, found.year, found.citations) == ("53900001", "Trial 1", 2015, 230)
    assert (found.venue, found.keywords) == ("Water Letters", ("Membranes", "osmosis"))
    assert found.byline == ("Ilka Ternes", "Pavel Hron")
    assert found.keys == ("a1", "Pavel Hron")
    assert found.affiliations_of("a1") == ("Basin Institute",)
    assert found.affiliations_of("Pavel Hron") == ()


@pytest.mark.parametrize(
    ("changes", "attribute", "expected"),
    [
        ({"id": 77}, "id", "77"),
        ({"venue": {"raw": "Tides", "id": "v"}}, "venue", "Tides"),
        ({"n_citation": ...}, "citations", None),
        ({"n_citation": 0}, "citations", 0),
        ({"n_citation": -1}, "citations", None),
        ({"authors": [{"name": "", "id": ""}, {"name": "", "id": "a9"}]}, "keys", ("a9",)),
        ({"authors": []}, "keys", ()),
    ],
)
def test_what_a_version_lacks_or_writes_otherwise(
    tmp_path: Path, changes: dict[str, Any], attribute: str, expected: object
) -> None:
    assert getattr(only(tmp_path / "pub.json", row(**changes)), attribute) == expected


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ("{", "json"),
        (row(year="soon"), "year"),
        (row(authors={"name": {"raw": "Jo"}}), "authors"),
        (row(title={"en": "Trial"}), "title"),
    ],
)
def test_a_broken_line_is_named_by_file_line_and_field(
    tmp_path: Path, bad: dict[str, Any] | str, field: str
) -> None:
    (tmp_path / "v3.1_oag_publication_1.json").write_bytes(content(row(1), row(2)))
    (tmp_path / "v3.1_oag_publication_2.json").write_bytes(content(row(3), bad))
    found, rejects = read_papers(tmp_path, "oag")
    assert [one.title for one in found] == ["Trial 1", "Trial 2", "Trial 3"]
    assert str(rejects.first[0]).startswith(f"v3.1_oag_publication_2.json, line 2, {field}: ")


def test_many_files_packed_or_not_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "v3.1_oag_publication_10.json").write_bytes(content(row(10)))
    (tmp_path / "v3.1_oag_publication_2.json.gz").write_bytes(gzip.compress(content(row(2))))
    with zipfile.ZipFile(tmp_path / "v3.1_oag_publication_1.zip", "w") as archive:
        archive.writestr("one.json", content(row(1)))
        archive.writestr("two.json", content("{", row(11)))
    (tmp_path / "v3.1_oag_author.json").write_bytes(content({"id": "a1", "name": "Ilka Ternes"}))
    (tmp_path / "v3.1_oag_venue.zip").write_bytes(b"not looked at")
    found, rejects = read_papers(tmp_path, "oag")
    assert [one.title for one in found] == ["Trial 1", "Trial 11", "Trial 2", "Trial 10"]
    assert str(rejects.first[0]).startswith("v3.1_oag_publication_1.zip/two.json, line 1, json: ")


def test_the_dataset_knows_authors_by_id(tmp_path: Path) -> None:
    (tmp_path / "pub.json").write_bytes(content(row()))
    assert open_corpus(tmp_path, SourceOptions("oag")).authors({"a1"}) == {}
    older = {"id": "a2", "name": "R. Sund", "orgs": ["Fjord College"], "n_pubs": 61, "tags": [{"t": "ice"}]}
    lines = content({"id": "a1", "name": "Ilka Ternes", "org": "Basin Institute"}, "{", older, {"id": "a3"})
    (tmp_path / "v3.1_oag_author.json").write_bytes(lines)
    known = open_corpus(tmp_path, SourceOptions("oag")).authors({"a1", "a2"})
    assert set(known) == {"a1", "a2"}
    assert (known["a1"].name, known["a1"].affiliations) == ("Ilka Ternes", ("Basin Institute",))
    assert (known["a1"].interests, known["a1"].papers, known["a1"].coauthors) == (None, None, None)
    two = known["a2"]
    assert (two.affiliations, two.interests, two.papers) == (("Fjord College",), ("ice",), 61)


def test_a_folder_without_publications_is_told(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no file of Open Academic Graph"):
        read_papers(tmp_path, "oag")
    (tmp_path / "v3.1_oag_author.json").write_bytes(content({"id": "a1"}))
    with pytest.raises(CorpusError, match="no publications"):
        read_papers(tmp_path, "oag")
    with pytest.raises(CorpusError, match="no such file"):
        read_papers(tmp_path / "none", "oag")
