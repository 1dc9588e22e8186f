"""Self-reviews, discarded ideas and the search ledger in the report."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from manyheads.core import Usage
from manyheads.core.events import AnyEvent, Judged, Retrieved, Said, Searched, Stage
from manyheads.systems.results import closing_lines

Write = Callable[..., Path]
Read = Callable[[Path], Any]
HITS = (
    {"id": "p1", "title": "Maps that fade", "year": 2012},
    {"id": "p2", "title": "Cheap indexes", "year": 2014},
)
SIMILARITIES = ((85, 20), (40, 20))


def compared(number: int) -> list[dict[str, Any]]:
    return [
        {"paper": n, "similarity": value, "reason": f"Reason {number}.{n}."}
        for n, value in enumerate(SIMILARITIES[number - 1], 1)
    ]


def reviewed(passed: bool = True, **more: Any) -> dict[str, Any]:
    """Two reviews as a result keeps them: too close first, well the second time unless told otherwise."""
    reviews = [
        {
            "round": 1, "number": n, "title": f"Title {n}", "closest": SIMILARITIES[n - 1][0], "too_close": n == 1 or not passed,
            "outcome": "revised" if n == 1 else "passed" if passed else None,
            "overlaps": [{**hit, **one} for hit, one in zip(HITS, compared(n), strict=True)],
        }
        for n in (1, 2)
    ]  # fmt: skip
    return {"passed": passed, "threshold": 70, "reviews": reviews, "discarded": [], **more}


def happened() -> list[AnyEvent]:
    """The same as events."""
    events: list[AnyEvent] = []
    for number, outcome in ((1, "revised"), (2, "passed")):
        data = {"overlaps": compared(number)}
        said = Said(
            stage="review", turn=number, speaker="Scientist17", task="self_review", text="", data=data,
            model="offline", usage=Usage(calls=1), part="leader",
        )  # fmt: skip
        events += [
            Stage(stage="review", title="Self-review", number=6, total=6),
            Retrieved(stage="review", turn=number, query="Title", hits=HITS),
            said,
            Judged(stage="review", turn=number, subject="self-review", outcome=outcome),
        ]
    return events


def searched(source: Any, outcome: Any, hits: int = 0, **more: Any) -> Searched:
    given: dict[str, Any] = {
        "query": "memory",
        "asked": "memory",
        "at": "2026-01-01T10:00:00+00:00",
        "seconds": 0.4,
        **more,
    }
    return Searched(source=source, operation="search", hits=hits, outcome=outcome, **given)


def test_self_reviews_are_told_paper_by_paper(
    run: Write, read: Read, told: dict[str, Any], tale: list[AnyEvent]
) -> None:
    folder = run(events=[*tale, *happened()], outcome={**told, "self_review": reviewed()})
    words = read(folder).words
    for expected in (
        "At 70 or more it is too similar", "Review 1 too similar revised", "Review 2 not too similar passed",
        "Maps that fade 2012 85", "Reason 1.1.", "Maps that fade 2012 40", "Reason 2.2.",
    ):  # fmt: skip
        assert expected in words, expected
    assert "stands although" not in words


def test_an_abstract_that_stands_too_close_is_marked(run: Write, read: Read, told: dict[str, Any]) -> None:
    words = read(run(outcome={**told, "self_review": reviewed(passed=False)})).words
    assert "The abstract is too similar to published work." in words
    assert "Review 2 too similar kept, as no further idea was allowed" in words
    assert words.index("The abstract did not pass its self-review.") < words.index("Introduction")


@pytest.mark.parametrize(
    ("passed", "finished", "notice"), [(None, True, True), (None, False, False), (True, True, False)]
)
def test_an_abstract_that_was_held_against_nothing_is_marked(
    run: Write,
    read: Read,
    told: dict[str, Any],
    tale: list[AnyEvent],
    passed: bool | None,
    finished: bool,
    notice: bool,
) -> None:
    outcome = {**told, "self_review": {**reviewed(), "passed": passed}}
    words = read(run(events=[*tale, *happened()], outcome=outcome, finished=finished)).words
    assert ("The abstract was not reviewed." in words) == notice
    assert "did not pass" not in words


def test_a_discarded_idea_is_shown_with_its_abstract(run: Write, read: Read, told: dict[str, Any]) -> None:
    gone = {
        "round": 1,
        "idea": told["ideas"][1],
        "abstract": {**told["abstract"], "title": "The abstract that went"},
    }
    folder = run(outcome={**told, "self_review": reviewed(discarded=[gone])})
    page = read(folder)
    assert "Discarded in round 1" in page.words
    assert "The abstract that went" in page.words
    assert page.words.count("discarded") >= 2
    assert [dict(each).get("class") for tag, each in page.tags if tag == "g"].count("idea out") == 2
    assert "#idea-2" in page.values("href")


def test_the_ledger_says_what_was_asked_of_whom_and_what_came(run: Write, read: Read) -> None:
    folder = run()
    entries = (
        searched(
            "semantic_scholar", "empty", asked="long-lived robot memory", query="long-lived robot memory"
        ),
        searched("semantic_scholar", "found", 7, asked="robot memory", query="long-lived robot memory"),
        searched("openalex", "found", 2, query="forgetting", asked="forgetting", cached=True),
    )
    lines = [
        json.dumps(entry.model_dump(mode="json", exclude={"kind", "stage", "turn"})) for entry in entries
    ]
    (folder / "searches.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = read(folder).words
    for expected in (
        "3 look-ups in the literature, for 2 questions", "long-lived robot memory search, 2 look-ups, 7 hits",
        "Semantic Scholar robot memory 7 found 0.4 s 2026-01-01 10:00:00", "found, out of the cache",
    ):  # fmt: skip
        assert expected in words, expected
    assert "Degraded" not in words


@pytest.mark.parametrize("kept", [True, False])
def test_a_source_that_failed_is_seen_at_once(
    run: Write, read: Read, tale: list[AnyEvent], kept: bool
) -> None:
    entries = [searched("openalex", "failed", reason="status 503"), searched("local", "found", 4)]
    folder = run(events=[*tale, *entries])
    if kept:
        lines = [entry.model_dump_json(exclude={"kind", "stage", "turn"}) for entry in entries]
        (folder / "searches.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = read(folder).words
    assert (
        "Degraded: not every literature source could be asked. Papers that only OpenAlex knows are missing"
        in words
    )
    assert "failed status 503" in words


def test_the_last_lines_tell_of_both(run: Write, told: dict[str, Any]) -> None:
    plain = closing_lines(run())
    assert "Self-review" not in plain
    assert "Degraded" not in plain
    lines = closing_lines(run(outcome={**told, "self_review": reviewed(), "degraded": ["openalex"]}))
    assert "Review    passed: similarity to published papers at most 40 of 100, after 1 revision" in lines
    assert "Degraded  openalex failed at times" in lines
    failed = closing_lines(run(outcome={**told, "self_review": reviewed(passed=False)}))
    assert (
        "Review    not passed: similarity to published papers up to 40 of 100, the limit is 70, after 1 revision"
        in failed
    )
