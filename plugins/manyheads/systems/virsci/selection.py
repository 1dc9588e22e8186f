"""Collaborator selection (VirSci 2025, §3.2): the leader's invitations, drawn by past collaboration."""

from manyheads.bank.scientists import draw
from manyheads.core.events import Recruited
from manyheads.core.results import Person
from manyheads.discussion import Member, Team, ask_with_advice, need_members
from manyheads.discussion.run import Question
from manyheads.replies import Decision
from manyheads.systems.virsci.config import stage_event
from manyheads.systems.virsci.result import VirSciRun

STAGE = "selection"


async def select_team(run: VirSciRun) -> Team:
    """Form the team: invite candidates in turn, each sees the leader and the members so far, until it is full.

    Raises:
        CorpusError: the team would be larger than the number of scientists.
    """
    run.emit(stage_event(run.config, STAGE))
    team, invited = Team([]), 0
    _join(run, team, _leader(run))
    wanted, config = run.settings.team.size, run.settings.team
    if wanted > 1:
        for candidate in draw(run.rng, run.literature, team.leader.name, exploration=config.exploration):
            invited += 1
            await _invite(run, team, candidate)
            if len(team.members) == wanted or invited == config.max_invitations:
                break
    if len(team.members) < wanted:
        run.warn(STAGE, f"the team has {len(team.members)} of {wanted} members; {invited} were invited")
    return team


def _leader(run: VirSciRun) -> Member:
    need_members(run.settings.team, run.literature)
    named = run.settings.team.leader
    scientist = run.literature.scientist(named) if named else run.rng.choice(run.literature.scientists)
    return Member(scientist, run.speaker("leader", scientist.name, scientist=scientist))


def _join(run: VirSciRun, team: Team, member: Member) -> None:
    team.members.append(member)
    run.insiders.add(member.name)
    run.result.team.append(
        Person(
            name=member.name,
            role="leader" if member is team.leader else "member",
            interests=list(member.scientist.interests),
            affiliations=list(member.scientist.affiliations),
            reasoning=member.reasoning,
        )
    )


async def _invite(run: VirSciRun, team: Team, name: str) -> None:
    scientist = run.literature.scientist(name)
    speaker = run.speaker("scientist", name, scientist=scientist)
    variables = {"leader": team.leader.scientist, "team": team.profiles()}
    recall = "; ".join(team.leader.scientist.interests)
    question = Question(STAGE, 1, speaker, "scientist", "join", variables, part="candidate", recall=recall)
    context = f"{team.leader.name} has invited me to join a research team."
    kind = run.reply_type("scientist", "join", Decision)
    decision = (await ask_with_advice(run, team, question, kind, context=context)).value
    if decision.accept:
        _join(run, team, Member(scientist, speaker, decision.reasoning))
    else:
        run.result.declined.append(Person(name=name, reasoning=decision.reasoning))
    run.emit(
        Recruited(stage=STAGE, turn=1, candidate=name, accepted=decision.accept, reasoning=decision.reasoning)
    )
