"""The team discussion that all systems share: asking, turns, topologies, summaries, invitations."""

from manyheads.discussion.invitation import ask_with_advice, speak
from manyheads.discussion.run import (
    DiscussionSettings,
    Guest,
    InvitationConfig,
    Member,
    Question,
    Remark,
    Run,
    Team,
    TeamConfig,
    TurnsConfig,
    need_members,
)
from manyheads.discussion.turns import another_turns, speaking_order, summarise

__all__ = [
    "DiscussionSettings",
    "Guest",
    "InvitationConfig",
    "Member",
    "Question",
    "Remark",
    "Run",
    "Team",
    "TeamConfig",
    "TurnsConfig",
    "another_turns",
    "ask_with_advice",
    "need_members",
    "speak",
    "speaking_order",
    "summarise",
]
