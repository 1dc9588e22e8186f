"""Every reader gives titles, abstracts, venues and keywords without markup, and leaves other texts alone."""

import json
from pathlib import Path

import pytest

from manyheads.corpus.records import RawPaper
from support.datasets import read_papers

TITLE = "<i>In vivo</i> probes &amp; tides"
ABSTRACT = "<jats:p>Layers with H<jats:sub>2</jats:sub>O drift when p < 0.05.</jats:p>"
FIELDS = {
    "id": "1", "title": TITLE, "abstract": ABSTRACT, "authors": ["Ada L&aacute;ng"], "year": 2015,
    "venue": "Tides &amp; Waves", "keywords": ["R&amp;D", "drift"],
}  # fmt: skip
CELLS = f'1,{TITLE},"{ABSTRACT}",Ada L&aacute;ng; Jo Berg,2015,Tides &amp; Waves,R&amp;D'
ARXIV = {"title": TITLE, "abstract": ABSTRACT, "authors_parsed": [["L&aacute;ng", "Ada", ""]], "update_date": "2015-01-02"}  # fmt: skip
SOURCES = {
    "papers.jsonl": json.dumps(FIELDS),
    "papers.json": json.dumps([FIELDS]),
    "papers.csv": f"id,title,abstract,authors,year,venue,keywords\n{CELLS}\n",
    "papers.bib": f"@article{{one, title={{{TITLE}}}, abstract={{{ABSTRACT}}}, author={{Ada L&aacute;ng}}, year=2015}}\n",
    "arxiv.jsonl": json.dumps({"paper_id": "1", "metadata": ARXIV, "bib_entries": {}}),
}


def _only(source: Path) -> RawPaper:
    [paper], _ = read_papers(source)
    return paper


@pytest.mark.parametrize("name", SOURCES)
def test_a_paper_comes_without_markup(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(SOURCES[name], encoding="utf-8")
    paper = _only(tmp_path / name)
    assert paper.title == "In vivo probes & tides"
    assert paper.abstract == "Layers with H2O drift when p < 0.05."
    assert paper.authors[0] == "Ada Láng"
    assert paper.venue in (None, "Tides & Waves")
    assert not paper.keywords or paper.keywords[0] == "R&D"


def test_a_parquet_file_comes_without_markup(tmp_path: Path) -> None:
    pa, parquet = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
    parquet.write_table(pa.Table.from_pylist([FIELDS]), tmp_path / "papers.parquet")
    paper = _only(tmp_path / "papers.parquet")
    assert (paper.title, paper.abstract) == ("In vivo probes & tides", "Layers with H2O drift when p < 0.05.")


@pytest.mark.parametrize("text", ["a < b and c > d", "AT&T at 5% of $x_1$", "Lines\nstay lines\n of text"])
def test_what_only_looks_like_markup_stays(tmp_path: Path, text: str) -> None:
    source = tmp_path / "papers.jsonl"
    source.write_text(json.dumps({**FIELDS, "abstract": text}), encoding="utf-8")
    assert _only(source).abstract == text


def test_a_title_of_markup_alone_stays(tmp_path: Path) -> None:
    source = tmp_path / "papers.jsonl"
    source.write_text(json.dumps({**FIELDS, "title": "<b></b>"}), encoding="utf-8")
    assert _only(source).title == "<b></b>"
