"""A paper of twelve pages read, with the crops of its figures, against PDFium's plain text of the same pages."""

import random
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from reportlab.platypus import Flowable, Paragraph

from bench.figures import Figure, Size, typical
from bench.memory import peak
from manyheads.documents import find_quote, picture, read_document
from support.pdfs import ENTRY, FILLING, TITLE, Plot, body, figure, heading, raster, table, typeset

INTAKE = """\
import sys
from pathlib import Path
from manyheads.documents import picture, read_document
for one in read_document(Path(sys.argv[1])).figures:
    picture(Path(sys.argv[1]), one)
"""
PLAIN = """\
import sys
import pypdfium2
for page in pypdfium2.PdfDocument(sys.argv[1]):
    page.get_textpage().get_text_range()
"""


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
                picture(path, one)

        yield Figure(
            f"documents: reading {pages}, crops drawn",
            typical(intake, size.rounds),
            "s",
            plain,
            "PDFium's plain text",
            aim="2 s at most",
            note=f"{len(floats)} figures and tables",
        )
        yield Figure(
            f"documents: memory for {pages}",
            peak([sys.executable, "-c", INTAKE, str(path)]),
            "MB",
            peak([sys.executable, "-c", PLAIN, str(path)]),
            "PDFium's plain text",
            aim="300 MB at most",
        )
        text = document.sections[4].text
        words = text.split(" ")[100:130]
        quote = " ".join((*words[:20], words[20].upper() + "s", *words[21:]))
        yield Figure(
            "documents: a quote, nearly as printed",
            # A copy has no index yet.
            1000 * typical(lambda: find_quote(document.model_copy(), quote), size.rounds),
            "ms",
            1000 * typical(lambda: quote in document.text(), size.rounds),
            "`in` the whole text",
            aim="20 ms at most",
            note="with the index of the document",
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
            text(560),
            figure(
                Plot() if number % 2 else raster(),
                f"Figure {number}: A picture of readers, in number {number}.",
            ),
            body("They do [3–9]."),
            text(560),
            table(rows, f"Table {number}: Agreement of readers."),
            text(150),
        ]
    entries = (
        f"[{number}] A. Berg. Reading the {number}th time. Readings, {1990 + number}."
        for number in range(1, 31)
    )
    story += [heading("References"), *(Paragraph(entry, ENTRY) for entry in entries)]
    return typeset(path, [Paragraph("A Long Paper", TITLE)], story, columns=2, head="Proceedings")
