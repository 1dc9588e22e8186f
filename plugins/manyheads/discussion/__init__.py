"""The team discussion that all systems share: asking, turns, topologies, summaries, invitations."""

from manyheads.discussion.config import DiscussionSettings, InvitationConfig, TeamConfig, TurnsConfig
from manyheads.discussion.invitation import ask_with_advice, speak
from manyheads.discussion.run import Guest, Member, Question, Remark, Run, Team, need_members
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
