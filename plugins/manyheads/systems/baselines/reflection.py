"""One agent that thinks its idea over, again and again, then writes the abstract (AI-Scientist style; App. C.3)."""

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
    """Propose an idea, reflect on it up to `rounds` times, write the abstract of its last version.

    Turn 1 of the idea stage is the proposal, turn r + 1 is round r: the idea with its self-ratings, papers close to it,
    and what the round before has looked up. An early "done" is noted and heeded only with `until_done`; a limit in
    tokens ends the rounds while the abstract can still be paid.

    Raises:
        ConfigError: no topic.
        BudgetError: the allowance does not reach to the abstract.
    """
    desk, author = Desk.of(run, STAGES), run.speaker(RESEARCHER, "Researcher")
    desk.seat(author)
    look_ups = (await desk.propose(author, await desk.references(1, desk.topic), 1)).tool_calls
    for turn in range(2, run.settings.rounds + 2):
        if desk.is_done(turn - 1, "the agent calls the idea finished"):
            break
        if not desk.affords(turn - 1, "reflect", desk.abstract_costs):
            break
        references = await desk.references(turn, desk.ideas[-1].text)
        variables = {
            "topic": desk.topic,
            "current": desk.ideas[-1],
            "references": references,
            "found": look_ups,
            "round": turn - 1,
            "rounds": run.settings.rounds,
        }
        question = Question(IDEA, turn, author, RESEARCHER, "reflect", variables, tools=desk.tools(author))
        reply = await desk.ask(question, Reflection)
        look_ups = reply.tool_calls
        desk.add(reply.value, author.name, turn, references)
        if reply.value.done:
            desk.course.done_in_turns.append(turn)
    else:
        desk.exhaust("rounds", "reflect")
    await desk.write(desk.ideas[-1:], desk.ideas[-1], author)
