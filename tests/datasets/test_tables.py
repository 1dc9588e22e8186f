"""CSV, TSV and parquet: which column holds what, and what cells mean."""

import csv
import datetime as dt
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import CorpusError, install_command
from manyheads.corpus.records import RawPaper, Rejects
from manyheads.datasets.opening import SourceOptions, column_option, open_corpus
from manyheads.datasets.records import CHUNK, LONGEST_ROW
from support.datasets import read_papers

HEADER = ("id", "title", "abstract", "authors", "year", "citations")
ROW = ("p1", "Pears", "About pears.", "Jo Berg; Al Cole", "2015", "3")


def written(path: Path, *rows: Sequence[str], delimiter: str = ",", encoding: str = "utf-8") -> Path:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(rows)
    path.write_bytes(text.getvalue().encode(encoding))
    return path


def only(path: Path) -> RawPaper:
    [found], rejects = read_papers(path, "csv")
    assert not rejects.total
    return found


OWN = {"title": "Pears", "abstract": "About pears.", "author": ["Jo Berg", "Al Cole"], "pub_date": 2015}
NAMED = {"year": "pub_date", "citations": "gs_citation"}


@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_of_json_is_a_table(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "own.json"
    path.write_text(json.dumps([OWN, OWN | {"gs_citation": 3}], indent=indent), encoding="utf-8")
    [one, other], rejects = read_papers(path, "json", columns=NAMED)
    assert (one.byline, one.year, one.citations) == (("Jo Berg", "Al Cole"), 2015, None)
    assert one.id.startswith("pears-2015-")
    assert (other.citations, rejects.total) == (3, 0)


def test_lines_of_json_with_columns_are_a_table(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text("\n\n".join([json.dumps(OWN)] * 2), encoding="utf-8")
    reader = open_corpus(path, SourceOptions(columns={"year": "pub_date"}))
    assert [(one.title, one.year) for one in read_papers(reader)[0]] == [("Pears", 2015)] * 2


def test_objects_that_are_no_papers_are_told_by_their_number(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    good = [json.dumps(OWN)] * 200
    path.write_bytes(
        f"[{', '.join([*good, '7', json.dumps(OWN | {'title': 'x'}), '{broken'])}".encode().replace(
            b'"x"', b'"\xff"'
        )
    )
    found, rejects = read_papers(path, "json", columns={"year": "pub_date"})
    assert len(found) == 200
    assert [(one.number, one.field) for one in rejects.first] == [
        (201, "json"),
        (202, "encoding"),
        (203, "json"),
    ]


def test_a_list_is_read_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text(json.dumps([OWN | {"abstract": "pears " * (CHUNK // 10)}] * 5), encoding="utf-8")
    assert len(read_papers(path, "json", columns={"year": "pub_date"})[0]) == 5
    path.write_text('[{"title": "' + "x" * (LONGEST_ROW + 2 * CHUNK), encoding="utf-8")
    with pytest.raises(CorpusError, match="8 MB"):
        read_papers(path, "json")


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str) -> None:
    found = only(written(tmp_path / "a.csv", HEADER, ROW, delimiter=delimiter))
    assert (found.id, found.byline, found.year, found.citations) == ("p1", ("Jo Berg", "Al Cole"), 2015, 3)


def test_headers_as_databases_write_them(tmp_path: Path) -> None:
    cells = {
        "Document Title": "Pears", "Author Keywords": "fruit; soft  fingers", "Cited by": "",
        "Authors": "Berg, J.; Cole, Al", "Abstract": "About pears,\nand more.", "Publication Year": "2015.0",
        "Source title": "Fruit", "DOI": "10.1/x",
    }  # fmt: skip
    found = only(written(tmp_path / "a.csv", [*cells], [*cells.values()], encoding="utf-8-sig"))
    assert (found.id, found.title, found.venue, found.citations) == ("10.1/x", "Pears", "Fruit", None)
    assert (found.abstract, found.keywords) == ("About pears, and more.", ("fruit", "soft fingers"))
    assert found.byline == ("J. Berg", "Al Cole")


def test_columns_may_be_named(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.csv",
        ("T", "abstract", "authors", "when", "year"),
        ("Pears", "A.", "Jo Berg", "2015-03-01", "x"),
    )
    with pytest.raises(CorpusError) as told:
        read_papers(path, "csv")
    assert "no column found for title" in told.value.message
    assert "T, abstract, authors" in str(told.value.tried)
    assert "--columns title=COLUMN" in str(told.value.hint)
    [found], _ = read_papers(
        open_corpus(path, SourceOptions("csv", columns=column_option("title=T, year=when")))
    )
    assert (found.title, found.year) == ("Pears", 2015)
    with pytest.raises(CorpusError, match="no column 'W'"):
        read_papers(path, "csv", columns={"title": "W"})
    with pytest.raises(CorpusError, match="bibtex has no columns"):
        open_corpus(path, SourceOptions("bibtex", columns={"title": "T"}))


@pytest.mark.parametrize("option", ["title", "titel=T", "title=", "=T"])
def test_a_mapping_that_is_none(option: str) -> None:
    with pytest.raises(CorpusError) as told:
        column_option(option)
    assert "title=Title,year=Year" in str(told.value.hint)


@pytest.mark.parametrize(
    ("cell", "byline"),
    [
        ("Jo Berg", ("Jo Berg",)),
        ("Jo Berg, Al Cole", ("Jo Berg", "Al Cole")),
        ("Berg, Jo", ("Jo Berg",)),
        ("Berg, J., Cole, A.", ("J. Berg", "A. Cole")),
        ("Jo Berg and Cole, Al", ("Jo Berg", "Al Cole")),
        ("Jo Berg | Al Cole", ("Jo Berg", "Al Cole")),
        ('["Jo Berg", "Al Cole"]', ("Jo Berg", "Al Cole")),
        ("['Jo Berg', 'Al Cole']", ("Jo Berg", "Al Cole")),
        ('[["Berg", "Jo", ""], ["Cole", "Al", "Jr"]]', ("Jo Berg", "Al Cole Jr")),
        ('[{"name": "Jo Berg", "id": 7}]', ("Jo Berg",)),
        ("Plato", ("Plato",)),
        ("Jo Berg, Al Cole and Cy Dee", ("Jo Berg", "Al Cole", "Cy Dee")),
        ("Jo Berg, Al Cole, Cy Dee, and Bo Li", ("Jo Berg", "Al Cole", "Cy Dee", "Bo Li")),
        ("Berg, J., Cole, A., and Dee, C.", ("J. Berg", "A. Cole", "C. Dee")),
        ("van Berg, Jo Ann and de Cole, Al Bo", ("Jo Ann van Berg", "Al Bo de Cole")),
        ("['Jo Berg' 'Al Cole'\n \"Cy O'Dee\"]", ("Jo Berg", "Al Cole", "Cy O'Dee")),
        ("{'name': ['Jo Berg'], 'id': ['7']}", ("Jo Berg",)),
        ("{'name': [], 'id': []}", ()),
        ("{The Pear Team}", ("{The Pear Team}",)),
    ],
)
def test_names_in_one_cell(tmp_path: Path, cell: str, byline: tuple[str, ...]) -> None:
    found = only(written(tmp_path / "a.csv", HEADER, (*ROW[:3], cell, *ROW[4:])))
    assert found.byline == byline
    assert found.keys == (("7",) if "'7'" in cell or " 7" in cell else byline)


def test_rows_that_are_no_papers_are_rejected_by_field(tmp_path: Path) -> None:
    rows = [
        (*ROW[:3], "Berg, Jo, Cole", *ROW[4:]),
        (*ROW[:4], "soon", "3"),
        (*ROW[:5], "many"),
        (*ROW[:5], "3.5"),
        ROW[:4],
        (*ROW[:4], "1066", "3"),
        (*ROW[:3], "['Jo Berg', 'Al", *ROW[4:]),
    ]
    good = [(f"g{number}", *ROW[1:]) for number in range(9)]
    found, rejects = read_papers(open_corpus(written(tmp_path / "a.csv", HEADER, *good, *rows)))
    assert len(found) == 9
    told = [(reject.number, reject.unit, reject.field) for reject in rejects.first]
    fields = ("authors", "year", "citations", "citations", "row", "year", "authors")
    assert told == [(10 + nth, "row", field) for nth, field in enumerate(fields)]
    assert "4 cells, the header 6" in rejects.first[4].reason


LINE = ",".join(HEADER) + "\n"
LATIN = f"{LINE}p1,Früchte,About.,Jo Berg,2015,3\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (LATIN.replace("ü", "水果").encode("gbk"), "1 of 1 rows are not UTF-8"),
        (LATIN.encode("utf-16"), "UTF-16"),
        (b"", "contains no row"),
        (b"\n\n", "contains no row"),
        (LINE.encode(), "contains no row"),
        (LINE.encode() + b"a" * (LONGEST_ROW + 1), "8 MB"),
        pytest.param(LINE.encode() + b'"\n",' * (LONGEST_ROW // 4 + 1), "8 MB", marks=pytest.mark.slow),
    ],
)
def test_a_wrong_table_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(CorpusError, match=said):
        read_papers(tmp_path / "a.csv", "csv")


def test_an_open_quote_does_not_eat_the_file_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    good = ",".join(HEADER) + "\n" + (",".join(ROW) + "\n") * 3
    path.write_text(good + 'p2,"Pears\n' + "x\n" * 10)
    found, rejects = read_papers(path, "csv")
    assert len(found) == 3
    assert [reject.field for reject in rejects.first] == ["row"]


RECORD: dict[str, Any] = {
    "paper_id": 17, "title": "Pears", "abstract": "About\npears.", "authors": ["Jo Berg", "Al Cole"],
    "published": dt.datetime(2015, 3, 1), "citationCount": 4.0, "tags": ["fruit", None],
}  # fmt: skip


def parquet(path: Path, *records: dict[str, Any]) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(list(records)), path)
    return path


def test_shards_of_parquet_are_read_in_order(tmp_path: Path) -> None:
    parquet(tmp_path / "train-1.parquet", {**RECORD, "paper_id": 18})
    parquet(
        tmp_path / "train-0.parquet",
        RECORD,
        {**RECORD, "paper_id": 19, "authors": [], "citationCount": float("nan")},
        {**RECORD, "title": None},
    )
    found, rejects = read_papers(tmp_path, "parquet")
    assert [(one.id, one.citations) for one in found] == [("17", 4), ("19", None), ("18", 4)]
    assert found[0].model_dump(include={"abstract", "byline", "year", "citations", "keywords"}) == {
        "abstract": "About pears.", "byline": ("Jo Berg", "Al Cole"), "year": 2015, "citations": 4, "keywords": ("fruit",),
    }  # fmt: skip
    assert [str(reject).partition(":")[0] for reject in rejects.first] == ["train-0.parquet, row 3, title"]


@pytest.mark.parametrize(
    ("cell", "own"),
    [
        ("Pear Hall, Northtown", [("Pear Hall, Northtown",)] * 2),
        ("Pear Hall, Northtown; Fig House", [("Pear Hall, Northtown",), ("Fig House",)]),
        ('[null, "Fig House"]', [(), ("Fig House",)]),
        (" ", [(), ()]),
    ],
)
def test_affiliations_are_those_of_their_authors(
    tmp_path: Path, cell: str, own: list[tuple[str, ...]]
) -> None:
    found = only(written(tmp_path / "a.csv", (*HEADER, "affiliations"), (*ROW, cell)))
    assert [found.affiliations_of(author) for author in found.authors] == own


def test_a_number_that_all_rows_have_goes_before_one_that_some_lack(tmp_path: Path) -> None:
    found = only(written(tmp_path / "a.csv", ("DOI", *HEADER[1:], "EID"), ("", *ROW[1:], "2-s2.0-7")))
    assert found.id == "2-s2.0-7"


def test_what_is_no_parquet_and_no_pyarrow_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = parquet(tmp_path / "a.parquet", RECORD)
    (tmp_path / "b.parquet").write_bytes(b"PAR1" + b"\0" * 40)
    with pytest.raises(CorpusError, match="not parquet"):
        read_papers(tmp_path / "b.parquet", "parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(CorpusError) as told:
        read_papers(path, "parquet")
    assert told.value.hint == install_command("parquet")


def test_text_of_parquet_that_is_not_utf8_is_a_rejected_row(tmp_path: Path) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    columns = {name: [cell, cell] for name, cell in zip(HEADER[2:4], ROW[2:4], strict=True)}
    titles = arrow.array([b"Pears", b"\xff\xfe"], arrow.binary()).view(arrow.string())
    path = tmp_path / "p.parquet"
    parquet.write_table(
        arrow.table({**columns, "id": ["a", "b"], "year": [2015, 2015], "title": titles}), path
    )  # pyright: ignore[reportUnknownMemberType]
    rejects = Rejects()
    with pytest.raises(CorpusError, match="not UTF-8"):
        list(open_corpus(path, SourceOptions("parquet")).papers(rejects))
    assert rejects.by_field == {"encoding": 1}


def test_a_text_that_repeats_in_parquet_ends_at_a_bound(tmp_path: Path) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    alike = arrow.DictionaryArray.from_arrays(arrow.array([0] * 500, arrow.int32()), ["A B" * 50_000])
    columns = {**dict.fromkeys(HEADER[:4], alike), "year": [2015] * 500}
    path = tmp_path / "p.parquet"
    parquet.write_table(arrow.table(columns), path, store_schema=False)  # pyright: ignore[reportUnknownMemberType]
    with pytest.raises(CorpusError, match="64 MB"):
        read_papers(path, "parquet")


def test_columns_go_into_objects_to_the_name_of_the_file_and_to_a_value_for_all(tmp_path: Path) -> None:
    path = tmp_path / "icml2018.json"
    rows = [{"title": "Pears", "people": [{"name": "Jo Berg"}], "text": {"en": "About."}}] * 2
    path.write_text(json.dumps(rows), encoding="utf-8")
    columns = column_option("year=@name,venue==Fruit Conf.,authors=people.name,abstract=text.en")
    [found, _], _ = read_papers(path, columns=columns)
    assert (found.year, found.venue, found.byline, found.abstract) == (
        2018,
        "Fruit Conf.",
        ("Jo Berg",),
        "About.",
    )
    with pytest.raises(CorpusError, match="2 of 2 lines are not papers: line 1, abstract: an object"):
        read_papers(path, columns=columns | {"abstract": "text"})
    cells = ("Pears", '{"raw": "About"}', "Jo Berg")
    path = written(tmp_path / "acl2019.csv", ("title", "abstract", "authors"), cells, ("Figs", "About.", ""))
    [found], rejects = read_papers(path, columns={"year": "@name"})
    assert (found.title, found.year, found.byline) == ("Figs", 2019, ())
    assert str(rejects.first[0]) == "row 1, abstract: an object, not a text"
