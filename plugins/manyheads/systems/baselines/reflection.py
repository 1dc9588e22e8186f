"""One agent that thinks its idea over, again and again, then writes the abstract (AI-Scientist style; App. C.3)."""

from manyheads.core import Speaker, ToolCall
from manyheads.discussion.run import Question
from manyheads.replies import Abstract, Idea, Reflection, ReplyModel
from manyheads.systems.baselines.desk import ABSTRACT, IDEA, RESEARCHER, Desk
from manyheads.systems.baselines.result import BaselineRun

NEEDS: dict[tuple[str, str], type[ReplyModel]] = {
    (RESEARCHER, "propose"): Idea,
    (RESEARCHER, "reflect"): Reflection,
    (RESEARCHER, "abstract"): Abstract,
}
STAGES = {IDEA: "Idea and self-reflection", ABSTRACT: "Abstract generation"}


async def self_reflection(run: BaselineRun) -> None:
    """Propose an idea, reflect on it up to `baseline.rounds` times, write the abstract of its last version.

    Turn 1 of the idea stage is the proposal, turn r + 1 is round r. An early "done" is noted and heeded only with
    `until_done`; a limit in tokens ends the rounds while the abstract can still be paid.

    Raises:
        ConfigError: no topic.
        BudgetError: the allowance does not reach to the abstract.
    """
    desk = Desk.of(run, STAGES)
    author = run.speaker(RESEARCHER, "Researcher")
    desk.seat(author)
    desk.begin(IDEA, run.settings.rounds + 1)
    found = await _propose(desk, author)
    for turn in range(2, run.settings.rounds + 2):
        if desk.course.done_in_turns and run.settings.until_done:
            desk.stop(turn - 1, "done", "the agent calls the idea finished")
            break
        if not desk.allowance.allows("reflect", desk.abstract_costs):
            desk.stop(turn - 1, "tokens", desk.short_of("reflect", desk.abstract_costs))
            break
        found = await _reflect(desk, author, turn, found)
    else:
        desk.exhaust("rounds", "reflect")
    chosen = desk.ideas[-1]
    await desk.write([chosen], chosen, author)


async def _propose(desk: Desk, author: Speaker) -> tuple[ToolCall, ...]:
    references = await desk.references(1, desk.topic)
    variables = {"topic": desk.topic, "references": references, "draft": None}
    question = Question(IDEA, 1, author, RESEARCHER, "propose", variables, tools=desk.tools(author))
    reply = await desk.ask(question, Idea)
    desk.propose(reply.value, author.name, 1, references)
    return reply.tool_calls


async def _reflect(
    desk: Desk, author: Speaker, turn: int, found: tuple[ToolCall, ...]
) -> tuple[ToolCall, ...]:
    """One round: the idea with its self-ratings, papers close to it, and what the round before has looked up."""
    current = desk.ideas[-1]
    references = await desk.references(turn, current.text)
    variables = {
        "topic": desk.topic,
        "current": current,
        "references": references,
        "found": found,
        "round": turn - 1,
        "rounds": desk.run.settings.rounds,
    }
    question = Question(IDEA, turn, author, RESEARCHER, "reflect", variables, tools=desk.tools(author))
    reply = await desk.ask(question, Reflection)
    desk.propose(reply.value, author.name, turn, references)
    if reply.value.done:
        desk.course.done_in_turns.append(turn)
    return reply.tool_calls
