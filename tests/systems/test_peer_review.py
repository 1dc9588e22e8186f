"""Peer review: who is asked, what a mark does, and what the team is told."""

from pathlib import Path
from typing import Any

import pytest

from manyheads.core.events import Judged, Stage
from manyheads.engine.estimate import estimate
from manyheads.engine.session import Session
from support.direct import Play, Played, config_for, make_host
from support.llm import LLM
from support.person import Scripted
from support.requests import Request

REVIEW, RESPOND = "A review of another team's abstract", "The reviewers ask for a revision"
ON = ("peer_review.enabled=true", "topic=T", "ideas.references=0", "novelty.enabled=false")


class Marks:
    """Gives each round its marks, in the order of the reviewers' names; None for an answer in prose."""

    def __init__(self, *rounds: tuple[int | None, ...]) -> None:
        self.rounds, self.seen = rounds, dict[str, list[str]]()

    def place(self, request: Request) -> tuple[int, int] | None:
        if not request.asking.startswith(f"# {REVIEW}"):
            return None
        heard = self.seen.setdefault(request.asking, [])
        if request.system not in heard:
            heard.append(request.system)
        return [*self.seen].index(request.asking), heard.index(request.system)

    def mark(self, request: Request) -> int | None:
        place = self.place(request)
        return place and self.rounds[place[0]][place[1]]

    def prose(self, request: Request) -> str | None:
        place = self.place(request)
        return "No mark from me." if place and self.rounds[place[0]][place[1]] is None else None


@pytest.fixture
def marked(run: Play, llm: LLM) -> Play:
    async def runner(*rounds: tuple[int | None, ...], sets: tuple[str, ...] = ()) -> Played:
        marks = Marks(*rounds)
        llm.reply = marks.prose
        return await run(*ON, *sets, mark=marks.mark)

    return runner


def reviews(played: Played) -> dict[str, Any]:
    return played.result["peer_review"]


def outcomes(played: Played) -> list[str]:
    return [event.outcome for event in played.of(Judged) if event.subject == "peer review"]


@pytest.mark.parametrize(("marks", "accepted"), [((5, 7), True), ((5, 6), False), ((10, 1), False)])
async def test_a_mean_mark_of_six_is_accepted(marked: Play, marks: tuple[int, int], accepted: bool):
    played = await marked(marks, sets=("peer_review.revisions=0",))
    assert (reviews(played)["accepted"], outcomes(played)) == (
        accepted, ["accepted" if accepted else "rejected"]
    )  # fmt: skip
    [held] = reviews(played)["rounds"]
    assert [each["mark"] for each in held["reviews"]] == [*marks]
    assert held["mean"] == sum(marks) / 2
    assert played.asked(RESPOND) == []


async def test_reviewers_are_outside_scientists_who_see_the_abstract_alone(marked: Play):
    played = await marked((8,) * 6, sets=("peer_review.reviewers=6", "team.size=3"))
    [held] = reviews(played)["rounds"]
    names = [each["reviewer"] for each in held["reviews"]]
    team = {member["name"] for member in played.result["team"]}
    assert len(set(names)) == 6
    assert not team & {*names}
    requests, final = played.asked(REVIEW), played.result["abstract"]
    assert sorted(names) == sorted(
        request.system.split(",")[0].removeprefix("You are ") for request in requests
    )
    assert len({request.asking for request in requests}) == 1
    assert all(final[key] in requests[0].asking for key in ("title", "methods", "conclusion"))
    assert not any(name in requests[0].asking for name in team)


async def test_below_the_threshold_the_team_revises_with_the_reviews_in_the_prompt(marked: Play):
    played = await marked((3, 8), (4, 4), (9, 9), sets=("peer_review.revisions=3", "team.size=2"))
    assert outcomes(played) == ["revised", "revised", "accepted"]
    assert reviews(played)["accepted"]
    first, second, last = reviews(played)["rounds"]
    assert [each["reviewer"] for each in first["reviews"]] == [each["reviewer"] for each in last["reviews"]]
    stages = [event.stage for event in played.of(Stage)]
    assert stages[stages.index("abstract") :] == ["abstract", "peer_review"] * 3
    drafts = played.result["drafts"]
    assert [draft["turn"] for draft in drafts] == [1, 1, 2, 2, 3, 3]
    for held, request, draft in zip(
        (first, second), played.asked(RESPOND), (drafts[1], drafts[3]), strict=True
    ):
        assert all(
            each[key] in request.asking for each in held["reviews"] for key in ("strengths", "weaknesses")
        )
        assert all(f"mark {each['mark']} of 10" in request.asking for each in held["reviews"])
        assert draft["methods"] in request.asking
    marked_versions = [request.asking for request in played.asked(REVIEW)[::2]]
    assert [draft["methods"] in each for draft, each in zip(drafts[1::2], marked_versions, strict=True)] == [
        True
    ] * 3
    assert played.result["turns"]["abstract"] == 3
    assert played.result["inference_cost"] == 2 * (1 + 1)


async def test_the_last_revision_may_be_rejected(marked: Play):
    played = await marked((3, 3), (5, 5))
    assert outcomes(played) == ["revised", "rejected"]
    assert reviews(played)["accepted"] is False


async def test_a_missing_mark_is_no_mark(marked: Play):
    played = await marked((6, None))
    [held] = reviews(played)["rounds"]
    assert (held["mean"], len(held["reviews"]), outcomes(played)) == (6, 1, ["accepted"])
    [warning] = played.result["warnings"]
    assert ": mark: " in warning


async def test_without_any_mark_the_abstract_is_neither_accepted_nor_rejected(marked: Play):
    played = await marked((None, None))
    assert reviews(played)["accepted"] is None
    assert (outcomes(played), played.asked(RESPOND)) == ([], [])
    assert any("nobody marked" in warning for warning in played.result["warnings"])


async def test_without_enough_scientists_those_there_are_review(marked: Play):
    played = await marked((7,) * 40, sets=("peer_review.reviewers=40",))
    [held] = reviews(played)["rounds"]
    assert 0 < len(held["reviews"]) < 40
    assert any("of 40 reviewers" in warning for warning in played.result["warnings"])


async def test_off_it_leaves_no_trace(run: Play):
    played = await run("topic=T", "novelty.enabled=false")
    assert "peer_review" not in played.result
    assert played.asked(REVIEW) == []


async def test_what_a_person_said_to_the_team_waits_for_the_revision(llm: LLM, tmp_path: Path):
    marks, person = Marks((3, 3), (9, 9)), Scripted(steer=[{"action": "accept", "remark": "Think of owls."}])
    llm.answers["mark"] = marks.mark
    session = Session(config_for(llm, *ON, "steer=[abstract]"), tmp_path / "run", person=person)
    events = [event async for event in session.events(make_host)]
    played = Played(tmp_path / "run", events, list(llm.requests))
    assert len(played.asked(REVIEW)) == 4
    assert not any("owls" in request.asking for request in played.asked(REVIEW))
    assert all("owls" in request.asking for request in played.asked(RESPOND))


@pytest.mark.slow
async def test_the_estimate_counts_the_reviews(llm: LLM):
    known = await estimate([config_for(llm, *ON, "peer_review.reviewers=3", "peer_review.revisions=0")])
    assert known.spent["Peer review"].calls == 3
