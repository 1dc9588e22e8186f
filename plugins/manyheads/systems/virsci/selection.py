"""Collaborator selection (VirSci 2025, §3.2): the leader's invitations, drawn by past collaboration."""

from manyheads.bank.scientists import draw
from manyheads.core.events import Recruited
from manyheads.discussion import Member, Run, Team, ask_with_advice, need_members
from manyheads.discussion.run import Question
from manyheads.replies import Decision
from manyheads.systems.virsci.stages import stage_event

STAGE = "selection"


async def select_team(run: Run) -> tuple[Team, list[Recruited]]:
    """Form the team: invite candidates in turn, each sees the leader and the members so far, until it is full.

    Returns the team and every decision, in order.

    Raises:
        CorpusError: the team would be larger than the number of scientists.
    """
    run.emit(stage_event(run.config, STAGE))
    team, decisions = Team([_leader(run)]), list[Recruited]()
    run.insiders |= team.names
    wanted, config = run.settings.team.size, run.settings.team
    if wanted > 1:
        for candidate in draw(run.rng, run.literature, team.leader.name, exploration=config.exploration):
            decisions.append(await _invite(run, team, candidate))
            if len(team.members) == wanted or len(decisions) == config.max_invitations:
                break
    if len(team.members) < wanted:
        run.warn(
            STAGE, f"the team has {len(team.members)} of {wanted} members; {len(decisions)} were invited"
        )
    return team, decisions


def _leader(run: Run) -> Member:
    need_members(run.settings.team, run.literature)
    named = run.settings.team.leader
    scientist = run.literature.scientist(named) if named else run.rng.choice(run.literature.scientists)
    return Member(scientist, run.speaker("leader", scientist.name, scientist=scientist))


async def _invite(run: Run, team: Team, name: str) -> Recruited:
    scientist = run.literature.scientist(name)
    speaker = run.speaker("scientist", name, scientist=scientist)
    variables = {"leader": team.leader.scientist, "team": team.profiles()}
    recall = "; ".join(team.leader.scientist.interests)
    question = Question(STAGE, 1, speaker, "scientist", "join", variables, part="candidate", recall=recall)
    context = f"{team.leader.name} has invited me to join a research team."
    kind = run.reply_type("scientist", "join", Decision)
    decision = (await ask_with_advice(run, team, question, kind, context=context)).value
    if decision.accept:
        team.members.append(Member(scientist, speaker, decision.reasoning))
        run.insiders.add(name)
    event = Recruited(
        stage=STAGE, turn=1, candidate=name, accepted=decision.accept, reasoning=decision.reasoning
    )
    run.emit(event)
    return event
