"""What `result.json` keeps of a VirSci run."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from manyheads.core.events import Recruited
from manyheads.discussion import Guest, Member, Run, Team
from manyheads.replies import Abstract
from manyheads.systems.virsci import novelty
from manyheads.systems.virsci.config import STAGES
from manyheads.systems.virsci.rounds import Round


def people(team: Team, joined: Sequence[Member], decisions: Sequence[Recruited]) -> dict[str, Any]:
    """Who formed the team, who declined, who left after the topic was settled."""
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


def works(run: Run, held: Sequence[Round]) -> dict[str, Any]:
    """Ideas, votes and drafts of all rounds; the chosen idea and the abstract of the last one."""
    weight, last = run.settings.ideas.novelty_weight, held[-1]
    numbered = list(enumerate(held, start=1))
    won = sum(last.kept[ballot.choice - 1] is last.chosen for ballot in last.ballots)
    return {
        "ideas": [
            {**idea.as_data(weight), "round": n, "kept": idea in one.kept}
            for n, one in numbered
            for idea in one.ideas
        ],
        "votes": [
            {**novelty.as_data(ballot, one.kept), "round": n} for n, one in numbered for ballot in one.ballots
        ],
        "idea": {**last.chosen.as_data(weight), "votes": won, "tie": last.tie},
        "abstract": _abstract(last.manuscript.current),
        "drafts": [{**draft, "round": n} for n, one in numbered for draft in one.manuscript.as_data()],
    }


def self_review(run: Run, held: Sequence[Round]) -> dict[str, Any]:
    """The self-reviews and what was given up for them; nothing where there was none.

    `passed` is None for an abstract that could be compared with nothing: that is no proof of novelty.
    """
    if not run.settings.self_review.enabled:
        return {}
    weight = run.settings.ideas.novelty_weight
    reviews = [{"round": n, **review.as_data()} for n, one in enumerate(held, 1) for review in one.reviews]
    return {
        "self_review": {
            "passed": held[-1].passed,
            "threshold": run.settings.self_review.threshold,
            "reviews": reviews,
            "discarded": [
                {
                    "round": n,
                    "idea": one.chosen.as_data(weight),
                    "abstract": _abstract(one.manuscript.current),
                }
                for n, one in enumerate(held[:-1], 1)
            ],
        }
    }


def costs(topic_turns: int, held: Sequence[Round], joined: int, stayed: int) -> dict[str, Any]:
    """Turns of each stage, of all rounds, and the inference cost.

    Inference cost is members × turns, without selection and guests (2025, App. D.3.2, Table 9). What self-review
    has caused, its revisions and further rounds, is not counted in it: how much that is, no config can say
    beforehand, so that the papers leave it out of every comparison at equal cost (App. B.1).
    """
    first = held[0]
    plain = {**first.turns, "abstract": first.manuscript.written}
    return {
        "turns": {"topic": topic_turns, **held[-1].turns},
        "inference_cost": topic_turns * joined + sum(plain.values()) * stayed,
    }


def guests(told: Sequence[Guest], members: Sequence[Member]) -> list[Mapping[str, Any]]:
    """Guests as the stages went. Votes are cast all at once, so there the order is the table's, not the clock's."""
    seats = {member.name: seat for seat, member in enumerate(members)}

    def place(guest: Guest) -> tuple[int, int, int]:
        seat = seats[guest.by] if guest.stage == novelty.STAGE else 0
        return STAGES.index(guest.stage), guest.turn, seat

    return [asdict(guest) for guest in sorted(told, key=place)]


def _abstract(abstract: Abstract) -> dict[str, str]:
    sections: dict[str, str] = {name: getattr(abstract, name) for name in Abstract.model_fields}
    return {**sections, "text": abstract.as_text()}
