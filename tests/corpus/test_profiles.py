"""Profiles, masks and phrases."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyheads.base.papers import Scientist, profile_text
from manyheads.corpus.phrases import interests, some_texts
from manyheads.corpus.records import RawAuthor, RawPaper
from manyheads.corpus.scientists import (
    TOP_INTERESTS,
    Masker,
    assign_masks,
    count_collaborations,
    display_name,
    profile,
    spellings,
)
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


def test_interests_are_no_parts_of_each_other_and_alike_on_every_run() -> None:
    texts = [f"{one['title']} {one['abstract']}" for one in papers(60)]
    found = interests(texts, {"a": range(0, 30), "b": range(30, 60)}, 8)
    assert found == interests(texts, {"a": range(0, 30), "b": range(30, 60)}, 8)
    for phrases in found.values():
        assert phrases
        assert not any(one != other and one in other for one in phrases for other in phrases)


@pytest.mark.parametrize(
    ("text", "phrase", "parts"),
    [
        ("Graph neural networks for molecules. We train", "graph neural networks", ("graph neural", "neural networks")),
        ("Why benchmarks fails. Protein folding quickly improves", "protein folding", ("benchmarks fails", "improves")),
    ],
)  # fmt: skip
def test_an_interest_is_a_whole_noun_phrase(text: str, phrase: str, parts: tuple[str, ...]) -> None:
    found = interests([f"{text} number {letter}." for letter in "abcdef"], {"a": range(6)}, 8)["a"]
    assert phrase in found
    assert not {*parts} & {*found}


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


def test_a_name_is_masked_in_the_order_of_texts_too() -> None:
    masker = Masker({"Okafor, Ansel": "Scientist0"})
    assert masker.text("Ansel Okafor (Okafor, Ansel), Okafor") == "Scientist0 (Scientist0), Okafor"


def test_a_name_is_masked_wherever_it_stands() -> None:
    masker = Masker({"Ansel Okafor": "Scientist0"})
    [one] = raw(
        paper(
            abstract="We thank Ansel\n  Okafor, not Ansel-Okafor. Contact: a.okafor+x@cs.fig.edu. P@10 rises.",
            venue="Essays for Ansel Okafor",
            affiliations=["Ansel Okafor Laboratory"],
        )
    )
    worded = masker.wording(one)
    assert worded.abstract == "We thank Scientist0, not Ansel-Okafor. Contact: (address). P@10 rises."
    assert (worded.venue, worded.affiliations) == ("Essays for Scientist0", ("Scientist0 Laboratory",))


@given(teams=st.lists(st.lists(st.sampled_from("ABCDE"), unique=True, max_size=4), max_size=12))
def test_collaborations_are_symmetric_and_count_shared_papers(teams: list[list[str]]) -> None:
    rows = count_collaborations(teams)
    for one in "ABCDE":
        for other in "ABCDE":
            shared = sum(1 for team in teams if one in team and other in team) if one != other else 0
            assert rows.get(one, {}).get(other, 0) == shared
    assert all(count > 0 for row in rows.values() for count in row.values())


def test_what_the_dataset_knows_goes_before_what_is_counted() -> None:
    records = [paper(1, authors=["A", "B"], affiliations=["X", "Y"]), paper(2, authors=["A", "B", "C"])]
    known = {
        "A": RawAuthor("A", "A", ("Z",), ("maps",), papers=70, citations=900, coauthors={"B": 9, "Q": 3}),
        "B": RawAuthor("B", "B"),
    }
    masks = {"A": "Scientist0", "B": "Scientist1", "C": "Scientist2"}
    one, two, three = profile(raw(*records), masks, known=known).scientists
    assert (one.affiliations, one.interests, one.papers, one.citations) == (("Z",), ("maps",), 70, 900)
    assert (two.affiliations, two.papers, two.citations) == (("Y",), 2, 20)
    assert one.collaborators == {"Scientist1": 9, "Scientist2": 1}
    assert two.collaborators == {"Scientist0": 9, "Scientist2": 1}
    assert three.collaborators == {"Scientist0": 1, "Scientist1": 1}


class Condensing:
    """A model that writes the first two terms in capitals."""

    name = "capitals-1"

    def __init__(self) -> None:
        self.asked: dict[str, Sequence[str]] = {}

    def __call__(self, terms: Mapping[str, Sequence[str]]) -> Mapping[str, tuple[str, ...]]:
        self.asked = dict(terms)
        return {who: tuple(term.upper() for term in some[:2]) for who, some in terms.items()}


def test_a_model_condenses_keywords_or_titles_where_the_dataset_has_no_interests() -> None:
    model = Condensing()
    records = [
        paper(1, authors=["A"], keywords=["touch", "Maps"]), paper(2, authors=["A"], keywords=["maps"]),
        paper(3, authors=["B"], title="On grasping"), paper(4, authors=["C"]),
    ]  # fmt: skip
    masks = {"A": "Scientist0", "B": "Scientist1", "C": "Scientist2"}
    known = {"C": RawAuthor("C", "C", interests=("speech",))}
    made = profile(raw(*records), masks, known=known, condense=model)
    assert model.asked == {"Scientist0": ("maps", "touch"), "Scientist1": ("On grasping",)}
    assert [one.interests for one in made.scientists] == [("MAPS", "TOUCH"), ("ON GRASPING",), ("speech",)]
    assert made.interests_by == {"dataset": 1, "capitals-1": 2}


def test_citations_nobody_knows_stay_unknown() -> None:
    found = profiled(
        paper(1, authors=["A"], citations=...), paper(2, authors=["A", "B"], citations=3),
        paper(3, authors=["C"], citations=...), A="Scientist0", B="Scientist1", C="Scientist2",
    )  # fmt: skip
    assert [one.citations for one in found.values()] == [3, 3, None]


def test_every_spelling_of_a_name_is_masked_and_one_of_two_with_the_same() -> None:
    masks = {"7": "Scientist0", "8": "Scientist1"}
    masker = Masker(masks, {"7": ["Wei Lang", "W. Lang"], "8": ["Wei Lang", "Wei-Hua Lang"]})
    text = "Wei Lang, W. Lang and Wei-Hua Lang"
    assert masker.text(text) == "Scientist0, Scientist0 and Scientist1"
    [one] = raw(paper(authors=["Wei Lang", "W. Lang", "B"], author_ids=["8", "7", None]))
    assert masker.paper(one).authors == ("Scientist1", "Scientist0")


def test_names_are_masked_in_what_the_dataset_says_of_an_author() -> None:
    known = RawAuthor("7", "Ada Lo", ("Ada Lo Laboratory",), ("work of Ada Lo",), coauthors={"8": 2})
    shown_one = Masker({"7": "Scientist0"}, {"7": ["Ada Lo"]}).author(known)
    assert (shown_one.affiliations, shown_one.interests) == (
        ("Scientist0 Laboratory",),
        ("work of Scientist0",),
    )
    assert (shown_one.coauthors, shown_one.papers) == ({"8": 2}, None)


def test_a_person_is_shown_by_the_usual_name_and_by_key_where_that_is_another() -> None:
    bylines = [[name, "B"] for name in ("W. Lang", "Wei Lang", "Wei Lang")]
    wrote = raw(*(paper(authors=byline, author_ids=["7", None]) for byline in bylines))
    known = {"8": RawAuthor("8", "Ines Faro")}
    found = spellings(["7", "8", "B"], wrote, known)
    assert set(found["7"]) == {"W. Lang", "Wei Lang"}
    assert [display_name(key, found[key], known) for key in found] == ["Wei Lang (7)", "Ines Faro (8)", "B"]


def test_of_many_texts_some_are_weighed_and_each_author_keeps_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("manyheads.corpus.phrases.MOST_TEXTS", 40)
    texts, own = [f"text {number}" for number in range(300)], {"a": range(10), "b": range(100, 300)}
    kept, places = some_texts(texts, 300, own)
    assert len(kept) == len(set(kept)) <= 40
    assert {kept[place] for place in places["a"]} == set(texts[:10])
    assert len(places["b"]) == 10
    assert {kept[place] for place in places["b"]} <= set(texts[100:])
    assert some_texts(texts[:30], 30, {"a": [3]}) == (texts[:30], {"a": [3]})
