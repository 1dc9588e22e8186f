"""VirSci, end to end: five stages over a research ecosystem, and self-review (VirSci 2025, §3.2, App. B.1)."""

from collections.abc import Mapping
from typing import Any

from manyheads.discussion import Run, Team
from manyheads.replies import Topic
from manyheads.systems.virsci import result
from manyheads.systems.virsci.rounds import hold_rounds
from manyheads.systems.virsci.selection import select_team
from manyheads.systems.virsci.topic import find_topic


async def virsci(run: Run) -> Mapping[str, Any]:
    """Run the stages; returns what `result.json` keeps of them.

    A fixed `topic` skips the topic discussion. With `novelty.enabled` off the last idea is taken (App. D.2.2). With
    `self_review.enabled` a sixth stage follows, which may send the team back to the abstract or to new ideas.
    """
    team, decisions = await select_team(run)
    joined = list(team.members)
    topic, topic_turns = await _topic(run, team)
    held = await hold_rounds(run, team, topic.topic)
    return {
        **result.people(team, joined, decisions),
        "topic": {
            **topic.model_dump(include={"topic", "rationale"}),
            "fixed": run.config.inputs.topic is not None,
        },
        **result.works(run, held),
        **result.self_review(run, held),
        **result.costs(topic_turns, held, len(joined), len(team.members)),
        "guests": result.guests(run.guests, joined),
    }


async def _topic(run: Run, team: Team) -> tuple[Topic, int]:
    if run.config.inputs.topic is not None:
        return Topic(topic=run.config.inputs.topic, rationale="Given by the user."), 0
    return await find_topic(run, team)
