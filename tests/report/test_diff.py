"""Word-level differences: complete, readable, and quick for long texts."""

import time

from hypothesis import given
from hypothesis import strategies as st

from manyheads.report.talk import BESIDE, LONG, LONGEST, Piece, changed_words, shortened, word_diff

TEXTS = st.lists(
    st.sampled_from(["we", "ask", "which", "memories", "a", "robot", "may", "forget", "and", "why"]),
    max_size=30,
).map(" ".join)


def without(kind: str, pieces: list[Piece]) -> list[str]:
    return " ".join(piece.text for piece in pieces if piece.kind != kind).split()


@given(TEXTS | st.text(), TEXTS | st.text())
def test_both_texts_can_be_read_off_the_difference(old: str, new: str) -> None:
    pieces = word_diff(old, new)
    assert without("ins", pieces) == old.split()
    assert without("del", pieces) == new.split()


def test_a_changed_word_is_marked_alone() -> None:
    assert word_diff("We run three robots for weeks", "We run four robots for weeks") == [
        Piece("same", "We run "),
        Piece("del", "three "),
        Piece("ins", "four "),
        Piece("same", "robots for weeks"),
    ]


def test_a_few_words_between_long_changes_are_no_islands() -> None:
    old = "a paired test over missions is used at night and in smoke where cameras cannot see a thing"
    new = "we ask ten people who know the floors at night and in rooms that they have never entered before"
    assert [piece.kind for piece in word_diff(old, new)] == ["del", "ins"]


@given(TEXTS, TEXTS)
def test_little_is_shown_in_full(old: str, new: str) -> None:
    pieces = word_diff(old, new)
    assert shortened(pieces) == pieces


def test_a_long_stretch_that_stayed_has_a_gap() -> None:
    stays = " ".join(f"word{n}" for n in range(LONG + 1))
    pieces = word_diff(f"old {stays} old", f"new {stays} new")
    told = shortened(pieces)
    assert [piece.kind for piece in told] == ["del", "ins", "same", "gap", "same", "del", "ins"]
    assert "".join(piece.text for piece in told) == "".join(piece.text for piece in pieces)
    assert [len(piece.text.split()) for piece in told[2:5]] == [BESIDE, LONG + 1 - 2 * BESIDE, BESIDE]


def test_counts_what_came_and_went() -> None:
    assert changed_words(word_diff("one two", "one two three four")) == (2, 0)


def test_very_long_texts_are_compared_whole_and_at_once() -> None:
    old, new = "word " * LONGEST * 20, "term " * LONGEST * 20
    began = time.monotonic()
    assert [piece.kind for piece in word_diff(old, new)] == ["del", "ins"]
    assert time.monotonic() - began < 2
