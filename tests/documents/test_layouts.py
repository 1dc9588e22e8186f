"""Papers of many fields and scripts: a person and the reader see the same title, authors, abstract, sections, references."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import KeepTogether, Paragraph

from manyheads.documents import Document, find_quote, read_document
from support.layouts import CHINESE, LAYOUTS, SCRIPTS, Layout, Script, register
from support.pdfs import BODY, CAPTION, Plot, body, typeset


def check(layout: Layout, document: Document) -> None:
    for part, (read, written) in layout.parts(document).items():
        assert read == written, part


FIRST = ("economics", "econometrics", "humanities", "neural computation", "APA, with a cover", "German")
FIRST_SCRIPTS = ("Chinese", "Japanese, two columns", "Korean, two columns")


def some_slow(names: Iterable[str], first: Sequence[str]) -> list[Any]:
    return [name if name in first else pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.mark.parametrize("name", some_slow(LAYOUTS, FIRST))
def test_each_part_is_read(name: str, tmp_path: Path) -> None:
    layout = LAYOUTS[name]
    check(layout, read_document(layout.make(tmp_path / "paper.pdf")))


@pytest.fixture(scope="module", params=some_slow(SCRIPTS, FIRST_SCRIPTS))
def script(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Script, Document]:
    one = SCRIPTS[request.param]
    return one, read_document(one(tmp_path_factory.mktemp("script") / "paper.pdf"))


def test_no_letter_of_east_asia_is_lost_or_set_apart(script: tuple[Script, Document]) -> None:
    one, document = script
    check(one.layout, document)
    text = "".join((document.abstract, *(each.text for each in document.sections)))
    count = len(one.headings) * 8 + 2
    assert sum(text.count(letter) for letter in {*one.filling} - {" "}) == count * len(
        one.filling.replace(" ", "")
    )
    assert text.count(one.filling.strip()) == count
    assert document.faults == ()
    assert document.sections[0].kind == "introduction"
    assert document.sections[0].cites == (0,)


def test_references_of_east_asia(script: tuple[Script, Document]) -> None:
    one, document = script
    for read, written in zip(document.references[:2], one.entries, strict=False):
        assert read.title
        assert f". {read.title}" in written
        assert str(read.year) in written
        assert f"] {', '.join(read.authors)}." in written
    assert document.references[2].authors == ("Berg", "Lee")


def test_quotes_of_east_asia(script: tuple[Script, Document]) -> None:
    """From the midst of a sentence, as no blank shows where a word begins; with another sign, it is another sentence."""
    one, document = script
    quote = one.filling[4:25].rpartition(" ")[0] or one.filling[4:25]
    found = find_quote(document, quote)
    assert found
    assert (found.text, found.page) == (quote, 1)
    assert find_quote(document, quote.replace(quote[9], "不")) is None


def test_a_figure_of_a_chinese_paper_is_no_text(tmp_path: Path) -> None:
    register("STSong-Light")
    text, small = (
        ParagraphStyle(one.name + "zh", parent=one, fontName="STSong-Light", wordWrap="CJK")
        for one in (BODY, CAPTION)
    )
    filling = CHINESE["filling"]
    shown = KeepTogether([Plot(), Paragraph("图 1 读者人数与一致性的关系", small)])
    story = [Paragraph(filling * 6, text), shown, Paragraph(filling * 6, text)]
    document = read_document(typeset(tmp_path / "figure.pdf", [], story, high=10))
    (one,) = document.figures
    assert (one.number, one.caption, bool(one.box)) == ("1", "读者人数与一致性的关系", True)
    assert "图 1" not in document.text()


def test_it_is_said_that_no_title_was_found(tmp_path: Path) -> None:
    document = read_document(typeset(tmp_path / "bare.pdf", [], [body("Only text.", 40)], high=10))
    assert (document.title, document.faults[0]) == ("", "no title found")
