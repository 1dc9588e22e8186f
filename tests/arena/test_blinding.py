"""What names a maker is gone from a text, and all else stays."""

import time

import pytest

from manyheads.arena.blinding import ArenaConfig, nameless
from manyheads.measures.votes import style_of

TEXT = """## Summary

As an AI language model, I cannot run the code. The paper counts owls. The review_leader asked the clarity expert,
who finds Section 2 dense. MAMORX’s committee agrees; so does MAMORX, so does gpt-4o-mini.

## Not verified

These points name no source.
- Table 9 is missing.

### A part of it

More.

## Questions

- Why owls?
- The clarity experts ask: which owls? The mamorxian view is left alone.
"""
SPEC_OF = ArenaConfig.model_validate({"cut": ["Not verified"], "marks": [r"N\d+"]})
NAMES = ("review leader", "clarity expert", "MAMORX", "gpt-4o-mini")


def test_what_names_a_maker_is_gone_and_all_else_stays() -> None:
    text, changed = nameless(TEXT, NAMES, SPEC_OF)
    assert changed == 1 + 1 + 6
    for word in (
        "language model",
        "review_leader",
        "clarity expert",
        "MAMORX",
        "gpt",
        "Not verified",
        "Table 9",
        "More.",
    ):
        assert word not in text
    assert "The paper counts owls. The reviewer asked the reviewer,\nwho finds Section 2 dense." in text
    assert "The reviewer’s committee agrees; so does the reviewer, so does the reviewer." in text
    assert "the the" not in text
    assert "mamorxian" in text
    assert text.endswith("is left alone.")
    assert "## Questions\n\n- Why owls?" in text


def test_a_text_that_names_nobody_stays_as_it_is() -> None:
    plain = "## Summary\n\nOwls hear. As a language for models of owls, hooting will do (Section 2).\n\n## Questions\n\nNone on CN2."
    assert nameless(plain, NAMES, SPEC_OF) == (plain, 0)


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("Owls were counted before (Section 2; N2).", "Owls were counted before (Section 2)."),
        ("Owls were counted before (N2; Section 2; N13).", "Owls were counted before (Section 2)."),
        ("Owls were counted before (N2).", "Owls were counted before."),
        ("Beside N2 it is not new.", "Beside an earlier paper it is not new."),
        ("## Review\n\nIt is a good paper.", "It is a good paper."),
    ],
)
def test_marks_of_one_maker_are_gone(text: str, bare: str) -> None:
    assert nameless(text, (), SPEC_OF)[0] == bare


def test_a_long_line_is_read_at_once() -> None:
    text = "as an " * 40_000
    began = time.perf_counter()
    assert nameless(text, NAMES, SPEC_OF)[0] == text.strip()
    assert time.perf_counter() - began < 5


def test_signs_of_style_are_counted() -> None:
    assert style_of("# One\n\n**Two**\n\nText of five words here.\n\n- a\n- b\n1. c") == {
        "words": 14, "lines": 6, "headings": 2, "lists": 3,
    }  # fmt: skip
