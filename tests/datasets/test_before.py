"""What may stand in a target's background."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyheads.base.papers import Paper
from manyheads.corpus.references import later
from manyheads.datasets.targets import before, retells

TOLD = "We let salt move through a bed of clay and weigh what has come out of it after a year."


def publication(number: int, year: int | None, abstract: str) -> Paper:
    return Paper(
        id=f"openalex:W{number}", source="openalex", title=f"Salt {number}", abstract=abstract, year=year
    )


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (TOLD, True),
        (f"{TOLD.upper()} It is little.", True),
        (f"Salt moves. {TOLD} {' '.join(f'Then we do {n} more.' for n in range(90))}", True),
        ("We let salt move through a bed of sand. Nothing has come out of it after a year.", False),
        ("Salt.", False),
        ("", False),
    ],
)
def test_a_text_is_told_again_by_its_words_in_a_row(text: str, same: bool) -> None:
    assert retells(text, TOLD) is retells(TOLD, text) is same


@given(st.text(min_size=1))
def test_every_text_tells_itself(text: str) -> None:
    assert retells(text, text)


def test_years_that_nobody_knows_leave_nothing_out() -> None:
    assert [later(year, 2014) for year in (2013, 2015, 2016, None)] == [False, False, True, False]
    assert not later(2016, None)


def test_what_was_known_before() -> None:
    paper = publication(1, 2014, TOLD)
    others = [
        publication(2, 2010, "Of pears."),
        publication(3, None, "Of plums."),
        publication(4, 2016, "Of figs."),
    ]
    assert before(paper, [*others, publication(5, 2012, TOLD)]) == others[:2]
