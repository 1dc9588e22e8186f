"""Papers as PDFs, typeset by ReportLab, with text, figures, tables and references that a test knows."""

from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

from reportlab.lib.enums import TA_CENTER, TA_JUSTIFY
from reportlab.lib.pagesizes import letter
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    FrameBreak,
    Image,
    KeepTogether,
    NextPageTemplate,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
)

FILLING = (
    "We study how groups of readers agree on the worth of a manuscript when each of them reads alone. "
    "The measure rises with the number of readers and falls with the length of the text, as one would expect. "
)
BODY = ParagraphStyle(
    "body", fontName="Times-Roman", fontSize=10, leading=11.5, alignment=TA_JUSTIFY, spaceAfter=5
)
HEADING = ParagraphStyle(
    "heading", fontName="Times-Bold", fontSize=12, leading=14, spaceBefore=10, spaceAfter=6
)
SMALLER = ParagraphStyle("smaller", parent=HEADING, fontSize=10.5)
TITLE = ParagraphStyle(
    "title", fontName="Times-Bold", fontSize=17, leading=20, alignment=TA_CENTER, spaceAfter=10
)
AUTHORS = ParagraphStyle("authors", fontName="Times-Roman", fontSize=11, leading=13, alignment=TA_CENTER)
CAPTION = ParagraphStyle("caption", parent=BODY, fontSize=9, leading=10.5, spaceBefore=4, spaceAfter=10)
CENTRED = ParagraphStyle("centred", parent=BODY, alignment=TA_CENTER, spaceBefore=10, spaceAfter=6)
ENTRY = ParagraphStyle(
    "entry", parent=BODY, fontSize=9, leading=10.5, leftIndent=14, firstLineIndent=-14, spaceAfter=3
)


def body(text: str, repeat: int = 0) -> Paragraph:
    return Paragraph(text + " " + FILLING * repeat, BODY)


def heading(text: str) -> Paragraph:
    return Paragraph(text, HEADING)


def raster(width: float = 200, height: float = 120) -> Image:
    """A photograph-like picture."""
    from PIL import Image as Pixels

    pixels = Pixels.radial_gradient("L").resize((400, 240)).convert("RGB")
    file = BytesIO()
    pixels.save(file, "PNG")
    file.seek(0)
    return Image(file, width, height)


class Plot(Flowable):
    """A plot of lines with labels, drawn with vectors."""

    def __init__(self, width: float = 200, height: float = 110) -> None:
        super().__init__()
        self.width, self.height = width, height

    def draw(self) -> None:
        canvas: Any = self.canv
        canvas.rect(30, 20, self.width - 40, self.height - 30)
        canvas.setStrokeColorRGB(0.8, 0.1, 0.1)
        steps = [(30 + n * (self.width - 40) / 10, 20 + n * n * (self.height - 30) / 100) for n in range(11)]
        for one, other in pairwise(steps):
            canvas.line(*one, *other)
        canvas.setFont("Helvetica", 7)
        for n in range(0, 11, 2):
            canvas.drawCentredString(30 + n * (self.width - 40) / 10, 11, str(n))
        canvas.drawCentredString(self.width / 2, 2, "readers")
        canvas.saveState()
        canvas.translate(8, self.height / 2)
        canvas.rotate(90)
        canvas.drawCentredString(0, 0, "agreement")
        canvas.restoreState()


def figure(picture: Flowable, caption: str) -> KeepTogether:
    return KeepTogether([picture, Paragraph(caption, CAPTION)])


def table(rows: Sequence[Sequence[str]], caption: str) -> KeepTogether:
    """A table between three rules, its caption above."""
    grid = Table([list(row) for row in rows], rowHeights=12)
    rules = [("LINEABOVE", (0, 0), (-1, 0), 1, "black"), ("LINEBELOW", (0, 0), (-1, 0), 0.5, "black")]
    rules.append(("LINEBELOW", (0, -1), (-1, -1), 1, "black"))
    grid.setStyle([*rules, ("FONT", (0, 0), (-1, -1), "Times-Roman", 9)])
    return KeepTogether([Paragraph(caption, CAPTION), grid, Spacer(1, 10)])


def typeset(
    path: Path,
    front: Sequence[Flowable],
    story: Sequence[Flowable],
    *,
    columns: int = 1,
    head: str = "",
    high: float = 150,
    about: str = "",
) -> Path:
    """A paper: its front across the page, its story below in one or two columns, a running head and page numbers.

    Args:
        about: the title in the metadata.
    """
    width, height = letter
    margin, gap = 54.0, 18.0
    wide = (width - 2 * margin - (columns - 1) * gap) / columns

    def frames(top: float) -> list[Frame]:
        edges: dict[str, Any] = dict.fromkeys(
            ("leftPadding", "rightPadding", "topPadding", "bottomPadding"), 0
        )
        tall = height - margin - 20 - top
        return [
            Frame(margin + n * (wide + gap), margin, wide, tall - margin + 20, id=f"c{n}", **edges)
            for n in range(columns)
        ]

    def running(canvas: Any, document: Any) -> None:
        canvas.setFont("Times-Roman", 9)
        canvas.drawString(margin, height - 36, head)
        canvas.drawCentredString(width / 2, 30, str(document.page))

    banner = Frame(
        margin, height - margin - high, width - 2 * margin, high, id="banner", leftPadding=0, rightPadding=0
    )
    document = BaseDocTemplate(str(path), pagesize=letter, title=about, author="")
    document.addPageTemplates(
        [
            PageTemplate("first", [banner, *frames(high)], onPage=running),
            PageTemplate("later", frames(0), onPage=running),
        ]
    )
    document.build([NextPageTemplate("later"), *front, FrameBreak(), *story])
    return path
