"""Topic discussion (VirSci 2025, §3.2, Eq. 1): turns, consensus, the leader's topic, who stays."""

from dataclasses import dataclass, field

from manyheads.core import results, together
from manyheads.core.events import Judged
from manyheads.discussion import Member, Remark, Team, another_turns, speak, speaking_order, summarise
from manyheads.discussion.run import Question
from manyheads.replies import Consensus, Interest, Topic
from manyheads.replies import Remark as RemarkReply
from manyheads.systems.virsci.config import GOALS, stage_event
from manyheads.systems.virsci.result import VirSciRun

STAGE = "topic"


@dataclass
class Thread:
    """One discussion: summaries of its earlier turns (D̄_t) and the replies of its last one (R_K,j)."""

    summaries: list[str] = field(default_factory=list[str])
    replies: list[Remark] = field(default_factory=list[Remark])
    speaker: Member | None = None
    turn: int = 0

    def variables(self) -> dict[str, object]:
        return {"summaries": list(self.summaries), "replies": list(self.replies)}

    def text(self) -> str:
        return "\n\n".join([*self.summaries, *(f"{reply.name}: {reply.text}" for reply in self.replies)])

    def say(self, remark: Remark) -> None:
        self.replies.append(remark)


async def find_topic(run: VirSciRun, team: Team) -> str:
    """The team's topic (R_topic).

    Without a majority for a shared direction the discussion starts over, `topics.max_restarts` times; after that
    the leader decides, and a warning says so.
    """
    run.emit(stage_event(run.config, STAGE))
    thread, turns = Thread(), 0
    for attempt in range(run.settings.topics.max_restarts + 1):
        thread = await _discuss(run, team, turns)
        turns = run.result.turns[STAGE] = thread.turn
        if await _agreed(run, team, thread):
            break
        if attempt == run.settings.topics.max_restarts:
            run.warn(STAGE, f"no majority after {attempt + 1} discussions; the leader decides the topic")
    topic = await _settle(run, team, thread)
    run.result.topic = results.Topic(topic=topic.topic, rationale=topic.rationale, fixed=False)
    run.expect(topic.topic)
    if run.settings.topics.may_leave:
        await _who_stays(run, team, topic, turns)
    return topic.topic


async def _discuss(run: VirSciRun, team: Team, before: int) -> Thread:
    """K turns. Each is summed up when the next begins: the last one's own words settle the topic (after Eq. 1)."""
    thread = Thread()
    async for turn in another_turns(run, team, STAGE, GOALS[STAGE], thread.text, before=before):
        if thread.replies:
            thread.summaries.append(await summarise(run, team, STAGE, thread.turn, thread.replies))
            thread.replies = []
            run.expect(thread.summaries[-1], recall=True)
        thread.turn = turn
        for member in speaking_order(team.members, run.settings.topology, run.rng, thread.speaker):
            await _remark(run, team, thread, member)
    return thread


async def _remark(run: VirSciRun, team: Team, thread: Thread, member: Member) -> None:
    """Eq. 1: Q_k,i = ⟨Q_team, Q_topic, summaries of turns 1…k-1, replies of this turn⟩.

    Q_topic holds the starting topic, if one is given (App. C.3).
    """
    variables = {"team": team.profiles(), "start": run.settings.topics.start, **thread.variables()}
    recall = thread.summaries[-1] if thread.summaries else team.interests()
    question = Question(STAGE, thread.turn, member.speaker, "scientist", "topic", variables, recall=recall)
    kind = run.reply_type("scientist", "topic", RemarkReply)
    reply, guests = await speak(run, team, question, kind, context=thread.text())
    thread.say(Remark(member.name, reply.value.spoken()))
    for guest in guests:
        thread.say(Remark(guest.name, guest.advice, guest=True))
    thread.speaker = member


async def _agreed(run: VirSciRun, team: Team, thread: Thread) -> bool:
    """Whether a majority of the members sees a direction that they share."""

    async def ask(member: Member) -> bool:
        question = Question(STAGE, thread.turn, member.speaker, "scientist", "consensus", thread.variables())
        kind = run.reply_type("scientist", "consensus", Consensus)
        return (await run.ask(question, kind)).value.agree

    yes = sum(await together(*(ask(member) for member in team.members)))
    outcome = f"{yes} of {len(team.members)} agree"
    run.emit(Judged(stage=STAGE, turn=thread.turn, subject="consensus", outcome=outcome))
    return 2 * yes > len(team.members)


async def _settle(run: VirSciRun, team: Team, thread: Thread) -> Topic:
    """R_topic, within the starting topic if one is given (App. C.3)."""
    variables = {"start": run.settings.topics.start, **thread.variables()}
    question = Question(STAGE, thread.turn, team.leader.speaker, "leader", "settle", variables, part="leader")
    return (await run.ask(question, run.reply_type("leader", "settle", Topic))).value


async def _who_stays(run: VirSciRun, team: Team, topic: Topic, turn: int) -> None:
    """Members who are not interested leave; the leader and the rest go on."""

    async def ask(member: Member) -> Interest:
        question = Question(STAGE, turn, member.speaker, "scientist", "interest", {"topic": topic.topic})
        return (await run.ask(question, run.reply_type("scientist", "interest", Interest))).value

    others = team.members[1:]
    for member, answer in zip(others, await together(*(ask(member) for member in others)), strict=True):
        if not answer.stay:
            team.leave(member)
            run.result.left.append(member.name)
            run.insiders.discard(member.name)
            run.emit(
                Judged(
                    stage=STAGE, turn=turn, subject=member.name, outcome="leaves", reasoning=answer.reasoning
                )
            )
    if others and len(team.members) == 1:
        run.warn(STAGE, "every member left; the leader goes on alone")
