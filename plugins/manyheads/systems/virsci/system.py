"""VirSci, end to end: five stages over a research ecosystem, and self-review (VirSci 2025, §3.2, App. B.1)."""

from manyheads.core.results import Topic
from manyheads.discussion import Run
from manyheads.systems.virsci.config import VirSciConfig
from manyheads.systems.virsci.result import VirSciResult
from manyheads.systems.virsci.rounds import hold_rounds
from manyheads.systems.virsci.selection import select_team
from manyheads.systems.virsci.topic import STAGE, find_topic


async def virsci(run: Run[VirSciResult, VirSciConfig]) -> None:
    """Run the stages.

    A fixed `topic` skips the topic discussion. With `novelty.enabled` off the last idea is taken (App. D.2.2). With
    `self_review.enabled` a sixth stage follows, which may send the team back to the abstract or to new ideas.

    Inference cost is members × turns, without selection and guests (2025, App. D.3.2, Table 9). What self-review
    has caused, its revisions and further rounds, is not counted in it: how much that is, no config can say
    beforehand, so that the papers leave it out of every comparison at equal cost (App. B.1).
    """
    team = await select_team(run)
    result, joined = run.result, len(team.members)
    if run.config.inputs.topic is None:
        topic = await find_topic(run, team)
    else:
        topic = run.config.inputs.topic
        result.topic, result.turns[STAGE] = Topic(topic=topic, fixed=True), 0
    first = (await hold_rounds(run, team, topic))[0]
    plain = {**first.turns, "abstract": first.manuscript.written}
    result.inference_cost = result.turns[STAGE] * joined + sum(plain.values()) * len(team.members)
    result.hear(run.guests)
