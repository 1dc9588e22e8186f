"""Idea generation (VirSci 2025, §3.2, Eq. 2; 2024, Fig. 12)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from manyheads.discussion import Member, Remark, Run, Team, another_turns, speak, speaking_order, summarise
from manyheads.discussion.run import Question, cite
from manyheads.papers import Hit
from manyheads.replies import Idea
from manyheads.systems.virsci.overlap import Compared
from manyheads.systems.virsci.stages import GOALS, stage_event

STAGE = "idea"
ANEW = "Idea generation, anew"


@dataclass(frozen=True)
class Proposed:
    """An idea with who proposed it when, kept with the references it was made from."""

    number: int
    idea: Idea
    by: str
    turn: int
    references: list[Hit]

    @property
    def text(self) -> str:
        return self.idea.spoken()

    def confidence(self, novelty_weight: float) -> float:
        """Clarity + feasibility + weighted novelty."""
        return self.idea.clarity + self.idea.feasibility + novelty_weight * self.idea.novelty

    def as_data(self, novelty_weight: float) -> dict[str, Any]:
        fields = ("title", "idea", "experiment", "clarity", "feasibility", "novelty", "thought")
        return {
            "number": self.number,
            **self.idea.model_dump(include=set(fields)),
            "confidence": self.confidence(novelty_weight),
            "by": self.by,
            "turn": self.turn,
            "references": [cite(hit) for hit in self.references],
        }


@dataclass(frozen=True)
class Discarded:
    """An idea that was given up after self-review, with the papers that its abstract came too close to."""

    idea: Proposed
    overlaps: Sequence[Compared]


@dataclass
class Archive:
    """The growing archive of ideas, and the discussion around them.

    Attributes:
        discarded: ideas given up in earlier rounds, which must not come back.
        numbered: ideas of earlier rounds; those of this one are numbered on.
    """

    topic: str
    discarded: Sequence[Discarded] = ()
    numbered: int = 0
    ideas: list[Proposed] = field(default_factory=list[Proposed])
    summaries: list[str] = field(default_factory=list[str])
    replies: list[Remark] = field(default_factory=list[Remark])
    speaker: Member | None = None

    @property
    def previous(self) -> Proposed | None:
        """The idea on the table: the one of the previous response, R_k,i-1."""
        return self.ideas[-1] if self.ideas else None

    @property
    def gist(self) -> str:
        """What the retrieval hook looks for: the last summary, in the first turn the topic."""
        return self.summaries[-1] if self.summaries else self.topic

    def text(self) -> str:
        recent = "\n\n".join(f"{reply.name}: {reply.text}" for reply in self.replies)
        return f"Topic: {self.topic}\n\n{recent}".strip()


async def propose_ideas(
    run: Run,
    team: Team,
    topic: str,
    discarded: Sequence[Discarded] = (),
    *,
    before: int = 0,
    numbered: int = 0,
) -> list[Proposed]:
    """All ideas that the team proposes on a topic, in order.

    Where the stage is held again after a discard (App. B.1), the team is told what was given up and why; turns and
    ideas are counted on from those `before` and already `numbered`.
    """
    run.emit(stage_event(run.config, STAGE, ANEW if discarded else None))
    archive, last = Archive(topic, discarded, numbered), before
    async for turn in another_turns(run, team, STAGE, GOALS[STAGE], archive.text, before=before):
        if archive.replies:
            archive.summaries.append(await summarise(run, team, STAGE, last, archive.replies))
            archive.replies = []
            run.expect(archive.gist, recall=True)
        for member in speaking_order(team.members, run.config.topology, run.rng, archive.speaker):
            await _propose(run, team, archive, member, turn)
        last = turn
    return archive.ideas


async def _propose(run: Run, team: Team, archive: Archive, member: Member, turn: int) -> None:
    """Eq. 2: ⟨Q_idea, R_topic, B_past(R_k,i-1), summaries of turns 1…k-1, replies of this turn⟩.

    The very first prompt has B_past(R_topic) and no history. The first speaker of a later turn is also shown
    R_k,i-1 itself, which no reply of the new turn repeats yet.
    """
    query = archive.previous.text if archive.previous else archive.topic
    [references] = await run.references(STAGE, turn, [query], run.config.ideas.references)
    variables = {
        "topic": archive.topic,
        "discarded": archive.discarded,
        "references": references,
        "previous": archive.previous,
        "summaries": list(archive.summaries),
        "replies": [reply for reply in archive.replies if not _is_previous(reply, archive.previous)],
    }
    question = Question(STAGE, turn, member.speaker, "scientist", "idea", variables, recall=archive.gist)
    kind = run.reply_type("scientist", "idea", Idea)
    reply, guests = await speak(run, team, question, kind, context=archive.text())
    number = archive.numbered + len(archive.ideas) + 1
    proposed = Proposed(number, reply.value, member.name, turn, references)
    archive.ideas.append(proposed)
    run.expect(proposed.text)  # the next speaker's query; in a turn's end the summary is asked for first
    archive.replies.append(Remark(member.name, proposed.text))
    archive.replies += [Remark(guest.name, guest.advice, guest=True) for guest in guests]
    archive.speaker = member


def _is_previous(reply: Remark, previous: Proposed | None) -> bool:
    """R_k,i-1 stands on the table already; showing it twice would double its weight and its cost."""
    return previous is not None and not reply.guest and reply.text == previous.text


def most_confident(ideas: Sequence[Proposed], keep: int, novelty_weight: float) -> list[Proposed]:
    """The `keep` ideas of highest confidence, best first; of equals the later one, which had more to build on."""
    ranked = sorted(ideas, key=lambda idea: (idea.confidence(novelty_weight), idea.number), reverse=True)
    return ranked[:keep]
