"""Whether a reference or a title means a paper: what is one, and what only looks like it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyheads.base.papers import Paper
from manyheads.documents import Reference
from manyheads.literature.matching import CitedWorks, differences, near, same_title

LONG = "Tactile fingers for the harvest of soft fruit"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (LONG, "Tactile Fingers for the Harvest of Soft-Fruit.", True),
        (LONG, "Tactile fingers for the harvest of soft fruits", True),
        (LONG, "Tactile ngers for the harvest of soft fruit", True),  # a ligature lost
        ("The colour of bruised apples under glass", "The color of bruised apples under glass", True),
        ("Attention is all you need in the dark", "Attention is not all you need in the dark", False),
        ("YOLOv3: an incremental improvement", "YOLOv4: an incremental improvement", False),
        ("A theory of tactile fingers, part I", "A theory of tactile fingers, part II", False),
        ("Deep learning", "Deep learning.", True),
        ("Deep learning", "Deep learnings", False),  # too short to differ at all
        ("", "", False),
    ],
)
def test_titles_are_one_but_for_a_few_letters(one: str, other: str, same: bool) -> None:
    assert same_title(one, other) == same_title(other, one) == same


@given(title=st.text(max_size=60), at=st.integers(0, 60))
def test_a_title_is_its_own_and_never_one_with_three_words_put_in(title: str, at: int) -> None:
    assert not same_title(title, f"{title[:at]} three words more {title[at:]}")
    assert same_title(LONG, LONG.upper())


PAPER = Paper(
    id="openalex:W1",
    source="openalex",
    title=LONG,
    year=2012,
    authors=("Ada Berg", "Bo Lee"),
    doi="10.1234/a",
)


@pytest.mark.parametrize(
    ("reference", "means"),
    [
        (Reference(text="", doi="10.1234/A"), True),
        (Reference(text="", title=LONG), True),
        (Reference(text=f"A. Berg. {LONG}. 2012."), True),
        (Reference(text=f"A. Berg, “{LONG},” J. Robots, 2012.", title="J. Robots"), True),
        (Reference(text=f"A. Berg. Beyond {LONG.lower()} and nuts. 2012."), False),  # part of a longer title
        (Reference(text="", doi="10.1234/ab"), False),
        (Reference(text="", arxiv="1201.00001"), False),
        (Reference(text="A. Berg. Fingers. 2012.", title="Fingers", year=2012, authors=("Berg",)), False),
    ],
)
def test_a_reference_means_a_paper_by_number_title_or_entry(reference: Reference, means: bool) -> None:
    assert CitedWorks([Reference(text="Another. 1999.", title="Another"), reference]).means(PAPER) == means


def test_a_preprint_is_known_by_its_number_however_it_is_written() -> None:
    reference = CitedWorks([Reference(text="", arxiv="1201.00001")])
    preprint = Paper(id="arxiv:1201.00001", source="arxiv", title="One")
    assert reference.means(preprint)
    assert reference.means(PAPER.model_copy(update={"doi": "10.48550/arXiv.1201.00001"}))


def test_a_title_that_many_bear_needs_authors_and_year() -> None:
    editorial = PAPER.model_copy(update={"title": "Editorial", "doi": None})
    known = Reference(text="", title="Editorial", authors=("Berg",), year=2011)
    assert CitedWorks([known]).means(editorial)
    assert not CitedWorks([known.model_copy(update={"year": 2009})]).means(editorial)
    assert not CitedWorks([known.model_copy(update={"authors": ("Moe",)})]).means(editorial)


def test_details_that_differ_are_told_and_those_that_nobody_knows_are_not() -> None:
    whole = Reference(text="", title=LONG, authors=("Berg", "Lee"), year=2012)
    assert [*differences(whole, PAPER)] == []
    assert [*differences(Reference(text="", doi="10.1234/a"), PAPER)] == []
    assert [*differences(whole.model_copy(update={"year": 2013}), PAPER)] == [], "a preprint is older"
    assert [*differences(whole, PAPER.model_copy(update={"authors": ("Lee Bo", "Berg Ada")}))] == []
    masked = PAPER.model_copy(update={"authors": ("Scientist1",), "source": "local"})
    assert [*differences(whole, masked)] == []
    wrong = Reference(text="", title="Gloves", authors=("Moe",), year=2009)
    assert [*differences(wrong, PAPER)] == [
        ("title", "Gloves", LONG), ("year", "2009", "2012"), ("authors", "Moe", "Ada Berg, Bo Lee"),
    ]  # fmt: skip


def test_near_is_a_title_of_nearly_the_same_words_by_the_same_people() -> None:
    one = Reference(text="", title="Tactile fingers for the harvest of hard fruit", authors=("Berg",))
    assert near(one, PAPER)
    assert not near(one.model_copy(update={"authors": ("Moe",)}), PAPER)
    assert not near(one.model_copy(update={"authors": ()}), PAPER)
    assert not near(one.model_copy(update={"title": "Fingers for fruit"}), PAPER)
