"""No number and no truth value is taken that no model gave."""

import json
import re
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attack.answers import DRAFTS
from manyheads.asking.json_text import LONGEST, UnreadableError, objects
from manyheads.asking.replies import PlainText, uniform_score
from manyheads.engine.replying import UnusableReplyError, parse
from manyheads.systems.conference_review.replies import ConferenceReview, IdeaRating
from manyheads.systems.virsci.replies import Decision, Vote

ONE = '{"thought": "t", "choice": 1}'
NUMBERS = {
    "7": 7, " 7 ": 7, "7.0": 7, '"7"': 7, '" 7 "': 7, "'7'": 7, "7e0": 7, "70e-1": 7, "1": 1, "10": 10, '"10"': 10,
    "7/10": 7, "7 / 10": 7, "7 of 10": 7, "7 out of 10": 7, '"7/10"': 7, "7 // fair\n": 7, "7 /* of 10 */": 7, "7,": 7, "7\n": 7, "7,,": 7, "“7”": 7,
}  # fmt: skip
"""What says one number from 1 to 10, as it stands behind the key."""

NO_NUMBERS = [
    # scales, ranges and alternatives
    "1 to 10", "1–10", "1-10", "1—10", "1..10", "1...10", "1 (unclear) to 10", "1 (very strong reject) to 10 (award)",
    "1|2|3", "1 | 2", "1/2/3", "7 or 8", "5 or 6", "7 OR 8", "3 to 5", "7–8", "7-8", "7 - 8", "7~8", "7 and 8", "7 & 8",
    "7;8", "8 9 10", "7 8", "1 0", "7 vs 8", "between 7 and 8", "from 3 to 5", "<1-10>", "<1>", "{1-10}", "(7)", "[7]",
    "[7, 8]", "7 or more", "7 at least", "at least 7", "up to 7", "either 7", "7?", "7!", "7*", "7^1", "7_", "7.",
    "7..", "7 ...", "7 …", "7\u00a0or\u00a08", "7\u20138", "7\n8", "7\nor 8", "7 // or 8\n8", "7\t8", '7 "or" 8', '"7" or "8"',
    '"7" "8"', "'7' or '8'", '"7" | "8"', '"7", "8"',
    # parts and decorations
    "7/5", "7/100", "17/10", "7/10/10", "-7/10", "7.5/10", "7 (of 10)", "7 points", "7pts", "7%", "7 %", "70%", "#7", "No. 7", "7th", "score 7",
    "Score: 7", "= 7", "=7", "== 7", ":7", "about 7", "~7", "≈7", "≥7", ">7", "> 7", "<7", ">=7", "<=7", "±7", "+7", "+ 7", "7+",
    "7-", "$7", "7€", "x7", "7x", "7 stars", "★7", "**7**", "`7`", "_7_",
    # signs and other spellings
    "−7", "– 7", "—7", "－7", "-7", "- 7", "--7", "-", "+", "٧", "７", "Ⅶ", "VII", "vii", "seven", "SEVEN", "½", "6½", "6 and a half",
    "7,5", "7.5", "7.9", "6.999", "1_0", "0x7", "0b111", "0o7", "07", "007", "1e1000", "1e999", "1E400", "1e", "7e", "e7", "7f", "7d", "7L", "7n",
    ".7", "7.0.0", "1,000", "1 000", "10 - 3", "10-3", "5+2", "5 + 2", "3*2", "14/2", "2**3", "sum(3, 4)", "int(7)",
    "NaN", "nan", "-NaN", "Infinity", "-Infinity", "inf", "null", "None", "nil", "undefined", "N/A", "n/a", "NA", "none", "?", "??", "TBD",
    "true", "false", "True", "0", "11", "100", "-1", "99999999999999999999", "1" + "0" * 5000,
    '"1_0"', '"7 or 8"', '"1-10"', '"−7"', '"٧"', '"seven"', '""', '" "', '"7.5"', '"0x7"', '"1e1"', '"+7"', '"NaN"', '"true"',
    '{"score": 7}', '{"value": 7, "of": 10}', "[]", "{}", "...", "…", "<score>", "<1–10>", "INT", "int", "Score",
]  # fmt: skip
"""What says no number, or more than one, or one outside the scale."""

TRUTHS = {"true": True, "false": False, "True": True, "FALSE": False, '"true"': True, '"no"': False}
NO_TRUTHS = [
    "true or false", "TRUE or FALSE", "true|false", "true/false", "!true", "~true", "not true", "true?", "true false",
    "null", "maybe", '"maybe"', '"true or false"', "[true]", "(true)", "<true|false>", "true and false", "2", "tru",
]  # fmt: skip


def rating(literal: str, last: bool) -> str:
    fields = {name: '"r"' if name.endswith("reason") else "5" for name in IdeaRating.model_fields}
    order = [name for name in fields if name != "novelty"]
    order.insert(len(order) if last else 0, "novelty")
    return (
        "{" + ", ".join(f'"{name}": {literal if name == "novelty" else fields[name]}' for name in order) + "}"
    )


@pytest.mark.parametrize("last", [False, True])
def test_one_number_is_taken(last: bool) -> None:
    for literal, value in NUMBERS.items():
        assert parse(rating(literal, last), IdeaRating).novelty == value, literal


@pytest.mark.parametrize("last", [False, True])
def test_what_is_not_one_number_is_asked_again(last: bool) -> None:
    for literal in NO_NUMBERS:
        with pytest.raises(UnusableReplyError) as refused:
            pytest.fail(f"{literal} is {parse(rating(literal, last), IdeaRating).novelty}")
        assert len(str(refused.value)) < 700, literal


@pytest.mark.parametrize(("literal", "value"), TRUTHS.items())
def test_one_truth_value_is_taken(literal: str, value: bool) -> None:
    assert parse(f'{{"reasoning": "r", "accept": {literal}}}', Decision).accept is value


@pytest.mark.parametrize("literal", NO_TRUTHS)
def test_what_is_not_one_truth_value_is_asked_again(literal: str) -> None:
    with pytest.raises(UnusableReplyError):
        parse(f'{{"reasoning": "r", "accept": {literal}}}', Decision)


@pytest.mark.parametrize(
    "text",
    [
        *(mark.replace("{}", ONE) + " I cannot decide." for mark in DRAFTS.values()),
        *(mark.partition("{}")[0] + ONE for mark in DRAFTS.values() if mark[0] != "{"),
        '[{"thought": "t", "choice": 1}, {"thought": "t", "choice": 3}]',
        '{"thought": "t", "choice": 1, "choice": 3}',
        "{'thought': 't', 'choice': 1, 'choice': 3}",
        '{"thought": "t", "choice": 1, "choice": true}',
        'Draft {"thought": "t", "choice": 1}. Final {"thought": "t", "choice": 2 "3}',
    ],
)
def test_a_number_in_a_thought_or_among_several_is_not_the_answer(text: str) -> None:
    with pytest.raises(UnusableReplyError):
        parse(text, Vote)


@pytest.mark.parametrize("mark", DRAFTS.values(), ids=list(DRAFTS))
def test_plain_text_is_what_stands_behind_a_thought(mark: str) -> None:
    assert parse(mark.replace("{}", '{"a": 1}') + "Owls {may} plan.", PlainText).text == "Owls {may} plan."


def test_the_answer_behind_a_thought_is_taken() -> None:
    text = '<think>maybe {"thought": "t", "choice": 1}</think>{"thought": "not </think>", "choice": 2}'
    assert parse(text, Vote) == Vote(thought="not </think>", choice=2)


PIECES = st.sampled_from(
    ["{", "}", "[", "]", ":", ",", '"', "'", "a", '"a"', "'b'", " ", "\n", "1", "7", "10", "-", "−", ".", "5", "e", " or ", "|",
     "/", "//", "true", "false", "null", "!", "\\", "(", ")", '"a": ', '"b": 7', "x", "_", "%", "<think>", "</think>"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=30).map(lambda pieces: '{"a": ' + "".join(pieces) + "}"))
def test_a_number_or_truth_value_stands_in_the_text_as_one_token(text: str) -> None:
    try:
        values = [found.value for found in objects(text)]
    except UnreadableError:
        return
    tokens = re.split(r"""[\[\]{}:,"'“”\s]+|//|/\*|\*/""", text)
    for scalar in scalars(values):
        assert any(reads_as(token, scalar) for token in tokens), (text, values)


def scalars(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [each for inner in value.values() for each in scalars(inner)]
    if isinstance(value, list):
        return [each for inner in value for each in scalars(inner)]
    return [value] if isinstance(value, int | float) else []


def reads_as(token: str, scalar: float) -> bool:
    try:
        value = json.loads(token)
    except ValueError:
        return False
    return type(value) is type(scalar) and value == scalar


@pytest.mark.parametrize(
    "text",
    [
        '{"thought": "' + 'he said "no" ' * 14_000 + '", "choice": 1}',
        "{'thought': '" + "it's so " * 20_000 + "', 'choice': 1}",
        '{"choice": 1} ' * 12_000,
        '{"a": "' * 25_000,
        '{"a" "b", ' * 15_000 + "}" * 15_000,
        "{'a': 'b' // c\n" * 10_000,
        "[{a: " * 30_000,
    ],
)
def test_the_longest_untidy_text_is_read_in_linear_time(text: str) -> None:
    def seconds(part: str) -> float:
        began = time.process_time()
        for _ in range(3):
            with suppress(UnreadableError):
                objects(part)
        return time.process_time() - began

    assert len(text) <= LONGEST
    assert seconds(text) < 40 * seconds(text[: len(text) // 8]) + 0.5, (
        "eight times the text, not 64 times the time"
    )


def test_a_text_without_end_is_refused() -> None:
    with pytest.raises(UnusableReplyError, match="200,000"):
        parse('{"thought": "' + "a" * LONGEST + '", "choice": 1}', Vote)


def test_the_reason_is_short_however_much_is_wrong() -> None:
    rest = '"summary": "a", "weaknesses": ["a"], "questions": ["b"], "ethical_concerns": false, "overall": 5}'
    wrong = '{"strengths": [' + "1, " * 4999 + f"1], {rest}"
    with pytest.raises(UnusableReplyError) as refused:
        parse(wrong, ConferenceReview)
    assert "strengths.0" in str(refused.value)
    assert "4,992 more" in str(refused.value)
    assert len(str(refused.value)) < 1000


def test_scores_that_are_all_an_end_of_the_scale_are_noticed() -> None:
    reasons = {name: "r" for name in IdeaRating.model_fields if name.endswith("reason")}
    scores = [name for name in IdeaRating.model_fields if not name.endswith("reason")]
    for score, uniform in ((1, 1), (10, 10), (5, None)):
        assert uniform_score(IdeaRating.model_validate(reasons | dict.fromkeys(scores, score))) == uniform
    mixed = dict(zip(scores, (1, 1, 2), strict=True))
    assert uniform_score(IdeaRating.model_validate(reasons | mixed)) is None
