"""References and the papers that they mean."""

import string

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from manyheads.corpus.records import RawPaper
from manyheads.corpus.references import Index
from support.papers import paper

TITLES = (
    "Salt in motion",
    "Salt in motion: tides that remember",
    "Dams of the north",
    "Weighing café water, slowly",
    "Pears",
    "Dams of the north, seen from a boat",
)
WORDS = st.lists(st.text(string.ascii_letters, min_size=1, max_size=6), min_size=3, max_size=8)


def raw(number: int, title: str, *references: str, **changes: object) -> RawPaper:
    return RawPaper.model_validate(paper(number, title=title, references=references, **changes))


def index_of(*papers: tuple[int, RawPaper]) -> Index:
    index = Index()
    for source, one in papers:
        index.add(source, one)
    return index


def known(**changes: object) -> Index:
    return index_of(*((0, raw(number, title, **changes)) for number, title in enumerate(TITLES)))


def cited(index: Index, source: int, one: RawPaper) -> list[int]:
    return index.cited(source, one.title, one.year, one.references)


def meant(reference: str, index: Index | None = None, *, year: int = 2015) -> list[str]:
    found = cited(index or known(), 1, raw(99, "A study of its own", reference, year=year))
    return [TITLES[number] for number in found]


@pytest.mark.parametrize(
    ("reference", "title"),
    [
        ("Berg, J. Salt in motion. Tides 7 (2011)", "Salt in motion"),
        ("Berg, J.: SALT IN\n MOTION. Tides 7", "Salt in motion"),
        ("J. Berg, “Salt in Motion,” Tides, vol. 7", "Salt in motion"),
        ("Salt in motion", "Salt in motion"),
        ("Berg J (2011) Salt in motion", "Salt in motion"),
        ("Berg, J. Salt in motion: Tides that remember. 2011", "Salt in motion: tides that remember"),
        ("Cole, A., Dams of the North, Proc. Dams 1", "Dams of the north"),
        ("Cole, A. Dams of the north, seen from a boat. 2011", "Dams of the north, seen from a boat"),
        ("Yildirim, E. Weighing cafe\u0301 water, slowly. Letters", "Weighing café water, slowly"),
    ],
)
def test_a_title_is_found_in_an_entry(reference: str, title: str) -> None:
    assert meant(reference) == [title]


@pytest.mark.parametrize(
    "reference",
    [
        "Berg, J. Fresh salt in motion. Tides 7",
        "Berg, J. Salt in motion and at rest. Tides 7",
        "Berg, J. On brine: salt in motion. Tides 7",
        "Berg, J. Salt in-motion-pictures. Film 7",
        "Berg, J. Pears. Fruit 7",
        "Berg, J., Tides 7, 2011",
        "",
        "...",
    ],
)
def test_what_only_holds_the_words_of_a_title_means_another_paper(reference: str) -> None:
    assert meant(reference) == []


def test_a_paper_is_not_cited_years_before_it_was_written() -> None:
    index = known(year=2016)
    assert meant("Berg, J. Salt in motion.", index, year=2015) == ["Salt in motion"]
    assert meant("Berg, J. Salt in motion.", index, year=2014) == []


@pytest.mark.parametrize("reference", ["p1", "arXiv:1605.00001"])
def test_what_a_last_version_cites_is_not_known_before_the_first(reference: str) -> None:
    index = index_of((0, raw(1, "Pears", year=2016)), (0, raw(2, "Salt", id="1605.00001", year=2016)))
    assert [len(cited(index, 0, raw(9, "Mine", reference, year=year))) for year in (2014, 2015)] == [0, 1]


def test_ids_mean_papers_of_the_same_source_and_come_before_titles() -> None:
    index = index_of((0, raw(1, TITLES[0])), (1, raw(1, TITLES[2])), (1, raw(2, TITLES[3])))
    citing = raw(9, "A study of its own", "p1", " p2 ", "p7")
    assert cited(index, 0, citing) == [0]
    assert cited(index, 1, citing) == [1, 2]


@pytest.mark.parametrize(
    ("paper_id", "reference"),
    [
        ("1105.00001", "Berg, J. CoRR abs/1105.00001 (2011)"),
        ("1105.00001", "Berg, J. arXiv preprint arXiv:1105.00001v2"),
        ("1105.00001", "Berg, J. https://arxiv.org/abs/1105.00001"),
        ("1105.00001", "Berg, J. doi:10.48550/arXiv.1105.00001."),
        ("arxiv:1105.00001", "Berg, J. arXiv 1105.00001"),
        ("10.1000/Tides.7", "Berg, J. Tides 7. https://doi.org/10.1000/tides.7."),
        ("10.1000/tides.7", "Berg, J. Tides 7 (doi:10.1000/tides.7)."),
        ("doi:10.1000/tides(7)", "Berg, J. Tides 7. doi:10.1000/tides(7), 2011"),
    ],
)
def test_a_doi_or_an_arxiv_number_means_a_paper_of_any_source(paper_id: str, reference: str) -> None:
    index = index_of((0, raw(1, "Pears", id=paper_id)))
    assert cited(index, 1, raw(9, "A study of its own", reference)) == [0]


def test_a_paper_never_cites_itself_nor_one_title_twice() -> None:
    index = index_of((0, raw(1, TITLES[0])), (0, raw(2, TITLES[0].upper())), (0, raw(3, TITLES[2])))
    same = raw(1, TITLES[0], "p1", "p2", "Salt in motion.", "p3", "Dams of the north.")
    assert cited(index, 0, same) == [2]
    assert cited(index, 0, raw(9, "Other", "p2", "p1", "Salt in motion.")) == [1]
    assert [index.again(number) for number in range(3)] == [False, True, False]


@given(titles=st.lists(WORDS.map(" ".join), min_size=1, max_size=6, unique_by=str.casefold), data=st.data())
def test_every_title_is_found_between_an_author_and_a_journal(titles: list[str], data: st.DataObject) -> None:
    index = index_of(*((0, raw(number, title)) for number, title in enumerate(titles)))
    for number, title in enumerate(titles):
        before = data.draw(st.sampled_from(("", "Berg, J. ", "[7] ", "Berg (2011) ")))
        after = data.draw(st.sampled_from(("", ".", ". Tides 7", ", Tides 7", "? Tides", " (2011)")))
        assert cited(index, 0, raw(99, "0 0", f"{before}{title}{after}")) == [number]


@given(st.text(), st.text())
@example("a b c", "x a b c, d")
@example("\u0130 \u0130 \u0130", "i\u0307 i\u0307 i\u0307.")
def test_whatever_stands_in_titles_and_entries_is_read(title: str, reference: str) -> None:
    assume(title.strip())
    index = index_of((0, raw(1, title)))
    assert cited(index, 0, raw(9, "0 0", reference)) in ([], [0])
