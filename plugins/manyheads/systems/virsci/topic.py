"""Topic discussion (VirSci 2025, §3.2, Eq. 1): turns, consensus, the leader's topic, who stays."""

from manyheads.core import results, together
from manyheads.core.events import Judged
from manyheads.discussion.invitation import speak
from manyheads.discussion.run import Question
from manyheads.discussion.team import Member, Team, Thread, speakers
from manyheads.replies import Consensus, Interest, Remark, Topic
from manyheads.systems.virsci.config import GOALS, stages
from manyheads.systems.virsci.result import VirSciRun

STAGE = "topic"


async def find_topic(run: VirSciRun, team: Team) -> str:
    """The team's topic (R_topic).

    Without a majority for a shared direction the discussion starts over, `topics.max_restarts` times; after that
    the leader decides, and a warning says so.
    """
    run.begin(STAGE, stages(run.config), turns=run.settings.turns.of(STAGE))
    thread, config = Thread(), run.settings.topics
    for attempt in range(config.max_restarts + 1):
        thread = await _discuss(run, team, thread.turn)
        run.result.turns[STAGE] = thread.turn
        if await _agreed(run, team, thread):
            break
        if attempt == config.max_restarts:
            run.warn(STAGE, f"no majority after {attempt + 1} discussions; the leader decides the topic")
    # R_topic, within the starting topic if one is given (App. C.3)
    variables = {"start": config.start, **_history(thread)}
    question = Question(STAGE, thread.turn, team.leader.speaker, "leader", "settle", variables, part="leader")
    topic = (await run.ask(question, Topic)).value
    run.result.topic = results.Topic(topic=topic.topic, rationale=topic.rationale, fixed=False)
    run.expect(topic.topic)
    if config.may_leave:
        await _who_stays(run, team, topic, thread.turn)
    return topic.topic


def _history(thread: Thread) -> dict[str, object]:
    return {"summaries": list(thread.summaries), "replies": list(thread.replies)}


async def _discuss(run: VirSciRun, team: Team, before: int) -> Thread:
    """K turns of Eq. 1: Q_k,i = ⟨Q_team, Q_topic, summaries of turns 1…k-1, replies of this turn⟩.

    Q_topic holds the starting topic, if one is given (App. C.3). The last turn is not summed up: its own words settle
    the topic (after Eq. 1).
    """
    thread = Thread()
    async for member in speakers(run, team, thread, STAGE, GOALS[STAGE], before=before):
        variables = {"team": team.profiles(), "start": run.settings.topics.start, **_history(thread)}
        recall = thread.summaries[-1] if thread.summaries else team.interests()
        question = Question(
            STAGE, thread.turn, member.speaker, "scientist", "topic", variables, recall=recall
        )
        reply, guests = await speak(run, team, question, Remark, context=thread.text())
        thread.add(member, run.told(reply.value), guests)
    return thread


async def _agreed(run: VirSciRun, team: Team, thread: Thread) -> bool:
    """Whether a majority of the members sees a direction that they share."""

    async def ask(member: Member) -> bool:
        question = Question(STAGE, thread.turn, member.speaker, "scientist", "consensus", _history(thread))
        return (await run.ask(question, Consensus)).value.agree

    yes = sum(await together(*(ask(member) for member in team.members)))
    outcome = f"{yes} of {len(team.members)} agree"
    run.emit(Judged(stage=STAGE, turn=thread.turn, subject="consensus", outcome=outcome))
    return 2 * yes > len(team.members)


async def _who_stays(run: VirSciRun, team: Team, topic: Topic, turn: int) -> None:
    """Members who are not interested leave; the leader and the rest go on."""

    async def ask(member: Member) -> Interest:
        question = Question(STAGE, turn, member.speaker, "scientist", "interest", {"topic": topic.topic})
        return (await run.ask(question, Interest)).value

    others = team.members[1:]
    for member, answer in zip(others, await together(*(ask(member) for member in others)), strict=True):
        if not answer.stay:
            team.members.remove(member)
            run.result.left.append(member.name)
            run.insiders.discard(member.name)
            run.emit(
                Judged(
                    stage=STAGE, turn=turn, subject=member.name, outcome="leaves", reasoning=answer.reasoning
                )
            )
    if others and len(team.members) == 1:
        run.warn(STAGE, "every member left; the leader goes on alone")
