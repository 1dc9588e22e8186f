"""Exports of every format, read without naming it: each record is read, or refused with its reason, and no field is wrong.

`MANYHEADS_RECORDS=100000` reads so many of each, and prints a table: `pytest -m slow -s tests/datasets/test_exports.py`.
"""

import os
import time
import zipfile
from pathlib import Path

import pyarrow as arrow
import pytest
import rispy
from pyarrow import parquet

from manyheads.corpus.records import Rejects
from manyheads.datasets.opening import detect, open_corpus
from support.datasets import read_papers
from support.exports import EXPORTS, known_papers, ours

MANY = int(os.environ.get("MANYHEADS_RECORDS", "2000"))


@pytest.mark.parametrize(
    "count", [100, pytest.param(MANY, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
@pytest.mark.parametrize("name", EXPORTS)
def test_every_record_is_read_or_refused_and_no_field_is_wrong(tmp_path: Path, name: str, count: int) -> None:
    export, rejects = EXPORTS[name], Rejects()
    left_out = "水 β-sheet Ż" if export.encoding == "cp1252" else ""
    path = export.write(tmp_path, known_papers(count, without=left_out))
    assert detect(path) == export.format
    seconds, wrong, read = 0.0, dict[str, int](), 0
    papers = (paper for _, paper in open_corpus(path).papers(rejects))
    refused = 0
    for known in known_papers(count, without=left_out):
        if known.broken:
            refused += 1
            continue
        start = time.process_time()
        found = next(papers)
        seconds += time.process_time() - start
        read += 1
        for field in export.wrong(known, found):
            wrong[field] = wrong.get(field, 0) + 1
    print(f"| {name} | {count:,} | {read:,} | {rejects.total:,} | {seconds:.1f} | {sum(wrong.values())} |")
    assert (next(papers, None), wrong) == (None, {})
    assert (read, rejects.total) == (count - refused, refused)
    assert rejects.by_field.keys() <= {"title", "year"}


@pytest.mark.parametrize("count", [100, pytest.param(MANY, marks=pytest.mark.slow)])
def test_every_row_of_parquet_is_read_or_refused(tmp_path: Path, count: int) -> None:
    rows = [
        ours(one) | {"year": None if one.broken else one.year, "id": str(one.number)}
        for one in known_papers(count)
    ]
    parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "train.parquet")  # pyright: ignore[reportUnknownMemberType]
    found, rejects = read_papers(tmp_path / "train.parquet")
    sound = [one for one in known_papers(count) if not one.broken]
    assert rejects.by_field == {"year": count - len(sound)}
    assert not [
        one.number for one, other in zip(sound, found, strict=True) if EXPORTS["csv"].wrong(one, other)
    ]


PUBMED = """PMID- 7
TI  - [Pears
      in spring].
DEP - 20150312
CN  - Pear Group
BT  - x

PMID- 8
TI  - Figs
DP  - 1998 Winter
ED  - Berg J
"""
OVID = """
1.
TY  - JOUR
TI  - Pears
and figs
A1  -
PY  -
Y1  - 2015/05//
AU  - Berg, Jo
N2  - Aims: we ask.
RESULTS - they are good.
ER  -

What is this
2.
TY - JOUR
TI - Figs
PY  - 2016"""


def test_odd_lines_of_databases_lose_nothing_in_silence(tmp_path: Path) -> None:
    (tmp_path / "a.nbib").write_text(PUBMED, encoding="utf-8-sig")
    [first, second], _ = read_papers(tmp_path / "a.nbib")
    assert (first.title, first.year, first.byline) == ("[Pears in spring].", 2015, ("Pear Group",))
    assert (second.year, second.byline) == (1998, ("Berg J",))
    (tmp_path / "a.txt").write_text(OVID)
    [first, second], rejects = read_papers(tmp_path / "a.txt")
    assert (first.title, first.year, first.abstract) == (
        "Pears and figs",
        2015,
        "Aims: we ask. RESULTS - they are good.",
    )
    assert (second.title, second.byline) == ("Figs", ())
    assert str(rejects.first[0]) == "record 2, record: line 14 is between two records"


def test_a_zip_of_several_exports_and_a_folder_of_them_are_one_dataset(tmp_path: Path) -> None:
    files = [EXPORTS["ris scopus"].write(tmp_path / name, known_papers(9)) for name in ("one", "two")]
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for file in files:
            archive.write(file, f"{file.parent.name}.ris")
    assert len(read_papers(tmp_path / "all.zip")[0]) == 18
    (tmp_path / "all.zip").unlink()
    assert detect(tmp_path) == "ris"
    assert len(read_papers(tmp_path)[0]) == 18


@pytest.mark.parametrize("name", ["ris scopus", "ris pubmed", "ris ovid"])
def test_another_reader_finds_the_same_records(tmp_path: Path, name: str) -> None:
    path = EXPORTS[name].write(tmp_path, known_papers(90))
    theirs = rispy.loads(path.read_text("utf-8-sig"))
    titles = [one.get("title", one.get("primary_title")) for one in theirs]
    assert [one.title for one in read_papers(path)[0]] == [
        title for one, title in zip(known_papers(90), titles, strict=True) if not one.broken
    ]
