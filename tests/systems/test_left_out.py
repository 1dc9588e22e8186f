"""One bad voice does not end a run: who gives no valid answer is left out, and that is said."""

from collections.abc import Callable
from functools import partial

import pytest

from manyheads.base.errors import BudgetError, ModelError
from manyheads.core.events import Invited, Voted
from support.direct import Play, Played
from support.faults import Fault
from support.hosts import HOSTS
from support.llm import LLM
from support.requests import Request, asks

GUEST, VOTE = "A team asks for your advice", "Which idea is the most novel?"
ADVISED = "Before you settled your answer"
"""Begins the question to one who has heard a guest."""
PROSE = "I would rather chat."
INVITING = ("topic=T", "team.leader=Scientist1", "invitation.enabled=true")


@pytest.fixture
def run(run: Play) -> Play:
    return partial(run, "attempts=2")


def anything(request: Request) -> str | None:
    """No reply of its own: the form is filled in."""


def mute(llm: LLM, heading: str, *numbers: int) -> None:
    """Has questions under a heading answered in prose, all or by their number, each time that they are asked."""
    seen: dict[str, int] = {}

    def reply(request: Request) -> str | None:
        advised = any(said.text.startswith(ADVISED) for said in request.messages if said.role == "user")
        if not (advised if heading == ADVISED else asks(request, heading)):
            return None
        number = seen.setdefault(request.system + request.asking, len(seen) + 1)
        return PROSE if not numbers or number in numbers else None

    llm.reply = reply


def asks_in(heading: str) -> Callable[[Request], str | None]:
    return lambda request: "Scientist9" if request.asking.startswith(f"# {heading}") else None


def left_out(played: Played) -> list[str]:
    return [warning for warning in played.result["warnings"] if "continues without" in warning]


@pytest.mark.slow
@pytest.mark.parametrize("host", HOSTS)
async def test_a_guest_asked_by_a_tool_who_gives_no_answer_is_left_out(llm: LLM, run: Play, host: str):
    llm.tool_calls = [("invite_scientist", {"name": "Scientist9", "question": "Why?"})]
    mute(llm, GUEST)
    played = await run(*INVITING, "models.default.tools=true", f"host={host}")
    assert played.result["finished"]
    assert played.result["guests"] == []
    invited = played.of(Invited)
    assert invited
    assert len(left_out(played)) == len(invited)
    told = [m.text for each in played.requests for m in each.messages if m.role == "tool"]
    assert told
    assert all("gave no answer" in each for each in told)


@pytest.mark.parametrize("stage", ["Finding an idea", pytest.param(VOTE, marks=pytest.mark.slow)])
async def test_a_guest_asked_in_a_reply_who_gives_no_answer_is_left_out(llm: LLM, run: Play, stage: str):
    mute(llm, GUEST)
    played = await run(*INVITING, invite=asks_in(stage), question="Why?")
    assert played.result["guests"] == []
    assert len(left_out(played)) == len(played.of(Invited)) == 3
    assert len(played.asked(stage)) == 3, "nobody answers again for want of an advice"
    assert len(played.result["votes"]) == 3
    if stage != VOTE:
        heard = ["Scientist9 (invited guest)" in each.asking for each in played.asked(stage)]
        assert heard == [False, True, True]
        assert "gave no answer" in played.asked(stage)[1].asking


async def test_a_ballot_that_cannot_be_had_is_not_counted(llm: LLM, run: Play):
    mute(llm, VOTE, 2)
    played = await run("topic=T", choice=1)
    assert len(played.result["votes"]) == len(played.of(Voted)) == 2
    assert len(left_out(played)) == 1
    tally = [vote["idea"] for vote in played.result["votes"]].count(played.result["idea"]["title"])
    assert played.result["idea"]["votes"] == tally


@pytest.mark.slow
async def test_a_second_answer_that_cannot_be_had_leaves_the_first(llm: LLM, run: Play):
    """The voter hears the guest and then answers in prose: the vote that it cast before stands."""
    mute(llm, ADVISED)
    played = await run(*INVITING, invite=asks_in(VOTE), question="Why?")
    assert len(played.result["votes"]) == len(played.result["guests"]) == 3
    assert len(left_out(played)) == 3


async def test_without_any_ballot_the_run_stops_and_all_are_asked_again(llm: LLM, run: Play):
    mute(llm, VOTE)
    with pytest.raises(ModelError, match="novelty"):
        await run("topic=T")
    asked = llm.calls
    llm.reply = anything
    played = await run("topic=T")
    assert [request.asking.startswith(f"# {VOTE}") for request in llm.requests[asked:][:3]] == [True] * 3
    assert len(played.result["votes"]) == 3
    assert left_out(played) == []


TASKS = {
    "topic": ("Finding a research topic", 1),
    "idea": ("Finding an idea", 1),
    "summary": ("Summing up a turn", 2),
    "consensus": ("Does the team agree?", 1),
    "interest": ("The topic is settled", 1),
    "revise": ("Improving the abstract", 2),
    "self_review": ("Is the abstract too close", 1),
    "join": ("An invitation to a research team", 1),
}


@pytest.mark.parametrize(
    "task", [pytest.param(task, marks=[] if task == "summary" else pytest.mark.slow) for task in TASKS]
)
async def test_one_voice_of_a_stage_is_left_out(llm: LLM, run: Play, task: str):
    heading, turns = TASKS[task]
    mute(llm, heading, 1)
    played = await run(f"turns={turns}", f"self_review.enabled={task == 'self_review'}".lower())
    assert played.result["finished"]
    [warning] = left_out(played)
    assert f": {task}: " in warning
    if task == "summary":
        said = [said.data["remark"] for said in played.said("topic")][:3]
        later = played.asked("Finding a research topic")[3:]
        assert all(remark in request.asking for remark in said for request in later)


@pytest.mark.slow
@pytest.mark.parametrize(("heading", "sets"), [("Finding an idea", ("topic=T",)), ("An invitation", ())])
async def test_a_turn_without_a_voice_stops_the_run(llm: LLM, run: Play, heading: str, sets: tuple[str, ...]):
    mute(llm, heading)
    with pytest.raises(ModelError, match="none was valid"):
        await run("turns=3", *sets)
    assert len([each for each in llm.requests if each.asking.startswith(f"# {heading}")]) == 3 * 2


@pytest.mark.parametrize(
    "heading", ["Settling the topic", pytest.param("The first draft of the abstract", marks=pytest.mark.slow)]
)
async def test_what_a_run_stands_on_stops_it(llm: LLM, run: Play, heading: str):
    mute(llm, heading)
    with pytest.raises(ModelError, match="no valid reply"):
        await run("turns=1")


@pytest.mark.slow
@pytest.mark.parametrize("drafts", [1, 2])
async def test_a_run_resumed_after_a_bad_ballot_gives_the_same(run: Play, llm: LLM, drafts: int):
    """Stopped by its budget after the vote, and resumed with a model that has learnt to vote."""
    mute(llm, VOTE, 1)
    whole = await run("topic=T", "attempts=1", folder="whole")
    calls = sum(each.title not in ("Abstract", "Revision") for each in whole.requests) + drafts
    mute(llm, VOTE, 1)
    with pytest.raises(BudgetError):
        await run("topic=T", "attempts=1", f"budget.calls={calls}")
    llm.reply = anything
    resumed = await run("topic=T", "attempts=1")
    assert [len(each.result["votes"]) for each in (whole, resumed)] == [2, 2]
    assert resumed.result["warnings"] == whole.result["warnings"]
    assert len(left_out(resumed)) == 1


async def test_a_server_that_is_down_stops_a_vote(llm: LLM, run: Play):
    vote = Fault("status", times=None, status=401, when=lambda each: each.asking.startswith(f"# {VOTE}"))
    llm.faults.append(vote)
    with pytest.raises(ModelError) as stopped:
        await run("topic=T")
    assert "none was valid" not in str(stopped.value)


async def test_a_bad_reviewer_leaves_a_revision_without_a_review(llm: LLM, run: Play):
    mute(llm, "A review", 1)
    played = await run("system=rebuttal", "inputs.background=Owls plan. They do it at night.", improved=False)
    assert [one["review"] is None for one in played.result["rounds"]] == [True, False]
    assert "<review>" not in played.asked("Improving the idea")[0].asking
    assert len(left_out(played)) == 1


@pytest.mark.slow
async def test_a_discussion_of_fixed_roles_goes_on_without_a_critic(llm: LLM, run: Play):
    mute(llm, "Judging the idea")
    played = await run("system=discussion", "topic=T", "discussion.turns=2")
    assert len(left_out(played)) == 2
    assert len(played.result["ideas"]) == 2
