"""What a team is compared with: prompts and calls read off the requests, and when each baseline stops."""

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from manyheads.base.errors import ConfigError
from manyheads.core.events import Retrieved, Said, Searched, Stage
from manyheads.systems import systems
from manyheads.systems.loading import validate
from support.direct import Play, Played, config_for, play
from support.llm import LLM
from support.requests import Request

TOPIC = "How retrieval fails on long documents"


def sets_for(system: str, *more: str) -> tuple[str, ...]:
    return (f"system={system}", f"topic={TOPIC}", "ideas.references=2", "embedding=lexical", *more)


def baseline(folder: Path, llm: LLM, system: str, *more: str) -> Played:
    return asyncio.run(play(config_for(llm, *sets_for(system, *more)), folder, llm))


@pytest.fixture
def run(run: Play) -> Play:
    return lambda system, *more, **answers: run(*sets_for(system, *more), **answers)  # pyright: ignore[reportUnknownLambdaType]


def ideas_in(asking: str, played: Played) -> list[int]:
    """The numbers of the ideas whose text a question shows in full."""
    return [idea["number"] for idea in played.result["ideas"] if idea["idea"] in asking]


class TestReflection:
    @pytest.fixture(scope="class")
    def played(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
        with LLM() as llm:
            folder = tmp_path_factory.mktemp("reflection")
            yield baseline(folder / "run", llm, "self-reflection", "baseline.rounds=4")

    def test_all_rounds_are_held_and_the_abstract_is_one_reply(self, played: Played) -> None:
        assert [request.title for request in played.requests] == ["Idea", *["Reflection"] * 4, "Abstract"]
        assert played.result["inference_cost"] == 6
        assert played.result["baseline"]["stopped_by"] == "rounds"
        assert [event.stage for event in played.of(Stage)] == ["idea", "abstract"]

    def test_the_proposal_is_made_from_the_topic_and_the_papers_close_to_it(self, played: Played) -> None:
        [asked] = played.asked("Proposing an idea")
        looked_up = played.of(Retrieved)[0]
        assert looked_up.query == TOPIC
        assert TOPIC in asked.asking
        assert asked.asking.count("<paper>") == len(looked_up.hits) == 2
        assert ideas_in(asked.asking, played) == []

    def test_each_round_sees_the_idea_its_ratings_and_its_papers(self, played: Played) -> None:
        looked_up = played.of(Retrieved)
        for number, asked in enumerate(played.asked("Thinking your idea over"), start=1):
            idea = played.result["ideas"][number - 1]
            assert ideas_in(asked.asking, played) == [number]
            assert idea["experiment"] in asked.asking
            rated = f"clarity {idea['clarity']}, feasibility {idea['feasibility']}, novelty {idea['novelty']}"
            assert rated in asked.asking
            assert f"This is round {number} of at most 4" in asked.asking
            assert idea["idea"] in looked_up[number].query
            assert all(hit["title"] in asked.asking for hit in looked_up[number].hits)

    def test_each_round_has_the_reflections_before_it_in_view(self, played: Played) -> None:
        thoughts = [idea["reflection"] for idea in played.result["ideas"][1:]]
        for number, asked in enumerate(played.asked("Thinking your idea over")):
            assert [thought in asked.asking for thought in thoughts] == [n < number for n in range(4)]
            shown = [
                asked.asking.index(f"Round {n + 1}:\n<reflection>\n{thoughts[n]}") for n in range(number)
            ]
            assert shown == sorted(shown)
            assert ("Do not repeat your earlier reflections" in asked.asking) is (number > 0)

    def test_the_abstract_is_made_from_the_last_idea_alone(self, played: Played) -> None:
        [asked] = played.asked("The abstract")
        assert ideas_in(asked.asking, played) == [5]
        assert played.result["idea"]["number"] == 5
        assert [idea["number"] for idea in played.result["ideas"] if idea["kept"]] == [5]


def after(rounds: int, heading: str) -> Callable[[Request], bool]:
    """Says yes to the question of that many under a heading, and to those after it."""
    seen: list[str] = []

    def answer(request: Request) -> bool:
        if request.asking.startswith(f"# {heading}") and request.asking not in seen:
            seen.append(request.asking)
        return len(seen) >= rounds

    return answer


@pytest.mark.parametrize("system", ["self-reflection", "discussion"])
async def test_without_literature_no_prompt_speaks_of_it_and_there_is_no_engineer(
    run: Play, system: str
) -> None:
    sets = (
        "baseline.rounds=2",
        "baseline.turns=2",
        "ideas.references=0",
        "novelty.references=0",
        "corpus=nowhere",
    )
    played = await run(system, *sets)
    assert not any("## References" in request.asking for request in played.requests)
    assert all(idea["references"] == [] for idea in played.result["ideas"])
    assert "Engineer" not in [member["name"] for member in played.result["team"]]


@pytest.mark.parametrize(("heeded", "rounds", "cause"), [("false", 4, "rounds"), ("true", 2, "done")])
async def test_an_early_done(run: Play, heeded: str, rounds: int, cause: str) -> None:
    sets = ("baseline.rounds=4", f"baseline.until_done={heeded}")
    played = await run("self-reflection", *sets, done=after(2, "Thinking your idea over"))
    assert len(played.requests) == 1 + rounds + 1
    assert played.result["baseline"]["done_in_turns"] == list(range(3, rounds + 2))
    assert played.result["baseline"]["stopped_by"] == cause


class TestDiscussion:
    """Everybody hears everything that is said, the engineer alone sees papers."""

    @pytest.fixture(scope="class")
    def played(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
        with LLM() as llm:
            folder = tmp_path_factory.mktemp("discussion")
            yield baseline(folder / "run", llm, "discussion", "baseline.turns=3")

    def test_four_roles_speak_in_turn_then_the_abstract_is_written(self, played: Played) -> None:
        order = ["Analyst", "Engineer", "Researcher", "Critic"]
        assert [said.speaker for said in played.of(Said)] == [*order * 3, "Researcher"]
        assert [member["name"] for member in played.result["team"]] == order
        assert played.result["inference_cost"] == len(played.requests) == 13
        assert played.result["turns"] == {"idea": 3, "abstract": 1}

    def test_each_sees_what_was_said_before(self, played: Played) -> None:
        remarks = [said.data["remark"] for said in played.of(Said) if "remark" in said.data]
        for place, request in enumerate(played.requests[:-1]):
            before = sum(number % 4 != 2 for number in range(place))
            assert [remark in request.asking for remark in remarks] == [
                number < before for number in range(len(remarks))
            ]

    def test_the_idea_on_the_table_stands_whole_and_earlier_ones_by_title(self, played: Played) -> None:
        titles = [idea["title"] for idea in played.result["ideas"]]
        for place, request in enumerate(played.requests[:-1]):
            proposed = (place + 1) // 4
            assert ideas_in(request.asking, played) == ([proposed] if proposed else [])
            assert [title in request.asking for title in titles] == [n < proposed for n in range(3)]

    def test_only_the_engineer_sees_papers(self, played: Played) -> None:
        shown = [("<paper>" in request.asking) for request in played.requests]
        assert shown == [*[False, True, False, False] * 3, False]
        queries = [event.query for event in played.of(Retrieved)]
        assert queries[0] == TOPIC
        assert [query.split("\n")[0] for query in queries[1:]] == [
            idea["title"] for idea in played.result["ideas"][:2]
        ]


@pytest.mark.parametrize(
    ("heeded", "turns", "cause"),
    [("false", 4, "turns"), pytest.param("true", 2, "done", marks=pytest.mark.slow)],
)
async def test_the_critics_approval(run: Play, heeded: str, turns: int, cause: str) -> None:
    approve = after(2, "Judging the idea")
    sets = ("baseline.turns=4", f"baseline.until_done={heeded}")
    played = await run("discussion", *sets, approve=approve)
    assert played.result["turns"]["idea"] == turns
    assert played.result["baseline"]["stopped_by"] == cause
    assert played.result["baseline"]["done_in_turns"] == list(range(2, turns + 1))
    shown = played.asked("Reading the topic")[1].asking
    assert "I do not approve the idea yet." in shown


class TestSingle:
    @pytest.fixture(scope="class")
    def played(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
        with LLM(answers={"choice": 2}) as llm:
            folder = tmp_path_factory.mktemp("single")
            yield baseline(folder / "run", llm, "single", "baseline.tokens=24000", "novelty.references=1")

    def test_drafts_know_nothing_of_each_other(self, played: Played) -> None:
        drafts = played.asked("Proposing an idea")
        assert len(drafts) == len(played.result["ideas"]) == played.result["baseline"]["ideas"] > 3
        assert len({draft.asking for draft in drafts}) == len(drafts)
        assert not any(ideas_in(draft.asking, played) for draft in drafts)
        assert all(draft.asking.count("<paper>") == 2 for draft in drafts)

    def test_the_choice_is_blind_and_among_the_most_confident(self, played: Played) -> None:
        [asked] = played.asked("Which idea is the most novel?")
        kept = [idea for idea in played.result["ideas"] if idea["kept"]]
        assert ideas_in(asked.asking, played) == [idea["number"] for idea in kept]
        least = min(idea["confidence"] for idea in kept)
        assert all(idea["confidence"] <= least for idea in played.result["ideas"] if not idea["kept"])
        titles = re.findall(r"<paper>\n(Title: .*)", asked.asking)
        assert len(set(titles)) == len(titles) > 0, "each paper once"
        assert "Rated" not in asked.asking
        assert asked.schema
        assert asked.schema["properties"]["choice"]["maximum"] == 3

    def test_the_chosen_idea_is_written_up(self, played: Played) -> None:
        second = played.asked("Which idea is the most novel?")[0].asking.split("## Idea ")[2]
        assert played.result["idea"]["idea"] in second
        assert ideas_in(played.requests[-1].asking, played) == [played.result["idea"]["number"]]
        assert [vote["choice"] for vote in played.result["votes"]] == [2]


async def test_without_novelty_assessment_the_most_confident_is_taken(run: Play) -> None:
    played = await run("single", "baseline.tokens=10000", "novelty.enabled=false")
    best = max(idea["confidence"] for idea in played.result["ideas"])
    assert played.result["idea"]["confidence"] == best
    assert played.result["votes"] == []
    assert not played.asked("Which idea is the most novel?")


@pytest.mark.parametrize(
    ("system", "sets", "says"),
    [
        ("self-reflection", ("topic=",), "self-reflection: needs the input topic"),
        ("discussion", ("topic=",), "discussion: needs the input topic"),
        ("single", ("topic=", "baseline.tokens=9"), "single: needs the input topic"),
        ("single", (), "single: needs a token limit"),
    ],
)
async def test_what_is_missing_is_said_before_anything_is_asked(
    llm: LLM, tmp_path: Path, run: Play, system: str, sets: tuple[str, ...], says: str
) -> None:
    with pytest.raises(ConfigError, match=says) as stopped:
        await run(system, *sets)
    assert stopped.value.hint
    assert llm.calls == 0
    assert not (tmp_path / "run").exists()


LOOKED_UP = (
    "models.default.tools=true", "literature.references=services", "literature.cascade=[local]", "baseline.rounds=2",
    "baseline.turns=2",
)  # fmt: skip


async def test_each_round_is_shown_what_the_one_before_looked_up(llm: LLM, run: Play) -> None:
    llm.tool_calls = [("search_papers", {"query": "dense retrieval", "limit": 2})]
    played = await run("self-reflection", *LOOKED_UP)
    tools = {request.title: request.tools for request in played.requests if not request.tools_answered}
    offered = ["get_paper", "get_references", "search_papers"]
    assert {title: sorted(names) for title, names in tools.items()} == {
        "Idea": offered,
        "Reflection": offered,
        "Abstract": [],
    }
    found = [said.tool_calls[0] for said in played.of(Said) if said.tool_calls]
    assert [call.failed for call in found] == [False] * 3
    assert "Title: " in found[0].result
    for asked in played.asked("Thinking your idea over"):
        assert "## What you looked up in the round before" in asked.asking
        assert found[0].result in asked.asking
    assert played.of(Searched)
    assert "searches" in played.result


async def test_only_the_engineer_looks_things_up(llm: LLM, run: Play) -> None:
    llm.tool_calls = [("search_papers", {"query": "dense retrieval", "limit": 2})]
    played = await run("discussion", *LOOKED_UP, "ideas.references=0")
    assert {said.speaker for said in played.of(Said) if said.tool_calls} == {"Engineer"}
    assert {request.system.split()[3] for request in played.requests if request.tools} == {"engineer"}


async def test_a_baseline_knows_no_more_of_the_literature_than_a_team(run: Play) -> None:
    played = await run("self-reflection", "models.default.tools=true", "baseline.rounds=1")
    assert not any(request.tools for request in played.requests)


@pytest.mark.parametrize(
    ("data", "needed"),
    [
        ({}, True),
        ({"ideas": {"references": 0}, "novelty": {"references": 0}}, False),
        ({"literature": {"references": "services"}}, True),
        ({"literature": {"references": "services", "cascade": ["openalex"]}}, True),
        ({"literature": {"references": "services", "cascade": ["openalex"], "before": "any"}}, False),
        ({"literature": {"references": "services", "cascade": ["local"], "before": "any"}}, True),
    ],
)
def test_a_corpus_is_opened_where_a_team_would_look_papers_up_in_it(
    data: dict[str, Any], needed: bool
) -> None:
    assert systems()["single"].corpus(validate({"system": "single", **data}, "test")) is needed
