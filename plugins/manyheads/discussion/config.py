"""The settings of a team discussion, for the section of any system that holds one."""

from typing import Literal

from pydantic import Field

from manyheads.config import Section, Strict


class TeamConfig(Strict):
    """Collaborator selection (VirSci 2025, §3.2)."""

    size: int = Field(default=4, ge=1)
    """Members, the leader counted."""
    leader: str | None = None
    """Masked name of the leader; drawn at random when left out."""
    exploration: Literal["uniform", "normal", "none"] = "uniform"
    """Increment of the adjacency matrix: +1, or abs(x) with x ~ N(1, 1) (App. D.4, Eq. 7), or nothing."""
    max_invitations: int = Field(default=40, ge=1)
    """How many candidates are asked before the team goes on with those who joined."""


class TurnsConfig(Strict):
    """Turns of each stage. A plain number in a config sets all of them."""

    plain = "default"
    default: int = Field(default=5, ge=1)
    """For the stages not named."""
    adaptive: bool = False
    """The leader decides after each turn whether the stage goes on; the numbers become caps (App. D.3.2)."""

    def of(self, stage: str) -> int:
        return getattr(self, stage, None) or self.default


class InvitationConfig(Strict):
    """Advice from scientists outside the team (App. D.2.1)."""

    enabled: bool = True
    """Whether members may ask outsiders."""
    per_turn: int = Field(default=1, ge=1)
    """Guests that one speaker may hear in one turn."""
    suggestions: int = Field(default=4, ge=1)
    """Outside scientists whose profiles the retrieval hook shows."""


class DiscussionSettings(Section):
    """What a team discussion goes by."""

    team: TeamConfig = TeamConfig()
    turns: TurnsConfig = TurnsConfig()
    topology: Literal["sequential", "random"] = "sequential"
    """Round table, or a random next speaker who is never the previous one (App. D.3.1)."""
    invitation: InvitationConfig = InvitationConfig()
