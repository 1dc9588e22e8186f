"""A discussion of fixed roles, without an ecosystem (HypoGen style; VirSci 2025, App. C.3; arXiv 2407.08940)."""

from dataclasses import dataclass, field

from manyheads.core import Speaker
from manyheads.discussion import Remark
from manyheads.discussion.run import Question
from manyheads.replies import Abstract, Analysis, Critique, Idea, Reading, ReplyModel
from manyheads.systems.baselines.desk import ABSTRACT, IDEA, RESEARCHER, Desk
from manyheads.systems.baselines.result import BaselineRun

NEEDS: dict[tuple[str, str], type[ReplyModel]] = {
    ("analyst", "analyse"): Analysis,
    ("engineer", "report"): Reading,
    (RESEARCHER, "develop"): Idea,
    ("critic", "criticise"): Critique,
    (RESEARCHER, "abstract"): Abstract,
}
STAGES = {IDEA: "Discussion", ABSTRACT: "Abstract generation"}


@dataclass
class Table:
    """Who sits at the table, in the order in which they speak, and what was said."""

    desk: Desk
    people: list[Speaker]
    said: list[Remark] = field(default_factory=list[Remark])

    @classmethod
    def set(cls, desk: Desk) -> "Table":
        """Analyst, engineer, researcher, critic; the engineer stays away where there is no literature to look up."""
        names = {"analyst": "Analyst", "engineer": "Engineer", RESEARCHER: "Researcher", "critic": "Critic"}
        people = {role: desk.run.speaker(role, name) for role, name in names.items()}
        if not desk.run.settings.ideas.references and not desk.tools(people["engineer"]):
            del people["engineer"]
        return cls(desk, list(people.values()))

    def variables(self) -> dict[str, object]:
        return {"topic": self.desk.topic, "previous": self.desk.previous, "said": list(self.said)}

    def speaker(self, role: str) -> Speaker:
        return next(each for each in self.people if each.role == role)


async def discussion(run: BaselineRun) -> None:
    """Discuss a topic for `baseline.turns` turns, in each of which everybody speaks once, then write the abstract.

    In the published system everybody hears everything; here too, but of earlier versions of the idea only their
    titles, as the one on the table takes their place. The critic's approval ends the discussion only with
    `until_done`; a limit in tokens ends it, within a turn if need be, while the abstract can still be paid.

    Raises:
        ConfigError: no topic.
        BudgetError: the allowance does not reach to the abstract.
    """
    desk = Desk.of(run, STAGES)
    table = Table.set(desk)
    desk.seat(*table.people)
    desk.begin(IDEA, run.settings.turns)
    for turn in range(1, run.settings.turns + 1):
        if desk.course.done_in_turns and run.settings.until_done:
            desk.stop(turn - 1, "done", "the critic approves the idea")
            break
        if not await _turn(table, turn):
            break
    else:
        desk.exhaust("turns", TASKS[table.people[0].role])
    chosen = desk.ideas[-1]
    await desk.write([chosen], chosen, table.speaker(RESEARCHER))


async def _turn(table: Table, turn: int) -> bool:
    """Everybody once; False where tokens run short. The first idea is waited for in any case."""
    desk = table.desk
    for speaker in table.people:
        task = TASKS[speaker.role]
        if desk.ideas and not desk.allowance.allows(task, desk.abstract_costs):
            desk.stop(turn, "tokens", desk.short_of(task, desk.abstract_costs))
            return False
        await SPEAKS[speaker.role](table, speaker, turn)
    return True


async def _analyse(table: Table, speaker: Speaker, turn: int) -> None:
    question = Question(IDEA, turn, speaker, "analyst", "analyse", table.variables())
    reply = await table.desk.ask(question, Analysis)
    table.said.append(Remark(speaker.name, reply.value.spoken()))


async def _report(table: Table, speaker: Speaker, turn: int) -> None:
    """The engineer alone sees papers, close to the idea on the table or, in the beginning, to the topic."""
    desk = table.desk
    references = await desk.references(turn, desk.previous.text if desk.previous else desk.topic)
    variables = {**table.variables(), "references": references}
    question = Question(IDEA, turn, speaker, "engineer", "report", variables, tools=desk.tools(speaker))
    reply = await desk.ask(question, Reading)
    table.said.append(Remark(speaker.name, reply.value.remark))


async def _develop(table: Table, speaker: Speaker, turn: int) -> None:
    question = Question(IDEA, turn, speaker, RESEARCHER, "develop", table.variables())
    reply = await table.desk.ask(question, Idea)
    table.desk.propose(reply.value, speaker.name, turn, ())
    table.said.append(Remark(speaker.name, f"I put this idea on the table: {reply.value.title}"))


async def _criticise(table: Table, speaker: Speaker, turn: int) -> None:
    question = Question(IDEA, turn, speaker, "critic", "criticise", table.variables())
    reply = await table.desk.ask(question, Critique)
    verdict = "I approve the idea as it stands." if reply.value.approve else "I do not approve it yet."
    table.said.append(Remark(speaker.name, f"{reply.value.remark}\n\n{verdict}"))
    if reply.value.approve:
        table.desk.course.done_in_turns.append(turn)


TASKS = {"analyst": "analyse", "engineer": "report", RESEARCHER: "develop", "critic": "criticise"}
SPEAKS = {"analyst": _analyse, "engineer": _report, RESEARCHER: _develop, "critic": _criticise}
