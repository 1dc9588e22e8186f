"""Idea generation (VirSci 2025, §3.2, Eq. 2; 2024, Fig. 12)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from manyheads.core.results import ScoredIdea
from manyheads.discussion import Member, Remark, Team, another_turns, speak, speaking_order, summarise
from manyheads.discussion.run import Cited, Question
from manyheads.replies import Idea
from manyheads.systems.virsci.config import GOALS, stage_event
from manyheads.systems.virsci.result import VirSciRun

STAGE = "idea"
ANEW = "Idea generation, anew"


def scored(
    reply: Idea,
    number: int,
    by: str,
    turn: int,
    references: Sequence[Cited],
    novelty_weight: float,
    **more: Any,
) -> ScoredIdea:
    """An idea as it was put forward; its confidence is clarity + feasibility + weighted novelty."""
    own = reply.model_dump(include=set(ScoredIdea.model_fields))
    confidence = reply.clarity + reply.feasibility + novelty_weight * reply.novelty
    cited = [each.evidence for each in references]
    return ScoredIdea(**own, **more, number=number, by=by, turn=turn, references=cited, confidence=confidence)


@dataclass(frozen=True)
class Likeness:
    """What the leader finds between the abstract and one published paper; `similarity` is 0 to 100."""

    hit: Cited
    similarity: int
    reason: str


@dataclass(frozen=True)
class Discarded:
    """An idea that was given up after self-review, with the papers that its abstract came too close to."""

    idea: ScoredIdea
    overlaps: Sequence[Likeness]


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
    ideas: list[ScoredIdea] = field(default_factory=list[ScoredIdea])
    summaries: list[str] = field(default_factory=list[str])
    replies: list[Remark] = field(default_factory=list[Remark])
    speaker: Member | None = None

    @property
    def previous(self) -> ScoredIdea | None:
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
    run: VirSciRun,
    team: Team,
    topic: str,
    discarded: Sequence[Discarded] = (),
    *,
    before: int = 0,
    numbered: int = 0,
) -> list[ScoredIdea]:
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
        for member in speaking_order(team.members, run.settings.topology, run.rng, archive.speaker):
            await _propose(run, team, archive, member, turn)
        last = turn
    return archive.ideas


async def _propose(run: VirSciRun, team: Team, archive: Archive, member: Member, turn: int) -> None:
    """Eq. 2: ⟨Q_idea, R_topic, B_past(R_k,i-1), summaries of turns 1…k-1, replies of this turn⟩.

    The very first prompt has B_past(R_topic) and no history. The first speaker of a later turn is also shown
    R_k,i-1 itself, which no reply of the new turn repeats yet.
    """
    query = archive.previous.text if archive.previous else archive.topic
    [references] = await run.references(STAGE, turn, [query], run.settings.ideas.references)
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
    weight, held = run.settings.ideas.novelty_weight, len(archive.discarded) + 1
    proposed = scored(reply.value, number, member.name, turn, references, weight, round=held)
    archive.ideas.append(proposed)
    run.result.ideas.append(proposed)
    run.expect(proposed.text)  # the next speaker's query; in a turn's end the summary is asked for first
    archive.replies.append(Remark(member.name, proposed.text))
    archive.replies += [Remark(guest.name, guest.advice, guest=True) for guest in guests]
    archive.speaker = member


def _is_previous(reply: Remark, previous: ScoredIdea | None) -> bool:
    """R_k,i-1 stands on the table already; showing it twice would double its weight and its cost."""
    return previous is not None and not reply.guest and reply.text == previous.text


def most_confident(ideas: Sequence[ScoredIdea], keep: int) -> list[ScoredIdea]:
    """The `keep` ideas of highest confidence, best first; of equals the later one, which had more to build on."""
    return sorted(ideas, key=lambda idea: (idea.confidence, idea.number), reverse=True)[:keep]
