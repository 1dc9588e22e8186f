"""Exports of every format, read without naming it: each record is read, or refused with its reason, and no field is wrong."""

import time
from pathlib import Path

import pytest

from manyheads.corpus.records import Rejects
from manyheads.datasets.opening import detect, open_corpus
from support.exports import EXPORTS, known_papers


@pytest.mark.parametrize(
    "count", [200, pytest.param(100_000, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
@pytest.mark.parametrize("name", EXPORTS)
def test_every_record_is_read_or_refused_and_no_field_is_wrong(tmp_path: Path, name: str, count: int) -> None:
    export, rejects = EXPORTS[name], Rejects()
    left_out = "水 β-sheet Ż" if export.encoding == "cp1252" else ""
    path = export.write(tmp_path, known_papers(count, without=left_out))
    assert detect(path) == export.format
    start, wrong, read = time.monotonic(), dict[str, int](), 0
    papers = (paper for _, paper in open_corpus(path).papers(rejects))
    refused = 0
    for known in known_papers(count, without=left_out):
        if known.broken:
            refused += 1
            continue
        found = next(papers)
        read += 1
        for field in export.wrong(known, found):
            wrong[field] = wrong.get(field, 0) + 1
    seconds = time.monotonic() - start
    print(f"| {name} | {count:,} | {read:,} | {rejects.total:,} | {seconds:.1f} | {sum(wrong.values())} |")
    assert (next(papers, None), wrong) == (None, {})
    assert (read, rejects.total) == (count - refused, refused)
    assert rejects.by_field.keys() <= {"title", "year"}
