"""Self-review: what the leader is asked, what comes of it, and what the team is told (VirSci 2025, App. B.1)."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from manyheads.core.events import Judged, Retrieved, Stage
from support.direct import Play, Played
from support.llm import LLM
from support.requests import Request

REVIEW, REWORK = "Is the abstract too close to published work?", "The abstract is too close to published work"
ON = "self_review.enabled=true"


def overlaps(*similarities: Sequence[int] | int) -> Callable[[Request], list[dict[str, Any]] | None]:
    """Gives each review its similarities, the last ones to all that follow; a number stands for five alike."""
    seen: dict[int, int] = {}

    def answer(request: Request) -> list[dict[str, Any]] | None:
        if "overlaps" not in (request.schema or {}).get("properties", {}):
            return None
        number = seen.setdefault(id(request), len(seen))
        given = similarities[min(number, len(similarities) - 1)]
        values = [given] * request.asking.count("<paper>") if isinstance(given, int) else given
        return [
            {"paper": n, "similarity": value, "reason": f"Review {number + 1} of paper {n}."}
            for n, value in enumerate(values, start=1)
        ]

    return answer


@pytest.fixture
def run(run: Play) -> Play:
    async def runner(*sets: str, alike: Any = 20, **answers: object) -> Played:
        several = alike if isinstance(alike, tuple) else (alike,)
        given = alike if callable(alike) else overlaps(*several)
        return await run(ON, *sets, overlaps=given, **answers)

    return runner


def outcomes(played: Played) -> list[str]:
    return [event.outcome for event in played.of(Judged) if event.subject == "self-review"]


async def test_the_review_holds_the_abstract_and_the_papers_closest_to_it(run: Play):
    """Q_review = ⟨Q_check, R_abstract, B_past(R_abstract)⟩."""
    played = await run("topic=T", "self_review.references=3")
    [request] = played.asked(REVIEW)
    [looked_up] = [event for event in played.of(Retrieved) if event.stage == "review"]
    final = played.result["abstract"]
    assert final["title"] in looked_up.query
    assert final["methods"] in looked_up.query
    assert all(final[key] in request.asking for key in ("title", "introduction", "methods", "conclusion"))
    assert request.asking.count("<paper>") == len(looked_up.hits) == 3
    assert all(hit["title"] in request.asking for hit in looked_up.hits)
    assert [message.role for message in request.messages] == ["system", "user"]
    assert played.result["idea"]["idea"] not in request.text
    leader = played.result["team"][0]["name"]
    assert request.system.startswith(f"You are {leader}")
    for anchor in ("0: nothing", "20: the same field", "40: the same problem", "60: the same method on other data",
                   "80: the same contribution", "100: the same"):  # fmt: skip
        assert anchor in request.asking


async def test_too_close_the_first_time_is_revised_and_reviewed_again(run: Play):
    """Q_1,0 = ⟨Q_abstract, Q_judgement, R_review, B_past(R_abstract), R_abstract⟩, then Eq. 4."""
    played = await run("turns=2", alike=([10, 70, 20, 30, 40], 20))
    assert outcomes(played) == ["revised", "passed"]
    review = played.result["self_review"]
    assert [(each["closest"], each["too_close"]) for each in review["reviews"]] == [(70, True), (20, False)]
    assert review["passed"]
    drafts, [request] = played.result["drafts"], played.asked(REWORK)
    assert [draft["turn"] for draft in drafts] == [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3
    assert all(drafts[5][key] in request.asking for key in ("title", "methods", "conclusion"))
    chosen = played.result["idea"]
    assert f"<idea>\n{chosen['title']}\n\n{chosen['idea']}\n</idea>" in request.asking
    assert played.result["topic"]["topic"] in request.asking
    for overlap in review["reviews"][0]["overlaps"]:
        [paper] = played.run.cited([overlap["evidence"]])
        assert paper.title in request.asking
        assert overlap["reason"] in request.asking
        assert f"similarity {overlap['similarity']} of 100" in request.asking
    assert request.asking.count(": too close") == 1
    assert "from 1 to 10, on each criterion" in request.asking
    assert "Stay with the team's idea" in request.asking
    assert [message.role for message in request.messages] == ["system", "user"]
    leader = played.result["team"][0]["name"]
    assert drafts[6]["by"] == leader
    assert drafts[6]["evaluation"]
    later = played.asked("Improving the abstract")[5:]
    assert len(later) == 2 + 3
    for place, asked in enumerate(later, start=6):
        assert drafts[place]["methods"] in asked.asking
        assert not any(overlap["reason"] in asked.text for overlap in review["reviews"][0]["overlaps"])
    second = played.asked(REVIEW)[1].asking
    assert drafts[-1]["methods"] in second
    assert drafts[5]["methods"] not in second


async def test_too_close_twice_is_discarded_and_the_team_finds_another_idea(run: Play):
    played = await run("turns=1", alike=(90, 80, 20))
    assert outcomes(played) == ["revised", "discarded with its idea", "passed"]
    stages = [event.stage for event in played.of(Stage)]
    assert stages == [
        "selection", "topic", "idea", "novelty", "abstract", "review", "abstract", "review",
        "idea", "novelty", "abstract", "review",
    ]  # fmt: skip
    review = played.result["self_review"]
    [gone] = review["discarded"]
    assert [each["round"] for each in review["reviews"]] == [1, 1, 2]
    assert [idea["number"] for idea in played.result["ideas"]] == [1, 2, 3, 4, 5, 6]
    assert [idea["round"] for idea in played.result["ideas"]] == [1, 1, 1, 2, 2, 2]
    assert gone["idea"]["number"] <= 3 < played.result["idea"]["number"]
    assert gone["abstract"]["title"] == played.result["drafts"][5]["title"]
    assert {vote["round"]: vote["turn"] for vote in played.result["votes"]} == {1: 1, 2: 2}
    assert [draft["turn"] for draft in played.result["drafts"]] == [1] * 3 + [2] * 3 + [3] * 3
    assert played.result["abstract"]["title"] == played.result["drafts"][-1]["title"]
    votes = sum(vote["idea"] == played.result["idea"]["title"] for vote in played.result["votes"])
    assert played.result["idea"]["votes"] == votes > 0


async def test_the_team_is_told_what_was_discarded_and_why(run: Play):
    played = await run("topic=T", alike=([10, 20, 30, 75, 40], [10, 20, 30, 85, 40], 0))
    [gone] = played.result["self_review"]["discarded"]
    overlap = played.result["self_review"]["reviews"][1]["overlaps"][3]
    first, again = played.asked("Finding an idea")[:3], played.asked("Finding an idea")[3:]
    assert len(again) == 3
    for request in again:
        told = request.asking.split("## Given up")[1].split("## ")[0]
        assert gone["idea"]["idea"] in told
        assert "85 of 100" in told
        assert played.run.cited([overlap["evidence"]])[0].title in told
        assert overlap["reason"] in told
        assert told.count("<paper>") == 1
    assert not any("Given up" in request.asking for request in first)
    ideas = [idea["idea"] for idea in played.result["ideas"][:3]]
    for request in again:
        assert sum(idea in request.text for idea in ideas) == 1, "only the one that was given up"
    assert "<summary>" not in again[0].asking


@pytest.mark.parametrize(
    ("discards", "reviews"),
    [pytest.param(0, 2, marks=pytest.mark.slow), (1, 4), pytest.param(2, 6, marks=pytest.mark.slow)],
)
async def test_discards_are_bounded_and_then_the_abstract_stands(run: Play, discards: int, reviews: int):
    played = await run("topic=T", f"self_review.max_discards={discards}", alike=100)
    review = played.result["self_review"]
    assert not review["passed"]
    assert (len(review["discarded"]), len(review["reviews"])) == (discards, reviews)
    [warning] = played.result["warnings"]
    assert warning.startswith("the abstract is kept although it is too close to published work (100 of 100")
    assert f"max_discards is {discards}" in warning
    assert len(played.asked("Finding an idea")) == 3 * (discards + 1)


@pytest.mark.parametrize(
    ("threshold", "reviews"),
    [
        pytest.param(0, 2, marks=pytest.mark.slow),
        (50, 2),
        pytest.param(51, 1, marks=pytest.mark.slow),
        pytest.param(100, 1, marks=pytest.mark.slow),
    ],
)
async def test_the_threshold_is_the_configs(run: Play, threshold: int, reviews: int):
    sets = ("topic=T", f"self_review.threshold={threshold}", "self_review.max_discards=0")
    played = await run(*sets, alike=50)
    assert len(played.asked(REVIEW)) == reviews


@pytest.mark.parametrize(
    "numbers",
    [(1, 1, 2), *(pytest.param(each, marks=pytest.mark.slow) for each in ((1, 2), (1, 2, 4), (1, 2, 3, 4)))],
)
async def test_a_review_that_misses_a_paper_is_asked_for_again(run: Play, numbers: tuple[int, ...]):
    good = overlaps(5)

    def answer(request: Request) -> list[dict[str, Any]] | None:
        if "Answer the same question again" in request.text or good(request) is None:
            return good(request)
        return [{"paper": n, "similarity": 5, "reason": "Little."} for n in numbers]

    played = await run("topic=T", "self_review.references=3", alike=answer)
    [review] = played.result["self_review"]["reviews"]
    assert len(review["overlaps"]) == 3
    assert len([request for request in played.requests if request.title == "SelfReview"]) == 2
    assert "asked again" in played.result["warnings"][0]


@pytest.mark.slow
async def test_papers_may_be_given_in_any_order(run: Play):
    def answer(request: Request) -> list[dict[str, Any]] | None:
        if "overlaps" not in (request.schema or {}).get("properties", {}):
            return None
        return [{"paper": n, "similarity": 10 * n, "reason": f"Paper {n}."} for n in (3, 1, 2)]

    played = await run("topic=T", "self_review.references=3", alike=answer)
    [review] = played.result["self_review"]["reviews"]
    assert [each["similarity"] for each in review["overlaps"]] == [10, 20, 30]
    listed = played.asked(REVIEW)[0].asking.split("[2]")[1]
    assert played.run.cited([review["overlaps"][1]["evidence"]])[0].title in listed.split("[3]")[0]


@pytest.mark.slow
async def test_inference_cost_leaves_out_what_self_review_causes(run: Play, llm: LLM, tmp_path: Path):
    played = await run("turns=2", "turns.topic=1", "team.size=2", alike=(90, 90, 90, 20))
    assert played.result["turns"] == {"topic": 1, "idea": 4, "novelty": 4, "abstract": 8}
    assert played.result["inference_cost"] == 2 * (1 + 2 + 2 + 2)


@pytest.mark.slow
async def test_adaptive_turns_start_anew_in_each_round(run: Play):
    sets = ("turns.default=2", "turns.adaptive=true", "topic=T", "team.size=2")
    played = await run(*sets, alike=(90, 90, 20), another_turn=True)
    assert played.result["turns"] == {"topic": 0, "idea": 4, "novelty": 4, "abstract": 6}
    asked = [request.asking for request in played.asked("Another turn?")]
    assert len(asked) == 2 + 2 + 3
    assert all("turn 1 of at most 2" in asking for asking in asked)
