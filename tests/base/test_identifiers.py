"""Papers are named by ids, DOIs, arXiv numbers and titles; the form tells which."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyheads.base.papers import Identifier, Paper, fold, identifiers_of, identify


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("openalex:W1", Identifier("own", "W1", "openalex")),
        ("local:a:/b 3", Identifier("own", "a:/b 3", "local")),
        ("semantic_scholar:DOI:10.1000/x", Identifier("own", "DOI:10.1000/x", "semantic_scholar")),
        ("10.1000/x(1)", Identifier("doi", "10.1000/x(1)")),
        ("DOI: 10.1000/x", Identifier("doi", "10.1000/x")),
        ("https://dx.doi.org/10.1000/x", Identifier("doi", "10.1000/x")),
        ("https://doi.org/10.48550/arXiv.1706.03762", Identifier("arxiv", "1706.03762")),
        ("arXiv:1706.03762v5", Identifier("arxiv", "1706.03762")),
        ("https://arxiv.org/abs/hep-th/9901001", Identifier("arxiv", "hep-th/9901001")),
        ("https://arxiv.org/pdf/1706.03762v5.pdf", Identifier("arxiv", "1706.03762")),
        ("math.GT/0309136", Identifier("arxiv", "math.GT/0309136")),
        (" Attention is  all you need\n", Identifier("title", "Attention is all you need")),
        ("OpenAlex: an index of works", Identifier("title", "OpenAlex: an index of works")),
        ("local: a study", Identifier("title", "local: a study")),
        ("10.5 ways to count", Identifier("title", "10.5 ways to count")),
    ],
)
def test_the_form_of_a_name_tells_what_it_is(text: str, expected: Identifier) -> None:
    assert identify(text) == expected


@given(st.text())
def test_any_text_is_a_name_of_some_kind(text: str) -> None:
    found = identify(text)
    assert found.value or not text.strip()
    assert identify(found.value).kind == found.kind or found.kind == "own"


def test_each_source_is_asked_in_its_own_form() -> None:
    doi, preprint, own = identify("10.1000/x"), identify("1706.03762"), identify("openalex:W1")
    assert [doi.at(one) for one in ("local", "openalex", "semantic_scholar", "arxiv")] == [
        None, *["DOI:10.1000/x"] * 3,
    ]  # fmt: skip
    assert (preprint.at("arxiv"), preprint.at("openalex")) == ("1706.03762", "ARXIV:1706.03762")
    assert (own.at("openalex"), own.at("arxiv")) == ("W1", None)
    assert identify("A title").at("openalex") is None


def test_a_paper_is_known_elsewhere_by_number_doi_and_title() -> None:
    paper = Paper(id="arxiv:1706.03762", source="arxiv", title="Attention", doi="10.1000/x")
    assert [one.kind for one in identifiers_of(paper)] == ["arxiv", "doi", "title"]
    assert identifiers_of(paper)[-1].means(Paper(id="x", source="local", title="ATTENTION!"))
    assert not Identifier("title", "?!").means(Paper(id="x", source="local", title="!!"))


def test_plain_letters_are_folded_as_they_are_beside_others() -> None:
    every = "".join(map(chr, range(128)))
    assert fold(f"{every}É") == f"{fold(every)}e"
    assert fold(every) == "0123456789abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"
