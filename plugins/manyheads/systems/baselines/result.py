"""What `result.json` keeps of a baseline, in the shape of a team's result."""

from collections.abc import Sequence
from typing import Any

from manyheads.core import Speaker
from manyheads.replies import Abstract
from manyheads.systems.baselines.config import Like
from manyheads.systems.baselines.desk import ABSTRACT, IDEA, Desk
from manyheads.systems.virsci.ideas import Proposed


def result_of(
    desk: Desk, people: Sequence[Speaker], kept: Sequence[Proposed], chosen: Proposed, abstract: Abstract
) -> dict[str, Any]:
    """The result; `inference_cost` is the number of replies, as members × turns is a team's (Table 9)."""
    weight = desk.run.settings.ideas.novelty_weight
    sections: dict[str, str] = {name: getattr(abstract, name) for name in Abstract.model_fields}
    return {
        "team": [{"name": each.name, "role": each.role} for each in people],
        "topic": {"topic": desk.topic, "rationale": "Given by the user.", "fixed": True},
        "ideas": [
            {**idea.as_data(weight), **_thought_over(idea), "kept": idea in kept} for idea in desk.ideas
        ],
        "votes": desk.votes,
        "idea": {**chosen.as_data(weight), "votes": len(desk.votes), "tie": None},
        "abstract": {**sections, "text": abstract.as_text()},
        "drafts": [{"by": chosen.by, "turn": 1, "evaluation": None, "changes": None, **sections}],
        "turns": {IDEA: desk.ideas[-1].turn, ABSTRACT: 1},
        "inference_cost": desk.asked,
        "baseline": _course(desk),
    }


def _thought_over(idea: Proposed) -> dict[str, Any]:
    """What a round of self-reflection says beside the idea."""
    return idea.idea.model_dump(include={"reflection", "done"})


def _course(desk: Desk) -> dict[str, Any]:
    like = desk.run.settings.like
    return {
        "ideas": len(desk.ideas),
        "stopped_by": desk.stopped,
        "done_in_turns": desk.done,
        "tokens_allowed": desk.allowance.limit,
        "tokens_used": desk.allowance.used,
        "like": like.run if isinstance(like, Like) else None,
    }
