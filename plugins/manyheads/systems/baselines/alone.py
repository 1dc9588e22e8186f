"""Agents that work alone: one that reflects on its idea repeatedly (AI-Scientist style; VirSci 2025, App. C.3), and a plain
baseline that drafts ideas with the same number of tokens and picks one.
"""

from collections.abc import Sequence

from manyheads.asking.replies import Abstract, Idea, Reflection, ReplyModel, Vote, vote_among
from manyheads.core import Speaker
from manyheads.core.events import Voted
from manyheads.core.results import ScoredIdea
from manyheads.systems.baselines.desk import ABSTRACT, IDEA, NOVELTY, RESEARCHER, Desk
from manyheads.systems.baselines.result import BaselineRun
from manyheads.systems.virsci.ideas import most_confident
from manyheads.systems.virsci.vote import ballot_of, candidates_of
from manyheads.team.run import Question

REFLECTION_NEEDS: dict[tuple[str, str], type[ReplyModel]] = {
    (RESEARCHER, "propose"): Idea,
    (RESEARCHER, "reflect"): Reflection,
    (RESEARCHER, "abstract"): Abstract,
}
REFLECTION_STAGES = {IDEA: "Idea and self-reflection", ABSTRACT: "Abstract generation"}
SINGLE_NEEDS: dict[tuple[str, str], type[ReplyModel]] = {
    (RESEARCHER, "propose"): Idea,
    (RESEARCHER, "pick"): Vote,
    (RESEARCHER, "abstract"): Abstract,
}
SINGLE_STAGES = {IDEA: "Independent ideas", NOVELTY: "Choice", ABSTRACT: "Abstract generation"}


async def self_reflection(run: BaselineRun) -> None:
    """Propose an idea, reflect on it up to `rounds` times, and write the abstract of its last version.

    Turn 1 of the idea stage is the proposal, turn r + 1 is round r. Its prompt has the reflections of earlier rounds, the idea
    with its self-ratings, similar papers, and the last look-ups. An early "done" ends the rounds only with `until_done`; a
    limit in tokens ends them while the abstract can still be paid.

    Raises:
        ConfigError: no topic.
        BudgetError: the tokens do not suffice for the abstract.
    """
    desk, author = Desk.of(run, REFLECTION_STAGES), run.speaker(RESEARCHER, "Researcher")
    desk.seat(author, turns=run.settings.rounds + 1)
    look_ups = (await desk.propose(author, await desk.references(1, desk.topic), 1)).tool_calls
    for turn in range(2, run.settings.rounds + 2):
        if desk.is_done(turn - 1, "the agent calls the idea finished"):
            break
        if not desk.affords(turn - 1, "reflect", desk.abstract_costs):
            break
        references = await desk.references(turn, desk.ideas[-1].query(run.settings.ideas.whole))
        variables = {
            "topic": desk.topic, "current": desk.ideas[-1],
            "earlier": [{"round": idea.turn - 1, "text": idea.reflection} for idea in desk.ideas[1:]],
            "references": references, "found": look_ups, "round": turn - 1, "rounds": run.settings.rounds,
        }  # fmt: skip
        question = Question(IDEA, turn, author, RESEARCHER, "reflect", variables, tools=desk.tools(author))
        reply = await desk.ask(question, Reflection)
        look_ups = reply.tool_calls
        desk.add(reply.value, author.name, turn, references)
        if reply.value.done:
            desk.course.done_in_turns.append(turn)
    else:
        desk.exhaust("rounds", "reflect")
    await desk.write(desk.ideas[-1:], desk.ideas[-1], author)


async def single(run: BaselineRun) -> None:
    """Draft independent ideas while the tokens last, pick the most novel one, write its abstract.

    As in a team, the `ideas.keep` ideas of highest confidence are compared, with their closest papers and without their
    ratings; with `novelty.enabled` off the most confident one is taken.

    Raises:
        ConfigError: no topic, or no allowance.
        BudgetError: the tokens do not suffice for the abstract.
    """
    desk, author = Desk.of(run, SINGLE_STAGES), run.speaker(RESEARCHER, "Researcher")
    desk.seat(author)
    references, ideas = await desk.references(1, desk.topic), desk.ideas
    while not ideas or desk.affords(len(ideas), "propose", *_closing(desk, len(ideas) + 1)):
        await desk.propose(author, references, len(ideas) + 1, len(ideas) + 1)
    kept = most_confident(ideas, run.settings.ideas.keep)
    await desk.write(kept, await _pick(desk, author, kept), author)


def _closing(desk: Desk, drafted: int) -> tuple[int, int]:
    """Tokens to reserve for the choice among the drafts, and for the abstract.

    Each idea is shown with its papers, so that it may take as much reading as the prompt that it was drafted from.
    """
    config = desk.run.settings
    judged = min(drafted, config.ideas.keep) if config.novelty.enabled else 1
    return desk.allowance.reading(["propose"], judged) if judged > 1 else 0, desk.abstract_costs


async def _pick(desk: Desk, author: Speaker, kept: Sequence[ScoredIdea]) -> ScoredIdea:
    """The most novel of the kept ideas (Eq. 3, asked of one), or the most confident if there is no choice."""
    run, config = desk.run, desk.run.settings.novelty
    run.begin(NOVELTY, SINGLE_STAGES)
    if len(kept) == 1 or not config.enabled:
        return kept[0]
    if not desk.allowance.leaves(*_closing(desk, len(kept))):
        run.warn(NOVELTY, "too few tokens are left to compare the ideas; the most confident one is taken")
        return kept[0]
    queries = [idea.query(run.settings.ideas.whole) for idea in kept]
    closest = await run.references(NOVELTY, 1, queries, config.references)
    ideas, papers = candidates_of([run.wording(idea) for idea in kept], closest)
    names = [idea.title for idea in kept]
    shown = {"ideas": ideas, "references": papers}
    question = Question(NOVELTY, 1, author, RESEARCHER, "pick", shown, names=names)
    kind = vote_among(run.reply_type(RESEARCHER, "pick", Vote), len(kept))
    vote = (await desk.ask(question, kind)).value
    run.emit(Voted(stage=NOVELTY, turn=1, voter=author.name, choice=vote.choice, reasoning=vote.thought))
    run.result.votes.append(ballot_of(vote, author.name, 1, kept))
    return kept[vote.choice - 1]
