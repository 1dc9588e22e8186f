"""Papers as they are: two of ICLR 2020, where the folder of real data has them."""

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image as Pixels

from manyheads.documents import Document, read_document, render
from support.papers import REAL_DATA

FOLDER = REAL_DATA / "pdfs"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="needs real papers")


def read(name: str) -> tuple[Path, Document]:
    path = FOLDER / f"{name}.pdf"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path, read_document(path)


@pytest.mark.parametrize(
    ("name", "title", "sections", "references", "figures", "tables"),
    [
        ("automated-relational-metadata", "Automated Relational Meta-learning", 25, 32, 5, 9),
        (
            "carpe-diem",
            "Carpe Diem, Seize the Samples Uncertain “at the Moment” for Adaptive Batch Selection",
            16,
            23,
            9,
            3,
        ),
    ],
)
def test_whole(name: str, title: str, sections: int, references: int, figures: int, tables: int) -> None:
    path, document = read(name)
    assert (document.title, document.authors, document.faults) == (title, (), ())
    assert [len(document.sections), len(document.references)] == [sections, references]
    assert [one.number for one in document.figures] == [str(number + 1) for number in range(figures)]
    assert [one.number for one in document.tables] == [str(number + 1) for number in range(tables)]
    cited = {index for section in document.sections for index in section.cites}
    assert len(document.references) - len(cited) <= 2
    for one in document.references:
        assert one.title
        assert one.year
        assert one.authors
    for one in (*document.figures, *document.tables):
        assert one.box
        picture = Pixels.open(BytesIO(render(path, one.page, one.box, turn=one.turn, width=300)))
        assert picture.width == pytest.approx(300, abs=3)


def test_numbers_of_axes_that_are_clipped_away_are_neither_text_nor_an_alarm() -> None:
    _, document = read("carpe-diem")
    assert document.hidden == ()
    assert "5.2" in [one.number for one in document.sections if one.kind == "experiments"]
