"""Pictures of figures, and where passages stand on a page."""

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from reportlab.lib.pagesizes import landscape, letter
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph

from manyheads.base.errors import DocumentError
from manyheads.documents import Document, Figure, find_quote, picture, quote_boxes, read_document, render
from support.pdfs import TITLE, Plot, body, figure, heading, typeset
from support.pngs import size


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Document]:
    story = [
        heading("1 Introduction"),
        body("Readers who read in company agree with the others more often than readers who read alone.", 9),
        figure(Plot(), "Figure 1: A plot of readers."),
        body("The first of all readers was a woman whose name is not known to anyone of us.", 9),
        heading("2 Conclusion"),
        body("Nobody reads as well as somebody who must write about it afterwards.", 5),
    ]
    path = typeset(
        tmp_path_factory.mktemp("paper") / "paper.pdf",
        [Paragraph("On Readers", TITLE)],
        story,
        columns=2,
        high=60,
    )
    return path, read_document(path)


def dark(data: bytes, box: tuple[float, float, float, float], scale: float) -> bool:
    """Whether something is printed in a box."""
    with Image.open(BytesIO(data)) as image:
        low, _ = image.convert("L").crop([int(edge * scale) for edge in box]).getextrema()  # pyright: ignore[reportArgumentType]
        return bool(low < 128)  # pyright: ignore[reportOperatorIssue]


@pytest.mark.parametrize(
    "quote",
    [
        "Readers who read in company agree with the others more often than readers who read alone.",
        "was a woman whose name is not known to anyone of us. We study how groups of readers",
        "Nobody reads as well as … about it afterwards",
    ],
)
def test_places_of_a_quote(quote: str, paper: tuple[Path, Document]) -> None:
    path, document = paper
    found = find_quote(document, quote)
    assert found
    assert found.page
    boxes = quote_boxes(path, found.page, found.text)
    assert boxes
    page = render(path, found.page, width=612, margin=0)
    for box in boxes:
        left, top, right, bottom = box
        assert 0 <= left < right <= 612
        assert 0 < bottom - top < 16
        assert right <= 306 or left >= 306
        assert dark(page, box, 1)
    letters = sum(map(str.isalnum, found.text))
    assert 3 < sum(right - left for left, _, right, _ in boxes) / letters < 7


def test_a_passage_that_is_not_on_the_page(paper: tuple[Path, Document]) -> None:
    path, _ = paper
    assert quote_boxes(path, 1, "This sentence was never written in any paper at all.") == []
    with pytest.raises(DocumentError, match="has no page 99"):
        quote_boxes(path, 99, "Readers")


def test_a_passage_over_the_end_of_a_page(tmp_path: Path) -> None:
    path = tmp_path / "two.pdf"
    canvas = Canvas(str(path), pagesize=letter)
    canvas.drawString(72, 72, "The last line of a page begins a sentence that")
    canvas.showPage()
    canvas.drawString(72, 720, "goes on at the top of the following page, and ends.")
    canvas.save()
    text = "begins a sentence that goes on at the top of the following page"
    first, second = (quote_boxes(path, page, text) for page in (1, 2))
    assert first
    assert 700 < first[0][1] < 730
    assert second
    assert 60 < second[0][1] < 80


def test_a_page_on_its_side(tmp_path: Path) -> None:
    path = tmp_path / "side.pdf"
    canvas = Canvas(str(path), pagesize=landscape(letter))
    canvas.setPageRotation(90)
    canvas.drawString(100, 500, "A sentence on a page that is shown on its side.")
    canvas.save()
    (box,) = quote_boxes(path, 1, "A sentence on a page that is shown")
    assert box[3] - box[1] > box[2] - box[0]
    assert dark(render(path, 1, width=792, margin=0), box, 1)


def test_pixels_of_a_picture(paper: tuple[Path, Document]) -> None:
    path, document = paper
    (plot,) = document.figures
    wide, high = size(picture(path, plot, 40_000))
    assert 30_000 < wide * high <= 41_000
    whole = plot.model_copy(update={"box": None})
    wide, high = size(picture(path, whole, 40_000))
    assert high > wide


def test_files_beside_a_document(tmp_path: Path) -> None:
    Image.new("RGB", (600, 300), "red").save(tmp_path / "a.jpg")
    Image.new("RGBA", (200, 300), (0, 0, 0, 0)).save(tmp_path / "b.png")
    canvas = Canvas(str(tmp_path / "c.pdf"), pagesize=(200, 100))
    canvas.rect(10, 10, 100, 50)
    canvas.save()
    one = Figure(number="1", caption="", page=0, files=("a.jpg",))
    assert size(picture(tmp_path / "p.md", one, 10_000)) == (141, 70)
    panels = Figure(number="2", caption="", page=0, files=("a.jpg", "b.png", "c.pdf"))
    wide, high = size(picture(tmp_path / "p.md", panels))
    assert wide == 3 * 800
    assert high == 400


def test_pictures_that_cannot_be_drawn(tmp_path: Path) -> None:
    path = tmp_path / "p.md"
    for name, word in (
        ("gone.png", "not a picture"),
        ("../p.png", "not a picture"),
        ("text.png", "cannot be drawn"),
    ):
        (tmp_path / "text.png").write_text("not a picture")
        with pytest.raises(DocumentError, match=word):
            picture(path, Figure(number="1", caption="", page=0, files=(name,)))
    with pytest.raises(DocumentError, match="figure 7"):
        picture(path, Figure(number="7", caption="", page=0))
