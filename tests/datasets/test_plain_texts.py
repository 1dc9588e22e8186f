"""Titles, abstracts, venues, names and keywords come without markup, and other texts stay as they are."""

import json
from pathlib import Path

import pytest

from manyheads.corpus.records import RawPaper
from support.datasets import read_papers

FIELDS = {
    "id": "1", "title": "<i>In vivo</i> probes &amp; tides", "authors": ["Ada L&aacute;ng"], "year": 2015,
    "abstract": "<jats:p>Layers with H<jats:sub>2</jats:sub>O drift when p < 0.05.</jats:p>",
    "venue": "Tides &amp; Waves", "keywords": ["R&amp;D", "drift"],
}  # fmt: skip


def only(folder: Path, name: str = "papers.jsonl", **changes: str) -> RawPaper:
    record = FIELDS | changes
    (folder / name).write_text(json.dumps(record if name.endswith("l") else [record]), encoding="utf-8")
    [paper], _ = read_papers(folder / name)
    return paper


@pytest.mark.parametrize("name", ["papers.jsonl", "papers.json"])
def test_a_paper_comes_without_markup(tmp_path: Path, name: str) -> None:
    paper = only(tmp_path, name)
    assert paper.title == "In vivo probes & tides"
    assert paper.abstract == "Layers with H2O drift when p < 0.05."
    assert (paper.authors, paper.venue) == (("Ada Láng",), "Tides & Waves")
    assert paper.keywords == ("R&D", "drift")


@pytest.mark.parametrize("text", ["a < b and c > d", "AT&T at 5% of $x_1$", "Lines\nstay lines\n of text"])
def test_what_only_looks_like_markup_stays(tmp_path: Path, text: str) -> None:
    assert only(tmp_path, abstract=text).abstract == text


def test_a_title_of_markup_alone_stays(tmp_path: Path) -> None:
    assert only(tmp_path, title="<b></b>").title == "<b></b>"
