"""The sample ecosystem keeps the promises that its README makes."""

import json
import re
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

import pytest

from manyheads.base.papers import Paper

SAMPLE = Path(__file__).parents[1] / "configs/corpora/sample.jsonl"
BOUND = 2021
FIELDS = {
    "id", "title", "abstract", "authors", "year", "citations", "venue", "keywords", "affiliations",
}  # fmt: skip


def five_grams(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[i : i + 5]) for i in range(len(words) - 4)}


def reachable(start: str, papers: list[Paper]) -> set[str]:
    """The scientists joined to `start` by chains of shared papers."""
    neighbours: defaultdict[str, set[str]] = defaultdict(set)
    for paper in papers:
        for author in paper.authors:
            neighbours[author].update(paper.authors)
    seen: set[str] = {start}
    frontier = [start]
    while frontier:
        fresh = neighbours[frontier.pop()] - seen
        seen |= fresh
        frontier.extend(fresh)
    return seen


@pytest.fixture(scope="module")
def papers() -> list[Paper]:
    lines = SAMPLE.read_text(encoding="utf-8").splitlines()
    return [Paper.model_validate_json(line) for line in lines]


@pytest.fixture(scope="module")
def past(papers: list[Paper]) -> list[Paper]:
    return [paper for paper in papers if (paper.year or 9999) < BOUND]


@pytest.fixture(scope="module")
def contemporary(papers: list[Paper]) -> list[Paper]:
    return [paper for paper in papers if (paper.year or 0) >= BOUND]


def test_every_line_holds_every_field() -> None:
    for line in SAMPLE.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        assert set(record) == FIELDS
        assert all(record[field] for field in FIELDS), record["id"]


def test_ids_and_titles_are_unique_and_ids_run_in_order(papers: list[Paper]) -> None:
    assert [paper.id for paper in papers] == [f"sample:{n:03d}" for n in range(1, len(papers) + 1)]
    assert len({paper.title for paper in papers}) == len(papers)


def test_both_periods_are_covered_year_by_year(past: list[Paper], contemporary: list[Paper]) -> None:
    assert (len(past), len(contemporary)) == (80, 40)
    assert {paper.year for paper in past} == set(range(2016, BOUND))
    assert {paper.year for paper in contemporary} == {2021, 2022, 2023}


def test_twenty_four_scientists_write_in_both_periods(past: list[Paper], contemporary: list[Paper]) -> None:
    before = Counter(author for paper in past for author in paper.authors)
    after = Counter(author for paper in contemporary for author in paper.authors)
    assert len(before) == 24
    assert set(after) == set(before)
    assert min(before.values()) >= 4


def test_a_paper_has_one_to_five_authors_each_with_an_affiliation(papers: list[Paper]) -> None:
    for paper in papers:
        assert 1 <= len(set(paper.authors)) == len(paper.authors) <= 5, paper.id
        assert len(paper.affiliations) == len(paper.authors), paper.id


def test_a_scientist_changes_affiliation_only_between_the_periods(
    past: list[Paper], contemporary: list[Paper]
) -> None:
    places: dict[tuple[str, str], set[str]] = defaultdict(set)
    for period, group in (("past", past), ("contemporary", contemporary)):
        for paper in group:
            for author, place in zip(paper.authors, paper.affiliations, strict=True):
                places[period, author].add(place)
    assert all(len(found) == 1 for found in places.values())
    movers = [a for p, a in places if p == "past" and places[p, a] != places["contemporary", a]]
    assert len(movers) == 5


def test_abstracts_and_keywords_have_the_promised_size(papers: list[Paper]) -> None:
    for paper in papers:
        assert 60 <= len(paper.abstract.split()) <= 140, paper.id
        assert 3 <= len(set(paper.keywords)) == len(paper.keywords) <= 6, paper.id


def test_no_two_abstracts_are_near_duplicates(papers: list[Paper]) -> None:
    grams = {paper.id: five_grams(paper.abstract) for paper in papers}
    for one, other in combinations(grams, 2):
        shared = len(grams[one] & grams[other])
        assert shared / min(len(grams[one]), len(grams[other])) < 0.05, (one, other)


def test_coauthor_graph_is_connected_in_the_past_and_overall(papers: list[Paper], past: list[Paper]) -> None:
    everyone = {author for paper in papers for author in paper.authors}
    for group in (past, papers):
        assert reachable(next(iter(everyone)), group) == everyone
