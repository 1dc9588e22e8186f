"""A discussion of fixed roles, without an ecosystem (HypoGen style; VirSci 2025, App. C.3; arXiv 2407.08940)."""

from dataclasses import dataclass

from manyheads.asking.replies import Abstract, Analysis, Critique, Idea, Reading, ReplyModel
from manyheads.core import Speaker
from manyheads.systems.baselines.desk import ABSTRACT, IDEA, RESEARCHER, Desk
from manyheads.systems.baselines.result import BaselineRun
from manyheads.team.run import Question, Remark

ENGINEER = "engineer"
TASKS: dict[str, tuple[str, type[ReplyModel]]] = {
    "analyst": ("analyse", Analysis),
    ENGINEER: ("report", Reading),
    RESEARCHER: ("develop", Idea),
    "critic": ("criticise", Critique),
}
"""The task of each role, in the order in which they speak."""
NEEDS = {(role, task): reply for role, (task, reply) in TASKS.items()} | {(RESEARCHER, "abstract"): Abstract}
STAGES = {IDEA: "Discussion", ABSTRACT: "Abstract generation"}


@dataclass(frozen=True)
class Word(Remark):
    """A remark; for an idea its title, marked as a `proposal`."""

    proposal: bool = False


async def discussion(run: BaselineRun) -> None:
    """Discuss a topic for `turns` turns, in each of which everybody speaks once, and write the abstract.

    As in the published system, everybody hears everything, but only the titles of earlier versions of the idea. The critic's
    approval ends the discussion only with `until_done`; a limit in tokens ends it, even within a turn, while the abstract can
    still be paid.

    Raises:
        ConfigError: no topic.
        BudgetError: the tokens do not suffice for the abstract.
    """
    desk, said = Desk.of(run, STAGES), list[Word]()
    people = {role: run.speaker(role, role.capitalize()) for role in TASKS}
    if not run.settings.ideas.references and not desk.tools(people[ENGINEER]):
        del people[ENGINEER]  # there is no literature to look up
    desk.seat(*people.values(), turns=run.settings.turns)
    for turn in range(1, run.settings.turns + 1):
        if desk.is_done(turn - 1, "the critic approves the idea"):
            break
        if not await _turn(desk, list(people.values()), said, turn):
            break
    else:
        desk.exhaust("turns", TASKS[next(iter(people))][0])
    await desk.write(desk.ideas[-1:], desk.ideas[-1], people[RESEARCHER])


async def _turn(desk: Desk, people: list[Speaker], said: list[Word], turn: int) -> bool:
    """Everybody speaks once; False if tokens run short. The first idea is always awaited, and never left out."""
    for speaker in people:
        task, like = TASKS[speaker.role]
        if desk.ideas and not desk.affords(turn, task, desk.abstract_costs):
            return False
        previous, tools = desk.ideas[-1] if desk.ideas else None, ()
        variables: dict[str, object] = {"topic": desk.topic, "previous": previous, "said": list(said)}
        if (
            speaker.role == ENGINEER
        ):  # alone sees papers, close to the current idea or, at first, to the topic
            tools = desk.tools(speaker)
            variables["references"] = await desk.references(
                turn, previous.query(desk.run.settings.ideas.whole) if previous else desk.topic
            )
        spare = bool(desk.ideas) or speaker.role != RESEARCHER
        question = Question(IDEA, turn, speaker, speaker.role, task, variables, tools=tools, spare=spare)
        ask = desk.ask(question, like)
        answer = await (desk.run.spare(IDEA, ask) if spare else ask)
        if answer is None:
            continue
        reply = answer.value
        if isinstance(reply, Critique) and reply.approve:
            desk.course.done_in_turns.append(turn)
        if isinstance(reply, Idea):
            desk.add(reply, speaker.name, turn)
            said.append(Word(speaker.name, reply.title, proposal=True))
        else:
            said.append(Word(speaker.name, desk.run.wording(reply)))
    return True
