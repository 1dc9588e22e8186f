"""Queries grow wider step by step, whatever they are made of."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyheads.corpus.phrases import STOP_WORDS
from manyheads.literature.matching import MOST_LETTERS, salient, widen, words_of

ABSTRACT = (
    "Retrieval-augmented dialogue for clinical triage under uncertainty. We show that a model which reads the "
    "patient's record before it answers is asked fewer questions, and we release a benchmark of 4,000 talks."
)
TEXTS = st.text() | st.lists(st.sampled_from([*ABSTRACT.split(), "\n", "AND", '"']), max_size=80).map(
    " ".join
)


def lowered(form: str) -> set[str]:
    words = {word.casefold() for word in words_of(form)}
    return words - STOP_WORDS or words


@given(TEXTS)
def test_each_form_is_wider_than_the_one_before(query: str) -> None:
    forms = list(widen(query))
    for form in forms:
        assert form.strip()
        assert len(form) <= MOST_LETTERS
        assert lowered(form) <= lowered(forms[0])
    for narrow, wide in pairwise(forms):
        assert len(lowered(wide)) < len(lowered(narrow)) or len(lowered(wide)) == 2
    assert len({frozenset(lowered(form)) for form in forms}) == len(forms)
    assert bool(forms) == bool(query.strip())
    assert forms == list(widen(query))
    assert all(0 < len(form) <= 9 for form in widen(query, 9))


def test_an_abstract_is_widened_from_its_first_sentence_to_two_words() -> None:
    assert list(widen(ABSTRACT)) == [
        ABSTRACT,
        "Retrieval-augmented dialogue for clinical triage under uncertainty.",
        "Retrieval-augmented dialogue clinical triage uncertainty",
        "Retrieval-augmented dialogue uncertainty",
        "Retrieval-augmented uncertainty",
        "Retrieval-augmented dialogue",
        "dialogue uncertainty",
    ]


def test_the_title_line_of_a_paper_stands_for_it() -> None:
    query = "Grasping soft fruit with tactile feedback\n\nWe grasp fruit. It works."
    assert list(widen(query))[1] == "Grasping soft fruit with tactile feedback"


def test_a_first_sentence_that_says_nothing_is_passed_over() -> None:
    query = "Abstract. We present tactile grasping of fragile objects with compliant fingers."
    forms = list(widen(query))
    assert forms[0] == query
    assert all("grasping" in form for form in forms[:3])
    assert "Abstract" not in forms[-1]


@pytest.mark.parametrize("query", ["retrieval", "?!", "the of", "量子计算"])
def test_what_cannot_be_widened_is_asked_once(query: str) -> None:
    assert list(widen(query)) == [query]


def test_common_words_go_first_and_names_stay() -> None:
    assert salient("We propose a new method for BERT distillation and present results", 2) == [
        "BERT",
        "distillation",
    ]


def test_words_that_only_link_others_are_never_asked_for_alone() -> None:
    *_, last, _, _, _ = widen("Graph Networks Throughout Omission Errors Beyond Hydrology")
    assert last == "Networks Omission Hydrology"
