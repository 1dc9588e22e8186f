"""Abstract generation (VirSci 2025, §3.2, Eq. 4; 2024, Figs. 14 and 15), turn by turn."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from manyheads.asking.replies import Abstract
from manyheads.config import PERSON
from manyheads.core.results import Draft, ScoredIdea, sections
from manyheads.systems.virsci.config import stages
from manyheads.systems.virsci.replies import Revision
from manyheads.systems.virsci.result import VirSciResult, VirSciRun
from manyheads.team.run import Question
from manyheads.team.steering import steer
from manyheads.team.team import Team, another_turns, ask_with_advice, speaking_order

STAGE = "abstract"
Opening = Callable[[int], Awaitable[Abstract]]
"""The leader's contribution that begins a round of writing; takes the turn."""


@dataclass
class AbstractDrafts:
    """The abstract of an idea and how it came about; the last draft is the current one."""

    result: VirSciResult
    topic: str
    idea: ScoredIdea
    turns: int
    drafts: list[Draft] = field(default_factory=list[Draft])
    written: int = 0
    """The turn in which the team first finished it; later turns are revisions after a review."""

    @property
    def current(self) -> Draft:
        return self.drafts[-1]

    def text(self) -> str:
        return self.current.spoken() if self.drafts else ""

    def prompt_variables(self, turn: int) -> dict[str, object]:
        """Q_abstract holds the topic and the chosen idea, which the abstract must match; `turn` counts from 1."""
        known = {"topic": self.topic, "contribution": self.idea, "abstract": self.current}
        return {**known, "turn": turn, "turns": self.turns}

    def add(self, abstract: Abstract, by: str, turn: int) -> None:
        self.drafts.append(Draft.of(abstract, by, turn, self.idea.round))
        self.result.write(self.current)


async def write_abstract(
    run: VirSciRun, team: Team, topic: str, idea: ScoredIdea, *, before: int = 0
) -> AbstractDrafts:
    """The leader drafts; then each member in order rates, proposes changes and rewrites, for the stage's turns.

    Turn numbers continue from `before`.
    """
    turns, leader = run.settings.turns.of(STAGE), team.leader.speaker
    run.begin(STAGE, stages(run.config), turns=turns)
    manuscript = AbstractDrafts(run.result, topic, idea, turns)

    async def draft(turn: int) -> Abstract:
        """Q_1,0 = ⟨Q_abstract, R_idea⟩."""
        variables = {"topic": topic, "idea": run.wording(idea)}
        question = Question(STAGE, turn, leader, "leader", "draft", variables, "leader", recall=idea.title)
        context = partial(run.wording, idea)
        return (await ask_with_advice(run, team, question, Abstract, context=context)).value

    async def rewrite(turn: int) -> Abstract:
        question = Question(
            STAGE, turn, leader, "scientist", "revise", manuscript.prompt_variables(1), "leader"
        )
        return (await run.ask(question, Revision)).value

    await write(run, team, manuscript, draft, before)
    while True:
        current = manuscript.current
        edit = Abstract(**sections(current))
        person = await steer(run, STAGE, current.turn, run.wording(current), edit=edit)
        if person.reply:
            manuscript.add(person.reply, PERSON, current.turn)
        if not person.back:
            break
        await write(run, team, manuscript, rewrite, current.turn)
    manuscript.written = manuscript.current.turn
    return manuscript


async def revise(
    run: VirSciRun, team: Team, manuscript: AbstractDrafts, task: str, reviews: Mapping[str, object]
) -> None:
    """Another round of writing; the leader begins with a task of their own, and the reviews in the prompt.

    The other members get the usual prompt (Eq. 4).
    """
    run.begin(STAGE, stages(run.config), "Abstract revision", turns=run.settings.turns.of(STAGE))
    current, leader, recall = manuscript.current, team.leader.speaker, manuscript.idea.title

    async def opening(turn: int) -> Abstract:
        known = {"topic": manuscript.topic, "contribution": manuscript.idea, "abstract": current}
        question = Question(
            STAGE, turn, leader, "leader", task, {**known, **reviews}, "leader", recall=recall
        )
        context = partial(run.wording, current)
        return (await ask_with_advice(run, team, question, Revision, context=context)).value

    await write(run, team, manuscript, opening, current.turn)


async def write(
    run: VirSciRun, team: Team, manuscript: AbstractDrafts, opening: Opening, before: int
) -> None:
    """A round of writing: the leader's opening, then revisions.

    Eq. 4: Q_k,i = ⟨Q_abstract, Q_judgment, R_k,i-1⟩, without history. Without a valid revision the abstract stays.
    """
    speaker = team.leader
    async for turn in another_turns(run, team, STAGE, manuscript.text, before=before):
        order = speaking_order(team.members, run.settings.topology, run.rng, speaker)
        if turn == before + 1:
            manuscript.add(await opening(turn), team.leader.name, turn)
            # The opening is one of the turn's contributions. A round table continues after the leader; a random order
            # is drawn to follow the leader, and its last speaker is dropped.
            order = order[1:] if order[0] is team.leader else order[:-1]
        for speaker in order:
            question = Question(
                STAGE, turn, speaker.speaker, "scientist", "revise", manuscript.prompt_variables(turn - before),
                recall=manuscript.idea.title, spare=True,
            )  # fmt: skip
            context = partial(run.wording, manuscript.current)
            reply = await run.spare(STAGE, ask_with_advice(run, team, question, Revision, context=context))
            if reply:
                manuscript.add(reply.value, speaker.name, turn)
