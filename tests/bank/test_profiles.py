"""Profiles, masks and phrases."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from manyheads.bank.collaboration import count_collaborations
from manyheads.bank.corpus import RawPaper
from manyheads.bank.masking import Masker, assign_masks
from manyheads.bank.phrases import standout_phrases
from manyheads.bank.profiles import TOP_INTERESTS, profile, profile_text
from manyheads.bank.records import Scientist
from support.papers import NAMES, paper, papers


def raw(*records: dict[str, Any]) -> list[RawPaper]:
    return [RawPaper.model_validate(one, strict=False) for one in records]


def profiled(*records: dict[str, Any], **masks: str) -> dict[str, Scientist]:
    return {one.name: one for one in profile(raw(*records), masks).scientists}


def test_papers_citations_and_collaborators_are_counted() -> None:
    found = profiled(
        paper(1, authors=["A", "B", "X"], citations=5), paper(2, authors=["A", "B", "A"], citations=2),
        A="Scientist0", B="Scientist1",
    )  # fmt: skip
    assert (found["Scientist0"].papers, found["Scientist0"].citations) == (2, 7)
    assert found["Scientist0"].collaborators == {"Scientist1": 2}
    assert found["Scientist1"].collaborators == {"Scientist0": 2}


def test_keywords_become_interests_by_frequency() -> None:
    found = profiled(
        paper(1, authors=["A"], keywords=["Grasping", "touch ", "maps"]),
        paper(2, authors=["A"], keywords=["grasping", "touch"]),
        A="Scientist0",
    )
    assert found["Scientist0"].interests == ("grasping", "touch", "maps")


def test_without_keywords_interests_come_from_titles_and_abstracts() -> None:
    made = profile(raw(*papers(60)), {NAMES[0]: "Scientist0", NAMES[1]: "Scientist1"})
    assert made.interests_by == {"texts": 2}
    words = " ".join(made.scientists[0].interests)
    assert "grasping" in words or "tactile" in words
    assert 0 < len(made.scientists[0].interests) <= TOP_INTERESTS


def test_affiliations_are_the_most_frequent() -> None:
    found = profiled(
        paper(1, authors=["A"], affiliations=["Old"]), paper(2, authors=["A"], affiliations=["New"]),
        paper(3, authors=["A"], affiliations=["New"]), A="Scientist0",
    )  # fmt: skip
    assert found["Scientist0"].affiliations == ("New", "Old")
    assert profile_text(found["Scientist0"]).endswith("New; Old")


def test_phrases_share_no_word_and_are_alike_on_every_run() -> None:
    texts = [f"{one['title']} {one['abstract']}" for one in papers(60)]
    found = standout_phrases(texts, {"a": range(0, 30), "b": range(30, 60)}, 8)
    assert found == standout_phrases(texts, {"a": range(0, 30), "b": range(30, 60)}, 8)
    for phrases in found.values():
        words = [word for phrase in phrases for word in phrase.split()]
        assert len(words) == len(set(words))


def test_texts_of_stop_words_give_no_phrases() -> None:
    assert standout_phrases(["the of and", "we are"], {"a": [0, 1]}, 8) == {"a": ()}


def test_masks_do_not_follow_the_alphabet_and_follow_the_seed() -> None:
    names = [f"Person {number:03}" for number in range(50)]
    masks = assign_masks(names, seed=1)
    assert list(masks.values()) == [f"Scientist{number}" for number in range(50)]
    assert list(masks) != sorted(masks)
    assert masks == assign_masks(list(reversed(names)), seed=1) != assign_masks(names, seed=2)


def test_a_name_in_the_text_is_masked_and_a_part_of_a_word_is_not() -> None:
    masker = Masker({"Ada Lo": "Scientist0", "Ada Lo Bianco": "Scientist1", "Adam": "Scientist2"})
    text = "Ada Lo Bianco and Ada Lo use Adam; Ada Lovelace does not."
    assert masker.text(text) == "Scientist1 and Scientist0 use Adam; Ada Lovelace does not."


def test_authors_outside_s_are_left_out_of_a_paper() -> None:
    masker = Masker({"Ansel Okafor": "Scientist0"})
    [one] = raw(paper(abstract="As Ansel Okafor has shown.", keywords=["Ansel Okafor"]))
    shown = masker.paper(masker.wording(one))
    assert shown.authors == ("Scientist0",)
    assert "Ansel" not in shown.model_dump_json()


@given(teams=st.lists(st.lists(st.sampled_from("ABCDE"), unique=True, max_size=4), max_size=12))
def test_collaborations_are_symmetric_and_count_shared_papers(teams: list[list[str]]) -> None:
    rows = count_collaborations(teams)
    for one in "ABCDE":
        for other in "ABCDE":
            shared = sum(1 for team in teams if one in team and other in team) if one != other else 0
            assert rows.get(one, {}).get(other, 0) == shared
    assert all(count > 0 for row in rows.values() for count in row.values())
