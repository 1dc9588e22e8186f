"""Papers typeset by the test: what is read is what was written."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from reportlab.lib.enums import TA_CENTER
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import Flowable, Paragraph
from reportlab.platypus import Table as Grid

from manyheads.documents import Document, read_document
from support.pdfs import (
    AUTHORS,
    BODY,
    ENTRY,
    HEADING,
    SMALLER,
    TITLE,
    Plot,
    body,
    figure,
    heading,
    raster,
    table,
    typeset,
)

NUMBERED = [
    '[1] A. Berg and B. Lee, "Committees of quiet readers," in Proc. Conf. on Reading, pp. 1–9, 2019.',
    "[2] C. Moreno, D. Okafor, and E. Sato. Agreement without discussion. Journal of Judgement, 12(3):45–67, 2020.",
    "[3] Fiona Ng. A survey of worth. arXiv preprint arXiv:2101.01234, 2021.",
    "[4] G. Petrov. Long manuscripts and their readers. doi:10.1234/jr.2018.55, 2018.",
    "[5] H. Quist and I. Rao. Blind ratings. In Advances in Ratings, 2022.",
]
DATED = [
    "Berg, A., & Lee, B. (2020). Committees of quiet readers. Journal of Reading, 4(2), 1–9.",
    "Berg, A., Lee, B., & Okafor, D. (2021a). Reading in turn. Journal of Reading, 5(1), 11–19.",
    "Berg, A., Lee, B., & Okafor, D. (2021b). Reading at once. Journal of Reading, 5(2), 21–29.",
    "Müller, K. (2017). On the length of texts. Texts, 9, 100–120. https://doi.org/10.5555/texts.9",
    "van der Berg, J. (2015). Old readers. Reader Press.",
]


@pytest.fixture(scope="module")
def two_columns(tmp_path_factory: pytest.TempPathFactory) -> Document:
    front = [
        Paragraph("Readers Who Agree Without Talking", TITLE),
        Paragraph(
            "Ada Berg<super>1</super>, Chidi Okafor<super>2</super> and Emi Sato<super>1</super>", AUTHORS
        ),
        Paragraph("<super>1</super>University of Somewhere, ada@example.org", AUTHORS),
    ]
    story = [
        heading("Abstract"),
        body("We ask whether readers agree. They do, and we say when.", 2),
        heading("1 Introduction"),
        body("Committees are old [1], and their worth is disputed [2–4].", 5),
        body("A self-\nstanding paragraph that cites nothing.", 6),
        heading("2 Related Work"),
        body("Ratings were blind before [5, 1].", 6),
        heading("3 Quiet Committees"),
        body("As others do [2], we let readers read (Figure 1).", 5),
        figure(Plot(), "Figure 1: Agreement rises with the number of readers; the line is a fit."),
        Paragraph("3.1 Reading Alone", SMALLER),
        body("Nobody speaks.", 9),
        figure(raster(), "Figure 2: The glow of a manuscript, from within."),
        heading("4 Experiments"),
        body("Table 1 shows all.", 8),
        table(
            [
                ["Readers", "Pages", "Agreement"],
                ["2", "10", "0.41"],
                ["4", "10", "0.58"],
                ["8", "10", "0.71"],
            ],
            "Table 1: Agreement by readers and pages.",
        ),
        body("More readers agree more.", 9),
        heading("5 Conclusion"),
        body("Readers agree.", 5),
        heading("References"),
        *(Paragraph(one, ENTRY) for one in NUMBERED),
        heading("A Proofs"),
        body("The proof cites [3].", 9),
    ]
    path = tmp_path_factory.mktemp("pdf") / "two.pdf"
    return read_document(typeset(path, front, story, columns=2, head="Proceedings of the Quiet Conference"))


def small_capitals(text: str) -> str:
    return " ".join(f'{word[0]}<font size="8">{word[1:].upper()}</font>' for word in text.split())


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """Roman sections in small capitals, lettered parts in italics, run-in abstract, label and title of a table apart."""
    roman = ParagraphStyle("roman", parent=BODY, alignment=TA_CENTER, spaceBefore=8, leading=12)
    part = ParagraphStyle("part", parent=BODY, fontName="Times-Italic", spaceBefore=6)
    front = [
        Paragraph("Committees for Reading: a Study of <i>Agreement</i>", TITLE),
        Grid([[Paragraph(name, AUTHORS) for name in ("Ada Berg", "Chidi Okafor", "Emi van der Sato")]]),
    ]
    abstract = "<b><i>Abstract</i>—We ask whether readers agree in silence. They do not. They never have.</b>"
    rows = [["Readers", "Score"], ["2", "0.4"], ["3", "0.5"]]
    story = [
        Paragraph(abstract, BODY),
        Paragraph("I. " + small_capitals("Introduction"), roman),
        body("Committees are old [1], [2]. They were studied in [3]–[5].", 12),
        Paragraph("II. " + small_capitals("Proposed Method"), roman),
        body("We read [3, Sec. 2].", 9),
        Paragraph("A. Reading Alone", part),
        body("Alone [5].", 9),
        Paragraph("B. Reading Together", part),
        body("Together.", 9),
        Paragraph("III. " + small_capitals("Experiments"), roman),
        table(rows, "TABLE I<br/>" + small_capitals("Agreement Of Readers")),
        body("Table I shows.", 9),
        Paragraph(small_capitals("References"), roman),
        *(Paragraph(one, ENTRY) for one in NUMBERED),
    ]
    path = tmp_path_factory.mktemp("pdf") / "letters.pdf"
    return read_document(typeset(path, front, story, columns=2, high=80))


@pytest.fixture(scope="module")
def one_column(tmp_path_factory: pytest.TempPathFactory) -> Document:
    front = [
        Paragraph("The Length of Texts and Those Who Read Them to the End", TITLE),
        Paragraph("José Álvarez and Mary-Ann O’Neil", AUTHORS),
    ]
    story = [
        heading("Abstract"),
        body("Length matters.", 2),
        heading("Introduction"),
        body("Length was studied by Müller (2017) and, with readers, by Berg et al. (2021a, 2021b).", 8),
        heading("Methods"),
        body("We follow Berg & Lee (2020). Others differ (van der Berg, 2015; Nobody, 2019).", 12),
        heading("Results"),
        body("It holds (Berg and Lee, 2020; Berg et al., 2021b).", 12),
        heading("Acknowledgements"),
        body("We thank nobody.", 2),
        heading("References"),
        *(Paragraph(one, ENTRY) for one in DATED),
    ]
    path = tmp_path_factory.mktemp("pdf") / "one.pdf"
    return read_document(typeset(path, front, story, head="Journal of Reading 7 (2023)"))


def titles(document: Document) -> list[tuple[str, str, str]]:
    return [(one.number, one.title, one.kind) for one in document.sections]


def test_two_columns(two_columns: Document) -> None:
    assert two_columns.title == "Readers Who Agree Without Talking"
    assert two_columns.authors == ("Ada Berg", "Chidi Okafor", "Emi Sato")
    assert two_columns.abstract.startswith("We ask whether readers agree. They do, and we say when. We study")
    assert two_columns.faults == ()
    assert titles(two_columns) == [
        ("1", "Introduction", "introduction"),
        ("2", "Related Work", "related"),
        ("3", "Quiet Committees", "method"),
        ("3.1", "Reading Alone", "method"),
        ("4", "Experiments", "experiments"),
        ("5", "Conclusion", "conclusion"),
        ("A", "Proofs", "appendix"),
    ]
    for section in two_columns.sections:
        assert "Quiet Conference" not in section.text
        assert section.pages
        # Nothing of the other column stands between two sentences of one.
        assert "as one would expect. We study how groups of readers agree on the worth" in section.text


def test_numbered_references_and_citations(two_columns: Document) -> None:
    assert [(one.number, one.title, one.year, one.authors) for one in two_columns.references] == [
        ("1", "Committees of quiet readers", 2019, ("Berg", "Lee")),
        ("2", "Agreement without discussion", 2020, ("Moreno", "Okafor", "Sato")),
        ("3", "A survey of worth", 2021, ("Ng",)),
        ("4", "Long manuscripts and their readers", 2018, ("Petrov",)),
        ("5", "Blind ratings", 2022, ("Quist", "Rao")),
    ]
    assert two_columns.references[2].arxiv == "2101.01234"
    assert two_columns.references[3].doi == "10.1234/jr.2018.55"
    assert [one.cites for one in two_columns.sections] == [(0, 1, 2, 3), (4, 0), (1,), (), (), (), (2,)]
    assert two_columns.core == two_columns.references[:4]


def test_roman_and_lettered_headings(letters: Document) -> None:
    assert letters.title == "Committees for Reading: a Study of Agreement"
    assert letters.authors == ("Ada Berg", "Chidi Okafor", "Emi van der Sato")
    assert letters.abstract == "We ask whether readers agree in silence. They do not. They never have."
    assert [
        (*one, section.cites) for one, section in zip(titles(letters), letters.sections, strict=True)
    ] == [
        ("I", "Introduction", "introduction", (0, 1, 2, 3, 4)),
        ("II", "Proposed Method", "method", (2,)),
        ("A", "Reading Alone", "method", (4,)),
        ("B", "Reading Together", "method", ()),
        ("III", "Experiments", "experiments", ()),
    ]
    (one,) = letters.tables
    assert (one.number, one.caption, one.rows[2]) == ("I", "Agreement Of Readers", ("3", "0.5"))
    assert len(letters.references) == 5


def test_sections_of_one_column(one_column: Document) -> None:
    assert one_column.title == "The Length of Texts and Those Who Read Them to the End"
    assert one_column.authors == ("José Álvarez", "Mary-Ann O’Neil")
    assert titles(one_column) == [
        ("", "Introduction", "introduction"),
        ("", "Methods", "method"),
        ("", "Results", "results"),
        ("", "Acknowledgements", "other"),
    ]


def test_references_and_citations_by_author_and_year(one_column: Document) -> None:
    assert [(one.title, one.year, one.authors[0]) for one in one_column.references] == [
        ("Committees of quiet readers", 2020, "Berg"),
        ("Reading in turn", 2021, "Berg"),
        ("Reading at once", 2021, "Berg"),
        ("On the length of texts", 2017, "Müller"),
        ("Old readers", 2015, "van der Berg"),
    ]
    assert one_column.references[3].doi == "10.5555/texts.9"
    cites = {one.title: one.cites for one in one_column.sections}
    assert cites == {"Introduction": (3, 1, 2), "Methods": (0, 4), "Results": (0, 2), "Acknowledgements": ()}
    assert len(one_column.core) == 5


def test_heading_of_two_lines(tmp_path: Path) -> None:
    long = "2 A Heading That Is Much Too Long for One Line of the Page, and So Has to Go on in Another One Below It"
    story = [heading("1 Introduction"), body("One.", 6), heading(long), body("Two.", 6)]
    document = read_document(typeset(tmp_path / "long.pdf", [Paragraph("Long Headings", TITLE)], story))
    assert [(one.number, one.title) for one in document.sections] == [("1", "Introduction"), ("2", long[2:])]


def test_nothing_is_lost_without_headings(tmp_path: Path) -> None:
    story = [body("First words.", 9), body("Last words.", 9)]
    document = read_document(typeset(tmp_path / "plain.pdf", [Paragraph("Only a Title", TITLE)], story))
    (section,) = document.sections
    assert (document.title, section.title, section.kind) == ("Only a Title", "", "other")
    assert section.text.startswith("First words.")
    assert "\nLast words." in section.text


def named(path: Path, headings: list[str], front: Sequence[Flowable] = (), **more: Any) -> Document:
    """A paper whose headings are of a style, each with a text."""
    front = front or [Paragraph("A Paper of Readers", TITLE), Paragraph("Ada Berg and Bo Lee", AUTHORS)]
    story = [part for text in headings for part in (Paragraph(text, HEADING), body("Some words.", 5))]
    return read_document(typeset(path, front, story, **more))


@pytest.mark.parametrize("title", ["Abstract Algebra for Those Who Read", "ABSTRACT READERS: WHAT THEY DO"])
def test_a_title_and_sections_that_begin_with_abstract(title: str, tmp_path: Path) -> None:
    front = [Paragraph(title, TITLE), Paragraph("Ada Berg and Bo Lee", AUTHORS)]
    names = ["1 Introduction", "2 Abstract Meaning Representation", "3 Conclusion", "References"]
    document = named(tmp_path / "paper.pdf", ["ABSTRACT", *names, "A Abstract Algebra"], front)
    assert (document.title, document.authors) == (title, ("Ada Berg", "Bo Lee"))
    assert [one.name for one in document.sections] == [*names[:3], "A Abstract Algebra"]
    assert document.sections[1].text.startswith("Some words. We study")
    assert document.abstract.startswith("Some words. We study")


def test_a_second_abstract_swallows_nothing(tmp_path: Path) -> None:
    story = [heading("Abstract"), body("The first.", 2), heading("Abstract"), body("The second.", 30)]
    document = read_document(typeset(tmp_path / "two.pdf", [Paragraph("Two Abstracts", TITLE)], story))
    assert document.abstract.startswith("The first.")
    assert "The second." in document.text()


def test_a_long_abstract_ends_at_its_first_paragraph(tmp_path: Path) -> None:
    story = [heading("Abstract"), body("It begins.", 3), *(body(f"Part {n}.", 9) for n in range(6))]
    document = read_document(typeset(tmp_path / "long.pdf", [Paragraph("No Other Heading", TITLE)], story))
    assert document.abstract.startswith("It begins.")
    (section,) = document.sections
    assert "Part 0." not in document.abstract
    assert section.text.startswith("Part 0.")
    assert [page for page, _ in section.starts] == [*section.pages] == [1, 2]
    assert any("abstract" in fault for fault in document.faults)


def test_a_table_of_contents_is_no_section(tmp_path: Path) -> None:
    names = ["1 Introduction", "2 Method", "3 Conclusion"]
    story = [heading("Contents"), *map(heading, names)]
    story += [part for text in names for part in (heading(text), body("Some words.", 8))]
    document = read_document(typeset(tmp_path / "toc.pdf", [Paragraph("With Contents", TITLE)], story))
    assert [one.name for one in document.sections] == ["Contents", *names]
    assert all(one.text.startswith("Some words.") for one in document.sections[1:])


def test_a_formula_is_no_roman_section(tmp_path: Path) -> None:
    names = [f"{number} Section of Words" for number in range(1, 11)]
    document = named(tmp_path / "paper.pdf", [*names[:8], "X Nk nD", *names[8:]])
    assert [one.name for one in document.sections] == names


def test_a_logo_below_the_authors_is_no_title(tmp_path: Path) -> None:
    logo = ParagraphStyle("logo", parent=TITLE, fontSize=20, leading=24)
    front = [
        Paragraph("How an Agent Finds What You Read", TITLE),
        Paragraph("Ada Berg, Bo Lee and Chidi Okafor", AUTHORS),
        Paragraph("Paper Search", logo),
    ]
    document = named(tmp_path / "paper.pdf", ["Abstract", "1 Introduction", "2 Method"], front)
    assert document.title == "How an Agent Finds What You Read"
    assert document.authors == ("Ada Berg", "Bo Lee", "Chidi Okafor")


def test_the_metadata_tell_which_lines_are_the_title(tmp_path: Path) -> None:
    front = [
        Paragraph("READINGS", ParagraphStyle("journal", parent=TITLE, fontSize=24, leading=30)),
        Paragraph("Readers Who Agree:", TITLE),
        Paragraph("A Study of Their Silence", AUTHORS),
        Paragraph("Ada Berg and Bo Lee", AUTHORS),
    ]
    told = "Readers who agree: a study of their silence"
    document = named(tmp_path / "paper.pdf", ["Abstract", "1 Introduction"], front, about=told)
    assert document.title == "Readers Who Agree: A Study of Their Silence"
