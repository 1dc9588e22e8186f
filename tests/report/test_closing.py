"""What a run came to, in words."""

import json
from pathlib import Path
from typing import Any

import pytest

from manyheads.report.closing import ABSTRACT, closing_lines, essence

SPENT = {
    "usage": {"calls": 2, "input_tokens": 30, "output_tokens": 12, "cost": None},
    "warnings": [],
    "written_by_language_model": True,
}
TEAM: dict[str, Any] = {
    "system": "virsci",
    "topic": {"topic": "Owls"},
    "idea": {"title": "Owls that plan"},
    "abstract": {"title": "Planning with owls", "text": "We plan. " * 20},
}
MEAN = {"mean": 6.0, "spread": 2.0, "low": 1.5, "high": 10.0, "n": 2, "level": 0.95}
REVIEW: dict[str, Any] = {
    "system": "conference-review",
    "title": "Owls",
    "subject": {"source": "/tmp/owls.md", "sha256": "", "words": 4},
    "reviews": [
        {"reviewer": "Reviewer1", "summary": "Owls.", "ethical_concerns": True, "overall": 4},
        {"reviewer": "Reviewer10", "summary": "Owls.", "ethical_concerns": False, "overall": 8},
    ],
    "means": {"overall": MEAN},
}


def closing(folder: Path, found: dict[str, Any]) -> list[str]:
    (folder / "result.json").write_text(json.dumps(found | SPENT), encoding="utf-8")
    return closing_lines(folder).splitlines()


def test_a_teams_is_its_topic_idea_title_and_abstract() -> None:
    told = essence(TEAM)
    assert [name for name, _ in told] == ["Topic", "Idea", "Title", ABSTRACT]
    assert told[1][1] == "Owls that plan"


def test_an_idea_with_the_title_of_its_abstract_is_named_once() -> None:
    told = essence(TEAM | {"idea": {"title": "Planning with owls"}})
    assert [name for name, _ in told] == ["Topic", "Title", ABSTRACT]


def test_a_reviews_is_its_scores_and_their_means() -> None:
    assert essence(REVIEW) == [
        ("Title", "Owls"),
        ("Reviewer1", "overall 4, asks for an ethics review"),
        ("Reviewer10", "overall 8"),
        ("Overall", "6.00 of 10, the mean of 2 reviews, 95% interval 1.50 to 10.00"),
    ]


@pytest.mark.parametrize("found", [{}, {"system": "theirs", "abstract": None, "figures": 3}])
def test_what_another_system_came_to_is_left_to_it(found: dict[str, Any]) -> None:
    assert essence(found) == []


def test_the_last_lines_are_laid_out(tmp_path: Path) -> None:
    assert closing(tmp_path, TEAM)[:5] == [
        "", "Topic     Owls", "Idea      Owls that plan", "Title     Planning with owls", ""
    ]  # fmt: skip
    assert max(map(len, closing(tmp_path, TEAM)[5:7])) <= 100
    lines = closing(tmp_path, REVIEW)
    assert lines[1:4] == [
        "Text       /tmp/owls.md",
        "Title      Owls",
        "Reviewer1  overall 4, asks for an ethics review",
    ]
    assert lines[4:8] == [
        "Reviewer10 overall 8",
        "Overall    6.00 of 10, the mean of 2 reviews, 95% interval 1.50 to 10.00",
        "",
        "2 calls, 42 tokens; 0 warnings",
    ]
    assert "2 calls, 42 tokens; 0 warnings" in closing(tmp_path, {"system": "theirs"})
