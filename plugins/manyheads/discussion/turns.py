"""Who speaks when, and for how long (VirSci 2025, App. D.3)."""

import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from manyheads.core.events import Judged
from manyheads.discussion.run import DiscussionSettings, Question, Remark, Run, Team
from manyheads.replies import Progress, Summary

T = TypeVar("T")


def speaking_order(
    members: Sequence[T],
    topology: Literal["sequential", "random"],
    rng: random.Random,
    previous: T | None = None,
) -> list[T]:
    """The speakers of one turn, as many as there are members.

    Sequential is the round table. Random draws each next speaker among all but the previous one (Fig. 7), so
    some may speak twice and some not at all.
    """
    if topology == "sequential" or len(members) < 2:
        return list(members)
    order: list[T] = []
    for _ in members:
        previous = rng.choice([member for member in members if member is not previous])
        order.append(previous)
    return order


async def another_turns(
    run: Run[Any, DiscussionSettings],
    team: Team,
    stage: str,
    goal: str,
    progress: Callable[[], str],
    *,
    before: int = 0,
) -> AsyncIterator[int]:
    """Count the turns of a stage up to its cap; one that is held again goes on counting after those `before`.

    With `turns.adaptive`, the leader decides after each turn whether one more is worth it (App. D.3.2).
    """
    cap = run.settings.turns.of(stage)
    for held in range(1, cap + 1):
        yield before + held
        if not run.settings.turns.adaptive or held == cap:
            continue
        variables = {"stage": stage, "goal": goal, "turn": held, "cap": cap, "progress": progress()}
        if not await _goes_on(run, team, stage, before + held, variables):
            return


async def _goes_on(run: Run, team: Team, stage: str, turn: int, variables: Mapping[str, object]) -> bool:
    question = Question(stage, turn, team.leader.speaker, "leader", "progress", variables, part="leader")
    reply = await run.ask(question, run.reply_type("leader", "progress", Progress))
    outcome = "another turn" if reply.value.another_turn else "the stage is done"
    run.emit(
        Judged(stage=stage, turn=turn, subject="turns", outcome=outcome, reasoning=reply.value.reasoning)
    )
    return reply.value.another_turn


async def summarise(run: Run, team: Team, stage: str, turn: int, replies: Sequence[Remark]) -> str:
    """The leader's summary of a turn, D̄_t."""
    variables = {"stage": stage, "replies": replies}
    question = Question(stage, turn, team.leader.speaker, "leader", "summary", variables, part="leader")
    return (await run.ask(question, run.reply_type("leader", "summary", Summary))).value.summary
