"""What a run came to, in words."""

from pathlib import Path
from typing import Any

from manyheads.systems.results import closing_lines
from support.results import abstract, idea, write

TEAM: dict[str, Any] = {
    "system": "virsci",
    "topic": {"topic": "Owls", "fixed": True},
    "idea": idea("Owls that plan", votes=1),
    "abstract": abstract("Planning with owls", "We plan. " * 20),
}
MEAN = {"mean": 6.0, "spread": 2.0, "low": 1.5, "high": 10.0, "n": 2, "level": 0.95}


def review(reviewer: str, overall: int, *, ethical_concerns: bool = False) -> dict[str, Any]:
    points = {name: ["Owls."] for name in ("strengths", "weaknesses", "questions")}
    told = {"summary": "Owls.", "ethical_concerns": ethical_concerns, "overall": overall}
    return {"reviewer": reviewer, "model": "test", **points, **told}


REVIEW: dict[str, Any] = {
    "system": "conference-review",
    "title": "Owls",
    "subject": {"source": "/tmp/owls.md", "sha256": "", "words": 4},
    "reviews": [
        review("Reviewer1", 4, ethical_concerns=True),
        review("Reviewer10", 8),
    ],
    "means": {"overall": MEAN},
}


def closing(folder: Path, found: dict[str, Any]) -> list[str]:
    return closing_lines(write(folder, found)).splitlines()


def test_the_last_lines_are_laid_out(tmp_path: Path) -> None:
    assert closing(tmp_path, TEAM)[:5] == [
        "", "Topic     Owls", "Idea      Owls that plan", "Title     Planning with owls", ""
    ]  # fmt: skip
    assert max(map(len, closing(tmp_path, TEAM)[5:7])) <= 100
    lines = closing(tmp_path, REVIEW)
    assert lines[1:3] == [
        "Title      Owls",
        "Reviewer1  overall 4, asks for an ethics review",
    ]
    assert lines[3:7] == [
        "Reviewer10 overall 8",
        "Overall    6.0 of 10, the mean of 2 reviews, 95% interval 1.5 to 10.0",
        "",
        "2 calls, 42 tokens; 0 warnings",
    ]
