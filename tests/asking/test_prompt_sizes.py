"""`make prompts`: what a request is made up of."""

from statistics import fmean

import pytest

from bench.prompts import Size, reading_grade, sizes
from support.requests import Request

QUESTION = """\
# A topic

<topic>
1. Robots.
</topic>

## Your task

1. Say what you think.

## The form of your answer

Answer with one JSON object of this form."""


def asked(question: str) -> Size:
    messages = [{"role": "system", "content": "You are a robot."}, {"role": "user", "content": question}]
    return Size.of(Request("/v1/chat/completions", {}, {"messages": messages}, 0.0))


def test_a_request_is_taken_apart() -> None:
    whole = "You are a robot.\n\n" + QUESTION
    size = asked(QUESTION)
    assert size.characters == len(whole)
    assert size.before == whole.index("## Your task") / len(whole)
    assert size.form == 1 - whole.index("## The form") / len(whole)
    assert size.quoted == len("<topic>\n1. Robots.\n</topic>") / len(whole)
    unmarked = whole.replace("## Your task\n\n", "")
    assert asked(unmarked.partition("\n\n")[2]).before == unmarked.index("1. Say") / len(unmarked)


def test_long_words_and_sentences_need_more_years_of_school() -> None:
    easy = "The cat sat on the mat. The dog ran to the cat."
    hard = "Notwithstanding considerable methodological heterogeneity, generalisation necessitates experimentation."
    assert reading_grade(easy) < 2
    assert reading_grade(hard) > 20


SHORT = {
    "initial propose": 0.25,
    "initial review": 0.34,
    "rebuttal review": 0.25,
    "rebuttal revise": 0.24,
    "rebuttal condense": 0.38,
}
"""Tasks of few words beside a long form, here on one abstract of two lines: the share of the form is larger."""


@pytest.mark.parametrize("system", ["virsci", "rebuttal", "review"])
def test_the_form_is_at_most_a_fifth_of_a_request(system: str) -> None:
    shares = {task: fmean(size.form for size in each) for task, each in sizes(system).items()}
    assert {task: share for task, share in shares.items() if share > SHORT.get(task, 0.2)} == {}


@pytest.mark.slow
@pytest.mark.parametrize("system", ["virsci", "rebuttal", "scipip", "review"])
def test_every_task_has_its_sizes(system: str) -> None:
    found = sizes(system)
    assert {size.form > 0 for each in found.values() for size in each} == {True}
    assert len(found) == {"virsci": 12, "rebuttal": 6, "scipip": 8, "review": 1}[system]
