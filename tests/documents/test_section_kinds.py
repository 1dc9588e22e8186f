"""Introduction, method and core references, told by headings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyheads.documents.section_kinds import Section, core_of, kind_of


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
    found = core_of([Section(title, title, [title]) for title in titles])
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
        (["Introduction", "SaltNet", "Acknowledgements", "Proofs"], ["Introduction"], ["SaltNet"]),
        (["SaltNet", "Results", "Boats"], [], ["SaltNet"]),
        # a section of which only subsections are there
        (["1 Introduction", "2.1 Salt", "2.2 Tides", "3 Method", "4.1 Boats", "4.2 Nets", "5 Conclusion"],
         ["1 Introduction"], ["3 Method"]),
        (["1 Introduction", "2.1 Our approach", "2.2 Tides", "3 Results"], ["1 Introduction"], ["2.1 Our approach", "2.2 Tides"]),
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
    found = core_of(
        [
            Section("", "We begin.", ["a"]),
            Section("Method", "We do.", ["b", "a"]),
            Section("Results", "", ["c"]),
        ]
    )
    assert found == ("We begin.", "We do.", ("a", "b"))


def test_levels_and_numbers_that_are_known_apart_go_before_the_heading() -> None:
    sections = [
        Section("Introduction", "We begin.", (), 1, "1"),
        Section("Setting", "Here.", (), 2, "1"),
        Section("Salt", "Of a section that is not there.", (), 2, "1"),
        Section("Tides", "So is this.", (), 2, "2"),
        Section("Results", "So it is.", (), 1, "3"),
    ]
    found = core_of(sections)
    assert found.introduction == "We begin.\n\nHere."
    assert found.method == "Of a section that is not there.\n\nSo is this."


SECTION = st.builds(
    Section,
    st.sampled_from(("", "1 Introduction", "Method", "2.1 Salt", "II. Results", "A. Salt", "Tides", "9.9.9 Model")) | st.text(max_size=9),
    st.sampled_from(("a", "b", "")),
    st.lists(st.sampled_from(("r1", "r2", "r3")), max_size=3),
    st.integers(0, 4),
    st.sampled_from(("", "1", "2", "1.1", "A", "x.y")),
)  # fmt: skip


@given(st.lists(SECTION, max_size=9))
def test_whatever_stands_in_a_paper_nothing_is_made_up(sections: list[Section]) -> None:
    found = core_of(sections)
    assert len(found.introduction + found.method) <= sum(len(one.text) + 2 for one in sections)
    assert {*found.cites} <= {cited for one in sections for cited in one.cites}
    assert len(found.cites) == len({*found.cites})
