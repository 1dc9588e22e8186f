"""`make prompts`: what a request is made up of."""

from statistics import fmean

import pytest

from bench.prompts import sizes

SHORT = {
    "initial propose": 0.25,
    "initial review": 0.34,
    "rebuttal review": 0.25,
    "rebuttal revise": 0.24,
    "rebuttal condense": 0.38,
}
"""Tasks of few words beside a long form, here on one abstract of two lines: the share of the form is larger."""


@pytest.mark.parametrize(
    "system", [*(pytest.param(each, marks=pytest.mark.slow) for each in ("virsci", "rebuttal")), "review"]
)
def test_the_form_is_at_most_a_fifth_of_a_request(system: str) -> None:
    shares = {task: fmean(size.form for size in each) for task, each in sizes(system).items()}
    assert {task: share for task, share in shares.items() if share > SHORT.get(task, 0.2)} == {}
