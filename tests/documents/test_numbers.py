"""What a paper tells of its own DOI and its number on arXiv."""

import datetime as dt
import json
from pathlib import Path

import pytest
from reportlab.platypus import Paragraph

from manyheads.documents import read_document
from manyheads.documents.draft import day_made, numbers_told
from support.pdfs import TITLE, body, heading, typeset


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("arXiv:2101.01234v2 [cs.CL] 3 Jan 2021 Rooms", ("2101.01234",)),
        ("Rooms (arXiv:2101.01234) are cited here", ()),
        ("Rooms https://doi.org/10.1234/ROOMS.5. Received 2021", ("10.1234/rooms.5",)),
        ("doi:10.1234/a and doi:10.1234/b", ()),
        ("no number", ()),
    ],
)
def test_numbers_that_a_first_page_tells(text: str, numbers: tuple[str, ...]) -> None:
    assert numbers_told(text) == numbers


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("D:20150131120000+01'00'", dt.date(2015, 1, 31)),
        ("D:20151331", None),
        ("yesterday", None),
    ],
)
def test_the_day_on_which_a_file_was_made(text: str, day: dt.date | None) -> None:
    assert day_made(text) == day


def test_those_of_a_pdf_a_tei_file_and_a_structured_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1420113600")
    pdf = typeset(
        tmp_path / "paper.pdf",
        [Paragraph("Rooms for Readers", TITLE)],
        [
            heading("Abstract"),
            body("Readers like rooms. " * 40),
            heading("1 Introduction"),
            body("They sit. " * 40),
        ],
        head="arXiv:2101.01234v2 [cs.CL] 3 Jan 2021",
    )
    assert (read_document(pdf).numbers, read_document(pdf).made) == (("2101.01234",), dt.date(2015, 1, 1))
    idno = '<idno type="DOI">10.1234/rooms</idno><idno type="MD5">0F</idno><idno type="arXiv">arXiv:2101.01234v1[cs]</idno>'
    tei = tmp_path / "paper.xml"
    tei.write_text(
        f'<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><biblStruct>{idno}</biblStruct></teiHeader>'
        f"<text><body><div><head>One</head><p>{'Readers. ' * 20}</p></div></body></text></TEI>",
        encoding="utf-8",
    )
    assert read_document(tei).numbers == ("10.1234/rooms", "2101.01234")
    structured = tmp_path / "paper.json"
    known = {"title": "Rooms", "abstract": "Readers. " * 20, "doi": "10.1234/rooms", "paper_id": "2101.01234"}
    structured.write_text(json.dumps(known), encoding="utf-8")
    assert read_document(structured).numbers == ("10.1234/rooms", "2101.01234")
