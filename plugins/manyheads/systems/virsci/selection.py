"""Collaborator selection (VirSci 2025, §3.2): the leader's invitations, drawn by past collaboration."""

from manyheads.core.events import Recruited
from manyheads.core.results import Person
from manyheads.corpus.scientists import draw
from manyheads.measures.team import MEASURES, draw_towards, gap, interests, joint_papers, shares
from manyheads.systems.virsci.config import stages
from manyheads.systems.virsci.replies import Decision
from manyheads.systems.virsci.result import VirSciRun
from manyheads.team.run import Question, need_one
from manyheads.team.team import Member, Team, need_members

STAGE = "selection"


async def select_team(run: VirSciRun) -> Team:
    """Form the team: that of `team.members`, or of those who accept an invitation.

    Raises:
        CorpusError: the team would be larger than the number of scientists, or a name is unknown.
        ModelError: as many candidates as the team has members, and none of them gave a valid answer.
    """
    run.begin(STAGE, stages(run.config))
    config, literature = run.settings.team, run.literature
    need_members(config, literature)
    named = config.leader and literature.scientist(config.leader)
    scientist, team = named or run.rng.choice(literature.scientists), Team([])
    _join(run, team, Member(scientist, run.scientist("leader", scientist)))
    for member in map(literature.scientist, config.members or ()):
        _join(run, team, Member(member, run.scientist("scientist", member)))
    aims = {} if config.members is not None else await _invite_candidates(run, team)
    values = shares(team.profiles())
    note_joint_papers(run)
    run.result.freshness, run.result.diversity = values["freshness"], values["diversity"]
    if blank := [one.name for one in team.profiles() if not interests(one)]:
        some = f"{len(blank)} of {len(team.members)} members"
        run.warn(STAGE, f"diversity: the topics of {some} are unknown: {', '.join(blank)}")
    for name, aim in aims.items():
        if gap(team.profiles(), {name: aim}):
            value = "unknown" if (share := values[name]) is None else f"{share:.2f}"
            near = f"among the scientists who would join, no team drawn around {scientist.name} comes closer"
            run.warn(STAGE, f"team.{name} is {aim:g}, but the team's {name} is {value}: {near}")
    return team


async def _invite_candidates(run: VirSciRun, team: Team) -> dict[str, float]:
    """Invite candidates in turn, each sees the leader and the members so far, until the team is full; what it was to aim at."""
    config, scientist, invited = run.settings.team, team.leader.scientist, 0
    aims = {name: aim for name in MEASURES if (aim := getattr(config, name)) is not None}
    pool, how = run.literature.scientists, config.exploration
    candidates = (
        draw_towards(run.rng, pool, team.profiles, config.size, aims, exploration=how)
        if aims
        else draw(run.rng, pool, scientist, exploration=how)
    )
    if config.size > 1:
        for candidate in candidates:
            invited += 1
            await _invite(run, team, candidate)
            if invited == config.size:
                need_one([*team.members[1:], *run.result.declined], "selection: the candidates' answers")
            if len(team.members) == config.size or invited == config.max_invitations:
                break
    if len(team.members) < config.size:
        run.warn(STAGE, f"the team has {len(team.members)} of {config.size} members; {invited} were invited")
    return aims


def note_joint_papers(run: VirSciRun) -> None:
    """Note who of the people so far have written together: again at the end, when the guests are known."""
    run.result.joint_papers = joint_papers([run.literature.scientist(name) for name in run.result.people])


def _join(run: VirSciRun, team: Team, member: Member) -> None:
    team.members.append(member)
    run.insiders.add(member.name)
    role, profile = "leader" if member is team.leader else "member", member.scientist
    told = {"interests": list(profile.interests), "affiliations": list(profile.affiliations)}
    run.result.team.append(Person(name=member.name, role=role, reasoning=member.reasoning, **told))


async def _invite(run: VirSciRun, team: Team, name: str) -> None:
    scientist, leader = run.literature.scientist(name), team.leader.scientist
    speaker = run.scientist("scientist", scientist)
    variables = {"leader": leader, "team": team.profiles()}
    question = Question(STAGE, 1, speaker, "scientist", "join", variables, part="candidate")
    if (decision := await run.hear(question, Decision)) is None:  # the next candidate is invited
        return
    joins, why = decision.accept, decision.reasoning
    if joins:
        _join(run, team, Member(scientist, speaker, why))
    else:
        run.result.declined.append(Person(name=name, reasoning=why))
    run.emit(Recruited(stage=STAGE, turn=1, candidate=name, accepted=joins, reasoning=why))
