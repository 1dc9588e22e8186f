"""What papers cite, as the formats tell it; neither papers nor scientists change by it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyheads.corpus.building import build_corpus
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.meta import BuildOptions
from manyheads.corpus.records import RawPaper, Rejects
from manyheads.datasets.opening import open_corpus
from support.papers import paper, papers, write_corpus

AMINER = "#index 7\n#* Pears\n#@ Jo Berg\n#t 2015\n#% 3\n#% 12\n#! About pears.\n"
OAG = {"id": "1", "title": "Pears", "authors": [{"id": "a", "name": "Jo"}], "year": 2015, "n_citation": 1}
CSV = "title,abstract,authors,year,References\nPears,About.,Jo Berg,2015,"
JSON_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("id", "title", "x")), inner),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.jsonl", json.dumps(paper(references=["p7", "Berg, J. Salt. 2011"])), ("p7", "Berg, J. Salt. 2011")),
        ("a.jsonl", json.dumps(paper(references=None)), ()),
        ("AMiner-Paper.txt", AMINER, ("3", "12")),
        ("a.json", json.dumps(OAG | {"references": ["53a", "53b"]}), ("53a", "53b")),
        ("a.csv", CSV + '"Berg J. (2011) Salt; Cole A. (1999) Reservoirs; "', ("Berg J. (2011) Salt", "Cole A. (1999) Reservoirs")),
        ("a.csv", CSV + "\"['W1', 'W2']\"", ("W1", "W2")),
        ("a.csv", CSV, ()),
    ],
)  # fmt: skip
def test_formats_tell_them(tmp_path: Path, name: str, content: str, expected: tuple[str, ...]) -> None:
    (tmp_path / name).write_text(content + "\n")
    [(_, found)] = open_corpus(tmp_path / name).papers(Rejects())
    assert found.references == expected


def test_parquet_tells_them(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [
        paper() | {"references": [{"paperId": "b7", "title": "Salt"}, {"paperId": None, "title": "Tides"}]}
    ]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    [(_, found)] = open_corpus(tmp_path / "a.parquet").papers(Rejects())
    assert found.references == ("b7", "Tides")


@given(JSON_VALUE)
def test_references_of_any_kind_never_spoil_a_paper(value: Any) -> None:
    found = RawPaper.model_validate(paper(references=value))
    assert RawPaper.model_validate(found.model_dump(by_alias=True)) == found


@pytest.mark.slow
def test_papers_and_scientists_are_the_same_with_and_without_them(tmp_path: Path) -> None:
    bare = papers(40)
    citing = [one | {"references": [f"p{number}", "Okafor, A. A study."]} for number, one in enumerate(bare)]
    kept: list[Any] = []
    for name, records in (("bare", bare), ("citing", citing)):
        source = write_corpus(tmp_path / f"{name}.jsonl", records)
        options = BuildOptions.of(None, bound=2014)
        with build_corpus(source, tmp_path / name, options, load_embedder("lexical"), name="x") as made:
            kept.append(([*made.papers.papers()], made.scientists))
    assert kept[0] == kept[1]
