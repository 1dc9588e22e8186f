"""A paper of twelve pages read, with the crops of its figures, against PDFium's plain text of the same pages."""

import random
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from reportlab.platypus import Flowable, Paragraph

from bench.figures import Figure, Size, typical
from manyheads.literature.documents import read_document, render
from support.pdfs import ENTRY, FILLING, TITLE, Plot, body, figure, heading, raster, table, typeset


async def bench(size: Size) -> AsyncIterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        path = _paper(Path(folder) / "paper.pdf")
        document = read_document(path)
        pages = f"{document.pages} pages"
        plain = typical(lambda: _plain(path), size.rounds)
        yield Figure(
            f"documents: reading {pages}",
            typical(lambda: read_document(path), size.rounds),
            "s",
            plain,
            "PDFium's plain text",
            note=f"{len(document.sections)} sections, {len(document.references)} references",
        )
        floats = [one for one in (*document.figures, *document.tables) if one.box]

        def intake() -> None:
            for one in read_document(path).figures:
                render(path, one.page, one.box, turn=one.turn)

        yield Figure(
            f"documents: reading {pages}, crops drawn",
            typical(intake, size.rounds),
            "s",
            plain,
            "PDFium's plain text",
            aim="2 s at most",
            note=f"{len(floats)} figures and tables",
        )


def _plain(path: Path) -> int:
    import pypdfium2 as pdfium

    paper = pdfium.PdfDocument(path)
    length = sum(len(page.get_textpage().get_text_range()) for page in paper)
    paper.close()
    return length


def _paper(path: Path) -> Path:
    draw = random.Random(1)
    words = FILLING.split()

    def text(count: int) -> Paragraph:
        return body(" ".join(draw.choices(words, k=count)) + ".")

    rows = [
        ["Readers", "Pages", "Agreement"],
        *([str(number), "10", f"0.{number}"] for number in range(2, 9)),
    ]
    story: list[Flowable] = []
    for number in range(1, 10):
        story += [
            heading(f"{number} Section of Readers"),
            body("Readers agree [1, 2]."),
            text(500),
            figure(
                Plot() if number % 2 else raster(),
                f"Figure {number}: A picture of readers, in number {number}.",
            ),
            body("They do [3–9]."),
            text(500),
            table(rows, f"Table {number}: Agreement of readers."),
            text(150),
        ]
    entries = (
        f"[{number}] A. Berg. Reading the {number}th time. Readings, {1990 + number}."
        for number in range(1, 31)
    )
    story += [heading("References"), *(Paragraph(entry, ENTRY) for entry in entries)]
    return typeset(path, [Paragraph("A Long Paper", TITLE)], story, columns=2, head="Proceedings")
