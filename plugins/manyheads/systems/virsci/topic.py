"""Topic discussion (VirSci 2025, §3.2, Eq. 1): turns, consensus, the leader's topic, who stays."""

from collections.abc import Sequence
from dataclasses import dataclass

from manyheads.asking.replies import Remark
from manyheads.base.papers import Paper
from manyheads.core import led, results, together
from manyheads.core.events import Judged, Retrieved
from manyheads.systems.virsci.config import stages
from manyheads.systems.virsci.replies import Consensus, Interest, Topic
from manyheads.systems.virsci.result import VirSciRun
from manyheads.team.run import Question
from manyheads.team.steering import steer
from manyheads.team.team import Member, Team, Thread, speak, speakers

STAGE = "topic"
HOT = "cited most in the last year"


@dataclass(frozen=True)
class Opinion:
    """What a member says in the consensus check."""

    name: str
    agree: bool
    reasoning: str


async def find_topic(run: VirSciRun, team: Team) -> str:
    """The team's topic (R_topic).

    Without a majority for a shared direction the discussion starts over, up to `topics.max_restarts` times, with what each
    member found in dispute in the prompt. After that the leader decides, with a warning. A person may send it back.
    """
    run.begin(STAGE, stages(run.config), turns=run.settings.turns.of(STAGE))
    turn = 0
    while True:
        topic, turn = await _discuss_until_majority(run, team, turn)
        _record(run, topic)
        person = await steer(run, STAGE, turn, run.wording(topic), edit=topic)
        if not person.back:
            break
    topic = person.reply or topic
    _record(run, topic)
    run.expect(topic.topic)
    if run.settings.topics.may_leave:
        await _who_stays(run, team, topic, turn)
    return topic.topic


def _record(run: VirSciRun, topic: Topic) -> None:
    run.result.topic = results.Topic(topic=topic.topic, rationale=topic.rationale, fixed=False)


async def _discuss_until_majority(run: VirSciRun, team: Team, before: int) -> tuple[Topic, int]:
    """The topic that the leader writes, and its last turn; turns continue from `before`.

    Without a majority the discussion restarts, up to `topics.max_restarts` times.
    """
    thread, views, config = Thread(turn=before), list[Opinion](), run.settings.topics
    for attempt in range(config.max_restarts + 1):
        thread = await _hold_discussion(run, team, thread.turn, views)
        run.result.turns[STAGE] = thread.turn
        if len(team.members) == 1:  # nobody to agree with
            break
        views = await _views(run, team, thread)
        if 2 * sum(view.agree for view in views) > len(views):
            break
        if attempt == config.max_restarts:
            run.warn(STAGE, f"no majority after {attempt + 1} discussions; the leader decides the topic")
    # R_topic, within the starting topic if one is given (App. C.3)
    variables = {"start": config.start, **_history(thread)}
    question = Question(STAGE, thread.turn, team.leader.speaker, "leader", "settle", variables, part="leader")
    return (await run.ask(question, Topic)).value, thread.turn


def _history(thread: Thread) -> dict[str, object]:
    return {"summaries": list(thread.summaries), "replies": list(thread.replies)}


async def _hold_discussion(run: VirSciRun, team: Team, before: int, views: Sequence[Opinion]) -> Thread:
    """K turns of Eq. 1: Q_k,i = ⟨Q_team, Q_topic, summaries of turns 1…k-1, replies of this turn⟩.

    Q_topic holds the starting topic, if one is given (App. C.3). The last turn has no summary: its replies settle
    the topic (after Eq. 1). `views` are from the previous discussion, which found no majority.
    """
    thread, turns, hot = Thread(), run.settings.turns.of(STAGE), _hot_papers(run, before + 1)
    async for member in speakers(run, team, thread, STAGE, before=before):
        variables = {
            "team": team.profiles(), "start": run.settings.topics.start, "turn": thread.turn - before,
            "turns": turns, "views": views, "hot": hot, **_history(thread),
        }  # fmt: skip
        recall = thread.summaries[-1] if thread.summaries else team.interests()
        question = Question(
            STAGE, thread.turn, member.speaker, "scientist", "topic", variables, recall=recall
        )
        reply, guests = await speak(run, team, question, Remark, context=thread.text)
        if reply:
            thread.add(member, run.wording(reply), guests)
    return thread


def _hot_papers(run: VirSciRun, turn: int) -> list[Paper]:
    """The papers that gained most citations in the last year, stored as evidence."""
    papers = run.literature.hot(run.settings.topics.hot)
    for paper in papers:
        found = results.Retrieval(source=run.config.corpus, query=HOT, stage=STAGE, turn=turn)
        run.evidence.cite(paper.id, paper.title, found, year=paper.year, of=paper)
    if papers:
        rows = ({"id": paper.id, "title": paper.title, "year": paper.year} for paper in papers)
        run.emit(Retrieved(stage=STAGE, turn=turn, query=HOT, hits=tuple(rows)))
    return papers


async def _views(run: VirSciRun, team: Team, thread: Thread) -> list[Opinion]:
    """For each member, whether the team shares a direction; members without a valid reply are not counted."""

    async def ask(member: Member) -> Opinion | None:
        question = Question(STAGE, thread.turn, member.speaker, "scientist", "consensus", _history(thread))
        view = await run.hear(question, Consensus)
        return view and Opinion(member.name, view.agree, view.reasoning)

    members = team.members
    answers = await led(ask, members[:1], members[1:], batch=run.config.in_batches)
    views = [view for view in answers if view]
    outcome = f"{sum(view.agree for view in views)} of {len(views)} agree"
    run.emit(Judged(stage=STAGE, turn=thread.turn, subject="consensus", outcome=outcome))
    return views


async def _who_stays(run: VirSciRun, team: Team, topic: Topic, turn: int) -> None:
    """Members who are not interested leave; the leader and the rest go on, with those who give no valid reply."""

    async def ask(member: Member) -> Interest | None:
        question = Question(STAGE, turn, member.speaker, "scientist", "interest", {"topic": topic.topic})
        return await run.hear(question, Interest)

    others = team.members[1:]
    for member, answer in zip(others, await together(*(ask(member) for member in others)), strict=True):
        if answer and not answer.stay:
            team.members.remove(member)
            run.result.left.append(member.name)
            run.insiders.discard(member.name)
            why = answer.reasoning
            run.emit(Judged(stage=STAGE, turn=turn, subject=member.name, outcome="leaves", reasoning=why))
    if others and len(team.members) == 1:
        run.warn(STAGE, "every member left; the leader continues alone")
