"""A team: its leader first, then the members in the order in which they joined."""

from dataclasses import dataclass, field

from manyheads.bank.records import Literature, Scientist
from manyheads.config import TeamConfig
from manyheads.core import Speaker
from manyheads.errors import CorpusError


@dataclass(frozen=True)
class Member:
    """A scientist of the team with the speaker that plays them."""

    scientist: Scientist
    speaker: Speaker
    reasoning: str = ""
    """Why they joined; empty for the leader."""

    @property
    def name(self) -> str:
        return self.scientist.name


@dataclass
class Team:
    """T = {s_0, …, s_n}; `members[0]` is the leader s_0."""

    members: list[Member]
    left: list[Member] = field(default_factory=list[Member])
    """Members who left after the topic was settled."""

    @property
    def leader(self) -> Member:
        return self.members[0]

    @property
    def names(self) -> set[str]:
        return {member.name for member in self.members}

    def profiles(self) -> list[Scientist]:
        """Q_team: the profiles that the prompts describe the team with."""
        return [member.scientist for member in self.members]

    def leave(self, member: Member) -> None:
        self.members.remove(member)
        self.left.append(member)

    def interests(self) -> str:
        """What the team is about, as a query."""
        return "; ".join(interest for member in self.members for interest in member.scientist.interests[:4])


def need_members(team: TeamConfig, literature: Literature) -> None:
    """Raises `CorpusError` when a corpus cannot fill a team: too few scientists, or none of its leader's name."""
    there = len(literature.scientists)
    if team.size > there:
        raise CorpusError(
            f"team.size is {team.size}, but the corpus has {there} scientists",
            hint=f"--set team.size={there} or less, or build a larger corpus",
        )
    if team.leader:
        literature.scientist(team.leader)
