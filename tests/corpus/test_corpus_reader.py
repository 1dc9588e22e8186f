"""Reading corpora: every line is a paper or is counted and named."""

import gzip
import io
import json
import zipfile
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyheads.base.errors import CorpusError
from manyheads.corpus.records import LISTED, JsonLines, RawPaper, Rejects
from support.papers import paper, write_corpus


def read(path: Path) -> tuple[list[RawPaper], Rejects]:
    rejects = Rejects()
    return [one for _, one in JsonLines(path).papers(rejects)], rejects


@pytest.mark.parametrize("name", ["papers.jsonl", "papers.jsonl.gz"])
def test_plain_and_packed_files_read_alike(tmp_path: Path, name: str) -> None:
    found, rejects = read(write_corpus(tmp_path / name, [paper(1), "", paper(2, venue=None, keywords=None)]))
    assert [one.id for one in found] == ["p1", "p2"]
    assert found[1].keywords == ()
    assert rejects.total == 0


def test_a_packed_file_is_known_by_its_content_not_its_name(tmp_path: Path) -> None:
    packed = write_corpus(tmp_path / "papers.jsonl.gz", [paper()])
    assert len(read(packed.rename(tmp_path / "papers.jsonl"))[0]) == 1


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    path = write_corpus(tmp_path / "papers.jsonl", [b"\xef\xbb\xbf" + json.dumps(paper()).encode()])
    assert read(path)[0][0].id == "p1"


def test_an_author_listed_twice_is_one_author_in_the_order_given(tmp_path: Path) -> None:
    twice = paper(authors=["B  Two", "A One", "B Two", "A One"], affiliations=["X", "Y", "X", "Z"])
    [found], _ = read(write_corpus(tmp_path / "papers.jsonl", [twice]))
    assert found.authors == ("B Two", "A One")
    assert found.affiliations_of("A One") == ("Y", "Z")


@pytest.mark.parametrize(
    ("affiliations", "expected"),
    [(["X"], ("X",)), (["X", "Y"], ("Y",)), (["X", "Y", "Z"], ()), ([], ()), (["X", ""], ())],
)
def test_an_affiliation_is_given_only_where_it_is_clear_whose_it_is(
    affiliations: list[str], expected: tuple[str, ...]
) -> None:
    found = RawPaper.model_validate_json(
        json.dumps(paper(authors=["A One", "B Two"], affiliations=affiliations))
    )
    assert found.affiliations_of("B Two") == expected


@pytest.mark.parametrize(
    ("line", "field", "reason"),
    [
        ("{broken", "json", "not valid JSON: key must be a string at line 1 column 2"),
        ("[1, 2]", "json", "not an object"),
        (b'{"id": "caf\xe9"}', "encoding", ""),
        (paper(id=1.5), "id", "not a text"),
        (paper(title=" "), "title", "empty"),
        (paper(abstract={"Water": [0]}), "abstract", "not a text"),
        (paper(authors="Ansel Okafor"), "authors", "not a list"),
        (paper(authors=["Ansel Okafor", " "]), "authors.1", "empty"),
        (paper(year="2010"), "year", "not a whole number"),
        (paper(year=2010.5), "year", "not a whole number"),
        (paper(year=10**30), "year", ""),
        (paper(year=20100), "year", "more than 2100"),
        (paper(year=True), "year", "not a whole number"),
        (paper(author_ids=["1"]), "author_ids", ""),
        (paper(author_ids=[1, 2]), "author_ids.0", "not a text"),
        (paper(keywords=[3]), "keywords.0", "not a text"),
    ],
)
def test_a_broken_line_is_named_by_line_and_field(
    tmp_path: Path, line: dict[str, Any] | str | bytes, field: str, reason: str
) -> None:
    path = write_corpus(tmp_path / "papers.jsonl", [paper(1), line, *(paper(n) for n in range(3, 120))])
    found, rejects = read(path)
    assert len(found) == 118
    assert [(one.number, one.field) for one in rejects.first] == [(2, field)]
    assert str(rejects.first[0]).startswith(f"line 2, {field}: ")
    assert reason in (rejects.first[0].reason, "")
    for words in ("Value error", "Input should", "nput", "Field required"):
        assert words not in str(rejects.first[0])


def test_what_a_line_lacks_is_no_reject_and_an_id_is_made(tmp_path: Path) -> None:
    lacking = [
        paper(n, id=..., abstract=..., authors=..., title="Über  Grips, 1st part of three") for n in (1, 2)
    ]
    found, rejects = read(write_corpus(tmp_path / "papers.jsonl", lacking))
    assert (found[0].abstract, found[0].byline, rejects.total) == ("", (), 0)
    assert found[0].id == found[1].id
    assert found[0].id.startswith("über-grips-1st-part-of-2010-")


def test_all_broken_lines_are_counted_and_logged_though_few_are_told(tmp_path: Path) -> None:
    lines = [paper(n, **({"year": "?"} if n % 3 == 0 else {})) for n in range(90)]
    log = io.StringIO()
    rejects = Rejects(log)
    found = list(JsonLines(write_corpus(tmp_path / "papers.jsonl", lines)).papers(rejects))
    assert (len(found), rejects.total, len(rejects.first)) == (60, 30, LISTED)
    assert [json.loads(line)["line"] for line in log.getvalue().splitlines()] == list(range(1, 91, 3))
    assert rejects.summary().endswith("and 27 more")


def zipped(content: bytes) -> bytes:
    with zipfile.ZipFile(packed := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("papers.jsonl", content)
    return packed.getvalue()


WRONG_FILES = {
    "nothing.jsonl": (b"\n\n", "contains no line"),
    "table.csv": (b"id,title\n1,x\n" * 2000, "are not papers: line 1, json"),
    "array.json": (json.dumps([paper(1), paper(2)]).encode(), "are not papers"),
    "picture.jsonl.gz": (b"\x89PNG\r\n", "not gzip"),
    "wide.jsonl": (json.dumps(paper()).encode("utf-16"), "UTF-16"),
    "west.jsonl": ("\n".join(json.dumps(paper(title="Café"), ensure_ascii=False) for _ in range(9)).encode("latin1"), "not UTF-8"),
    "cut.jsonl.gz": (gzip.compress(json.dumps(paper()).encode() * 50)[:-20], "cannot be read"),
    "cut.zip": (zipped(json.dumps(paper()).encode() * 50)[:-40], "cannot be read"),
    "bad.zip": (zipped(bytes(range(256)) * 20)[:60] + b"\xff" * 50 + zipped(bytes(range(256)) * 20)[110:], "cannot be read"),
    "bad.jsonl.gz": (gzip.compress(b"x" * 9000)[:12] + b"\xff" * 40, "cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_FILES)
def test_a_wrong_file_gets_one_clear_message(tmp_path: Path, name: str) -> None:
    content, message = WRONG_FILES[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CorpusError, match=message) as told:
        read(tmp_path / name)
    assert name in str(told.value)
    assert told.value.hint


def test_a_missing_file_and_an_empty_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such file"):
        read(tmp_path / "none.jsonl")
    with pytest.raises(CorpusError, match="no file of JSON Lines"):
        read(tmp_path)


LINES = st.one_of(
    st.text(min_size=1).map(lambda title: json.dumps(paper(title=title)).encode()),
    st.binary(max_size=40).map(lambda data: data.replace(b"\n", b" ")),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list(paper())), inner),
    ).map(lambda value: json.dumps(value).encode()),
)


@given(lines=st.lists(LINES, max_size=12))
def test_every_line_is_a_paper_or_a_reject(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    lines = [b"{}", *lines]
    path = write_corpus(tmp_path_factory.mktemp("any") / "papers.jsonl", lines)
    rejects, seen = Rejects(), list[int]()
    with suppress(CorpusError):  # of mostly broken lines, after all have been read
        seen.extend(number for number, _ in JsonLines(path).papers(rejects))
    numbered = seen + [one.number for one in rejects.first]
    assert len(seen) + rejects.total == sum(1 for line in lines if line.strip())
    assert len(set(numbered)) == len(numbered)


def test_citations_that_are_not_given_are_not_known_rather_than_none(tmp_path: Path) -> None:
    records = [paper(1, citations=...), paper(2, citations=None, abstract=None), paper(3, citations=0)]
    records.append(paper(id=17, citations=-1))
    found, rejects = read(write_corpus(tmp_path / "papers.jsonl", records))
    assert [one.citations for one in found] == [None, None, 0, None]
    assert (found[1].abstract, found[3].id) == ("", "17")
    assert rejects.total == 0


def test_ids_keep_two_authors_of_one_name_apart(tmp_path: Path) -> None:
    names = {"authors": ["Wei Lang", "Wei Lang", "B Two"], "affiliations": ["X", "Y", "Z"]}
    records = [paper(1, **names, author_ids=["7", " 8 ", None]), paper(2, **names)]
    (by_id, by_name), _ = read(write_corpus(tmp_path / "papers.jsonl", records))
    assert by_id.authors == ("7", "8", "B Two")
    assert by_id.affiliations_of("8") == ("Y",)
    assert by_name.authors == ("Wei Lang", "B Two")
    assert by_name.affiliations_of("Wei Lang") == ("X", "Y")


def test_a_log_of_rejects_ends_somewhere_though_the_count_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("manyheads.corpus.records.LOGGED", 4)
    log = io.StringIO()
    rejects = Rejects(log)
    for number in range(9):
        rejects.note(number, "year", "none")
    assert (rejects.total, len(log.getvalue().splitlines())) == (9, 4)


def test_a_place_names_what_is_counted_and_the_file_if_there_are_several() -> None:
    rejects = Rejects(log := io.StringIO(), unit="row", file="two.csv")
    rejects.note(3, "year", "none")
    assert str(rejects.first[0]) == "two.csv, row 3, year: none"
    assert json.loads(log.getvalue()) == {"file": "two.csv", "row": 3, "field": "year", "reason": "none"}


def test_a_zip_of_one_file_is_read_and_one_of_several_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "papers.zip"
    for names, error in (
        (["a.jsonl", "__MACOSX/a.jsonl"], None),
        (["a.jsonl", "b.jsonl"], "contains 2 files"),
    ):
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, json.dumps(paper()))
        with pytest.raises(CorpusError, match=error) if error else nullcontext():
            assert len(read(path)[0]) == 1


def test_a_line_without_end_is_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("manyheads.corpus.records.LONGEST", 5000)
    with pytest.raises(CorpusError, match="a line of more than"):
        read(write_corpus(tmp_path / "papers.jsonl", [paper(), b"\0" * 9000]))
