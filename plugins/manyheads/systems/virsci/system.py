"""VirSci, end to end: five stages over a research ecosystem (VirSci 2025, §3.2)."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from manyheads.config import STAGES
from manyheads.discussion import Guest, Member, Run, Team
from manyheads.events import Recruited
from manyheads.replies import Abstract, Topic
from manyheads.systems.virsci import novelty
from manyheads.systems.virsci.abstract import Manuscript, write_abstract
from manyheads.systems.virsci.ideas import Proposed, most_confident, propose_ideas
from manyheads.systems.virsci.selection import select_team
from manyheads.systems.virsci.topic import find_topic


async def virsci(run: Run) -> Mapping[str, Any]:
    """Run the five stages; returns what `result.json` keeps of them.

    A fixed `topic` skips the topic discussion. With `novelty.enabled` off the last idea is taken (App. D.2.2).
    """
    team, decisions = await select_team(run)
    joined = list(team.members)
    topic, topic_turns = await _topic(run, team)
    ideas = await propose_ideas(run, team, topic.topic)
    kept, chosen, ballots, tie = await _choose(run, team, ideas)
    manuscript = await write_abstract(run, team, chosen)
    turns = _turns(topic_turns, ideas, ballots, manuscript)
    return {
        **_people(team, joined, decisions),
        "topic": {**topic.model_dump(include={"topic", "rationale"}), "fixed": run.config.topic is not None},
        **_ideas(run, ideas, kept, chosen, ballots, tie),
        **_abstract(manuscript),
        "turns": turns,
        "inference_cost": _cost(turns, len(joined), len(team.members)),
        "guests": [asdict(guest) for guest in _in_order(run.guests, joined)],
    }


async def _topic(run: Run, team: Team) -> tuple[Topic, int]:
    if run.config.topic is not None:
        return Topic(topic=run.config.topic, rationale="Given by the user."), 0
    return await find_topic(run, team)


async def _choose(
    run: Run, team: Team, ideas: list[Proposed]
) -> tuple[list[Proposed], Proposed, list[novelty.Ballot], str | None]:
    if not run.config.novelty.enabled:
        return [ideas[-1]], ideas[-1], [], None
    kept = most_confident(ideas, run.config.ideas.keep, run.config.ideas.novelty_weight)
    return kept, *await novelty.most_novel(run, team, kept)


def _in_order(guests: list[Guest], members: list[Member]) -> list[Guest]:
    """Guests as the stages went. Votes are cast all at once, so there the order is the table's, not the clock's."""
    seats = {member.name: seat for seat, member in enumerate(members)}

    def place(guest: Guest) -> tuple[int, int, int]:
        seat = seats[guest.by] if guest.stage == novelty.STAGE else 0
        return STAGES.index(guest.stage), guest.turn, seat

    return sorted(guests, key=place)


def _people(team: Team, joined: list[Member], decisions: list[Recruited]) -> dict[str, Any]:
    return {
        "team": [
            {
                "name": member.name,
                "role": "leader" if member is team.leader else "member",
                "interests": list(member.scientist.interests),
                "affiliations": list(member.scientist.affiliations),
                "reasoning": member.reasoning,
            }
            for member in joined
        ],
        "declined": [
            {"name": event.candidate, "reasoning": event.reasoning}
            for event in decisions
            if not event.accepted
        ],
        "left": [member.name for member in team.left],
    }


def _ideas(
    run: Run,
    ideas: list[Proposed],
    kept: list[Proposed],
    chosen: Proposed,
    ballots: list[novelty.Ballot],
    tie: str | None,
) -> dict[str, Any]:
    weight = run.config.ideas.novelty_weight
    votes = [novelty.as_data(ballot, kept) for ballot in ballots]
    won = sum(kept[ballot.choice - 1] is chosen for ballot in ballots)
    return {
        "ideas": [{**idea.as_data(weight), "kept": idea in kept} for idea in ideas],
        "votes": votes,
        "idea": {**chosen.as_data(weight), "votes": won, "tie": tie},
    }


def _abstract(manuscript: Manuscript) -> dict[str, Any]:
    final = manuscript.current
    sections = {name: getattr(final, name) for name in Abstract.model_fields}
    return {"abstract": {**sections, "text": final.as_text()}, "drafts": manuscript.as_data()}


def _turns(
    topic_turns: int, ideas: list[Proposed], ballots: list[novelty.Ballot], manuscript: Manuscript
) -> dict[str, int]:
    return {
        "topic": topic_turns,
        "idea": ideas[-1].turn,
        "novelty": max((ballot.turn for ballot in ballots), default=0),
        "abstract": manuscript.drafts[-1][1],
    }


def _cost(turns: Mapping[str, int], joined: int, stayed: int) -> int:
    """Inference cost: members × turns, without selection and guests (2025, App. D.3.2, Table 9)."""
    return sum(count * (joined if stage == "topic" else stayed) for stage, count in turns.items())
