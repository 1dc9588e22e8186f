"""What names a maker is gone from a text, and all else stays."""

import time

import pytest

from manyheads.judges.blinding import ArenaConfig, giveaways, nameless
from manyheads.judges.comparison import ReviewComparisonConfig

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
    hints = "language model|review_leader|clarity expert|MAMORX|gpt|Not verified|Table 9|More."
    assert not [word for word in hints.split("|") if word in text]
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
        ("Beside N2, not N21, it is not new.", "Beside an earlier paper, not N21, it is not new."),
        ("We set N10 = 5.", "We set N10 = 5."),
        ("## Review\n\nIt is a good paper.", "It is a good paper."),
    ],
)
def test_marks_of_one_maker_are_gone(text: str, bare: str) -> None:
    record = '{"related": [{"name": "N2", "title": "N21 and N10"}, {"name": "N13"}]}'
    assert nameless(text, (), SPEC_OF, record)[0] == bare


def test_a_word_that_is_no_maker_here_stays() -> None:
    blinding = ReviewComparisonConfig().blinding
    text = (
        "A program committee of 5 voted; the ethics committee did not. We set N10 = 5 for senior area chairs."
    )
    assert nameless(text, blinding.names, blinding) == (text, 0)
    assert nameless("It is new, the committee finds.", blinding.names, blinding) == (
        "It is new, the reviewer finds.", 1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ("## Verdict\n\n{subject} are good.", "## Verdict"),
        ("**Verdict.** {subject} are good.", "**Verdict.**"),
        ("{subject} are good. That is my view of the work.", "That is my view of the work."),
        ("Overall {number} of 10\n\n{subject} are good.", "Overall 1.5 of 10"),
        ("- {subject} are good.\n- It is left open when this would not hold.", "It is left open"),
    ],
)
def test_a_line_in_all_texts_of_one_maker_only_is_warned_of_and_can_be_left_out(
    form: str, shown: str
) -> None:
    bodies = [form.format(subject=each, number=n + 1.5) for n, each in enumerate(("Owls", "Bats"))]
    others = [("b", f"On {each}.") for each in ("owls", "bats")]
    [warning] = giveaways([*(("a", each) for each in bodies), *others])
    assert "'a'" in warning
    assert f"“{shown}" in warning
    line = warning.split("“")[1].split("”")[0]
    blind = [nameless(each, (), ArenaConfig(drop=(line,))) for each in bodies]
    assert [hints for _, hints in blind] == [1, 1]
    assert [*giveaways([*(("a", text) for text, _ in blind), *others])] == []
    assert all("are good." in text for text, _ in blind)


def test_a_line_that_others_have_or_that_some_texts_lack_says_nothing_about_a_maker() -> None:
    ours = [("a", "## Summary\n\nOwls."), ("a", "## Summary\n\n## Verdict\n\nBats.")]
    assert [*giveaways([*ours, ("b", "## Summary\n\nBees.")])] == []
    assert [*giveaways([ours[1], ("b", "Bees.")])] == []  # one text is no habit
    assert [*giveaways(ours)] == []  # nobody to be told from


def test_a_long_line_is_read_at_once() -> None:
    text = "as an " * 40_000
    began = time.perf_counter()
    assert nameless(text, NAMES, SPEC_OF)[0] == text.strip()
    assert nameless(text, (), ArenaConfig(drop=("x",)))[0] == text.strip()
    assert [*giveaways([("a", f"{' ' * 40_000}{sign * 40_000}") for sign in "#*>1"])] == []
    assert time.perf_counter() - began < 5
