"""Idea generation (VirSci 2025, §3.2, Eq. 2; 2024, Fig. 12)."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from manyheads.base.papers import Hit, Paper
from manyheads.config import HUMAN, PERSON
from manyheads.core.results import ScoredIdea
from manyheads.systems.virsci.config import stages
from manyheads.systems.virsci.replies import Idea, idea_after
from manyheads.systems.virsci.result import VirSciRun
from manyheads.team.run import Cited, Question, Run
from manyheads.team.steering import steer
from manyheads.team.team import Team, Thread, speak, speakers

STAGE = "idea"


def scored(
    reply: Idea, number: int, by: str, turn: int, references: Sequence[Cited], weight: float, **more: Any
) -> ScoredIdea:
    """An idea as proposed; its confidence is clarity + feasibility + `weight` × novelty."""
    own = reply.model_dump(include=set(ScoredIdea.model_fields)) | more
    confidence = reply.clarity + reply.feasibility + weight * reply.novelty
    cited = [each.evidence for each in references]
    return ScoredIdea(**own, number=number, by=by, turn=turn, references=cited, confidence=confidence)


MOST_CITED = 100
"""Citations above which a paper is not drawn more often."""


def draw_cited(rng: random.Random, hits: Sequence[Hit], k: int, last_year: int | None) -> list[Hit]:
    """`k` papers without replacement, in the order of `hits`, each with the weight min(max(citations, 1), 100) / sqrt(1 + age).

    Preferential attachment with ageing, as in the authors' second code base; the age is in years before `last_year`, or before the
    latest paper's.
    """
    now = last_year or max((hit.paper.year or 0 for hit in hits), default=0)

    def weight(paper: Paper) -> float:
        age = max(0, now - (paper.year or now))
        return min(max(paper.citations or 0, 1), MOST_CITED) / math.sqrt(1 + age)

    # The first of exponential times with these rates are draws one after the other, each by the weights of the rest.
    times = [rng.expovariate(weight(hit.paper)) for hit in hits]
    drawn = sorted(range(len(hits)), key=times.__getitem__)[:k]
    return [hits[place] for place in sorted(drawn)]


async def papers_for_idea(run: Run[Any, Any, Any], turn: int, query: str) -> list[Cited]:
    """B_past of a topic or the previous idea: the nearest papers, or a draw of twice as many, see `IdeaConfig.draw`."""
    config, last_year = run.settings.ideas, run.literature.last_year
    if config.draw == "nearest":
        [hits] = await run.references(STAGE, turn, [query], config.references)
    else:
        draw = partial(draw_cited, run.rng, k=config.references, last_year=last_year)
        [hits] = await run.references(STAGE, turn, [query], 2 * config.references, draw)
    return hits


def most_confident(ideas: Sequence[ScoredIdea], keep: int) -> list[ScoredIdea]:
    """The `keep` ideas of highest confidence, best first.

    Among equals, an idea of a new lineage comes first, so that the vote is not between versions of one idea; then the
    later one, which had more to build on.
    """
    kept: list[ScoredIdea] = []
    left, origins = list(ideas), origins_of(ideas)
    while left and len(kept) < keep:
        seen = {origins[idea.number] for idea in kept}
        best = max(left, key=lambda idea: (idea.confidence, origins[idea.number] not in seen, idea.number))
        kept.append(best)
        left.remove(best)
    return kept


def origins_of(ideas: Sequence[ScoredIdea]) -> dict[int, int]:
    """The number of the first idea of each idea's lineage, by number."""
    origins: dict[int, int] = {}
    for idea in ideas:  # each builds on an earlier one
        origins[idea.number] = origins.get(idea.builds_on or 0, idea.number)
    return origins


@dataclass(frozen=True)
class Likeness:
    """The leader's comparison of the abstract with one published paper; `similarity` is 0 to 100."""

    hit: Cited
    similarity: int
    reason: str


@dataclass(frozen=True)
class DiscardedIdea:
    """An idea discarded after self-review, with the papers that its abstract is too close to."""

    idea: ScoredIdea
    overlaps: Sequence[Likeness]


@dataclass(kw_only=True)
class Archive(Thread):
    """The growing archive of ideas, and the discussion around them."""

    topic: str
    ideas: list[ScoredIdea] = field(default_factory=list[ScoredIdea])

    def text(self) -> str:
        return f"{self.topic}\n\n{super().text()}".strip()

    def standing(self) -> str:
        """A yes or no needs no whole ideas: of this turn's, who proposed them, their titles and thoughts."""
        now = [idea for idea in self.ideas if idea.turn == self.turn]
        told = (f"{idea.by}: {idea.title}\n{idea.thought or ''}".strip() for idea in now)
        return "\n\n".join([self.topic, *self.summaries, *told])


async def find_ideas(
    run: VirSciRun, team: Team, topic: str, discarded: Sequence[DiscardedIdea], *, before: int, numbered: int
) -> tuple[list[ScoredIdea], list[ScoredIdea]]:
    """All ideas, with those that a person adds, and the ones that a person picks; see `propose_ideas`."""
    ideas = list[ScoredIdea]()
    most, kind = run.settings.ideas.keep, run.reply_type("scientist", "idea", Idea)
    while True:
        last = numbered + len(ideas)
        ideas += await propose_ideas(run, team, topic, discarded, before=before, numbered=last)
        before = ideas[-1].turn
        while True:
            items = [run.wording(idea) for idea in ideas]
            person = await steer(run, STAGE, before, "", items=items, most=most, add=kind)
            if person.action == "add" and person.reply:
                number, weight = numbered + len(ideas) + 1, run.settings.ideas.novelty_weight
                idea = scored(person.reply, number, PERSON, before, (), weight, round=len(discarded) + 1)
                ideas.append(idea)
                run.result.ideas.append(idea)
            elif person.back:
                break
            else:
                return ideas, [ideas[number - 1] for number in person.picks]


async def propose_ideas(
    run: VirSciRun, team: Team, topic: str, discarded: Sequence[DiscardedIdea], *, before: int, numbered: int
) -> list[ScoredIdea]:
    """All ideas that the team proposes on a topic, in order.

    Eq. 2: Q_k,i = ⟨Q_idea, R_topic, B_past(R_k,i-1), summaries of turns 1…k-1, replies of this turn⟩. The very first
    prompt has B_past(R_topic) and no history. R_k,i-1 is shown whole, with its thought and ratings (2024, Fig. 12).

    If the stage is repeated after a discard (App. B.1), the prompt says what was discarded and why. Numbers of turns and
    ideas continue from `before` and `numbered`.
    """
    archive, config, turns = Archive(topic=topic), run.settings.ideas, run.settings.turns.of(STAGE)
    run.begin(STAGE, stages(run.config), "Idea generation, again" if before else None, turns=turns)
    async for member in speakers(run, team, archive, STAGE, before=before):
        previous = archive.ideas[-1] if archive.ideas else None
        query = previous.query(config.queries_whole) if previous else topic
        references = await papers_for_idea(run, archive.turn, query)
        # R_k,i-1 is shown once, where it was said in this turn: the discussion only grows from one prompt to the next. In a short
        # context replies may be dropped, what is on the table must not.
        model = run.config.models[member.speaker.model]
        short = len(archive.text()) > model.window
        above = previous and not short and previous.number in [reply.idea for reply in archive.replies]
        variables = {
            "topic": topic, "turn": archive.turn - before, "turns": turns, "discarded": discarded,
            "references": references, "previous": previous, "above": above, "summaries": list(archive.summaries),
            "starts": [each.whole for each in run.material.ideas] if run.material else [],
            "replies": list(archive.replies),
        }  # fmt: skip
        recall = archive.summaries[-1] if archive.summaries else topic
        question = Question(
            STAGE, archive.turn, member.speaker, "scientist", "idea", variables, recall=recall
        )
        number = numbered + len(archive.ideas) + 1
        kind = run.reply_type("scientist", "idea", Idea)
        if previous or model.provider != HUMAN:  # a person is not asked what has one answer
            kind = idea_after(kind, number - 1 if previous else 0)
        reply, guests = await speak(run, team, question, kind, context=archive.text)
        if reply is None:
            continue
        more: dict[str, Any] = {"round": len(discarded) + 1, **({} if previous else {"builds_on": None})}
        idea = scored(reply, number, member.name, archive.turn, references, config.novelty_weight, **more)
        archive.ideas.append(idea)
        run.result.ideas.append(idea)
        # the next speaker's query, if there is one; at a turn's end the summary comes first
        if len(archive.ideas) < turns * len(team.members):
            run.expect(idea.query(config.queries_whole))
        archive.add(member, run.wording(idea), guests, number)
    return archive.ideas
