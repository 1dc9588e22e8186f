"""What papers cite, as the formats tell it; neither papers nor scientists change by it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyheads.corpus.records import RawPaper, Rejects
from manyheads.datasets.opening import open_corpus
from support.papers import paper

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
        ("a.json", json.dumps([paper() | {"references": [{"paperId": "b7", "title": "Salt"}, {"paperId": None, "title": "Tides"}]}]), ("b7", "Tides")),
        ("a.csv", CSV, ()),
    ],
)  # fmt: skip
def test_formats_tell_them(tmp_path: Path, name: str, content: str, expected: tuple[str, ...]) -> None:
    (tmp_path / name).write_text(content + "\n")
    [(_, found)] = open_corpus(tmp_path / name).papers(Rejects())
    assert found.references == expected


@given(JSON_VALUE)
def test_references_of_any_kind_never_spoil_a_paper(value: Any) -> None:
    found = RawPaper.model_validate(paper(references=value))
    assert RawPaper.model_validate(found.model_dump(by_alias=True)) == found
