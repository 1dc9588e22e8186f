"""Full texts as a corpus: GROBID's TEI and PDF, a paper a file, and what stands beside them."""

import json
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from reportlab.platypus import PageBreak, Paragraph

from manyheads.base.errors import CorpusError
from manyheads.corpus.building import build_corpus
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.meta import BuildOptions, read_meta
from manyheads.datasets.opening import detect, name_of, open_corpus
from manyheads.documents.draft import year_told
from support.datasets import read_papers
from support.papers import NAMES, REAL_DATA
from support.pdfs import AUTHORS, ENTRY, TITLE, body, heading, raster, typeset

TITLES = (
    "Salt in motion at sea",
    "Tides that remember salt",
    "Dams of the quiet north",
    "Boats between the dams",
)


def tei(title: str, *cited: str, date: str = "", authors: Sequence[str] = NAMES[:2], head: str = "") -> str:
    """A paper that cites the first of these in its introduction, the second in its method, the others elsewhere."""
    names = (name.split() for name in authors)
    people = "".join(
        f"<author><persName><forename>{one}</forename><surname>{other}</surname></persName></author>"
        for one, other in names
    )
    entries = "".join(
        f'<biblStruct xml:id="b{n}"><analytic><title level="a">{escape(one)}</title></analytic><monogr><title level="j">Tides</title>'
        f'<imprint><date when="2011"/></imprint></monogr></biblStruct>'
        for n, one in enumerate(cited)
    )
    refs = [f'<ref type="bibr" target="#b{n}">({n})</ref>' for n in range(len(cited))]
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt><title>{escape(title)}</title></titleStmt>
<publicationStmt>{f'<date type="published" when="{date}"/>' if date else ""}</publicationStmt>
<sourceDesc><biblStruct><analytic>{people}</analytic><monogr/></biblStruct></sourceDesc></fileDesc>
<profileDesc><abstract><p>We measure how {escape(title.lower())} comes about.</p></abstract></profileDesc></teiHeader>
<text><body><div><p>{head}</p></div><div><head n="1">Introduction</head><p>We begin {"".join(refs[:1])}.</p></div>
<div><head n="2">Method</head><p>We do {"".join(refs[1:2])}.</p></div>
<div><head n="3">Experiments</head><p>It works {"".join(refs[2:])}.</p></div></body>
<back><div type="references"><listBibl>{entries}</listBibl></div></back></text></TEI>"""


def pdf(path: Path, title: str, *cited: str, head: str = "") -> Path:
    """A paper that cites the first of these in its introduction, the others in its experiments."""
    front = [Paragraph(title, TITLE), Paragraph(", ".join(NAMES[2:4]), AUTHORS)]
    story = [
        heading("Abstract"),
        body(f"We measure how {title.lower()} comes about.", 2),
        heading("1 Introduction"),
        body("We begin with what is known [1].", 5),
        heading("2 Method"),
        body("We do it.", 5),
        heading("3 Experiments"),
        body("It works [2].", 5),
        heading("References"),
        *(Paragraph(f"[{n}] A. Berg. {one}. Tides, 2011.", ENTRY) for n, one in enumerate(cited, 1)),
    ]
    return typeset(path, front, story, head=head)


def test_a_tei_is_a_paper_with_its_text_and_what_it_cites(tmp_path: Path) -> None:
    (tmp_path / "berg.grobid.tei.xml").write_text(tei(TITLES[0], *TITLES[1:], date="2019-03-04"))
    assert detect(tmp_path) == detect(tmp_path / "berg.grobid.tei.xml") == "tei"
    (tmp_path / "berg.pdf").write_bytes(b"%PDF-1.7 is not read beside its TEI")
    [found], rejects = read_papers(tmp_path, "pdf")
    assert not rejects.total
    assert (found.id, found.title, found.year, found.byline) == ("berg", TITLES[0], 2019, NAMES[:2])
    assert found.abstract == "We measure how salt in motion at sea comes about."
    assert (found.introduction, found.method) == ("We begin (0).", "We do (1).")
    assert [title in text for title, text in zip(TITLES[1:], found.references, strict=True)] == [True] * 3
    assert found.core_references == found.references[:2]


@pytest.mark.slow
def test_a_pdf_is_a_paper_with_its_text_and_what_it_cites(tmp_path: Path) -> None:
    path = pdf(tmp_path / "2018-berg.pdf", TITLES[0], TITLES[1], TITLES[2])
    assert detect(tmp_path) == detect(path) == "pdf"
    [found], _ = read_papers(tmp_path)
    assert (found.id, found.title, found.year, found.byline) == ("2018-berg", TITLES[0], 2018, NAMES[2:4])
    assert found.introduction.startswith("We begin with what is known")
    assert found.method.startswith("We do it.")
    assert [TITLES[1] in one for one in found.references] == [True, False]
    assert found.core_references == found.references[:1]


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("Published as a conference paper at ICLR 2021 SALT IN MOTION", 2021),
        ("33rd Conference on Neural Information Processing Systems (NeurIPS 2019), Vancouver", 2019),
        (
            "Proceedings of the 57th Annual Meeting of the Association, pages 1–9 Florence, July 28 - August 2, 2019.",
            2019,
        ),
        ("978-1-7281-0000-0/19/$31.00 ©2020 IEEE", 2020),
        ("arXiv:1905.00001v2 [cs.CL] 3 May 2019", 2019),
        ("Accepted at ICML 2018. arXiv:1705.00001", 2018),
        ("As Berg (2011) says, salt moves. Tides were measured in 2014.", None),
        ("", None),
    ],
)
def test_the_year_that_a_first_page_tells(text: str, year: int | None) -> None:
    assert year_told(text) == year


@pytest.mark.parametrize(
    ("name", "head", "year"),
    [
        ("2017-berg", "Published as a conference paper at ICLR 2021", 2017),
        ("1905.00001v2", "", 2019),
        ("2012.00001", "", 2020),
        ("berg", "Published as a conference paper at ICLR 2021", 2021),
        ("berg", "arXiv:1905.00001v2 [cs.CL]", 2019),
    ],
)
def test_a_year_is_that_of_the_name_else_of_the_first_page(
    tmp_path: Path, name: str, head: str, year: int
) -> None:
    (tmp_path / f"{name}.tei.xml").write_text(tei(TITLES[0], head=head))
    assert [one.year for one in read_papers(tmp_path)[0]] == [year]


def test_what_stands_beside_the_documents_goes_before_what_they_say(tmp_path: Path) -> None:
    for number, title in enumerate(TITLES):
        (tmp_path / f"{number}.tei.xml").write_text(tei(title, head="Published as a paper at ICLR 2021"))
    (tmp_path / "papers.csv").write_text(
        "file,year,title,authors,citations\n0.tei.xml,2015,,,7\nsub/1.pdf,2016,Another title,Jo Berg; Ann Cole,\n"
    )
    (tmp_path / "my.bib").write_text(
        f"@article{{key, title={{{{{TITLES[2]}}}}}, author={{Lee, Kim}}, year=2017, journal={{Tides}}}}\n@article{{broken,\n"
    )
    found = {one.id: one for one in read_papers(tmp_path, "tei")[0]}
    told = [(found[str(n)].title, found[str(n)].byline, found[str(n)].year) for n in range(4)]
    assert told == [
        (TITLES[0], NAMES[:2], 2015),
        ("Another title", ("Jo Berg", "Ann Cole"), 2016),
        (TITLES[2], ("Kim Lee",), 2017),
        (TITLES[3], NAMES[:2], 2021),
    ]
    assert (found["0"].citations, found["2"].venue) == (7, "Tides")
    assert found["1"].introduction == "We begin ."


def test_a_document_that_cannot_be_read_is_rejected_with_its_reason(tmp_path: Path) -> None:
    for number, title in enumerate(TITLES):
        (tmp_path / f"201{number}-a.tei.xml").write_text(tei(title))
    (tmp_path / "broken.tei.xml").write_text("<TEI><a></TEI>")
    (tmp_path / "empty.tei.xml").write_text("")
    (tmp_path / "undated.tei.xml").write_text(tei("Of no year"))
    found, rejects = read_papers(tmp_path, "tei")
    assert len(found) == 4
    assert rejects.by_field == {"file": 2, "year": 1}
    broken, empty, undated = rejects.first
    assert (broken.file, empty.file, undated.file) == ("broken.tei.xml", "empty.tei.xml", "undated.tei.xml")
    assert "broken XML" in broken.reason
    assert str(tmp_path) not in broken.reason
    assert "2019-NAME" in undated.reason
    assert "papers.csv" in undated.reason


@pytest.mark.slow
def test_what_could_not_be_read_of_a_document_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    for year, title in zip((2017, 2018, 2019), TITLES, strict=False):
        pdf(folder / f"{year}-a.pdf", title, "Salt")
    front, story = [Paragraph(TITLES[3], TITLE)], [heading("1 Introduction"), body("Boats drift.", 9)]
    picture = [PageBreak(), raster(500, 600)]
    typeset(folder / "2016-b.pdf", front, [heading("Abstract"), body("Boats."), *story, *picture], high=60)
    build_corpus(
        open_corpus(folder), tmp_path / "corpus", BuildOptions(bound=2019), load_embedder("lexical")
    ).close()
    meta = read_meta(tmp_path / "corpus")
    assert (meta.counts.rejected, meta.counts.faulty, meta.counts.past) == (0, 1, 3)
    assert ("read in part", "1, listed in rejects.jsonl") in meta.rows()
    [told] = (tmp_path / "corpus" / "rejects.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(told)["file"] == "2016-b.pdf"
    assert "page 2 is a picture without text: it was not read" in json.loads(told)["faults"]


@pytest.mark.slow
def test_a_pdf_that_cannot_be_read_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    pdf(tmp_path / "2018-a.pdf", TITLES[0])
    for name in ("2019-b.pdf", "2019-c.pdf", "2019-d.pdf"):
        (tmp_path / name).write_bytes(b"%PDF-1.7\nnothing else")
    found, rejects = read_papers(tmp_path)
    assert [one.id for one in found] == ["2018-a"]
    assert [one.file for one in rejects.first] == ["2019-b.pdf", "2019-c.pdf", "2019-d.pdf"]
    (tmp_path / "2018-a.pdf").unlink()
    with pytest.raises(CorpusError) as told:
        read_papers(tmp_path)
    assert "2019-b.pdf" in str(told.value)


def test_a_folder_of_documents_is_told_from_other_datasets(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(tei(TITLES[0]))
    assert detect(tmp_path) == "tei"
    (tmp_path / "papers.csv").write_text("title,abstract,authors,year\n")
    (tmp_path / "a.xml").unlink()
    (tmp_path / "codebook.pdf").write_bytes(b"%PDF-1.7")
    assert detect(tmp_path) == "csv"
    (tmp_path / "another.pdf").write_bytes(b"%PDF-1.7")
    assert detect(tmp_path) == "pdf"
    assert [name_of(one) for one in ("x/berg.tei.xml", "x/berg.pdf")] == ["berg", "berg"]


@pytest.mark.skipif(not (REAL_DATA / "pdfs").is_dir(), reason="needs real papers")
@pytest.mark.slow
def test_real_papers_are_read() -> None:
    found, rejects = read_papers(REAL_DATA / "pdfs")
    assert rejects.total == 0
    assert {one.id: one.year for one in found} == {"automated-relational-metadata": 2020, "carpe-diem": 2020}
    for one in found:
        assert len(one.introduction) > 2000
        assert len(one.method) > 2000
        assert 0 < len(one.core_references) < len(one.references)
    [grid], _ = read_papers(REAL_DATA / "s2-hits", "tei")
    assert (grid.id, grid.title, grid.year) == ("subject", "LEARNING GRID CELLS BY PREDICTIVE CODING", 2025)
