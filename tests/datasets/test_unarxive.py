"""unarXive: papers of arXiv with the entries of their bibliographies."""

import json
from pathlib import Path
from typing import Any

import pytest

from manyheads.corpus.records import RawPaper, Rejects
from manyheads.datasets.opening import detect, open_corpus
from support.datasets import read_papers
from support.papers import REAL_DATA


def row(**changes: Any) -> dict[str, Any]:
    """One paper as the dataset writes it; `metadata` changes are laid on."""
    about: dict[str, Any] = {
        "id": "2001.00007",
        "title": "Membranes that\n  learn",
        "abstract": "  We train\nmembranes.\n",
        "journal-ref": None,
        "versions": [{"version": "v1", "created": "Wed, 1 Jan 2020 16:11:33 GMT"}, {"version": "v2"}],
        "update_date": "2021-03-04",
        "authors_parsed": [["Ternes", "Ilka", ""], ["Hron", 'Jo\\"el', "Jr."]],
    }
    entries: dict[str, Any] = {
        "b1": {
            "bib_entry_raw": "Berg, J.: Salt in motion.\n Tides (2011)",
            "contained_links": [{"url": "http://dx.doi.org/10.1000/tides.7", "text": "Tides"}],
            "ids": {"doi": "", "arxiv_id": "1105.00001", "pubmed_id": "7"},
        },
        "b2": {"bib_entry_raw": "Cole, A. Reservoirs, 1999.", "contained_links": []},
        "b3": "torn",
    }
    record = {"paper_id": "2001.00007", "metadata": about | changes.pop("metadata", {})}
    return record | {"body_text": [], "bib_entries": entries} | changes


def read(path: Path, *rows: dict[str, Any]) -> tuple[list[RawPaper], Rejects]:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return read_papers(path)


def test_a_paper_is_read_with_its_bibliography(tmp_path: Path) -> None:
    [found], _ = read(tmp_path / "a.jsonl", row())
    assert (found.id, found.title, found.abstract) == (
        "2001.00007",
        "Membranes that learn",
        "We train membranes.",
    )
    assert (found.byline, found.year) == (("Ilka Ternes", "Joël Hron Jr."), 2020)
    assert (found.citations, found.venue) == (None, None)
    assert found.references == (
        "Berg, J.: Salt in motion. Tides (2011) http://dx.doi.org/10.1000/tides.7 arXiv:1105.00001",
        "Cole, A. Reservoirs, 1999.",
    )


def paragraph(
    section: str, text: str, *cited: str, kind: str = "section", number: str = "1"
) -> dict[str, Any]:
    spans = [{"start": 0, "end": 1, "text": "", "ref_id": one} for one in cited]
    return {
        "section": section,
        "sec_number": number,
        "sec_type": kind,
        "content_type": "paragraph",
        "text": text,
        "cite_spans": spans,
    }


def test_a_paper_is_read_with_its_text_and_what_it_cites_there(tmp_path: Path) -> None:
    body = [
        paragraph("Introduction", "Salt {{formula:1-a}}\nmoves {{cite:b1}}, {{cite:b2}}.", "b1", "gone"),
        paragraph("Introduction", "So it does."),
        paragraph("Aims", "We ask why.", kind="subsection", number="1.1"),
        paragraph("Saltnet", "We do {{cite:b2}}.", "b1", "b2", number="2"),
        paragraph("Results", "It works.", "b4", number="3"),
        paragraph("Acknowledgements", "We thank.", number="-1"),
    ]
    entries = {f"b{n}": {"bib_entry_raw": f"Berg, J. Salt {n}."} for n in (1, 2, 3, 4)}
    [found], _ = read(tmp_path / "a.jsonl", row(body_text=body, bib_entries=entries))
    assert found.introduction == "Salt … moves [1], [2].\nSo it does.\n\nWe ask why."
    assert found.method == "We do [2]."
    assert found.core_references == ("Berg, J. Salt 1.", "Berg, J. Salt 2.")
    assert len(found.references) == 4


REAL = REAL_DATA / "unarxive" / "unarxive_ccby_fulltext_refs.jsonl"


@pytest.mark.skipif(not REAL.is_file(), reason="needs the unarXive sample")
def test_real_papers_are_read_with_their_texts() -> None:
    found = {one.id: one for _, one in open_corpus(REAL).papers(Rejects())}
    assert len(found) == 7
    review = found.pop("2212.11791")  # replies to reviewers
    assert (review.introduction, review.method, review.core_references) == ("", "", ())
    for one in found.values():
        assert len(one.introduction) > 3000
        assert len(one.method) > 2000
        assert {*one.core_references} <= {*one.references}
        assert "{{" not in one.introduction + one.method
    assert found["2212.11772"].method.startswith("In this section, we introduce the architecture")
    assert found["2212.11809"].method.startswith("We select three state-of-the-art retrosynthesis")
    assert [len(found[one].core_references) for one in ("2212.11808", "2212.11772", "2212.11773")] == [
        23,
        15,
        82,
    ]


@pytest.mark.parametrize(
    ("changes", "attribute", "expected"),
    [
        ({"body_text": None}, "introduction", ""),
        ({"body_text": {"text": "?"}}, "method", ""),
        ({"body_text": [None, 7, {"text": None, "cite_spans": 7}]}, "core_references", ()),
        ({"metadata": {"versions": None}}, "year", 2021),
        ({"metadata": {"versions": [None]}}, "year", 2021),
        (
            {"metadata": {"abstract": None}, "abstract": {"text": "From the text."}},
            "abstract",
            "From the text.",
        ),
        ({"metadata": {"abstract": None}}, "abstract", ""),
        ({"bib_entries": None}, "references", ()),
        ({"bib_entries": ["?"]}, "references", ()),
    ],
)
def test_what_is_not_there_is_taken_from_elsewhere_or_left_out(
    tmp_path: Path, changes: dict[str, Any], attribute: str, expected: object
) -> None:
    [found], _ = read(tmp_path / "a.jsonl", row(**changes))
    assert getattr(found, attribute) == expected


@pytest.mark.parametrize(
    ("changes", "at_fault"),
    [
        ({"metadata": {"title": None}}, "title"),
        ({"metadata": {"authors_parsed": None}}, "authors"),
        ({"metadata": {"authors_parsed": [[]]}}, "authors.0"),
        ({"metadata": {"versions": None, "update_date": None}}, "year"),
        ({"paper_id": None}, "id"),
    ],
)
def test_what_is_no_paper_is_counted(tmp_path: Path, changes: dict[str, Any], at_fault: str) -> None:
    found, rejects = read(tmp_path / "a.jsonl", row(), row(**changes))
    assert len(found) == 1
    assert rejects.by_field == {at_fault: 1}


def test_it_is_told_from_other_json_even_where_lines_are_longer_than_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "all" / "2001" / "part.jsonl"
    path.parent.mkdir(parents=True)
    read(path, row(body_text=[{"text": "water " * 30_000}]))
    assert detect(path) == "unarxive"
    assert detect(tmp_path / "all") == "unarxive"
