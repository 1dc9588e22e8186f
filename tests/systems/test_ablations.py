"""Each switch of the ablations changes what reaches the model, and only that (VirSci 2025, App. D, Tables 3–9)."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from manyheads.core.events import Recruited
from manyheads.corpus.corpora import resolve_corpus
from manyheads.corpus.ecosystem import Ecosystem
from support.llm import LLM
from support.play import Played, config_for, play, play_now
from support.requests import Request

BASE = ("turns=1", "team.leader=Scientist1")
JOIN, TOPIC, IDEA = "An invitation to a research team", "Finding a research topic", "Finding an idea"
VOTE, DRAFT, REVISE = (
    "Which idea is the most novel?",
    "The first draft of the abstract",
    "Improving the abstract",
)
SETTLE = "Settling the topic"
REVIEW, ANOTHER, LEAVE = "Is the abstract too close", "Another turn?", "The topic is settled"
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """The run that each switch is held against."""
    with LLM(answers={"overlaps": little}) as llm:
        yield play_now(tmp_path_factory.mktemp("run"), llm, *BASE)


@pytest.fixture
def run(llm: LLM, tmp_path: Path) -> Run:
    async def runner(*sets: str, **answers: object) -> Played:
        llm.answers.update({"overlaps": little, **answers})
        return await play(config_for(llm, *BASE, *sets), tmp_path / "run", llm)

    return runner


def little(request: Request) -> list[dict[str, Any]]:
    count = request.asking.count("<paper>")
    return [{"paper": n, "similarity": 5, "reason": "Little."} for n in range(1, count + 1)]


def headings(played: Played) -> Counter[str]:
    return Counter(request.asking.split("\n", 1)[0].removeprefix("# ") for request in played.requests)


def papers(played: Played, heading: str) -> set[bool]:
    """Whether the prompts under a heading show papers."""
    return {"<paper>" in request.asking for request in played.asked(heading)}


def claims(played: Played, heading: str) -> set[bool]:
    """Whether the prompts under a heading speak of papers that were looked up; of none that were not."""
    words = ("papers", "references", "none was found")
    return {
        any(word in request.asking.split("Answer with one JSON")[0].casefold() for word in words)
        for request in played.asked(heading)
    }


async def test_invitation(run: Run, whole: Played):
    played = await run("invitation.enabled=true")
    assert all("Whom you may ask" in each.text for each in played.asked(TOPIC))
    assert all("invite" in (each.schema or {})["properties"] for each in played.asked(TOPIC))
    assert not any("Whom you may ask" in each.text for each in whole.requests)
    assert not any("invite" in (each.schema or {}).get("properties", {}) for each in whole.requests)


@pytest.mark.slow
async def test_novelty_assessment(run: Run, whole: Played):
    played = await run("novelty.enabled=false")
    assert headings(whole)[VOTE] == 3
    assert not headings(played)[VOTE]
    [draft] = played.asked(DRAFT)
    last = played.result["ideas"][-1]
    assert last["idea"] in draft.asking
    assert played.result["idea"]["number"] == last["number"]


@pytest.mark.slow
async def test_self_review(run: Run, whole: Played):
    played = await run("self_review.enabled=true")
    [review] = played.asked(REVIEW)
    assert played.requests[-1] == review
    assert headings(played) - headings(whole) == Counter([review.asking.split("\n", 1)[0].removeprefix("# ")])
    assert not whole.asked(REVIEW)


@pytest.mark.parametrize(
    ("off", "ideas", "votes"),
    [
        ((), True, True),
        pytest.param(("ideas.references=0",), False, True, marks=pytest.mark.slow),
        pytest.param(("novelty.references=0",), True, False, marks=pytest.mark.slow),
        pytest.param(("ideas.references=0", "novelty.references=0"), False, False, marks=pytest.mark.slow),
    ],
)
async def test_references(run: Run, off: tuple[str, ...], ideas: bool, votes: bool):
    played = await run(*off)
    assert papers(played, IDEA) == {ideas}
    assert papers(played, VOTE) == {votes}
    assert claims(played, IDEA) == {ideas}
    assert claims(played, VOTE) == {votes}


@pytest.mark.parametrize("references", [pytest.param(1, marks=pytest.mark.slow), 3])
async def test_how_many_references(run: Run, references: int):
    played = await run(f"ideas.references={references}", f"novelty.references={references}")
    assert {each.asking.count("<paper>") for each in played.asked(IDEA)} == {references}
    shown = [re.findall(r"^Closest papers.*$", each.asking, re.MULTILINE) for each in played.asked(VOTE)]
    assert {line.count("[") for lines in shown for line in lines} == {references}
    assert {len(lines) for lines in shown} == {3}


async def test_the_result_tells_which_paper_a_number_of_the_vote_is(whole: Played):
    titles = {each["id"]: each["title"] for each in whole.result["evidence"]}
    numbered = re.findall(r"^\[\d+\]\n<paper>\nTitle: (.*)$", whole.asked(VOTE)[0].asking, re.MULTILINE)
    assert len(numbered) > 1
    for vote in whole.result["votes"]:
        assert [titles[paper] for paper in vote["papers"]] == numbered


@pytest.mark.slow
async def test_topology(run: Run, whole: Played):
    played = await run("topology=random", "turns.topic=3", "turns.idea=3")
    table = [member["name"] for member in whole.result["team"]]

    def speakers(of: Played) -> list[str]:
        return [each.system.split()[2].rstrip(",") for each in of.asked(TOPIC) + of.asked(IDEA)]

    assert speakers(whole) == table * 2
    order = speakers(played)
    assert set(order) <= {member["name"] for member in played.result["team"]}
    assert order != [member["name"] for member in played.result["team"]] * 6


@pytest.mark.slow
async def test_exploration(run: Run, whole: Played, llm: LLM, tmp_path: Path):
    invited = {"uniform": [event.candidate for event in whole.of(Recruited)]}
    for exploration in ("normal", "none"):
        sets = (*BASE, f"team.exploration={exploration}", "topic=T", "team.size=6", "novelty.enabled=false")
        played = await play(config_for(llm, *sets), tmp_path / exploration, llm)
        invited[exploration] = [event.candidate for event in played.of(Recruited)]
    with Ecosystem.open(resolve_corpus("sample", embedding="lexical")) as ecosystem:
        before = set(ecosystem.scientist("Scientist1").collaborators)
    assert set(invited["none"]) <= before, "without exploration past collaborators only"
    assert invited["normal"][:2] != invited["none"][:2]
    assert len({tuple(names[:2]) for names in invited.values()}) > 1


@pytest.mark.slow
async def test_adaptive_turns(run: Run, whole: Played):
    played = await run("turns=2", "turns.adaptive=true")
    assert headings(played)[ANOTHER] == 4
    assert not headings(whole)[ANOTHER]
    assert headings(played)[IDEA] == 3, "the leader has closed the stage after its first turn"


@pytest.mark.slow
@pytest.mark.parametrize(
    "restarts", [pytest.param(0, marks=pytest.mark.slow), 1, pytest.param(2, marks=pytest.mark.slow)]
)
async def test_consensus_restart(run: Run, restarts: int):
    played = await run(f"topics.max_restarts={restarts}", agree=False)
    assert headings(played)[TOPIC] == 3 * (restarts + 1)
    assert len(played.result["warnings"]) == 1


@pytest.mark.parametrize("may_leave", [True, pytest.param(False, marks=pytest.mark.slow)])
async def test_leaving(run: Run, may_leave: bool):
    played = await run(f"topics.may_leave={str(may_leave).lower()}", stay=False)
    assert headings(played)[LEAVE] == 2 * may_leave
    assert headings(played)[IDEA] == (1 if may_leave else 3), "the leader goes on alone"


@pytest.mark.slow
async def test_starting_topic(run: Run, whole: Played):
    played = await run("topics.start=NanoGPT on a tiny machine")
    shown = "<start>\nNanoGPT on a tiny machine\n</start>"
    told = [*played.asked(TOPIC), *played.asked(SETTLE)]
    assert len(told) == 3 + 1
    assert all(shown in each.asking for each in told)
    assert not any("NanoGPT" in each.text for each in played.requests if each not in told)
    assert headings(played) == headings(whole)
    assert not any("<start>" in each.text for each in whole.requests)


async def test_a_fixed_topic_needs_no_start(run: Run):
    played = await run("topics.start=NanoGPT", "topic=Robots")
    assert not played.asked(TOPIC)
    assert not any("NanoGPT" in each.text for each in played.requests)


async def test_what_is_not_switched_reaches_the_model_as_before(run: Run, whole: Played):
    assert headings(await run()) == headings(whole)
    assert {TOPIC, IDEA, VOTE, DRAFT, REVISE} <= set(headings(whole))
