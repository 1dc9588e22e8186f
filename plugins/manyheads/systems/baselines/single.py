"""The plain baseline, because a team must earn its cost: one agent with as many tokens drafts ideas and picks one."""

from collections.abc import Sequence
from dataclasses import dataclass

from manyheads.core import Speaker
from manyheads.core.events import Voted
from manyheads.core.results import ScoredIdea
from manyheads.core.results import Vote as Ballot
from manyheads.discussion.run import Question
from manyheads.papers import Hit
from manyheads.replies import Abstract, Idea, ReplyModel, Vote, vote_among
from manyheads.systems.baselines.desk import ABSTRACT, IDEA, NOVELTY, RESEARCHER, Desk
from manyheads.systems.baselines.result import BaselineRun
from manyheads.systems.virsci.ideas import most_confident

NEEDS: dict[tuple[str, str], type[ReplyModel]] = {
    (RESEARCHER, "propose"): Idea,
    (RESEARCHER, "pick"): Vote,
    (RESEARCHER, "abstract"): Abstract,
}
STAGES = {IDEA: "Independent ideas", NOVELTY: "Choice", ABSTRACT: "Abstract generation"}


@dataclass(frozen=True)
class Candidate:
    """An idea as it is judged, without its author's ratings."""

    text: str
    references: Sequence[Hit]


async def single(run: BaselineRun) -> None:
    """Draft independent ideas while the tokens last, pick the most novel one, write its abstract.

    As in a team the `ideas.keep` ideas of highest confidence are judged, beside the papers closest to them and
    without their ratings; with `novelty.enabled` off the most confident one is taken.

    Raises:
        ConfigError: no topic, or no allowance.
        BudgetError: the allowance does not reach to the abstract.
    """
    desk = Desk.of(run, STAGES)
    author = run.speaker(RESEARCHER, "Researcher")
    desk.seat(author)
    await _draft_ideas(desk, author)
    kept = most_confident(desk.ideas, run.settings.ideas.keep)
    chosen = await _pick(desk, author, kept)
    await desk.write(kept, chosen, author)


async def _draft_ideas(desk: Desk, author: Speaker) -> None:
    desk.begin(IDEA)
    references = await desk.references(1, desk.topic)
    while not desk.ideas or desk.allowance.allows("propose", *_closing(desk, len(desk.ideas) + 1)):
        number = len(desk.ideas) + 1
        variables = {"topic": desk.topic, "references": references, "draft": number}
        question = Question(IDEA, number, author, RESEARCHER, "propose", variables, tools=desk.tools(author))
        reply = await desk.ask(question, Idea)
        desk.propose(reply.value, author.name, number, references)
    reserved = _closing(desk, len(desk.ideas) + 1)
    desk.stop(len(desk.ideas), "tokens", desk.short_of("propose", *reserved))


def _closing(desk: Desk, drafted: int) -> tuple[int, int]:
    """Tokens to keep for the choice among so many drafts, and for the abstract.

    Each idea is judged beside its papers, so that it may take as much reading as the prompt it was drafted from.
    """
    config = desk.run.settings
    judged = min(drafted, config.ideas.keep) if config.novelty.enabled else 1
    return desk.allowance.reading(["propose"], judged) if judged > 1 else 0, desk.abstract_costs


async def _pick(desk: Desk, author: Speaker, kept: Sequence[ScoredIdea]) -> ScoredIdea:
    """The most novel of the kept ideas (Eq. 3, asked of one); the most confident where there is no choice to make."""
    desk.begin(NOVELTY)
    run = desk.run
    if len(kept) == 1 or not run.settings.novelty.enabled:
        return kept[0]
    if not desk.allowance.leaves(*_closing(desk, len(kept))):
        run.warn(
            NOVELTY, "too few tokens are left to choose among the ideas: the most confident one is taken"
        )
        return kept[0]
    found = await run.references(NOVELTY, 1, [idea.text for idea in kept], run.settings.novelty.references)
    ideas = [Candidate(idea.text, hits) for idea, hits in zip(kept, found, strict=True)]
    question = Question(NOVELTY, 1, author, RESEARCHER, "pick", {"ideas": ideas})
    kind = vote_among(run.reply_type(RESEARCHER, "pick", Vote), len(kept))
    vote = (await desk.put(question, kind)).value
    run.emit(Voted(stage=NOVELTY, turn=1, voter=author.name, choice=vote.choice, reasoning=vote.thought))
    chosen = kept[vote.choice - 1]
    run.result.votes.append(
        Ballot(voter=author.name, turn=1, choice=vote.choice, reasoning=vote.thought, idea=chosen.title)
    )
    return chosen
