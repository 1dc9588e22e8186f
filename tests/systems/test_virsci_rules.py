"""The rules of the five stages, each switched and seen in a run."""

import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from manyheads.base.errors import ConfigError, CorpusError, UserError
from manyheads.base.papers import Hit, Paper
from manyheads.base.resources import shipped
from manyheads.core.events import Invited, Judged, Recruited, Retrieved, Said, Searched, Stage, Voted, Warned
from manyheads.corpus.corpora import resolve_corpus
from manyheads.corpus.ecosystem import Ecosystem
from manyheads.corpus.layers import write_layer
from manyheads.corpus.phrases import LexicalEmbedder
from manyheads.systems.virsci.ideas import draw_cited
from support.direct import EVERY, Play, Played, config_for, play, play_now
from support.faults import Fault
from support.llm import LLM
from support.requests import Request

if TYPE_CHECKING:
    from manyheads.corpus.vectors import Vectors

NOTES = [{"idea": number, "note": "A note."} for number in (1, 2, 3)]
"""Of a vote, beside answers that give every field called `idea` a text."""
HEADINGS = {
    "topic": "Finding a research topic",
    "idea": "Finding an idea",
    "novelty": "Which idea is the most novel?",
    "abstract": "Improving the abstract",
}
"""Of the questions that a member may invite a guest at, by stage."""


@pytest.fixture(scope="module")
def advised(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Played]:
    """The run in which Scientist9 is asked for advice in a stage; of each stage there is one."""

    @cache
    def runner(stage: str) -> Played:
        with LLM(answers={"invite": once("Scientist9", HEADINGS[stage]), "question": "Why?"}) as llm:
            sets = ("team.leader=Scientist1", "invitation.enabled=true")
            return play_now(tmp_path_factory.mktemp(stage), llm, *sets)

    return runner


def in_order(field: str, *values: Any) -> Callable[[Request], Any]:
    """Gives the values one after the other, over and over, to the requests that ask for `field`."""
    given: dict[int, Any] = {}

    def answer(request: Request) -> Any:
        if field not in (request.schema or {}).get("properties", {}):
            return None
        return given.setdefault(id(request), values[len(given) % len(values)])

    return answer


def once(value: str, heading: str) -> Callable[[Request], str | None]:
    """Gives the value to the first request under a heading, None to the others."""
    given: list[int] = []

    def answer(request: Request) -> str | None:
        if request.asking.startswith(f"# {heading}") and given in ([], [id(request)]):
            given[:] = [id(request)]
            return value
        return None

    return answer


async def test_a_team_has_the_freshness_and_diversity_that_are_asked_for(run: Play):
    played = await run("topic=T", "team.size=4", "team.freshness=0.5", "team.diversity=0.25")
    assert (played.result["freshness"], played.result["diversity"]) == (0.5, 0.25)
    assert not [each for each in played.of(Warned) if each.stage == "selection"]


@pytest.mark.slow
async def test_a_share_that_cannot_be_reached_is_warned_of(run: Play):
    played = await run("topic=T", "team.size=4", "team.freshness=0.75")
    assert played.result["freshness"] != 0.75
    [warning] = [each.message for each in played.of(Warned) if each.stage == "selection"]
    assert "team.freshness" in warning
    assert f"{played.result['freshness']:.2f}" in warning
    assert warning in played.result["warnings"]


async def test_ideas_are_looked_up_as_a_whole_if_the_config_says_so(run: Play):
    played = await run("topic=T", "ideas.query=whole")
    parts = ("title", "idea", "experiment")
    ideas = {"\n\n".join(each[part] for part in parts) for each in played.result["ideas"]}
    first, *others = (each.query.replace("Experiment: ", "") for each in played.of(Retrieved))
    assert first == played.result["topic"]["topic"]
    assert len(others) == 2 + 3
    assert set(others) == ideas


async def test_an_idea_that_nobody_looks_up_is_not_embedded(run: Play, monkeypatch: pytest.MonkeyPatch):
    texts, embed = list[str](), LexicalEmbedder.embed

    def noted(embedder: LexicalEmbedder, some: Sequence[str]) -> "Vectors":
        texts.extend(some)
        return embed(embedder, some)

    monkeypatch.setattr(LexicalEmbedder, "embed", noted)
    # the tests share an open corpus, which keeps the vectors of queries: a topic of its own, and so ideas
    played = await run("topic=Bats at noon", "novelty.enabled=false")
    assert [idea.query(False) in texts for idea in played.run.result.ideas] == [True, True, False]


@pytest.mark.slow
async def test_texts_that_the_model_does_not_read_at_once_are_warned_of_once_a_stage(
    run: Play, monkeypatch: pytest.MonkeyPatch
):
    def long(_: object, texts: Sequence[str]) -> list[int]:
        return [max(0, len(text.split()) - 40) for text in texts]

    monkeypatch.setattr(LexicalEmbedder, "unread", long, raising=False)
    played = await run(
        "turns=2", "topic=T", idea=" ".join(f"word{number}" for number in range(90)), notes=NOTES
    )
    warned = [each for each in played.of(Warned) if "embedding model" in each.message]
    assert [each.stage for each in warned] == ["idea", "novelty"]
    for warning in warned:
        rests = [long(None, [each.query])[0] for each in played.of(Retrieved) if each.stage == warning.stage]
        assert any(f" {rest} tokens" in warning.message for rest in rests if rest > 50)
    assert {each.message for each in warned} <= set(played.result["warnings"])


async def test_declining_candidates_are_passed_over(run: Play):
    played = await run("topic=T", accept=in_order("accept", False, True))
    asked = played.of(Recruited)
    assert [event.accepted for event in asked] == [False, True, False, True]
    assert [person["name"] for person in played.result["declined"]] == [
        asked[0].candidate,
        asked[2].candidate,
    ]
    assert len(played.result["team"]) == 3


@pytest.mark.slow
async def test_a_team_that_stays_small_says_so(run: Play):
    played = await run("turns=1", "team.max_invitations=4", accept=False)
    assert len(played.result["team"]) == 1
    assert any("1 of 3 members; 4 were invited" in warning for warning in played.result["warnings"])


async def test_a_team_larger_than_the_corpus_is_refused(run: Play):
    with pytest.raises(CorpusError, match=r"team\.size is 25, .*: 24"):
        await run("team.size=25")


async def test_a_named_leader_leads(run: Play):
    played = await run("topic=T", "team.leader=Scientist7")
    assert played.result["team"][0]["name"] == "Scientist7"
    assert "Scientist7" not in [event.candidate for event in played.of(Recruited)]


@pytest.mark.slow
async def test_who_is_alone_needs_no_majority(run: Play):
    played = await run("turns=1", "team.size=1", agree=False)
    assert not [event for event in played.of(Judged) if event.subject == "consensus"]
    assert not played.said("consensus")
    assert (played.result["turns"]["topic"], played.result["warnings"]) == (1, [])
    assert played.result["topic"]["topic"]


async def test_no_majority_starts_the_discussion_over_and_then_the_leader_decides(run: Play):
    played = await run("turns=1", agree=False)
    outcomes = [event.outcome for event in played.of(Judged) if event.subject == "consensus"]
    assert outcomes == ["0 of 3 agree", "0 of 3 agree"]
    assert played.result["turns"]["topic"] == 2
    assert played.result["warnings"] == ["no majority after 2 discussions; the leader decides the topic"]
    first, second = (played.asked("Finding a research topic")[at : at + 3] for at in (0, 3))
    assert "You open the discussion." in second[0].asking
    assert all("turn 1 of at most 1" in request.asking for request in second)
    views = {said.speaker: said.data["reasoning"] for said in played.said("consensus")[:3]}
    for request in second:
        for name, reasoning in views.items():
            assert f"{name}, who did not agree:\n<reason>\n{reasoning}" in request.asking
    assert not any("What was in dispute" in request.asking for request in first)


async def test_half_of_a_team_is_no_majority(run: Play):
    played = await run(
        "turns=1", "team.size=4", "topics.max_restarts=0", agree=in_order("agree", True, False)
    )
    [outcome] = [event.outcome for event in played.of(Judged) if event.subject == "consensus"]
    assert outcome == "2 of 4 agree"
    assert played.result["warnings"]


async def test_members_who_are_not_interested_leave_and_the_rest_go_on(run: Play):
    played = await run("turns=1", stay=in_order("stay", False, True))
    [gone] = played.result["left"]
    assert gone not in {said.speaker for said in played.said("idea")}
    assert gone not in {event.voter for event in played.of(Voted)}
    assert gone in {member["name"] for member in played.result["team"]}
    # Three in one turn on the topic, then two in one turn of each of the other three stages.
    assert played.result["inference_cost"] == 3 + 3 * 2


@pytest.mark.slow
async def test_who_has_left_can_be_asked_for_advice(run: Play):
    """The retrieval hook shows those outside the team: with suggestions enough, all of them."""
    sets = ("turns=1", "invitation.enabled=true", "invitation.suggestions=30")
    played = await run(*sets, stay=in_order("stay", False, True), invite=None)
    [gone] = played.result["left"]
    hook = "Whom you may ask"
    shown = {
        heading: [f"- {gone}: " in each.text.split(hook)[1] for each in played.asked(heading)]
        for heading in ("Finding a research topic", "Finding an idea")
    }
    assert shown == {"Finding a research topic": [False] * 3, "Finding an idea": [True] * 2}


@pytest.mark.slow
async def test_nobody_is_asked_to_leave_when_members_must_stay(run: Play):
    played = await run("turns=1", "topics.may_leave=false", stay=False)
    assert played.result["left"] == []
    assert not played.said("interest")


async def test_three_ideas_of_highest_confidence_go_on(run: Play):
    played = await run("topic=T", "turns.idea=2")
    ideas = played.result["ideas"]
    confidence = {idea["number"]: idea["clarity"] + idea["feasibility"] + idea["novelty"] for idea in ideas}
    kept = {idea["number"] for idea in ideas if idea["kept"]}
    assert len(ideas) == 6
    assert len(kept) == 3
    assert min(confidence[n] for n in kept) >= max(confidence[n] for n in confidence if n not in kept)


@pytest.mark.slow
async def test_novelty_can_count_double(run: Play):
    played = await run("topic=T", "ideas.novelty_weight=2")
    for idea in played.result["ideas"]:
        assert idea["confidence"] == idea["clarity"] + idea["feasibility"] + 2 * idea["novelty"]


def by_confidence(request: Request) -> list[int]:
    """The places, from 1, at which a voter is shown the ideas of highest confidence, of which each scores one more."""
    shown = [idea.split("\n", 1)[0] for idea in request.asking.split("<idea>\n")[1:]]
    return sorted(range(1, len(shown) + 1), key=lambda place: -int(shown[place - 1].removeprefix("Idea ")))


def ranked(place: int) -> Callable[[Request], int]:
    """A vote for the idea of this place by confidence, wherever the voter is shown it."""
    return lambda request: by_confidence(request)[place - 1] if request.title == "Vote" else 0


def rising() -> dict[str, Any]:
    """Ideas called `Idea 1`, `Idea 2`, …, each more confident than the one before."""
    titles = in_order("title", *(f"Idea {n}" for n in range(1, 9)))
    return {"novelty": in_order("novelty", *range(1, 9)), "clarity": 5, "feasibility": 5, "title": titles}


async def test_the_majority_wins(run: Play):
    played = await run("topic=T", choice=ranked(2), **rising())
    assert played.result["idea"]["title"] == "Idea 2"
    assert {vote["choice"] for vote in played.result["votes"]} == {2}
    assert played.result["idea"]["votes"] == 3
    assert played.result["idea"]["tie"] is None
    votes = played.said("vote")
    assert len({said.data["choice"] for said in votes}) > 1, "each is shown them in another order"
    assert {said.text.rpartition("\n\n")[2] for said in votes} == {"My vote: Idea 2"}


async def test_a_tie_goes_to_the_higher_confidence_and_is_recorded(run: Play):
    third_then_second = in_order("choice", ranked(3), ranked(2))

    def choice(request: Request) -> int | None:
        return (vote := third_then_second(request)) and vote(request)

    played = await run("topic=T", "team.size=2", "turns.idea=2", choice=choice, **rising())
    assert "ideas 2, 3 had 1 votes each" in played.result["idea"]["tie"]
    assert played.result["idea"]["title"] == "Idea 3"
    assert [event.subject for event in played.of(Judged)][-1] == "tie"


async def test_of_equal_confidence_ideas_of_different_lineages_are_voted_on(run: Play):
    """Six ideas rated alike, four of which refine the first: the vote is not among three versions of it."""
    rated = {
        "clarity": 8,
        "feasibility": 7,
        "novelty": 8,
        "builds_on": in_order("builds_on", 0, 1, 0, 1, 2, 4),
    }
    played = await run("topic=T", "turns.idea=2", **rated)
    ideas = played.result["ideas"]
    assert [idea["builds_on"] for idea in ideas] == [None, 1, 0, 1, 2, 4]
    assert [idea["number"] for idea in ideas if idea["kept"]] == [3, 5, 6]


async def test_at_temperature_0_votes_that_would_be_copies_are_asked_once_and_said_so(run: Play):
    played = await run("turns=1", "turns.novelty=4", "models.default.temperature=0")
    assert len(played.said("vote")) == 3
    votes = played.result["votes"]
    assert [(vote["turn"], vote["copy_of"]) for vote in votes] == [
        (turn, None if turn == 1 else 1) for turn in (1, 2, 3, 4) for _ in range(3)
    ]
    assert played.result["idea"]["votes"] % 4 == 0
    [judged] = [event for event in played.of(Judged) if event.subject == "votes"]
    assert "temperature 0" in judged.reasoning
    assert "4 times" in judged.reasoning
    assert played.result["inference_cost"] == 3 * (1 + 1 + 4 + 1)


async def test_without_novelty_assessment_the_last_idea_is_taken(run: Play):
    played = await run("topic=T", "novelty.enabled=false")
    assert played.result["idea"]["number"] == 3
    assert played.result["votes"] == []
    assert "novelty" not in {event.stage for event in played.of(Stage)}


async def test_adaptive_turns_end_when_the_leader_says_so(run: Play):
    played = await run(
        "turns.default=4", "turns.adaptive=true", another_turn=in_order("another_turn", True, False)
    )
    assert played.result["turns"] == {"topic": 2, "idea": 2, "novelty": 2, "abstract": 2}
    assert len(played.said("progress")) == 8


@pytest.mark.slow
async def test_adaptive_turns_never_pass_their_cap(run: Play):
    played = await run("turns.default=2", "turns.adaptive=true", another_turn=True)
    assert set(played.result["turns"].values()) == {2}
    assert len(played.said("progress")) == 4


async def test_without_exploration_past_collaborators_alone_are_invited(run: Play):
    sets = ("topic=T", "turns=1", "team.leader=Scientist1", "team.exploration=none", "novelty.enabled=false")
    found = (await run(*sets)).result
    met = {each["other"] for each in found["joint_papers"] if each["one"] == "Scientist1"}
    assert {member["name"] for member in found["team"]} == {"Scientist1", *met}


async def test_a_given_team_is_not_invited(run: Play):
    given = ("team.leader=Scientist5", "team.members=[Scientist9,Scientist2]", "team.size=8")
    played = await run("topic=T", "novelty.enabled=false", *given)
    team = [(member["name"], member["role"]) for member in played.result["team"]]
    assert team == [("Scientist5", "leader"), ("Scientist9", "member"), ("Scientist2", "member")]
    assert played.said("join") == []
    assert {said.speaker for said in played.said("idea")} == {name for name, _ in team}
    assert played.result["warnings"] == []


@pytest.mark.parametrize(
    ("members", "leader", "said"),
    [
        ("[Scientist1]", "null", "leader"),
        ("[Scientist1,Scientist1]", "Scientist2", "twice"),
        ("[Scientist1]", "Scientist1", "leader"),
        ("[Scientist1,Scientist999]", "Scientist2", "Scientist999"),
    ],
)
async def test_a_team_that_cannot_be_is_refused(run: Play, members: str, leader: str, said: str):
    with pytest.raises(UserError, match=said):
        await run("topic=T", f"team.members={members}", f"team.leader={leader}")


def hits_of(*papers: tuple[int, int]) -> list[Hit]:
    """A hit for each pair of citations and year."""
    return [
        Hit(Paper(id=str(n), title=str(n), citations=citations, year=year), 0.5)
        for n, (citations, year) in enumerate(papers)
    ]


def test_cited_papers_are_drawn_by_citations_and_age():
    """min(max(citations, 1), 100) / sqrt(1 + age), the second one by the weights of those left."""
    hits, rng = hits_of((0, 2010), (50, 2010), (100, 2007), (900, 2010)), random.Random(5)
    weights = [1, 50, 50, 100]
    drawn = Counter(tuple(hit.paper.id for hit in draw_cited(rng, hits, 2, 2010)) for _ in range(20_000))
    assert set(drawn) == {(str(a), str(b)) for a, b in itertools.combinations(range(4), 2)}
    for a, b in itertools.combinations(range(4), 2):
        total, x, y = sum(weights), weights[a], weights[b]
        chance = x / total * y / (total - x) + y / total * x / (total - y)
        assert drawn[str(a), str(b)] / 20_000 == pytest.approx(chance, abs=0.012), (a, b)


async def test_the_papers_cited_most_in_the_last_year_are_shown_at_topic_time(run: Play, tmp_path: Path):
    corpus = resolve_corpus("sample", embedding="lexical")
    none, gained = np.zeros((0, 384), dtype=np.float32), {"sample:011": 2, "sample:038": 5, "sample:006": 1}
    with Ecosystem.open(corpus) as below:
        write_layer(
            tmp_path / "epochs/001", below=below, year=2023, papers=[], vectors=none, scientists=[], citations=gained
        )  # fmt: skip
    played = await run("topics.hot=2", "novelty.enabled=false", f"corpus={tmp_path}/epochs/001")
    [hot] = [found for found in played.of(Retrieved) if found.stage == "topic"]
    assert [hit["id"] for hit in hot.hits] == ["sample:038", "sample:011"]
    assert {"sample:038", "sample:011"} <= {each["paper"] for each in played.result["evidence"]}
    for request in played.asked(HEADINGS["topic"]):
        assert all(f"Title: {hit['title']}" in request.asking for hit in hot.hits)
    assert len(played.asked(HEADINGS["topic"])) == 3


async def test_cited_references_are_a_draw_of_twice_as_many(run: Play):
    sets = ("topic=T", "turns=1", "ideas.references=3", "novelty.enabled=false")
    nearest, again, drawn = [
        [[hit["id"] for hit in found.hits] for found in played.of(Retrieved)]
        for played in [
            await run(*sets, "ideas.references=6", folder="near"),
            await run(*sets, "ideas.draw=cited", folder="again"),
            await run(*sets, "ideas.draw=cited", folder="drawn"),
        ]
    ]
    assert [len(found) for found in drawn] == [3] * 3
    assert set(drawn[0]) < set(nearest[0])
    assert any(found != near[:3] for found, near in zip(drawn, nearest, strict=True))
    assert again == drawn


async def test_fixed_turns_cost_members_times_turns(run: Play):
    played = await run("turns.default=3", "turns.topic=1")
    spoken = {task: len(played.said(task)) for task in ("topic", "idea", "vote", "draft", "revise")}
    assert spoken == {"topic": 3, "idea": 9, "vote": 9, "draft": 1, "revise": 8}
    assert played.result["inference_cost"] == sum(spoken.values()) == 3 * (1 + 3 + 3 + 3)


async def test_random_topology_never_has_one_speak_twice_in_a_row(run: Play):
    played = await run("topology=random", "turns=2", "seed=0")
    assert len(played.result["drafts"]) == 6
    for tasks in (["topic"], ["idea"], ["draft", "revise"]):
        speakers = [said.speaker for task in tasks for said in played.said(task)]
        assert all(one != other for one, other in itertools.pairwise(speakers)), tasks
    orders = {tuple(said.speaker for said in played.said(task)) for task in ("topic", "idea")}
    assert orders != {tuple(member["name"] for member in played.result["team"]) * 2}


def test_a_guest_answers_once_into_the_discussion_and_does_not_join(advised: Callable[[str], Played]):
    played = advised("topic")
    team = {member["name"] for member in played.result["team"]}
    [guest] = played.result["guests"]
    [advice] = list(played.said("advise"))
    assert guest["name"] == "Scientist9"
    assert "Scientist9" not in team
    assert advice.speaker == "Scientist9"
    next_prompt = played.asked("Finding a research topic")[1].asking
    assert f"Scientist9 (invited guest):\n<reply>\n{guest['advice']}" in next_prompt
    assert played.asked("A team asks for your advice")[0].system.startswith("You are Scientist9")


@pytest.mark.slow
@pytest.mark.parametrize("tools", [False, True])
async def test_a_candidate_is_offered_neither_strangers_nor_tools(run: Play, tools: bool):
    played = await run("turns=1", "invitation.enabled=true", f"models.default.tools={tools}".lower())
    joins = played.asked("An invitation to a research team")
    assert joins
    for request in joins:
        assert not request.tools
        assert "invite" not in (request.schema or {})["properties"]
        assert "<scientists>" not in request.text
    assert any("<scientists>" in request.text for request in played.asked("Finding an idea"))


@pytest.mark.parametrize(
    ("stage", "fields"),
    [
        ("topic", ("remark", "topic")),
        ("novelty", ("thought",)),
        pytest.param("idea", ("title", "idea"), marks=pytest.mark.slow),
        pytest.param("abstract", ("title", "methods"), marks=pytest.mark.slow),
    ],
)
def test_a_guest_of_a_reply_sees_what_it_is_asked_about(
    advised: Callable[[str], Played], stage: str, fields: tuple[str, ...]
):
    played = advised(stage)
    [request] = played.asked("A team asks for your advice")
    [guest] = played.result["guests"]
    own = (said for said in played.of(Said) if said.speaker == guest["by"])
    asked = next(said for said in own if said.data.get("invite") == "Scientist9")
    [said] = re.findall(r"<remark>\n(.*?)\n</remark>", request.asking, re.DOTALL)
    assert all(asked.data[field] in said for field in fields)
    assert "<question>\nWhy?\n</question>" in request.asking
    [context] = re.findall(r"<context>\n(.*?)\n</context>", request.asking, re.DOTALL) or [""]
    if stage == "novelty":
        assert all(idea["idea"] in context for idea in played.result["ideas"])
        choice = asked.data["choice"]
        voter = next(each for each in played.asked(HEADINGS[stage]) if f"{guest['by']}," in each.system)
        ideas = re.findall(r"<idea>\n(.*?)\n", voter.asking)
        assert re.findall(r"^Idea \d+:\n(.*)$", context, re.MULTILINE) == ideas
        assert f"My vote: idea {choice}" in said
        told = [request for request in played.requests if guest["advice"] in request.text]
        assert [each.system.split()[2].rstrip(",") for each in told] == [guest["by"]], "nobody else hears it"
        assert (len(played.result["votes"]), len(played.said("vote"))) == (3, 4)
    elif stage == "idea":
        assert played.result["topic"]["topic"] in context


@pytest.mark.slow
async def test_a_wish_without_a_question_puts_no_words_into_anybodys_mouth(run: Play):
    invite = once("Scientist9", "Finding an idea")
    sets = ("topic=T", "team.leader=Scientist1", "invitation.enabled=true")
    played = await run(*sets, invite=invite, question=None)
    assert played.result["guests"][0]["question"] == ""
    [request] = played.asked("A team asks for your advice")
    assert "<question>" not in request.asking
    assert "what you think of it" in request.asking


@pytest.mark.slow
async def test_a_wish_for_an_impossible_guest_is_noted(run: Play):
    played = await run("topic=T", "invitation.enabled=true", invite="Dr. Nobody")
    assert not played.of(Invited)
    warned = [event.message for event in played.of(Warned)]
    assert any("'Dr. Nobody'" in message and "no such scientist" in message for message in warned)


@pytest.mark.slow
async def test_guests_come_by_tool_calls_where_the_model_can_make_them(llm: LLM, run: Play):
    llm.tool_calls = [("invite_scientist", {"name": "Scientist9", "question": "What would you measure?"})]
    played = await run(
        "topic=T", "team.leader=Scientist1", "invitation.enabled=true", "models.default.tools=true"
    )
    assert {event.guest for event in played.of(Invited)} == {"Scientist9"}
    assert not any("invite" in (request.schema or {}).get("properties", {}) for request in played.requests)
    answered = [
        message for request in played.requests for message in request.messages if message.role == "tool"
    ]
    assert {guest["advice"] for guest in played.result["guests"]} <= {message.text for message in answered}


@pytest.mark.parametrize("tools", [True, pytest.param(False, marks=pytest.mark.slow)])
async def test_of_two_guests_that_a_reply_asks_for_one_is_heard(llm: LLM, run: Play, tools: bool):
    names = ("Scientist9", "Scientist4")
    if tools:
        llm.tool_calls = [("invite_scientist", {"name": name, "question": "Why?"}) for name in names]
    sets = ("topic=T", "team.leader=Scientist1", "invitation.enabled=true", f"models.default.tools={tools}")
    played = await run(*map(str.lower, sets[2:]), *sets[:2], invite=" and ".join(names), question="Why?")
    asked = Counter((event.by, event.stage, event.turn) for event in played.of(Invited))
    assert asked
    assert set(asked.values()) == {1}
    assert len(played.result["guests"]) == len(asked)
    if tools:
        told = [m.text for each in played.requests for m in each.messages if m.role == "tool"]
        assert sum("No more guests" in text for text in told) >= len(asked)


@pytest.mark.parametrize("tools", [True, pytest.param(False, marks=pytest.mark.slow)])
async def test_a_guest_knows_the_team_and_its_task(llm: LLM, run: Play, tools: bool):
    """Also the guest of the first speaker, when nothing has been said yet, and a guest of the vote knows the papers."""
    if tools:
        llm.tool_calls = [("invite_scientist", {"name": "Scientist9", "question": "Why?"})]
    sets = ("team.leader=Scientist1", "invitation.enabled=true", f"models.default.tools={str(tools).lower()}")
    played = await run(*sets, invite="Scientist9", question="Why?")
    questions = played.asked("A team asks for your advice")
    aims = (
        "one precise research topic",
        "a small set of testable ideas",
        "a clear majority",
        "an abstract that is clear",
    )
    assert all(any(aim in request.asking for request in questions) for aim in aims)
    hits = [hit for event in played.of(Retrieved) if event.stage == "novelty" for hit in event.hits]
    assert hits
    for request in questions:
        [team] = re.findall(r"<team>\n(.*?)\n</team>", request.asking, re.DOTALL)
        assert "Scientist1 (leads the team)" in team
        if "a clear majority" in request.asking:
            [context] = re.findall(r"<context>\n(.*?)\n</context>", request.asking, re.DOTALL)
            assert all(hit["title"] in context for hit in hits)


@pytest.mark.parametrize("host", EVERY)
async def test_a_repeated_idea_still_has_the_advice_of_its_guest(llm: LLM, run: Play, host: str):
    llm.tool_calls = [("invite_scientist", {"name": "Scientist9", "question": "What would you measure?"})]
    llm.faults.append(Fault("missing", when=lambda one: one.title == "Idea" and bool(one.tools_answered)))
    sets = ("topic=T", "team.size=2", "invitation.enabled=true", "models.default.tools=true", f"host={host}")
    played = await run(*sets)
    [again] = [each for each in played.requests if each.title == "Idea" and "is missing" in each.text]
    [guest] = [each for each in played.result["guests"] if each["advice"] in again.text]
    assert (guest["stage"], again.tools) == ("idea", [])
    paid = [each for each in played.requests if each.title == "Advice"]
    assert len(paid) == len(played.result["guests"]), "nobody is paid twice"


@pytest.mark.slow
@pytest.mark.parametrize("host", EVERY)
async def test_a_repeated_question_without_tools_still_says_whom_one_may_ask(llm: LLM, run: Play, host: str):
    llm.faults.append(Fault("missing", when=lambda one: one.title == "Idea"))
    played = await run("topic=T", "team.size=2", "invitation.enabled=true", f"host={host}")
    first, again, *_ = [request for request in played.requests if request.title == "Idea"]
    assert "## Whom you may ask" in first.text
    assert "## Whom you may ask" in again.text


@pytest.mark.slow
@pytest.mark.parametrize("tools", [False, True])
async def test_who_may_ask_is_told_the_way_that_is_there(run: Play, tools: bool):
    played = await run(
        "turns=1", "topic=T", "invitation.enabled=true", f"models.default.tools={tools}".lower()
    )
    listed = [request for request in played.requests if "## Whom you may ask" in request.asking]
    assert listed
    for request in listed:
        way = request.asking.partition("## Whom you may ask")[2].partition("## The form")[0]
        assert ("invite_scientist" in way) == tools
        assert ("`invite`" in way) != tools


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("reply: Vote", "reply: Idea", r"task 'vote' must reply with Vote, not Idea"),
        ("description: A digital", "model: fancy\ndescription: A digital", r"its model is 'fancy'"),
        pytest.param(
            "find_scientists,", "find_everybody,", r"no such tool 'find_everybody'", marks=pytest.mark.slow
        ),
        pytest.param("  vote:", "  ballot:", r"virsci needs a task 'vote'", marks=pytest.mark.slow),
    ],
)
async def test_a_card_that_does_not_fit_is_refused_before_anything_is_asked(
    llm: LLM, tmp_path: Path, old: str, new: str, says: str
):
    paths = own_cards(tmp_path, old, new, "scientist")
    prompt = (shipped() / "prompts" / "scientist" / "vote.md.j2").read_text(encoding="utf-8")
    (tmp_path / "prompts" / "scientist").mkdir(parents=True)
    (tmp_path / "prompts" / "scientist" / "ballot.md.j2").write_text(prompt, encoding="utf-8")
    with pytest.raises(ConfigError, match=says):
        await play(config_for(llm, paths), tmp_path / "run", llm)
    assert llm.calls == 0


def shows_papers(played: Played, heading: str) -> set[tuple[bool, bool]]:
    """Whether the prompts under a heading show papers, and speak of papers that were looked up."""
    words = ("papers", "references", "none was found")
    asked = [request.asking for request in played.asked(heading)]
    tasks = [each.split("Answer with one JSON")[0].casefold() for each in asked]
    return {
        ("<paper>" in each, any(word in task for word in words))
        for each, task in zip(asked, tasks, strict=True)
    }


@pytest.mark.parametrize(("ideas", "votes"), [(3, 0), pytest.param(0, 3, marks=pytest.mark.slow)])
async def test_references_can_be_left_out(run: Play, ideas: int, votes: int):
    played = await run("topic=T", f"ideas.references={ideas}", f"novelty.references={votes}")
    assert shows_papers(played, HEADINGS["idea"]) == {(bool(ideas), bool(ideas))}
    assert shows_papers(played, HEADINGS["novelty"]) == {(bool(votes), bool(votes))}
    assert {len(each["references"]) for each in played.result["ideas"]} == {ideas}


@pytest.mark.parametrize("fixed", [False, pytest.param(True, marks=pytest.mark.slow)])
async def test_a_starting_topic_is_told_to_those_who_look_for_one(run: Play, fixed: bool):
    played = await run("turns=1", "topics.start=NanoGPT on a tiny machine", *["topic=Robots"] * fixed)
    told = [*played.asked(HEADINGS["topic"]), *played.asked("Settling the topic")]
    assert len(told) == (0 if fixed else 3 + 1)
    assert all("<start>\nNanoGPT on a tiny machine\n</start>" in each.asking for each in told)
    assert not any("NanoGPT" in each.text for each in played.requests if each not in told)
    assert played.result["topic"]["fixed"] is fixed


@pytest.mark.parametrize(
    ("name", "guests"),
    [
        ("SCIENTIST_9", ["Scientist9"]),
        pytest.param("Scientist9 (robotics)", ["Scientist9"], marks=pytest.mark.slow),
        pytest.param("null", [], marks=pytest.mark.slow),
    ],
)
async def test_names_of_guests_are_read_leniently(run: Play, name: str, guests: list[str]):
    sets = ("turns=1", "topic=T", "team.leader=Scientist1", "invitation.enabled=true")
    played = await run(*sets, invite=once(name, "Finding an idea"), question="Why?")
    assert [guest["name"] for guest in played.result["guests"]] == guests
    assert not played.of(Warned)


def own_cards(folder: Path, old: str, new: str, *roles: str) -> str:
    """Writes shipped cards with a change; returns the setting that has them read."""
    (folder / "roles").mkdir()
    for role in roles:
        card = (shipped() / "roles" / f"{role}.yaml").read_text(encoding="utf-8")
        assert old in card
        (folder / "roles" / f"{role}.yaml").write_text(card.replace(old, new), encoding="utf-8")
    return f"paths=[{folder}]"


@pytest.mark.parametrize(
    ("roles", "gone", "offered"),
    [
        (
            ("scientist",),
            "find_scientists, ",
            {("find_scientists", "invite_scientist"), ("invite_scientist",)},
        ),
        pytest.param(
            ("scientist", "leader"), "invite_scientist", {("find_scientists",)}, marks=pytest.mark.slow
        ),
    ],
)
async def test_a_card_says_which_tools_its_speakers_have(
    run: Play, tmp_path: Path, roles: tuple[str, ...], gone: str, offered: set[tuple[str, ...]]
):
    paths = own_cards(tmp_path, gone, "", *roles)
    played = await run("turns=1", "topic=T", "invitation.enabled=true", "models.default.tools=true", paths)
    assert {tuple(request.tools) for request in played.asked("Finding an idea")} == offered
    shown = any("## Whom you may ask" in request.text for request in played.requests)
    assert shown == any("invite_scientist" in names for names in offered)


async def test_a_listed_tool_searches_the_corpus_and_is_noted(llm: LLM, run: Play, tmp_path: Path):
    """The look-up happens in the turn, and the ledger keeps it."""
    query = "graph neural networks molecules"
    llm.tool_calls = [("search_papers", {"query": query, "limit": 2})]
    paths = own_cards(tmp_path, "[find_scientists, invite_scientist]", "[search_papers]", "scientist")
    played = await run("turns=1", "models.default.tools=true", "literature.cascade=[local]", paths)
    looked = played.of(Searched)
    assert {(one.source, one.query, one.outcome) for one in looked} == {("local", query, "found")}
    assert all(tools in ([], ["search_papers"]) for tools in (request.tools for request in llm.requests))
    assert any("Id: local:" in request.text for request in llm.requests)
    assert played.result["searches"]
    assert played.result["degraded"] == []
    lines = (played.folder / "searches.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["query"] for line in lines} == {query}
