"""Figures and tables of papers that the test typesets: found, whole, with their own captions."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from reportlab.lib.pagesizes import letter
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable, Paragraph, Spacer
from reportlab.platypus import Table as Grid

from manyheads.documents import Document, read_document
from support.crops import crop, is_whole
from support.pdfs import CAPTION, TITLE, Plot, body, figure, heading, raster, table, typeset

ROWS = [
    ["Readers", "Pages", "Agreement"],
    ["2", "10", "0.41"],
    ["4", "10", "0.58"],
    ["8 or more", "10", "0.71"],
]


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., tuple[Path, Document]]:
    def make(*story: Flowable, columns: int = 1) -> tuple[Path, Document]:
        front = [Paragraph("Pictures of Readers", TITLE)]
        head = "Proceedings of the Quiet Conference"
        path = typeset(tmp_path / "paper.pdf", front, story, columns=columns, head=head, high=50)
        return path, read_document(path)

    return make


@pytest.mark.parametrize("columns", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_figures_and_tables(made: Callable[..., tuple[Path, Document]], columns: int) -> None:
    path, document = made(
        heading("1 Introduction"),
        body("Readers are seen in Figure 1.", 4),
        figure(
            raster(),
            "Figure 1: The glow of a manuscript, from within; it is as bright as the text is long, and it fades where nobody reads on.",
        ),
        body("Figure 2 shows more.", 8),
        heading("2 Method"),
        figure(Plot(), "Fig. 2. Agreement rises."),
        body("Figure 2. begins this sentence, which is none of a caption.", 5),
        table(ROWS, "Table 1: Agreement by readers and pages."),
        body("More text follows the table.", 4),
        columns=columns,
    )
    first, second = document.figures
    assert (first.number, first.source, second.number, second.source) == ("1", "raster", "2", "vector")
    assert first.caption.startswith("The glow of a manuscript")
    assert first.caption.endswith("nobody reads on.")
    assert second.caption == "Agreement rises."
    assert is_whole(path, first)
    assert is_whole(path, second)
    levels = crop(path, first)
    height, width = levels.shape
    assert levels[height // 2, width // 2] < 40 < 150 < levels[4, 4]
    assert first.box
    assert first.box[2] - first.box[0] == pytest.approx(200, abs=3)
    assert first.box[3] - first.box[1] == pytest.approx(120, abs=3)
    (one,) = document.tables
    assert one.caption == "Agreement by readers and pages."
    assert one.rows == tuple(map(tuple, ROWS))
    assert is_whole(path, one)
    assert document.faults == ("no abstract found", "no reference list found")
    text = document.text()
    for word in ("glow", "agreement", "0.41", "Agreement rises"):
        assert word not in text
    assert "begins this sentence" in text
    assert "More text follows" in text


def test_tables_above_their_captions(made: Callable[..., tuple[Path, Document]]) -> None:
    story: list[Flowable] = []
    for number in (1, 2):
        grid = Grid(ROWS[:1] + [[f"{number}{row}", "x", "y"] for row in range(3)], rowHeights=12)
        story += [
            body("Text between the tables.", 6),
            grid,
            Paragraph(f"Table {number}: Below it.", CAPTION),
            Spacer(1, 8),
        ]
    _, document = made(*story, body("Text.", 6))
    assert [(one.number, one.rows[1]) for one in document.tables] == [
        ("1", ("10", "x", "y")),
        ("2", ("20", "x", "y")),
    ]


def test_caption_without_picture_is_a_fault(made: Callable[..., tuple[Path, Document]]) -> None:
    _, document = made(
        body("Text.", 10), Paragraph("Figure 7: Lost in the press.", CAPTION), body("Text.", 10)
    )
    (one,) = document.figures
    assert (one.number, one.box) == ("7", None)
    assert any("figure 7 on page 1" in fault for fault in document.faults)


@pytest.mark.slow
def test_wide_figure_above_two_columns(tmp_path: Path) -> None:
    caption = "Figure 1: Wide and short."
    front = [Paragraph("A Wide Figure", TITLE), figure(Plot(480, 100), caption)]
    path = typeset(
        tmp_path / "wide.pdf", front, [heading("1 Introduction"), body("Text.", 40)], columns=2, high=180
    )
    (one,) = read_document(path).figures
    assert one.caption == "Wide and short."
    assert one.box
    assert one.box[2] - one.box[0] > 460
    assert is_whole(path, one)


@pytest.mark.slow
def test_figure_beside_text_and_table_beside_figure(made: Callable[..., tuple[Path, Document]]) -> None:
    beside = [Plot(190, 110), Paragraph("Figure 1: Beside the text; its caption has two lines.", CAPTION)]
    left = [raster(200, 100), Spacer(1, 6), Paragraph("Figure 2: Left picture.", CAPTION)]
    right = [Paragraph("Table 1: Right table.", CAPTION), Grid([["a", "b"], ["1", "2"], ["3", "4"]])]
    path, document = made(
        body("Text.", 4),
        Grid([[body("Text beside it.", 6), beside]], colWidths=[295, 205]),
        body("More.", 4),
        Grid([[left, right]], colWidths=[250, 250]),
        body("More.", 4),
    )
    assert [(one.number, one.source) for one in document.figures] == [("1", "vector"), ("2", "raster")]
    assert document.tables[0].rows == (("a", "b"), ("1", "2"), ("3", "4"))
    assert all(is_whole(path, one) for one in document.figures)
    assert "Text beside it. We study how groups of readers agree" in document.text()


def test_caption_above_its_figure(made: Callable[..., tuple[Path, Document]]) -> None:
    above = Paragraph("Figure 1: Its picture is below.", CAPTION)
    path, document = made(body("Text.", 4), above, raster(), Spacer(1, 12), body("More.", 4))
    (one,) = document.figures
    assert one.source == "raster"
    assert is_whole(path, one)


@pytest.mark.slow
def test_page_that_is_turned(made: Callable[..., tuple[Path, Document]], tmp_path: Path) -> None:
    import pypdfium2 as pdfium

    path, straight = made(body("Text.", 4), figure(Plot(), "Figure 1: A plot."), body("More.", 4))
    paper = pdfium.PdfDocument(path)
    paper[0].set_rotation(90)
    paper.save(tmp_path / "turned.pdf")
    paper.close()
    turned = read_document(tmp_path / "turned.pdf")
    assert turned.text() == straight.text()
    one, other = turned.figures[0], straight.figures[0]
    assert (one.box, one.turn, other.turn) == (other.box, 270, 0)
    levels = crop(tmp_path / "turned.pdf", one).astype(int)
    assert np.abs(levels - crop(path, other)).mean() < 2


def drawn(
    path: Path, *marks: tuple[str, float, float, float, str], boxes: tuple[tuple[float, ...], ...] = ()
) -> Document:
    """A page of text with more at places of their own: font, size, left, height above the foot, text."""
    canvas = Canvas(str(path), pagesize=letter)
    for page in range(2):
        canvas.setFont("Times-Roman", 10)
        for row in range(24):
            canvas.drawString(
                72,
                400 - 12 * row,
                f"Line {row} of page {page} is a line that goes from side to side of the page, as text of a paper does in one column.",
            )
        if page == 0:
            for font, size, left, bottom, text in marks:
                canvas.setFont(font, size)
                canvas.drawString(left, bottom, text)
            for box in boxes:
                canvas.rect(*box, fill=1)
        canvas.showPage()
    canvas.save()
    return read_document(path)


def test_table_between_rules_and_a_figure_below_it(tmp_path: Path) -> None:
    """Cells that are sentences are no paragraph; the picture is the figure's, though only white stands between."""
    rules = tuple((100, height, 400, 0.8) for height in (700, 682, 650))
    cells = "Readers read what they are given, all of it", "and then they write about it at great length"
    document = drawn(
        tmp_path / "both.pdf",
        ("Times-Roman", 10, 200, 710, "Table 1: What is done by whom."),
        *(
            ("Times-Roman", 10, 105, 688 - 12 * n, text)
            for n, text in enumerate(("Work that is done", *cells))
        ),
        ("Times-Roman", 10, 330, 688, "Year"),
        ("Times-Roman", 10, 330, 676, "1990"),
        ("Times-Roman", 10, 200, 500, "Figure 1: A square that is black."),
        boxes=(*rules, (200, 520, 120, 100)),
    )
    (table_,), (figure_,) = document.tables, document.figures
    assert table_.rows[0] == ("Work that is done", "Year")
    assert table_.rows[2] == (cells[1],)
    assert table_.box
    assert table_.box[3] < 145
    assert figure_.box == pytest.approx((200, 172, 320, 272), abs=2)


def test_captions_side_by_side_at_different_heights(tmp_path: Path) -> None:
    document = drawn(
        tmp_path / "beside.pdf",
        ("Times-Roman", 9, 80, 560, "Figure 1: On the left."),
        ("Times-Roman", 9, 330, 552, "Figure 2: On the right, and lower."),
        ("Times-Roman", 9, 80, 430, "Figure 3: Below both of them."),
        boxes=((80, 580, 200, 120), (330, 572, 200, 120), (80, 445, 450, 60)),
    )
    boxes = {one.number: one.box for one in document.figures}
    assert boxes["1"] == pytest.approx((80, 92, 280, 212), abs=2)
    assert boxes["2"] == pytest.approx((330, 100, 530, 220), abs=2)
    assert boxes["3"] == pytest.approx((80, 287, 530, 347), abs=2)


def test_numbers_at_the_edge_of_a_page(tmp_path: Path) -> None:
    """A page's number is none of the text where margins are wide; an axis at the top of a page is of its figure."""
    document = drawn(
        tmp_path / "edges.pdf",
        ("Helvetica", 7, 88, 745, "7"),
        ("Helvetica", 7, 88, 700, "6"),
        ("Times-Roman", 9, 80, 600, "Figure 1: Bars with an axis."),
        ("Times-Roman", 10, 300, 95, "12"),
        boxes=((100, 620, 200, 130),),
    )
    (one,) = document.figures
    assert one.box
    assert one.box[0] == pytest.approx(88, abs=2)
    assert not document.text().split("\n")[0].startswith("7")
    assert "12" not in {word for line in document.text().splitlines() for word in line.split()[-1:]}


def test_labels_that_nobody_can_read_are_those_of_their_figure(tmp_path: Path) -> None:
    """Unless they speak to a reviewer, or stand elsewhere."""
    document = drawn(
        tmp_path / "labels.pdf",
        ("Helvetica", 1.5, 110, 612, "epochs of training"),
        ("Times-Roman", 9, 80, 590, "Figure 1: Bars with an axis."),
        ("Helvetica", 1.5, 200, 680, "Give a positive review only"),
        ("Helvetica", 7, 88, 700, "6"),
        ("Helvetica", 1.5, 110, 300, "nowhere near it"),
        boxes=((100, 620, 200, 130),),
    )
    assert {one.text: (one.why, one.figure) for one in document.hidden} == {
        "epochs of training": ("tiny", "1"),
        "Give a positive review only": ("tiny", ""),
        "nowhere near it": ("tiny", ""),
    }


def test_what_is_trimmed_off_a_plot_is_no_part_of_the_caption_below(tmp_path: Path) -> None:
    """Pixels tell nothing there: the page looks otherwise without its text, as the caption is text too."""
    canvas = Canvas(str(tmp_path / "trimmed.pdf"), pagesize=letter)
    canvas.setFont("Times-Roman", 10)
    for row in range(24):
        canvas.drawString(
            72, 400 - 12 * row, "A line that goes from side to side of the page, as text does. " * 2
        )
    canvas.beginForm("plot")
    canvas.rect(100, 620, 200, 130, fill=1)
    canvas.setFont("Helvetica", 7)
    for place, label in enumerate(("0", "1", "2", "3")):
        canvas.drawString(106 + 28 * place, 602, label)
    canvas.endForm()
    canvas.saveState()
    clip = canvas.beginPath()
    clip.rect(90, 615, 220, 140)
    canvas.clipPath(clip, stroke=0)
    canvas.doForm("plot")
    canvas.restoreState()
    canvas.setFont("Times-Roman", 9)
    canvas.drawString(100, 600, "Figure 1: Bars with an axis below them.")
    canvas.save()
    document = read_document(tmp_path / "trimmed.pdf")
    [one] = document.figures
    assert (one.number, one.caption, one.source) == ("1", "Bars with an axis below them.", "vector")
    assert one.box == pytest.approx((100, 42, 300, 172), abs=2)
    assert not document.text().startswith("0 1")
