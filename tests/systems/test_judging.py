"""Judges of ideas, by replies whose right answer is known: blind, in balanced orders, and no score without an answer."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import ConfigError, ExitCode, ModelError
from manyheads.judges.comparison import first, won
from manyheads.judges.shared import Order
from manyheads.systems import systems
from support.command import manyheads_command
from support.direct import Play, Played
from support.faults import Fault
from support.llm import LLM
from support.manuscripts import SECTIONS, committee, tei
from support.requests import Request

IDEAS = ("We plan with owls, who hear in the dark.", "We plan with bats, who map by voice.")
RIVALS = (
    "We plan with moles, who dig in rows.",
    "We plan with eels, who sense by current.",
    "We plan with ants, who vote.",
)
MERIT = {"owls": 1, "bats": 2, "moles": 3, "eels": 3, "ants": 4}
"""The lower, the better; moles and eels are equal."""
CRITERIA = ("clarity", "novelty", "feasibility", "generalizability", "overall")


def animals(text: str) -> list[str]:
    return [each for each in re.findall(r"We plan with (\w+)", text) if each in MERIT]


def by_merit(request: Request) -> list[dict[str, int]]:
    shown = animals(request.asking)
    order = sorted({MERIT[each] for each in shown})
    ranks = [order.index(MERIT[each]) + 1 for each in shown]
    return [{"idea": place, **dict.fromkeys(CRITERIA, rank)} for place, rank in enumerate(ranks, 1)]


def by_place(request: Request) -> list[dict[str, int]]:
    """A judge who holds what is shown first best."""
    return [{"idea": n, **dict.fromkeys(CRITERIA, n)} for n in range(1, len(animals(request.asking)) + 1)]


def listed(values: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{each}"' for each in values) + "]"


@pytest.fixture
def judged(run: Play) -> Play:
    async def go(system: str, *sets: str, ideas: tuple[str, ...] = IDEAS, **answers: object) -> Played:
        given = {"places": by_merit, **answers}
        return await run(f"system={system}", f"inputs.ideas={listed(ideas)}", *sets, **given)

    return go


async def versus(judged: Play, *sets: str, **more: Any) -> Played:
    return await judged("idea-comparison", f"inputs.rivals={listed(RIVALS)}", *sets, **more)


# Comparison.


async def test_two_at_a_time_each_stands_in_each_place_once(judged: Play) -> None:
    played = await versus(judged)
    pairs = Counter(tuple(animals(request.asking)) for request in played.requests)
    assert len(pairs) == 2 * 2 * 3, "two ideas, three rivals, two orders"
    assert set(pairs.values()) == {1}
    assert all((other, one) in pairs for one, other in pairs)
    assert not any({"owls", "bats"} == set(pair) for pair in pairs), "ideas of one contender are not compared"
    assert all("rival" not in request.text for request in played.requests), (
        "the judge is not told whose they are"
    )
    result = played.result
    assert {name: each["mean"] for name, each in result["wins"].items()} == dict.fromkeys(CRITERIA, 1.0)
    by_name = {each["contender"]: each for each in result["standings"]}
    assert by_name["the ideas"]["rank"]["overall"]["mean"] == 1
    assert by_name["the rivals"]["wins"]["overall"]["mean"] == 0
    assert (result["failed"], result["ties"], result["first_place"]) == (0, 0, 0.5)


async def test_a_judge_who_goes_by_places_prefers_nobody(judged: Play) -> None:
    """Balanced orders: what a place gives is given to all alike, and it shows."""
    played = await versus(judged, places=by_place)
    assert played.result["wins"]["overall"]["mean"] == 0.5
    assert played.result["first_place"] == 1


async def test_ties_count_half(judged: Play) -> None:
    def even(request: Request) -> list[dict[str, int]]:
        return [{"idea": n, **dict.fromkeys(CRITERIA, 1)} for n in (1, 2)]

    played = await versus(judged, places=even)
    assert played.result["wins"]["novelty"]["mean"] == 0.5
    assert played.result["ties"] == 1
    assert {each["first"]["overall"]["mean"] for each in played.result["standings"]} == {0.5}


async def test_five_at_a_time(judged: Play) -> None:
    played = await versus(judged, "idea-comparison.ways=5", "idea-comparison.bouts=1")
    places = [animals(request.asking) for request in played.requests]
    assert len(places) == 5
    assert all(len({order[place] for order in places}) == 5 for place in range(5)), "each in each place once"
    [bout] = played.result["bouts"]
    names = {each["number"]: animals(each["text"])[0] for each in played.result["ideas"]}
    ranks = {names[int(number)]: rank for number, rank in bout["orders"][0]["ranks"]["overall"].items()}
    assert ranks == {"owls": 1, "bats": 2, "moles": 3.5, "eels": 3.5, "ants": 5}
    assert played.result["wins"]["overall"]["mean"] == 1, "against the rivals alone, not against each other"


async def test_an_order_that_fails_is_counted_and_not_guessed(judged: Play) -> None:
    def moles_first_fails(request: Request) -> list[dict[str, int]]:
        shown = animals(request.asking)
        places = by_merit(request)
        return [{**each, "idea": 1} for each in places] if shown[0] == "moles" else places

    played = await versus(judged, places=moles_first_fails)
    failed = [o for bout in played.result["bouts"] for o in bout["orders"] if o["failed"]]
    assert len(failed) == played.result["failed"] == 2
    assert all(not order["ranks"] for order in failed)
    assert any("2 of 12 orders" in one for one in played.result["warnings"])
    assert played.result["wins"]["overall"]["mean"] == 1


async def test_where_all_orders_fail_there_is_no_result(judged: Play) -> None:
    def one_alone(request: Request) -> list[dict[str, int]]:
        return [{"idea": 1, **dict.fromkeys(CRITERIA, 1)}] * 2

    with pytest.raises(ModelError, match="none of the 12 orders has a valid comparison"):
        await versus(judged, places=one_alone)


async def test_without_rivals_runs_are_held_against_each_other(judged: Play) -> None:
    played = await judged("idea-comparison")
    assert [each["contender"] for each in played.result["standings"]] == ["text 1", "text 2"]
    report = systems()["idea-comparison"].write_report(played.folder).read_text(encoding="utf-8")
    assert "text 1" in report
    assert played.result["wins"] is None, "nobody's share is the ideas' where there are no rivals"
    with pytest.raises(ConfigError, match="nothing to compare"):
        await judged("idea-comparison", ideas=IDEAS[:1])


def test_of_more_than_two_the_share_of_those_ranked_below_is_won() -> None:
    order = Order(shown=[1, 2, 3], ranks={"overall": {"1": 1.5, "2": 1.5, "3": 3}})
    assert (won(order, "overall", 1, [2, 3]), won(order, "overall", 3, [1, 2])) == (0.75, 0)
    assert (first(order, "overall", 1), first(order, "overall", 3)) == (0.5, 0)


# Reviews compared.


def for_seals(request: Request) -> list[dict[str, int]]:
    """A judge of reviews who likes those that count seals."""
    shown = [each.strip() for each in request.asking.split("<review>")[1:]]
    return [
        {"review": place, **dict.fromkeys(REVIEW_CRITERIA, 1 if "seals" in text else 2)}
        for place, text in enumerate(shown, 1)
    ]


REVIEW_CRITERIA = ("technical", "constructiveness", "clarity", "overall")


async def test_reviews_of_a_paper_are_compared_blind_with_the_paper_at_hand(
    run: Play, llm: LLM, tmp_path: Path
) -> None:
    paper = tei(tmp_path / "paper.tei.xml")
    own = ("mamorx.maker=alone", "mamorx.exchanges=1", *committee(paper))
    point = {"sources": [{"where": "N3", "quote": ""}], "text": "It is bad."}
    told = {
        "summary": "The committee finds no seals.",
        "weaknesses": [point],
        "strengths": [],
        "questions": [],
    }
    reviewed = await run(*own, folder="reviewed", **told)
    assert "Not verified" in reviewed.result["review"]["text"]
    before = len(llm.requests)
    rival = "As an AI language model, I cannot count. The paper counts owls."
    sets = (f"inputs.reviews={listed((str(reviewed.folder),))}", f"inputs.rivals={listed((rival,))}")
    played = await run("system=review-comparison", *sets, f"inputs.paper={paper}", places=for_seals)
    asked = played.requests[before:]
    orders = [["seals" in part for part in each.asking.split("<review>")[1:]] for each in asked]
    assert sorted(orders) == [[False, True], [True, False]]
    for each in asked:
        assert all(text in each.asking for text in SECTIONS.values())
        assert "The reviewer finds no seals." in each.asking
        assert "The paper counts owls." in each.asking
        for hint in ("committee", "language model", "Not verified", "It is bad", "mamorx"):
            assert hint not in each.asking
    wins = {name: each["mean"] for name, each in played.result["wins"].items()}
    assert wins == dict.fromkeys(REVIEW_CRITERIA, 1.0)


# Novelty.

LOCAL = ("corpus=sample", "literature.cascade=[local]", "idea-novelty.rounds=3")


def scores(request: Request) -> int:
    """What the judge is sure of by the round; bats are known."""
    [number] = re.findall(r"Round (\d) of", request.asking)
    return {"1": 9, "2": 6, "3": 7 if "owls" in (request.fenced("idea") or "") else 2}[number]


async def test_the_score_is_that_of_the_last_round_and_shows_what_was_found(judged: Play) -> None:
    played = await judged("idea-novelty", *LOCAL, novelty=scores, query="tactile grasping")
    first_idea, second = played.result["ideas"]
    assert (first_idea["novelty"], second["novelty"]) == (7, 2)
    assert {score: n for score, n in played.result["histogram"].items() if n} == {"7": 1, "2": 1}
    assert len(played.result["histogram"]) == 11
    assert played.result["score"]["mean"] == 4.5
    assert [each["query"] for each in first_idea["rounds"]] == ["", "tactile grasping", "tactile grasping"]
    assert first_idea["rounds"][1]["papers"]
    later = [request for request in played.requests if "Round 2" in request.asking]
    assert all("Abstract: " in request.asking and "tactile grasping" in request.asking for request in later)
    assert all(
        "Nothing has been looked up" in request.asking
        for request in played.requests
        if "Round 1" in request.asking
    )
    looked = played.result["searches"]["searches"]
    assert {(one["source"], one["query"]) for one in looked} == {("local", "tactile grasping")}


@pytest.mark.slow
async def test_what_is_nowhere_found_is_assessed_by_an_answered_search(judged: Play) -> None:
    played = await judged("idea-novelty", *LOCAL, novelty=8, query="xylophone zeppelins quasar")
    assert played.result["assessed"] == 2
    assert played.result["ideas"][0]["rounds"][2]["papers"] == []


@pytest.mark.parametrize(
    "cascade", [pytest.param("[semantic_scholar]", marks=pytest.mark.slow), "[local, semantic_scholar]"]
)
async def test_a_source_that_is_down_makes_nothing_novel(judged: Play, cascade: str) -> None:
    """The second also where another source has answered: the silent one may know of the same idea."""
    played = await judged(
        "idea-novelty", "corpus=sample", f"literature.cascade={cascade}", "literature.retries=0",
        "literature.endpoints={semantic_scholar: 'http://127.0.0.1:9'}", novelty=10, query="xylophone zeppelins quasar",
    )  # fmt: skip
    result = played.result
    assert [each["novelty"] for each in result["ideas"]] == [None, None]
    assert all("quasar" in each["not_assessed"] for each in result["ideas"])
    assert (result["assessed"], result["not_assessed"], result["score"]) == (0, 2, None)
    assert not any(result["histogram"].values())
    assert sum("is not assessed" in one for one in result["warnings"]) == 2
    report = systems()["idea-novelty"].write_report(played.folder).read_text(encoding="utf-8")
    assert "2 ideas, without a score" in report
    assert "10 of 10" not in report.split("The judge’s reasons")[0]


async def test_an_idea_without_a_valid_answer_has_no_score(judged: Play, llm: LLM) -> None:
    llm.faults.append(
        Fault("prose", times=None, when=lambda request: "owls" in (request.fenced("idea") or ""))
    )
    played = await judged("idea-novelty", *LOCAL, novelty=5, query="tactile grasping")
    assert [each["novelty"] for each in played.result["ideas"]] == [None, 5]
    assert (played.result["score"]["mean"], played.result["not_assessed"]) == (5, 1)


# Match.


def alike(request: Request) -> int:
    return 4 if "owls" in (request.fenced("idea") or "") else 1


def last(request: Request) -> int:
    return len(re.findall(r"^Published idea \d+:", request.asking, re.MULTILINE))


async def test_the_closest_of_the_nearest_is_picked_and_scored(judged: Play) -> None:
    played = await judged("idea-match", "corpus=sample", choice=last, similarity=alike)
    result = played.result
    assert [each["score"] for each in result["ideas"]] == [4, 1]
    assert {score: n for score, n in result["histogram"].items() if n} == {"4": 1, "1": 1}
    assert [*result["histogram"]] == ["5", "4", "3", "2", "1", "0"]
    for idea, request in zip(
        result["ideas"], (r for r in played.requests if r.title == "Closest"), strict=True
    ):
        assert (len(idea["references"]), idea["closest"]) == (10, 10)
        assert not any(each["title"] in request.asking for each in idea["references"]), "texts, not titles"
        similarities = [each["similarity"] for each in idea["references"]]
        assert similarities != sorted(similarities, reverse=True), "shuffled"
    picked = {
        request.fenced("idea"): request.fenced("published")
        for request in played.requests
        if request.title == "IdeaLikeness"
    }
    shown = {request.fenced("idea"): request for request in played.requests if request.title == "Closest"}
    assert len(picked) == 2
    for idea, text in picked.items():
        assert text
        assert text in shown[idea].asking.split("Published idea 10:")[1]


async def test_an_idea_whose_match_fails_is_in_no_histogram(judged: Play) -> None:
    def wrong(request: Request) -> int:
        return 99 if "owls" in (request.fenced("idea") or "") else 1

    played = await judged("idea-match", "corpus=sample", choice=wrong, similarity=3)
    assert [each["score"] for each in played.result["ideas"]] == [None, 3]
    assert (sum(played.result["histogram"].values()), played.result["failed"]) == (1, 1)
    assert "no closest idea was picked" in played.result["ideas"][0]["failed"]


async def test_how_often_a_score_ranks_first(judged: Play) -> None:
    """Owls have a 4 and rank first by all criteria."""
    sets = ("corpus=sample", "idea-match.rounds=2")
    played = await judged("idea-match", *sets, choice=1, similarity=alike)
    by_score = {each["score"]: each["novelty"]["mean"] for each in played.result["standings"]}
    assert by_score == {4: 1, 1: 0}
    report = systems()["idea-match"].write_report(played.folder).read_text(encoding="utf-8")
    assert "First ranks by score" in report
    assert sum(request.title == "Comparison" for request in played.requests) == 2 * 2


# Both.


@pytest.mark.parametrize(("system", "reason"), [("idea-match", "failed"), ("idea-novelty", "not_assessed")])
def test_where_the_budget_ends_a_run_it_is_why_scores_are_missing(
    tmp_path: Path, system: str, reason: str
) -> None:
    sets = (
        word
        for each in (f"inputs.ideas={listed(IDEAS)}", "embedding=lexical", *LOCAL[:2])
        for word in ("--set", each)
    )
    ended = manyheads_command("run", system, *sets, "--budget", "calls=1", "--out", "run", cwd=tmp_path)
    assert ended.code == ExitCode.BUDGET
    kept = json.loads((tmp_path / "run/result.json").read_text(encoding="utf-8"))
    assert all("budget" in idea[reason] for idea in kept["result"]["ideas"])
    assert "None of" not in (tmp_path / "run/report.html").read_text(encoding="utf-8")
