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


def test_every_line_holds_every_field_and_ids_run_in_order(papers: list[Paper]) -> None:
    for number, line in enumerate(SAMPLE.read_text(encoding="utf-8").splitlines(), 1):
        record = json.loads(line)
        assert set(record) == FIELDS
        assert all(record[field] for field in FIELDS), record["id"]
        assert record["id"] == f"sample:{number:03d}"
    assert len({paper.title for paper in papers}) == len(papers)
    for paper in papers:
        assert 60 <= len(paper.abstract.split()) <= 140, paper.id
        assert 3 <= len(set(paper.keywords)) == len(paper.keywords) <= 6, paper.id
        assert 1 <= len(set(paper.authors)) == len(paper.authors) == len(paper.affiliations) <= 5, paper.id


def test_twenty_four_scientists_write_in_every_year_of_both_periods(papers: list[Paper]) -> None:
    past = [paper for paper in papers if (paper.year or 9999) < BOUND]
    contemporary = [paper for paper in papers if (paper.year or 0) >= BOUND]
    assert (len(past), len(contemporary)) == (80, 40)
    assert {paper.year for paper in past} == set(range(2016, BOUND))
    assert {paper.year for paper in contemporary} == {2021, 2022, 2023}
    before = Counter(author for paper in past for author in paper.authors)
    assert len(before) == 24
    assert {author for paper in contemporary for author in paper.authors} == set(before)
    assert min(before.values()) >= 4
    for group in (past, papers):
        assert reachable(next(iter(before)), group) == set(before), "all are joined by chains of papers"


def test_five_scientists_change_their_affiliation_between_the_periods(papers: list[Paper]) -> None:
    places: dict[tuple[str, bool], set[str]] = defaultdict(set)
    for paper in papers:
        for author, place in zip(paper.authors, paper.affiliations, strict=True):
            places[author, (paper.year or 0) < BOUND].add(place)
    assert all(len(found) == 1 for found in places.values())
    assert (
        len([author for author, past in places if past and places[author, True] != places[author, False]])
        == 5
    )


def test_no_two_abstracts_are_near_duplicates(papers: list[Paper]) -> None:
    grams = {paper.id: five_grams(paper.abstract) for paper in papers}
    for one, other in combinations(grams, 2):
        shared = len(grams[one] & grams[other])
        assert shared / min(len(grams[one]), len(grams[other])) < 0.05, (one, other)
