"""Comments in a copy of a PDF, read back and looked at: where the words are, on straight, turned and cropped pages."""

from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as c
import pytest

from manyheads.documents import Comment, annotated
from support.pdfs import body, typeset

QUOTE = "Readers who disagree at first come to agree when each of them is shown the table of results."


def read(page: Any) -> list[tuple[int, str, list[float]]]:
    """Kind, contents and rectangle of each annotation of a page."""
    told = list[tuple[int, str, list[float]]]()
    for number in range(c.FPDFPage_GetAnnotCount(page)):
        one, box = c.FPDFPage_GetAnnot(page, number), c.FS_RECTF()
        letters = (c.FPDF_WCHAR * 4000)()
        c.FPDFAnnot_GetStringValue(one, b"Contents", letters, 8000)
        c.FPDFAnnot_GetRect(one, box)
        text = bytes(letters).decode("utf-16-le").partition("\0")[0]
        told.append((c.FPDFAnnot_GetSubtype(one), text, [box.left, box.bottom, box.right, box.top]))
        c.FPDFPage_CloseAnnot(one)
    return told


def is_coloured(page: Any) -> bool:
    """Whether a highlight's yellow is seen on the page as drawn."""
    image = page.render(scale=1).to_pil().convert("RGB")
    return any(red > 200 and blue < 180 for _, (red, _, blue) in image.getcolors(image.width * image.height))


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_a_passage_is_highlighted_where_it_stands(turn: int, tmp_path: Path) -> None:
    path = tmp_path / "paper.pdf"
    typeset(path, [], [body("We begin.", 8), body(QUOTE, 2)])
    plain = pdfium.PdfDocument(path)
    plain[0].set_rotation(turn)
    plain[0].set_cropbox(20, 30, 600, 780)
    plain.save(path)
    before = path.read_bytes()
    comments = [Comment("A point. 漢字 🤖\x1b", 1, [(1, QUOTE)]), Comment("Another.", 1, [(1, QUOTE)])]
    document = pdfium.PdfDocument(annotated(path, comments, "manyheads"))
    [(kind, text, box)] = read(document[0])
    assert (kind, text) == (c.FPDF_ANNOT_HIGHLIGHT, "A point. 漢字 🤖 \n\nAnother.")
    words = document[0].get_textpage()
    found = words.search("Readers who disagree").get_next()
    assert found
    left, bottom, right, top = words.get_charbox(found[0])
    assert box[0] - 2 <= left < right <= box[2] + 2
    assert box[1] - 2 <= bottom < top <= box[3] + 2
    assert is_coloured(document[0])
    assert not is_coloured(plain[0])
    assert path.read_bytes() == before


def test_what_has_no_place_is_a_note_in_the_margin(tmp_path: Path) -> None:
    path = tmp_path / "paper.pdf"
    typeset(path, [], [body("We begin.", 8)])
    comments = [Comment("Nowhere.", 1, [(1, QUOTE)]), *(Comment(f"Note {n}", 9) for n in range(60))]
    notes = read(pdfium.PdfDocument(annotated(path, comments, "manyheads"))[0])
    assert [text for _, text, _ in notes] == ["Nowhere.", *(f"Note {n}" for n in range(60))]
    assert {kind for kind, _, _ in notes} == {c.FPDF_ANNOT_TEXT}
    assert len({tuple(box) for _, _, box in notes}) == 61
    assert all(box[0] >= 0 and box[1] >= 0 for _, _, box in notes)
