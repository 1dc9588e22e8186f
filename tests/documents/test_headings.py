"""Introduction, method and core references, told by headings."""

import pytest

from manyheads.documents.headings import kind_of
from manyheads.documents.sections import Core, Division, core_of


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("Introduction", "introduction"),
        ("INTRODUCTION AND RELATED WORK", "introduction"),
        ("Motivation", "introduction"),
        ("Related  Work", "related"),
        ("Existing methods", "related"),
        ("Background and notation", "related"),
        ("Materials and Methods", "method"),
        ("The proposed framework", "method"),
        ("Our Approach", "method"),
        ("Model", "method"),
        ("Problem Formulation", "method"),
        ("Preliminaries", "method"),
        ("System overview", "method"),
        ("Experimental methods", "experiments"),
        ("Comparison of methods", "experiments"),
        ("Results", "results"),
        ("Discussion of the method", "conclusion"),
        ("Acknowledgements", "appendix"),
        ("Tides at sea", "other"),
        ("", "other"),
    ],
)
def test_a_heading_tells_what_a_section_does(title: str, kind: str) -> None:
    assert kind_of(title) == kind


def core(*titles: str) -> tuple[list[str], list[str]]:
    """The titles of the sections that are the introduction and the method; each section's text is its title."""
    found = core_of([Division(title, text=title) for title in titles], [[title] for title in titles])
    introduction, method = (text.split("\n\n") if text else [] for text in (found.introduction, found.method))
    assert [*found.cites] == [*dict.fromkeys((*introduction, *method))]
    return introduction, method


@pytest.mark.parametrize(
    ("titles", "introduction", "method"),
    [
        # by number: subsections belong to their section
        (["1 Introduction", "1.1 Tides", "2 Method", "2.1 Salt", "2.2 Results of others", "3 Experiments", "3.1 Our model"],
         ["1 Introduction", "1.1 Tides"], ["2 Method", "2.1 Salt", "2.2 Results of others"]),
        (["I. INTRODUCTION", "II. METHOD", "A. Salt", "B. Tides", "III. EVALUATION", "A. Setting"],
         ["I. INTRODUCTION"], ["II. METHOD", "A. Salt", "B. Tides"]),
        # without numbers: what says nothing goes on with the method before it
        (["Introduction", "Related work", "Method", "Salt", "Tides", "Experiments", "Boats", "Conclusion"],
         ["Introduction"], ["Method", "Salt", "Tides"]),
        # no section says that it is the method
        (["1 Introduction", "2 Related Work", "3 SaltNet", "4 Training SaltNet", "5 Experiments", "6 Boats"],
         ["1 Introduction"], ["3 SaltNet", "4 Training SaltNet"]),
        (["Introduction", "SaltNet", "Acknowledgements"], ["Introduction"], ["SaltNet"]),
        # a section of which only subsections are there
        (["1 Introduction", "2.1 Salt", "2.2 Tides", "3 Method", "4.1 Boats", "4.2 Nets", "5 Conclusion"],
         ["1 Introduction"], ["3 Method"]),
        (["1 Introduction", "2.1 Our approach", "2.2 Tides", "3 Results"], ["1 Introduction"], ["2.1 Our approach", "2.2 Tides"]),
        (["1 Introduction", "2.1 Salt", "3 Results"], ["1 Introduction"], []),
        (["A Mapping Approach to Salt", "Results"], [], ["A Mapping Approach to Salt"]),
        # nothing tells
        (["Reviewer 1", "Reviewer 2"], [], []),
        ([], [], []),
    ],
)  # fmt: skip
def test_introduction_and_method_of_a_paper(
    titles: list[str], introduction: list[str], method: list[str]
) -> None:
    assert core(*titles) == (introduction, method)


def test_text_before_the_first_heading_is_the_introduction() -> None:
    parts = [Division("", text="We begin."), Division("Method", text="We do."), Division("Results")]
    assert core_of(parts, [["a"], ["b", "a"], ["c"]]) == Core("We begin.", "We do.", ("a", "b"))
