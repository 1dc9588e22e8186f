"""Abstract generation (VirSci 2025, §3.2, Eq. 4; 2024, Figs. 14 and 15), turn by turn."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from manyheads.core.results import Draft, ScoredIdea
from manyheads.discussion import Member, Team, another_turns, ask_with_advice, speaking_order
from manyheads.discussion.run import Question
from manyheads.replies import Abstract, Revision
from manyheads.systems.virsci.config import GOALS, stage_event
from manyheads.systems.virsci.result import VirSciResult, VirSciRun

STAGE = "abstract"
Opening = Callable[[int], Awaitable[Abstract]]
"""The leader's contribution with which a round of writing begins, given its turn."""


@dataclass
class Manuscript:
    """The abstract of an idea and how it came about; the last draft is the current one."""

    result: VirSciResult
    idea: ScoredIdea
    drafts: list[Draft] = field(default_factory=list[Draft])
    written: int = 0
    """The turn in which the team first held it finished; later ones are revisions after self-review."""

    @property
    def current(self) -> Draft:
        return self.drafts[-1]

    @property
    def turn(self) -> int:
        """The turn of the last version."""
        return self.current.turn

    def text(self) -> str:
        return self.current.spoken() if self.drafts else ""

    def add(self, abstract: Abstract, by: str, turn: int) -> None:
        self.drafts.append(Draft.of(abstract, by, turn, self.idea.round))
        self.result.write(self.current)


async def write_abstract(run: VirSciRun, team: Team, idea: ScoredIdea, *, before: int = 0) -> Manuscript:
    """The leader drafts, then each next member rates, proposes changes and rewrites, for the stage's turns.

    Turns are counted on from those `before`.
    """
    run.emit(stage_event(run.config, STAGE))
    manuscript = Manuscript(run.result, idea)

    async def draft(turn: int) -> Abstract:
        """Q_1,0 = ⟨Q_abstract, R_idea⟩."""
        variables = {"idea": idea.text}
        question = Question(
            STAGE, turn, team.leader.speaker, "leader", "draft", variables, "leader", recall=idea.title
        )
        kind = run.reply_type("leader", "draft", Abstract)
        return (await ask_with_advice(run, team, question, kind, context=idea.text)).value

    await write(run, team, manuscript, draft, before)
    manuscript.written = manuscript.turn
    return manuscript


async def write(run: VirSciRun, team: Team, manuscript: Manuscript, opening: Opening, before: int) -> None:
    speaker = team.leader
    async for turn in another_turns(run, team, STAGE, GOALS[STAGE], manuscript.text, before=before):
        order = speaking_order(team.members, run.settings.topology, run.rng, speaker)
        if turn == before + 1:
            manuscript.add(await opening(turn), team.leader.name, turn)
            order = _after_the_opening(order, team.leader)
        for member in order:
            await _revise(run, team, manuscript, member, turn)
            speaker = member


def _after_the_opening(order: list[Member], leader: Member) -> list[Member]:
    """The speakers that are left of the first turn: the leader's opening is one of its contributions.

    The round table goes on after the leader; a random order was drawn to follow the leader and is a speaker shorter.
    """
    return order[1:] if order[0] is leader else order[:-1]


async def _revise(run: VirSciRun, team: Team, manuscript: Manuscript, member: Member, turn: int) -> None:
    """Eq. 4: ⟨Q_abstract, Q_judgment, R_k,i-1⟩, without history."""
    current = manuscript.current
    variables, title = {"abstract": current}, manuscript.idea.title
    question = Question(STAGE, turn, member.speaker, "scientist", "revise", variables, recall=title)
    kind = run.reply_type("scientist", "revise", Revision)
    reply = await ask_with_advice(run, team, question, kind, context=current.spoken())
    manuscript.add(reply.value, member.name, turn)
