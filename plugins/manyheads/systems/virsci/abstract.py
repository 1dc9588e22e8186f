"""Abstract generation (VirSci 2025, §3.2, Eq. 4; 2024, Figs. 14 and 15)."""

from dataclasses import dataclass, field
from typing import Any

from manyheads.discussion import Member, Run, Team, another_turns, ask_with_advice, speaking_order
from manyheads.discussion.run import Question
from manyheads.replies import Abstract, Revision
from manyheads.systems.virsci.ideas import Proposed
from manyheads.systems.virsci.stages import GOALS, stage_event

STAGE = "abstract"


@dataclass
class Manuscript:
    """The abstract and how it came about; the last draft is the current one."""

    drafts: list[tuple[str, int, Abstract]] = field(default_factory=list[tuple[str, int, Abstract]])
    """Author, turn and text of each version."""

    @property
    def current(self) -> Abstract:
        return self.drafts[-1][2]

    def text(self) -> str:
        return self.current.spoken() if self.drafts else ""

    def as_data(self) -> list[dict[str, Any]]:
        fields = set(Revision.model_fields)
        return [
            {"by": by, "turn": turn, "evaluation": None, "changes": None}
            | draft.model_dump(mode="json", include=fields)
            for by, turn, draft in self.drafts
        ]


async def write_abstract(run: Run, team: Team, idea: Proposed) -> Manuscript:
    """The leader drafts, then each next member rates, proposes changes and rewrites, for the stage's turns."""
    run.emit(stage_event(STAGE))
    manuscript, speaker = Manuscript(), team.leader
    async for turn in another_turns(run, team, STAGE, GOALS[STAGE], manuscript.text):
        order = speaking_order(team.members, run.config.topology, run.rng, speaker)
        if not manuscript.drafts:
            await _draft(run, team, manuscript, idea)
            order = _after_the_draft(order, team.leader)
        for member in order:
            await _revise(run, team, manuscript, idea, member, turn)
            speaker = member
    return manuscript


def _after_the_draft(order: list[Member], leader: Member) -> list[Member]:
    """The speakers that are left of the first turn: the draft is one of its contributions.

    The round table goes on after the leader; a random order was drawn to follow the leader and is a speaker shorter.
    """
    return order[1:] if order[0] is leader else order[:-1]


async def _draft(run: Run, team: Team, manuscript: Manuscript, idea: Proposed) -> None:
    """Q_1,0 = ⟨Q_abstract, R_idea⟩."""
    leader = team.leader
    question = Question(
        STAGE,
        1,
        leader.speaker,
        "leader",
        "draft",
        {"idea": idea.text},
        part="leader",
        recall=idea.idea.title,
    )
    kind = run.reply_type("leader", "draft", Abstract)
    reply = await ask_with_advice(run, team, question, kind, context=idea.text)
    manuscript.drafts.append((leader.name, 1, reply.value))


async def _revise(
    run: Run, team: Team, manuscript: Manuscript, idea: Proposed, member: Member, turn: int
) -> None:
    """Eq. 4: ⟨Q_abstract, Q_judgment, R_k,i-1⟩, without history."""
    current = manuscript.current
    question = Question(
        STAGE, turn, member.speaker, "scientist", "revise", {"abstract": current}, recall=idea.idea.title
    )
    kind = run.reply_type("scientist", "revise", Revision)
    reply = await ask_with_advice(run, team, question, kind, context=current.spoken())
    manuscript.drafts.append((member.name, turn, reply.value))
