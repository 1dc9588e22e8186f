"""What GROBID makes of a paper."""

from pathlib import Path

import pytest

from manyheads.base.errors import DocumentError
from manyheads.documents import read_document

TEI = """<?xml version="1.0" encoding="UTF-8"?>
<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc>
<titleStmt><title level="a" type="main">Quiet Committees</title></titleStmt>
<sourceDesc><biblStruct><analytic>
<author><persName><forename type="first">Ada</forename><surname>Berg</surname></persName></author>
<author><persName><forename>Chidi</forename><forename>K</forename><surname>Okafor</surname></persName></author>
</analytic></biblStruct></sourceDesc></fileDesc>
<profileDesc><abstract><div><p><s>Readers agree.</s><s>We say when.</s></p></div></abstract></profileDesc></teiHeader>
<facsimile><surface n="1"/><surface n="2"/></facsimile>
<text><body>
<div><head n="1">INTRODUCTION</head><p>Committees are old <ref type="bibr" target="#b1" coords="1,10,20,30,8">(Lee, 2019)</ref>.</p></div>
<div><head n="2">Readers in Rooms</head><p>As before <ref type="bibr" target="#b0">[1]</ref> and <ref type="bibr" target="#b9">nowhere</ref>.</p>
<p>See <ref type="figure" target="#fig_0">Figure 1</ref>.</p></div>
<div><head n="3">Experiments</head><p>They held <ref type="bibr" target="#b2">[3]</ref>.</p></div>
<figure xml:id="fig_0" coords="2,50,60,200,100"><head>Figure 1 :</head><label>1</label><figDesc><div><p>Figure 1: The rooms.</p></div></figDesc></figure>
<figure type="table" xml:id="tab_0"><head>Table 1 :</head><label>1</label><figDesc>Counts.</figDesc>
<table><row><cell>a</cell><cell>b</cell></row><row><cell>1</cell><cell>2</cell></row></table></figure>
<note place="foot" n="1">A footnote.</note>
</body><back><div type="annex"><div><head>A Proofs</head><p>It follows.</p></div></div>
<div type="references"><listBibl>
<biblStruct xml:id="b0"><analytic><title level="a">On rooms</title><author><persName><surname>Moreno</surname></persName></author>
<idno type="DOI">10.1234/rooms</idno></analytic><monogr><title level="j">Rooms</title><imprint><date when="2018-05"/></imprint></monogr></biblStruct>
<biblStruct xml:id="b1"><monogr><title level="m">Old committees</title><author><persName><surname>Lee</surname></persName></author>
<imprint><date when="2019"/></imprint></monogr></biblStruct>
<biblStruct xml:id="b2"><analytic><title>Late news</title></analytic><monogr><title/><idno type="arXiv">arXiv:2101.01234[cs]</idno><imprint/></monogr></biblStruct>
</listBibl></div></back></text></TEI>
"""


def test_paper(tmp_path: Path) -> None:
    path = tmp_path / "paper.tei.xml"
    path.write_text(TEI, encoding="utf-8")
    document = read_document(path)
    assert (document.title, document.abstract, document.pages) == (
        "Quiet Committees",
        "Readers agree. We say when.",
        2,
    )
    assert document.authors == ("Ada Berg", "Chidi K Okafor")
    assert [(one.number, one.title, one.kind, one.cites) for one in document.sections] == [
        ("1", "INTRODUCTION", "introduction", (1,)),
        ("2", "Readers in Rooms", "method", (0,)),
        ("3", "Experiments", "experiments", (2,)),
        ("A", "Proofs", "appendix", ()),
    ]
    assert document.sections[1].text == "As before [1] and nowhere.\nSee Figure 1."
    assert document.sections[0].pages == (1,)
    assert [(one.title, one.year, one.doi, one.arxiv, one.authors) for one in document.references] == [
        ("On rooms", 2018, "10.1234/rooms", None, ("Moreno",)),
        ("Old committees", 2019, None, None, ("Lee",)),
        ("Late news", None, None, "2101.01234", ()),
    ]
    assert [one.title for one in document.core] == ["On rooms", "Old committees"]
    (figure,), (table,) = document.figures, document.tables
    assert (figure.number, figure.caption, figure.page, figure.box) == (
        "1",
        "The rooms.",
        2,
        (50, 60, 250, 160),
    )
    assert (table.caption, table.rows) == ("Counts.", (("a", "b"), ("1", "2")))
    assert [one.text for one in document.notes] == ["A footnote."]
    assert document.faults == ()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (TEI[:900], "broken XML"),
        (TEI.replace("http://www.tei-c.org/ns/1.0", "urn:else").replace("<TEI", "<TEI "), "not TEI"),
        (TEI.replace("<TEI", '<!DOCTYPE TEI [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><TEI', 1), "entities"),
        (TEI.replace("<TEI", '<!DOCTYPE TEI [<!ENTITY x SYSTEM "file:///etc/passwd">]><TEI', 1), "entities"),
    ],
)
def test_refused(text: str, word: str, tmp_path: Path) -> None:
    path = tmp_path / "paper.xml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError, match=word) as caught:
        read_document(path)
    assert "paper.xml" in str(caught.value)


def test_wrong_encoding(tmp_path: Path) -> None:
    path = tmp_path / "paper.xml"
    path.write_bytes(TEI.replace("Quiet", "Qüiet").encode("latin-1"))
    with pytest.raises(DocumentError, match="broken XML"):
        read_document(path)
